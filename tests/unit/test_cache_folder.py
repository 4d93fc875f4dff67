"""The cache's folder: weft touches what is its own, trusts what nobody else could write, works without."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import PerformanceWarning, config
from weft.compiler.cache import folder as module
from weft.compiler.cache.disk import load, store
from weft.compiler.cache.folder import NAME

KEYS = [f"{n:064x}" for n in range(40)]
TAG = "CACHEDIR.TAG"
posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")


@pytest.fixture(autouse=True)
def not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is as a process that has said nothing yet."""
    monkeypatch.setattr("weft.compiler.cache.disk._said", False)


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Path]:
    with config.scope(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache"


def tree(folder: Path) -> dict[str, bytes | str]:
    """All that is below a folder: what files hold, where links go."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "folder"
    return found


def refused(match: str) -> None:
    """Nothing is read or kept, which is said once."""

    def use() -> list[bytes | None]:
        store(KEYS[1], b"data")
        found = [load(KEYS[1]), load(KEYS[2])]
        store(KEYS[2], b"data")
        return found

    with pytest.warns(PerformanceWarning, match=match) as caught:
        found = use()
    assert found == [None, None]
    assert len(caught) == 1
    assert "compiled kernels are not kept for other processes" in str(caught[0].message)


def age(path: Path, seconds: float) -> None:
    before = time.time() - seconds
    os.utime(path, (before, before))


def test_what_is_kept_comes_back(parent: Path) -> None:
    assert load(KEYS[0]) is None
    assert not parent.exists()
    for data in (b"", b"data", b"\0" * 100_000):
        store(KEYS[0], data)
        assert load(KEYS[0]) == data
        assert load(KEYS[1]) is None
    assert sorted(p.name for p in (parent / NAME).iterdir()) == [f"{KEYS[0]}.weft", TAG]


def test_the_folder_is_marked_as_others_mark_theirs(parent: Path) -> None:
    store(KEYS[0], b"data")
    text = (parent / NAME / TAG).read_text()
    assert text.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")  # backups leave it out
    assert "weft" in text


@posix
def test_private(parent: Path) -> None:
    mask = os.umask(0)
    try:
        store(KEYS[0], b"data")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((parent / NAME).stat().st_mode) == 0o700
    for path in (parent / NAME).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


# -- what is not weft's ---------------------------------------------------------------------------


def strangers(parent: Path) -> None:
    """A folder of the user's with a bit of everything, some of it named as weft might."""
    (parent / "ab").mkdir(parents=True)
    (parent / "thesis.txt").write_text("all of it")
    (parent / "ab" / "photo.jpg").write_bytes(b"\xff\xd8" * 5000)
    (parent / "ab" / f"{KEYS[3]}.weft").write_bytes(b"not weft's")
    (parent / f"{KEYS[3]}.weft").write_bytes(b"not weft's")
    (parent / TAG).write_text("Signature: 8a477f597d28d172789f06886806bc55\n# another's")


def test_pruning_touches_nothing_but_what_weft_named(
    parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "letter.txt").write_text("dear reader")
    (outside / "large.bin").write_bytes(bytes(100_000))
    strangers(parent)
    store(KEYS[39], b"data")
    own = parent / NAME
    (own / "notes.txt").write_text("mine")
    (own / "sub").mkdir()
    (own / "sub" / f"{KEYS[4]}.weft").write_bytes(bytes(10_000))
    (own / f"{KEYS[5]}.weft.bak").write_bytes(bytes(10_000))
    (own / f"{KEYS[5].upper()}x.weft").write_bytes(bytes(10_000))
    (own / f"{KEYS[6]}.weft").mkdir()
    if os.name == "posix":
        (own / f"{KEYS[7]}.weft").symlink_to(outside / "large.bin")
        (own / f"{KEYS[8]}.weft").symlink_to(outside)
        (parent / "link").symlink_to(outside)
    for path in [*parent.rglob("*"), *outside.rglob("*")]:
        if not path.is_symlink():
            age(path, 400 * 86400)
    (own / f"{KEYS[39]}.weft").unlink()
    before = tree(parent), tree(outside)
    monkeypatch.setattr(module, "LIMIT", 1000)
    store(KEYS[0], b"x" * 10_000)  # such a key prunes, and itself is too large
    assert (tree(parent), tree(outside)) == before


@pytest.mark.parametrize("content", [None, "Signature: 8a477f597d28d172789f06886806bc55\n", ""])
def test_a_folder_of_that_name_that_weft_did_not_make(content: str | None, parent: Path) -> None:
    own = parent / NAME
    own.mkdir(parents=True, mode=0o700)
    (own / "thesis.txt").write_text("all of it")
    (own / f"{KEYS[1]}.weft").write_bytes(b"not weft's")
    if content is not None:
        (own / TAG).write_text(content)
    before = tree(parent)
    refused("is not a folder that weft made")
    assert tree(parent) == before


def test_a_folder_that_was_emptied(parent: Path) -> None:
    store(KEYS[1], b"data")
    for path in (parent / NAME).iterdir():
        path.unlink()
    store(KEYS[1], b"data")
    assert load(KEYS[1]) == b"data"


def test_bounded(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 10 * 1100)
    for n, key in enumerate(KEYS):
        store(f"f{key[1:]}", bytes(1000))
        age(parent / NAME / f"f{key[1:]}.weft", 1000 - n)
    store("0" * 64, bytes(1000))
    kept = sorted((parent / NAME).glob("*.weft"))
    assert sum(path.stat().st_size for path in kept) <= 10 * 1100
    assert [p.name for p in kept] == ["0" * 64 + ".weft", *(f"f{key[1:]}.weft" for key in KEYS[-9:])]


def test_what_nobody_used_goes_and_what_is_used_stays(parent: Path) -> None:
    for key in (KEYS[1], KEYS[2], KEYS[3]):
        store(key, b"data")
    own = parent / NAME
    age(own / f"{KEYS[1]}.weft", 100 * 86400)
    age(own / f"{KEYS[2]}.weft", 100 * 86400)
    age(own / f"{KEYS[3]}.weft", 10 * 86400)
    if os.utime in os.supports_fd:
        assert load(KEYS[2]) == b"data"
    store(KEYS[0], b"data")
    assert load(KEYS[1]) is None
    assert load(KEYS[3]) == b"data"
    assert load(KEYS[2]) == (b"data" if os.utime in os.supports_fd else None)


def test_what_was_left_half_written_goes(parent: Path) -> None:
    store(KEYS[1], b"data")
    old, new = (parent / NAME / f"{KEYS[n]}.{n:016x}.part" for n in (2, 3))
    for path in (old, new):
        path.write_bytes(b"half")
    age(old, 2 * 3600)
    store(KEYS[0], b"data")
    assert (old.exists(), new.exists()) == (False, True)


def test_nothing_is_left_of_a_write_that_fails(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    store(KEYS[1], b"data")
    before = tree(parent)
    monkeypatch.setattr("weft.compiler.cache.folder.os.replace", full)
    with pytest.warns(PerformanceWarning, match="No space left on device"):
        store(KEYS[2], b"data")
    assert tree(parent) == before


# -- what others could have written ---------------------------------------------------------------


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702, 0o755, 0o701])
def test_a_folder_that_is_open_to_others(mode: int, parent: Path) -> None:
    store(KEYS[1], b"data")
    (parent / NAME).chmod(mode)
    refused(r"is open to others: chmod 700 would close it")
    (parent / NAME).chmod(0o700)
    assert load(KEYS[1]) == b"data"
    assert load(KEYS[2]) is None


