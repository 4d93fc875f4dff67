"""Small programs that Python runs too, with the same result: of each kind of statement, object and alias.

``as_python.md`` has them. Python runs the same text, with its own numbers and dataclasses in weft's place.
What weft refuses says so below the program, in the first line of the message.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from weft import WeftError

_TEXT = (Path(__file__).parent / "as_python.md").read_text()
_BOTH = """\
import collections, copy, dataclasses, enum, functools, itertools, math, operator, types, typing
from typing import NamedTuple
import numpy as np
"""
_WEFT = f"{_BOTH}from weft import *\n"
_PYTHON = f"""{_BOTH}
def func(fn=None, **_): return fn if fn is not None else lambda fn: fn
def struct(cls): return dataclasses.dataclass(cls)
def unroll(items): return items
Int, Float64, Bool = int, float, bool
class InlineArray:
    def __class_getitem__(cls, given):
        return lambda *items, fill=0: list(items) or [fill] * given[1]
"""


def _programs() -> dict[str, tuple[str, str]]:
    """By their titles: the text, and the message, where it is refused."""
    found: dict[str, tuple[str, str]] = {}
    for title, text, refused in re.findall(r"## (.+)\n\n```python\n((?:.*\n)*?)```\n(?:\n> (.+)\n)?", _TEXT):
        found[title] = text, refused
    return found


def _load(text: str, name: str, folder: Path) -> Any:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, cast("list[Any]", value)))
    if dataclasses.is_dataclass(value):
        return tuple(_plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    return value.item() if hasattr(value, "item") else value


@pytest.mark.parametrize("title", _programs())
def test_program(title: str, tmp_path: Path) -> None:
    text, refused = _programs()[title]
    stem = re.sub(r"\W", "_", title)
    model = _load(_PYTHON + text, f"{stem}_python", tmp_path)
    compiled: Callable[..., Any] = _load(_WEFT + text, f"{stem}_weft", tmp_path).main
    if refused:
        with pytest.raises(WeftError, match=re.escape(refused)):
            compiled(*model.ARGS[0])
        return
    for given in model.ARGS:
        wanted = _plain(model.main(*given))
        found = _plain(compiled(*given))
        assert repr(found) == repr(wanted), given
