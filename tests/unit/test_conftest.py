"""The fixtures that all tests share do what they promise."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_turns import gpu_turn

CONFTEST = Path(__file__).parents[1] / "conftest.py"
SUPPORT = CONFTEST.parent / "support"


def run(folder: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_golden(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"))
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers = gpu\npythonpath = {SUPPORT}\n")
    test = tmp_path / "test_it.py"
    test.write_text("def test_it(golden): golden('a.txt', 'grün\\n')\n", encoding="utf-8")
    code, text = run(tmp_path)
    assert code == 1
    assert "pytest --update-golden writes it" in text
    assert run(tmp_path, "--update-golden")[0] == 0
    assert (tmp_path / "golden" / "a.txt").read_text(encoding="utf-8") == "grün\n"
    assert run(tmp_path)[0] == 0
    test.write_text("def test_it(golden): golden('a.txt', 'blau\\n')\n", encoding="utf-8")
    code, text = run(tmp_path)
    assert code == 1
    assert "pytest --update-golden accepts it" in text
    assert "grün" in text


def test_gpu_tests_are_skipped_with_a_reason(tmp_path: Path) -> None:
    hidden = "\nmissing_gpu = lambda: 'no NVIDIA driver here'\n"
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8") + hidden)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers = gpu\npythonpath = {SUPPORT}\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.gpu\ndef test_gpu(): assert False\ndef test_other(): pass\n"
    )
    code, text = run(tmp_path)
    assert code == 0
    assert "no NVIDIA driver here" in text
    assert "1 passed, 1 skipped" in text


def held(file: Path) -> bool:
    """Whether somebody has the lock of a file."""
    import fcntl

    with open(file, "w") as own:
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of files that are shared")
def test_turns_on_a_gpu(tmp_path: Path) -> None:
    """The locks of one process's files are as much in each other's way as those of several."""
    order: list[str] = []

    def one(name: str, alone: bool) -> threading.Thread:
        def take() -> None:
            with gpu_turn(alone=alone, folder=tmp_path):
                order.append(name)

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        return thread

    with gpu_turn(alone=False, folder=tmp_path):
        one("beside", False).join(20)
        assert order == ["beside"]
        [gate] = tmp_path.glob("*.gate")
        alone = one("alone", True)
        until(lambda: held(gate))  # it waits for us there, and who comes later behind it
        later = one("later", False)
        later.join(0.05)
        assert order == ["beside"]
    alone.join(20)
    later.join(20)
    assert order == ["beside", "alone", "later"]
    with gpu_turn(alone=True, folder=tmp_path):
        last = one("last", False)
        until(lambda: held(gate))
        assert order[-1] == "later"
    last.join(20)
    assert order[-1] == "last"


def test_a_test_on_a_gpu_takes_its_turn(tmp_path: Path) -> None:
    told = """
from contextlib import contextmanager
missing_gpu = lambda: None
@contextmanager
def gpu_turn(*, alone):
    print("alone" if alone else "beside")
    yield
    print("over")
"""
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8") + told)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\nmarkers =\n  gpu\n  gpu_memory\npythonpath = {SUPPORT}\n"
    )
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture(scope='session')\ndef first(): print('fixture')\n"
        "@pytest.mark.gpu\ndef test_gpu(first): print('test')\n"
        "@pytest.mark.gpu\n@pytest.mark.gpu_memory\ndef test_memory(): pass\n"
        "def test_other(): print('other')\n"
    )
    code, text = run(tmp_path, "-s")
    assert code == 0
    said = [line.lstrip(".") for line in text.splitlines()]
    assert [line for line in said if line.isalpha()] == "beside fixture test over alone over other".split()
