"""The fixtures that all tests share do what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
