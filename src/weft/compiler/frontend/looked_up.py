"""Tables known at compile time that are looked up at a place of run time: what to write instead."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any, cast

from weft.compiler.frontend.meaning import class_of, value_of
from weft.compiler.frontend.operations import Found, article, inserted, problem
from weft.compiler.ir.core import Value
from weft.diagnostics import INDEX, OBJECT
from weft.dtype import dtype_elsewhere, made_by
from weft.lang.number import Number
from weft.lang.spec import holds_values
from weft.lang.structs import is_struct


class LateIndex(Exception):
    """Stands for weft's own refusal of a run-time index."""


def looked_up(error: BaseException, node: ast.AST | None, frame: FrameType | None) -> Found | None:
    """A table known at compile time, looked up at a place known only at run time."""
    if not isinstance(node, ast.Subscript):
        return None
    table, stored = value_of(node.value, frame), isinstance(node.ctx, ast.Store)
    if stored and is_struct(made := cast("type[Any]", type(table))) and hasattr(table, "insert"):
        return inserted(made.__name__)
    late = isinstance(error, LateIndex) or _is_late(error, value_of(node.slice, frame))
    if stored and type(table).__name__ == "ndarray":  # NumPy takes no number of run time
        late = late or isinstance(error, (TypeError, ValueError))
    if isinstance(table, type) or not late:
        return None
    kind = "a table" if table is None else article(type(table).__name__)
    kind = {"an ndarray": "a NumPy array", "a ndarray": "a NumPy array"}.get(kind, kind)
    if stored:
        message = f"`{OBJECT}` is {kind} known at compile time, which a run-time value or index cannot change"
        return problem("not-compile-time", message, _memory_for(table, node.value, frame), part=INDEX)
    message = f"`{OBJECT}` is {kind} known at compile time, but the index `{INDEX}` exists only at run time"
    hints = _of_a_dict(cast("dict[Any, Any]", table)) if isinstance(table, dict) else (_indexable(table),)
    return problem("not-compile-time", message, hints, part=INDEX)


def _is_late(error: BaseException, index: Any) -> bool:
    """Whether a lookup failed since its index, or a dict's key, exists only at run time."""
    if isinstance(index, Number) and isinstance(index.value, Value):
        return True
    return bool(error.args and isinstance(error.args[0], Number)) or "valid indices" in str(error)


def _memory_for(table: Any, node: ast.expr, frame: FrameType | None) -> str:
    """What to write in place of storing into what is known at compile time."""
    length = len(table) if class_of(table) is list else getattr(table, "size", 0)
    kind = dtype_elsewhere(getattr(table, "dtype", None))
    name = "Float32" if kind is None or kind.is_float else made_by[kind.name].__name__
    if frame and isinstance(node, ast.Name) and node.id in frame.f_globals:
        return f"pass it as an argument, which a kernel can write: a parameter `{node.id}: Pointer[{name}]`"
    if class_of(table) is list and (kept := _array_of(cast("list[Any]", table))):
        return f"make it an array, which any index reads and writes: {kept}"
    return f"use memory of the thread: stack_allocation({name}, {length or 'n'})"


def _indexable(table: Any) -> str:
    """What to write in place of reading what is known at compile time at an index of run time."""
    if isinstance(table, (list, tuple)) and holds_values(table):
        items = cast("list[Any]", table)
        kept = _array_of(items) or f"InlineArray[Float32, {len(items)}](*{OBJECT})"
        return f"make it an array, which any index reads and writes: {kept}; or unroll the loop"
    if isinstance(table, (list, tuple)) and any(map(callable, cast("list[Any]", table))):
        return f"call each in a branch of its own: if {INDEX} == 0, and so on"
    instead = f"copy `{OBJECT}` into a buffer and pass that to the kernel, or unroll the loop"
    return _as_structs(table) or instead


def _array_of(items: list[Any] | tuple[Any, ...]) -> str:
    """The array of the numbers of a list; nothing where they have no one type."""
    plain = {"bool": "Bool", "int": "Int", "float": "Float32"}
    numbers = {type(item).__name__ for item in items if isinstance(item, Number)}
    held = numbers or {plain.get(cast("type[Any]", type(item)).__name__, "") for item in items}
    return f"InlineArray[{held.pop()}, {len(items)}](*{OBJECT})" if len(held) == 1 and "" not in held else ""


def _as_structs(table: Any) -> str:
    """What makes a table of a list of dataclasses or named tuples; nothing of all else."""
    items: Any = table
    while type(items) in (list, tuple) and items and type(items[0]) in (list, tuple):
        items = items[0]
    kinds: set[Any] = {*map(type, items)} if type(items) in (list, tuple) else set()
    kind: Any = kinds.pop() if len(kinds) == 1 else None
    named = kind is not None and tuple in kind.__mro__ and hasattr(kind, "_fields")
    if kind is None or is_struct(kind) or not (named or hasattr(kind, "__dataclass_fields__")):
        return ""
    name = f"{kind.__name__} a @struct{' in place of a NamedTuple' if named else ''}"
    return f"make {name}, its fields of weft's types, as `x: Float32`: a list of these takes any index"


def _of_a_dict(table: dict[Any, Any]) -> tuple[str, ...]:
    """What to write in place of looking a run-time key up."""
    each = f"compare it with each key: `for key, value in {OBJECT}.items(): if {INDEX} == key: ...`"
    if not table or not all(type(key) is int and 0 <= key < 1024 for key in table):
        return (each,)
    values = f"{OBJECT}.get(k, 0) for k in range({max(table) + 1})"
    return (f"a list can be indexed at run time: `[{values}][{INDEX}]`", each)