@posix
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
@pytest.mark.parametrize("name", [f"{KEYS[1]}.weft", TAG])
def test_a_file_that_others_may_write(mode: int, name: str, parent: Path) -> None:
    store(KEYS[1], b"data")
    (parent / NAME / name).chmod(mode)
    if name == TAG:
        refused("is not a folder that weft made")
    else:
        assert load(KEYS[1]) is None
        store(KEYS[1], b"again")
        assert load(KEYS[1]) == b"again"


class _Status:
    """What ``fstat`` gives, of a file that another user owns."""

    def __init__(self, status: os.stat_result) -> None:
        self._status = status
        self.st_uid = status.st_uid + 1

    def __getattr__(self, name: str) -> object:
        return getattr(self._status, name)


@posix
@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_another_user_owns(whose: str, parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(KEYS[1], b"planted")
    true, size = os.fstat, (parent / NAME / f"{KEYS[1]}.weft").stat().st_size

    def fstat(handle: int) -> object:
        status = true(handle)
        planted = stat.S_ISDIR(status.st_mode) if whose == "folder" else status.st_size == size
        return _Status(status) if planted else status

    assert load(KEYS[1]) == b"planted"
    monkeypatch.setattr(os, "fstat", fstat)
    if whose == "folder":
        refused("belongs to another user")
    else:
        assert load(KEYS[1]) is None


@posix
@pytest.mark.parametrize("what", ["folder", "file", "tag"])
def test_links_are_not_followed(what: str, parent: Path, tmp_path: Path) -> None:
    store(KEYS[1], b"data")
    own = parent / NAME
    path = {"folder": own, "file": own / f"{KEYS[1]}.weft", "tag": own / TAG}[what]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    before = tree(tmp_path)
    if what == "file":
        assert load(KEYS[1]) is None
        assert tree(tmp_path) == before
        store(KEYS[1], b"new")
        assert load(KEYS[1]) == b"new"
        assert (tmp_path / "elsewhere").read_bytes().endswith(b"data")
    else:
        refused("is a link, which is not followed" if what == "folder" else "is not a folder that weft made")
        assert tree(tmp_path) == before


@posix
def test_pipes_and_sockets_do_not_make_it_wait(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(KEYS[1], b"data")
    own = parent / NAME
    os.mkfifo(own / f"{KEYS[2]}.weft", 0o600)
    assert load(KEYS[2]) is None
    monkeypatch.chdir(own)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"{KEYS[3]}.weft")
        assert load(KEYS[3]) is None
    store(KEYS[0], b"data")


# -- folders that cannot be used ------------------------------------------------------------------


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "cache"):
        with config.scope(cache_dir=path):
            refused("Not a directory|exists|cannot find")
        assert (tmp_path / "file").read_text() == "mine"
        pytest.MonkeyPatch().setattr("weft.compiler.cache.disk._said", False)
    own = tmp_path / "cache" / NAME
    own.parent.mkdir()
    own.write_text("mine")
    with config.scope(cache_dir=tmp_path / "cache"):
        refused("Not a directory|is not a folder")


