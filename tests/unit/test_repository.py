"""What is in the repository is what people wrote, and nothing that a tool left there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEFT = (".whl", ".so", ".o", ".pyc", ".cubin", ".tar.gz", ".zip")
"""Endings of what is downloaded or built."""


def test_nothing_built_or_downloaded_is_tracked() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no repository here")
    made = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = made.stdout.splitlines()
    assert [f for f in files if f.endswith(LEFT)] == []
    assert [f for f in files if (ROOT / f).is_file() and (ROOT / f).stat().st_size > 1 << 20] == []
