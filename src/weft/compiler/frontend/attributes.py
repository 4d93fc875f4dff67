"""What to write for an attribute that an object, a class or a module has not."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, cast

from weft.compiler.frontend.names import (
    MATH,
    OF_ITEMS,
    OF_NUMBER_TYPES,
    OF_POINTERS,
    RENAMED,
    TENSOR_ALIASES,
    advice,
)
from weft.compiler.frontend.operations import Found, article, problem
from weft.diagnostics import OBJECT, nearest
from weft.diagnostics.instead import written_instead
from weft.lang.hints import ALIASES, OF_NUMBERS
from weft.lang.number import Number
from weft.lang.spec import is_composite

_ALIKE = 0.75
"""How much a name must be like another of a module to be meant: a module has many."""
_SHOWN = 12
"""A list of more names than this is not printed."""
_EXTENTS = frozenset({"shape", "size", "ndim", "rank", "stride", "strides", "dim", "numel", "layout"})


def _public(names: Iterable[str]) -> list[str]:
    return [n for n in names if not n.startswith("_")]


def unknown_attribute(error: AttributeError) -> Found | None:
    """What is said of an attribute that is missing; None where Python names none."""
    name, held = error.name, error.obj
    if not isinstance(name, str) or not name or held is None:
        return None
    if isinstance(held, (int, float)) and hasattr(Number, name):
        cls = "Bool" if isinstance(held, bool) else "Int" if isinstance(held, int) else "Float32"
        what = f"`{OBJECT}` (the {type(held).__name__} {held!r}, known at compile time)"
        hint = f"write {cls}({OBJECT}), which has it"
        return problem("unknown-attribute", f"{what} has no attribute `{name}`", hint)
    module = isinstance(held, ModuleType)
    known = _public(getattr(held, "__all__", dir(held)) if module else dir(held))
    if isinstance(held, ModuleType):
        what = f"the module `{held.__name__}`"
    elif isinstance(held, type):
        what = f"the class {held.__name__}"
    else:
        shown = isinstance(held, Number) or is_composite(held)
        what = f"`{OBJECT}` ({article(type(held).__name__)})" if shown else f"`{OBJECT}`"
    guess = (ALIASES if isinstance(held, Number) else TENSOR_ALIASES).get(name)
    guess = (guess if guess in known else None) or nearest(name, known, _ALIKE if module else 0.6)
    notes = (f"it has {', '.join(known)}",) if not module and 0 < len(known) <= _SHOWN else ()
    hint = _instead(held, name, known, guess)
    hint = hint or (f"write `{guess}`" if guess else "write one of these" if notes else "")
    if not hint and "Pointer" in (type(held).__name__, getattr(held, "__name__", "")):
        hint = OF_POINTERS.get(name, "")
    if not hint:
        hint = (isinstance(held, type) and advice(name)) or "look it up in the reference"
    return problem("unknown-attribute", f"{what} has no attribute `{name}`", hint, *notes)


def _instead(held: Any, name: str, known: list[str], guess: str | None) -> str:
    """What to write for an attribute that a kind of object has under another form; empty for all others."""
    kind = type(held).__name__
    if isinstance(held, ModuleType):
        return _of_module(held, name)
    if isinstance(held, type):
        of_numbers = issubclass(cast("type[Any]", held), Number) and name in OF_NUMBER_TYPES
        return f"write {OF_NUMBER_TYPES[name]}({held.__name__}), from weft.numerics" if of_numbers else ""
    if isinstance(held, Number):
        return _of_number(held, name, known, guess)
    if kind == "Pointer" and name in _EXTENTS:
        return "a pointer knows no extents: pass them to the kernel beside it, or take a LayoutTensor"
    if (kind == "tuple" or hasattr(cast("type[Any]", type(held)), "__weft_items__")) and name in OF_ITEMS:
        return OF_ITEMS[name].format(OBJECT)
    return written_instead(held, name, OBJECT) or of_mathematics(held, name, OBJECT)


def of_mathematics(held: object, name: str, shown: str) -> str:
    """What a kind of object says of functions that ``weft.math`` has, of one with this name."""
    return written_instead(held, "math.", shown, name=name) if name in MATH else ""


def _of_number(number: Number, name: str, known: list[str], guess: str | None) -> str:
    """The same of a number."""
    if name in OF_NUMBERS:
        return OF_NUMBERS[name].format(OBJECT)
    if name in MATH and name not in known and guess not in ALIASES.values():
        return f"write weft.math.{name}({OBJECT})"
    if not set(name) <= set("xyzw"):
        return ""
    if number.lanes == 1:
        return "leave it out: it is one number"
    return f"write {OBJECT}[{'xyzw'.find(name)}]" if len(name) == 1 else f"write vec4({OBJECT}).{name}"


def _of_module(module: ModuleType, name: str) -> str:
    """What to write for a name that a module has not: its counterpart, or a method of one of its classes."""
    package = module.__name__.rpartition(".")[0]
    if found := written_instead(module, name):
        return found
    classes = [vars(module).get(n) for n in getattr(module, "__all__", ())]
    having = [c for c in classes if isinstance(c, type) and name in _public(vars(c))]
    if len(having) == 1:
        return f"it is a method of {having[0].__name__}: write t.{name}(...)"
    return (package.startswith("weft") and advice(RENAMED.get(name, name))) or ""