@pytest.mark.parametrize("name", ["with\0nul", "\udcff\udcfe\0", "x" * 5000, "a/" * 3000])
def test_odd_paths(name: str, tmp_path: Path) -> None:
    with config.scope(cache_dir=tmp_path / name):
        refused("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["with space", "ünï", "new\nline", "-rf", "~", "*", "\udcff"])
def test_unusual_paths_that_can_be_used(name: str, tmp_path: Path) -> None:
    with config.scope(cache_dir=tmp_path / name):
        store(KEYS[1], b"data")
        assert load(KEYS[1]) == b"data"


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with config.scope(cache_dir=tmp_path / "cache"):
        refused("Permission denied")
    tmp_path.chmod(0o700)


@posix
def test_a_disk_that_can_only_be_read(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(KEYS[1], b"data")

    def opened(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(30, "Read-only file system", path)
        return true(path, flags, mode, dir_fd=dir_fd)

    true = os.open
    monkeypatch.setattr(os, "open", opened)
    assert load(KEYS[1]) == b"data"
    with pytest.warns(PerformanceWarning, match="Read-only file system"):
        store(KEYS[2], b"data")
    store(KEYS[3], b"data")


PROGRAM = """
import warnings
from weft import Float32, Pointer, kernel
from weft.gpu.host import DeviceContext

@kernel
def k(p: Pointer[Float32]):
    p[0] = 2.0

@kernel
def other(p: Pointer[Float32]):
    p[0] = p[0] + 3.0

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ctx = DeviceContext(api="cpu")
    x = ctx.enqueue_create_buffer(Float32, 1)
    for each in (k, other):
        ctx.enqueue_function(each, x, grid_dim=1, block_dim=1)
    with x.map_to_host() as host:
        print(host[0], [f"{w.category.__name__} {w.lineno} {w.message}" for w in caught])
"""


@posix
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"WEFT_CACHE_DIR": "~no.such.user/x"}, "there is no home directory"),
        ({"HOME": None, "_UNKNOWN_USER": "1"}, "there is no home directory"),
        ({"WEFT_CACHE_DIR": "/dev/null"}, "/dev/null/weft-compiled: "),
        ({"WEFT_CACHE_DIR": "/proc/1/nothing"}, "/proc/1/nothing/weft-compiled: "),
    ],
)
def test_programs_run_without_a_folder(environment: dict[str, str | None], said: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for name in ("WEFT_CACHE_DIR", "XDG_CACHE_HOME", *(n for n, v in environment.items() if v is None)):
        env.pop(name, None)
    env |= {name: value for name, value in environment.items() if value is not None}
    command = [sys.executable, "program.py"]
    if "_UNKNOWN_USER" in environment:  # of a user whom the system does not know, as in containers
        start = "import os, pwd, runpy; os.getuid = lambda: 2**31 - 7; runpy.run_path('program.py')"
        command = [sys.executable, "-c", start]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("5.0 ['PerformanceWarning 19 compiled kernels are not kept")
    assert done.stdout.count("PerformanceWarning") == 1
    assert said in done.stdout


def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if os.name != "posix" or sys.platform == "darwin":
        pytest.skip("where caches are is another matter there")
    monkeypatch.delenv("WEFT_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert config.settings().cache_dir == tmp_path / "xdg" / "weft"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which its specification has ignored
    assert config.settings().cache_dir == tmp_path / ".cache" / "weft"
    monkeypatch.setenv("WEFT_CACHE_DIR", "~/own")
    assert config.settings().cache_dir == tmp_path / "own"
    monkeypatch.setenv("WEFT_CACHE_DIR", "~no.such.user/own")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert config.settings().cache_dir is None
