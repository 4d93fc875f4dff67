"""The cache as an archive, and caches of others that are read."""

from __future__ import annotations

import gzip
import io
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import config
from weft.cli import main
from weft.compiler.cache.disk import load, store
from weft.compiler.cache.folder import NAME
from weft.compiler.cache.shipped import export, take

KEYS = [f"{n:064x}" for n in range(16, 20)]


@pytest.fixture(autouse=True)
def parent(tmp_path: Path) -> Iterator[Path]:
    with config.scope(cache_dir=tmp_path / "cache", shared_caches=()):
        yield tmp_path / "cache"


def test_there_and_back(parent: Path, tmp_path: Path) -> None:
    store(KEYS[0], b"first")
    store(KEYS[1], b"second" * 1000)
    (parent / NAME / f"{KEYS[2]}.weft").write_bytes(b"weft of nobody")
    (parent / NAME / f"{KEYS[2]}.weft").chmod(0o600)
    assert export(tmp_path / "kernels.tar.gz") == 2
    with config.scope(cache_dir=tmp_path / "other"):
        assert load(KEYS[0]) is None
        assert take(tmp_path / "kernels.tar.gz") == (2, 0)
        assert [load(key) for key in KEYS] == [b"first", b"second" * 1000, None, None]


def test_what_is_not_what_its_name_says(parent: Path, tmp_path: Path) -> None:
    store(KEYS[0], b"first")
    kept = (parent / NAME / f"{KEYS[0]}.weft").read_bytes()
    archive = tmp_path / "kernels.tar"
    link = tarfile.TarInfo(f"{KEYS[3]}.weft")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(archive, "w") as file:
        for name, data in {
            f"{KEYS[0]}.weft": kept,
            f"{KEYS[1]}.weft": kept,  # of another key
            f"{KEYS[2]}.weft": kept[:-1] + b"?",
            f"../{KEYS[2]}.weft": kept,
            "CACHEDIR.TAG": b"mine",
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
        file.addfile(link)
    with config.scope(cache_dir=tmp_path / "other"):
        assert take(archive) == (1, 5)
        assert [load(key) for key in KEYS] == [b"first", None, None, None]
        assert len(list((tmp_path / "other" / NAME).iterdir())) == 2  # with the folder's mark
    assert not (tmp_path / "other" / f"{KEYS[2]}.weft").exists()


@pytest.mark.parametrize("compressed", [True, False])
def test_no_damage_of_an_archive_goes_unseen(
    compressed: bool, parent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is taken is right, and where something is missing the command says so and fails."""
    rng = random.Random(7)
    kept = {key: rng.randbytes(rng.randrange(1, 3000)) for key in [f"{n:064x}" for n in range(16, 28)]}
    for key, data in kept.items():
        store(key, data)
    assert export(tmp_path / "whole") == len(kept)
    whole = (tmp_path / "whole").read_bytes()
    if not compressed:
        whole = gzip.decompress(whole)
    ends, missing = {0: 0, 1: 0}, 0
    for n in range(120):
        damaged, at = bytearray(whole), rng.randrange(len(whole))
        way = n % 4
        if way == 0:
            del damaged[at:]
        elif way == 1:
            damaged[at] ^= 1 << rng.randrange(8)
        elif way == 2:
            damaged[at : at + 700] = bytes(len(damaged[at : at + 700]))
        else:
            damaged[at:at] = rng.randbytes(9)
        (tmp_path / "damaged").write_bytes(damaged)
        with config.scope(cache_dir=tmp_path / f"other{n}"):
            status = main(["cache", "import", str(tmp_path / "damaged")])
            found = {key: load(key) for key in kept}
        ends[status] += 1
        assert "Traceback" not in capsys.readouterr().err
        assert all(found[key] in (None, data) for key, data in kept.items())
        lacks = sum(each is None for each in found.values())
        missing += lacks
        assert status or not lacks, (way, at, lacks)
    assert ends[1] > 60
    assert missing > 100


def test_an_export_that_ends_early_leaves_what_was_there(
    parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(KEYS[0], b"first")
    archive = tmp_path / "kernels.tar.gz"
    export(archive)
    store(KEYS[1], b"second")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tarfile.TarFile.addfile", killed)
    with pytest.raises(KeyboardInterrupt):
        export(archive)
    with config.scope(cache_dir=tmp_path / "other"):
        assert take(archive) == (1, 0)
    assert list(tmp_path.glob("*.part")) == []


def test_caches_of_others_are_read_and_not_written(parent: Path, tmp_path: Path) -> None:
    store(KEYS[0], b"theirs")
    shared = parent / NAME
    for path in (*shared.iterdir(), shared):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in shared.iterdir()}
    try:
        with config.scope(cache_dir=tmp_path / "own", shared_caches=[tmp_path / "missing", parent]):
            assert load(KEYS[0]) == b"theirs"
            assert load(KEYS[1]) is None
            store(KEYS[1], b"own")
            assert load(KEYS[1]) == b"own"
        assert {path: path.stat().st_mtime_ns for path in shared.iterdir()} == before
    finally:
        shared.chmod(0o700)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_cache_that_others_may_write_is_not_read(
    parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(KEYS[0], b"theirs")
    (parent / NAME).chmod(0o777)
    monkeypatch.setattr("weft.compiler.cache.disk._said", False)
    with config.scope(cache_dir=tmp_path / "own", shared_caches=[parent]):
        with pytest.warns(match="is open to others"):
            found = load(KEYS[0])
    assert found is None


PROGRAM = """
import weft, sys
from weft import Float32, Pointer, kernel
from weft.gpu.host import DeviceContext
@kernel
def fill(x: Pointer[Float32]):
    x[0] = 2.0
ctx = DeviceContext(api="cpu")
x = ctx.enqueue_create_buffer("float32", 1)
ctx.enqueue_function(fill, x, grid_dim=1, block_dim=1)
ctx.synchronize()
print("weft.compiler.llvm.lower" in sys.modules)
"""


def test_a_program_compiles_nothing_that_was_brought_along(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)

    def weft(*words: str, cache: str, shared: str = "") -> str:
        environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path / cache), "WEFT_SHARED_CACHES": shared}
        command = [sys.executable, "-m", "weft", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    program, archive = str(tmp_path / "program.py"), str(tmp_path / "kernels.tar.gz")
    assert weft("run", program, cache="a") == "True\n"
    assert weft("cache", "export", archive, cache="a").endswith(f"in {archive}\n")
    assert weft("cache", "import", archive, cache="b").endswith("taken\n")
    assert weft("run", program, cache="b") == "False\n"
    assert weft("run", program, cache="c", shared=str(tmp_path / "b")) == "False\n"
    assert weft("cache", "clear", cache="b") == ""
    assert " 0 files, 0.0 MiB of at most 512" in weft("cache", "info", cache="b")
    assert weft("run", program, cache="b") == "True\n"


def test_info_and_errors(parent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(KEYS[0], b"first")
    with config.scope(shared_caches=[tmp_path]):
        assert main(["cache", "info"]) == 0
    out = capsys.readouterr().out
    assert f"{parent / NAME}\n  1 files, 0.0 MiB of at most 512\n  the oldest was used 0 days ago" in out
    assert f"{tmp_path / NAME} (only read)\n  0 files" in out
    (tmp_path / "no.tar").write_text("nothing")
    for words, said in (
        (["import", str(tmp_path / "no.tar")], "cannot read"),
        (["import", str(tmp_path / "missing")], "No such file"),
        (["export", str(tmp_path / "no" / "folder")], "cannot write"),
    ):
        assert main(["cache", *words]) == 1
        assert f"error[cache]: {said if said != 'No such file' else 'cannot read'}" in (
            err := capsys.readouterr().err
        )
        assert said in err
