"""The gallery of kernels has all operations, and shows what is there."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from weft import kernels

gallery = pytest.importorskip("gallery", reason="mkdocs is not installed: pip install 'weft[docs]'")
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "gallery.md"
NAMES = [
    name for line in gallery.MODULES.findall(PAGE.read_text(encoding="utf-8")) for name in line.split(", ")
]


def test_every_operation_is_shown() -> None:
    assert {getattr(kernels, name).__module__ for name in kernels.__all__} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_says_what_it_is_and_shows_its_code(name: str) -> None:
    text: str = gallery.shown(name)
    module = importlib.import_module(name)
    assert (module.__doc__ or "").split("\n")[0].replace("``", "`") in text
    assert text.count("from __future__ import annotations") == 1
