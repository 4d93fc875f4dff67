"""Programs as users write them: pyright has nothing to say of right ones, and says of wrong ones where.

Right programs run as well. Those that Python has from 3.12 on, and those that are wrong, are texts.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from type_checks import Complaints, complaints, expected

HERE = Path(__file__).parent
RIGHT = sorted((HERE / "right").glob("*.py"))


def test_what_pyright_says(tmp_path: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed: pip install 'weft[dev]'")
    marked: Complaints = {}
    for path in (*RIGHT, *HERE.glob("right/*.txt"), *HERE.glob("wrong/*.txt")):
        name, text = f"{path.stem}.py", path.read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
        marked |= expected(name, text)
    assert len(marked) > 10
    assert complaints(tmp_path) == marked


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_right_programs_run(path: Path) -> None:
    runpy.run_path(str(path))
