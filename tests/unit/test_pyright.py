"""What strict pyright says of operators, conversions and the guide; `tests/types` has programs."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pages import PAGES, ROOT, blocks
from type_checks import complaints
from weft import WeftError
from weft.lang import scalars
from weft.lang.promote import promote

pytest.importorskip("pyright", reason="pyright is not installed: pip install 'weft[dev]'")

_of: Any = operator  # some of its functions have no types
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": _of.add,
    "/": _of.truediv,
    "//": _of.floordiv,
    "%": _of.mod,
    "**": _of.pow,
    "&": _of.and_,
    "<<": _of.lshift,
    "<": _of.lt,
    "==": _of.eq,
}
LITERALS = {"True": True, "3": 3, "0.5": 0.5}
_INTEGERS = "Bool Int8 Int16 Int32 Int UInt8 UInt16 UInt32 UInt".split()
NUMBERS = [*_INTEGERS, *"Float8_e4m3fn Float16 BFloat16 Float32 Float64".split()]


def _not_seen(op: str, left: str, right: str) -> bool:
    """Where types cannot say what weft does."""
    if op == "==":
        return left in LITERALS  # Python's numbers compare with everything, to a bool
    if op == "/":
        return not {left, right}.isdisjoint(("3", "True"))  # an int is taken where a float is
    if op in ("**", "<<"):  # the powers and shifts of Bools are not worth types of their own
        return not {left, right}.isdisjoint(("bool", "True")) or (left, right) == ("float8_e4m3fn", "3")
    return False


@pytest.mark.filterwarnings("ignore")
def test_operators_give_the_types_that_they_give(tmp_path: Path) -> None:
    values: dict[str, Any] = LITERALS | {name.lower(): getattr(scalars, name)(1) for name in NUMBERS}
    lines = ["from typing import assert_type", f"from weft import {', '.join(NUMBERS)}"]
    lines += [f"def f({', '.join(f'{name.lower()}: {name}' for name in NUMBERS)}) -> None:"]
    wrong: list[str] = []
    for op, function in BINARY.items():
        for left, a in values.items():
            for right, c in values.items():
                if {left, right} <= LITERALS.keys() or _not_seen(op, left, right):
                    continue
                text = f"    assert_type({left} {op} {right}, "
                try:
                    lines.append(f"{text}{type(function(a, c)).__name__})")
                except WeftError:
                    lines.append(f"{text}object)")
                    wrong.append(lines[-1])
    (tmp_path / "operators.py").write_text("\n".join(lines), encoding="utf-8")
    found = {lines[line - 1]: rule for (_, line), rule in complaints(tmp_path).items()}
    assert found == dict.fromkeys(wrong, "reportOperatorIssue")


def test_numbers_take_the_numbers_that_they_take(tmp_path: Path) -> None:
    lines = [f"from weft import {', '.join(NUMBERS)}"]
    lines += [*(f"def take_{name}(x: {name}) -> None: ..." for name in NUMBERS), "def f("]
    lines += [*(f"    {name.lower()}: {name}," for name in NUMBERS), ") -> None:"]
    wrong: list[str] = []
    for wanted in NUMBERS:
        for given in NUMBERS:
            lines.append(f"    take_{wanted}({given.lower()})")
            dtype = getattr(scalars, wanted).dtype
            if promote(getattr(scalars, given).dtype, dtype) is not dtype:
                wrong.append(lines[-1])
    (tmp_path / "numbers.py").write_text("\n".join(lines), encoding="utf-8")
    found = {lines[line - 1]: rule for (_, line), rule in complaints(tmp_path).items()}
    assert found == dict.fromkeys(wrong, "reportArgumentType")


_OF_NUMPY = re.compile(r"np\.\w+\(\[")
"""An array from a list, by the name of a number: NumPy's types have it as a number."""


def test_what_is_said_of_the_guide(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    texts: dict[str, list[str]] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        lines = [""] * len(text.splitlines())
        for start, language, body in blocks(text):
            if language == "python":
                lines[start : start + len(body)] = body
        name = f"{page.stem}_page.py"
        texts[name] = lines
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    said = [
        f"{name}: {rule}: {texts[name][line - 1].strip()}"
        for (name, line), rule in sorted(complaints(tmp_path).items())
        if not _OF_NUMPY.search(texts[name][line - 1])
    ]
    golden("guide_types.txt", "\n".join(said) + "\n")


def test_numbers_that_checkers_see() -> None:
    stub = ast.parse((ROOT / "src" / "weft" / "lang" / "scalars.pyi").read_text(encoding="utf-8"))
    lists = [
        node.value for node in stub.body if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node)
    ]
    assert [ast.literal_eval(found) for found in lists] == [scalars.__all__]
