"""Errors that Python itself raises over a kernel's text, in the words of the language.

A misspelt attribute, an operator between strangers, a call that does not fit: running the staged
function lets Python find them. What Python says is about its own types; here it becomes what was
found, what is there, and what to write instead.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from enum import Enum, EnumMeta
from types import FrameType, ModuleType
from typing import Any, cast, get_origin

from weft.compiler.frontend.cures import loop_for_next, shared_by_nonlocal
from weft.compiler.frontend.handed import handed_on, numpys
from weft.compiler.frontend.meaning import value_of
from weft.compiler.frontend.names import (
    MATH,
    NUMPYS,
    OF_ITEMS,
    OF_NUMBER_TYPES,
    OF_POINTERS,
    RENAMED,
    TENSOR_ALIASES,
    advice,
)
from weft.compiler.frontend.operations import (
    Found,
    article,
    inserted,
    not_combined,
    not_done,
    operand_hint,
    problem,
)
from weft.compiler.frontend.unassigned import unassigned
from weft.compiler.frontend.unread import computes
from weft.compiler.ir.core import Value
from weft.diagnostics import INDEX, OBJECT, VALUE, Diagnostic, Location, nearest
from weft.diagnostics.instead import MARK, instead_of_kind, said_by_module, written_instead
from weft.diagnostics.wrote import Source, source_of
from weft.dtype import dtype_elsewhere, dtype_hint, made_by
from weft.lang.hints import ALIASES, OF_NUMBERS
from weft.lang.number import Number
from weft.lang.spec import holds_values, is_composite
from weft.lang.structs import is_struct
from weft.record import replace

_COUNT = re.compile(
    r"(too many|not enough) values to unpack \(expected (?:at least )?(\d+)(?:, got (\d+))?\)"
)
_CALL = re.compile(r"(?:[\w.<>]*\.)?([\w<>]+)\(\) (takes|got|missing)\b")
_CONSTRUCT = re.compile(r"^(\w+)\.__init__\(\)")
_UNDEFINED = re.compile(r"`(\w+)` (?:may be undefined|is used before)")
_UNBOUND = re.compile(r"variable '(\w+)'")
_PYTHON_MATH = frozenset({"math", "cmath", "numpy", "operator", "statistics", "cupy", "torch", "jax"})
_ALIKE = 0.75
"""How much a name must be like another of a module to be meant: a module has many."""
_SHOWN = 12
"""A list of more names than this is not printed."""


_EXTENTS = frozenset({"shape", "size", "ndim", "rank", "stride", "strides", "dim", "numel", "layout"})


def _class_of(value: object) -> type[object]:
    return type(value)


def _public(names: Iterable[str]) -> list[str]:
    return [n for n in names if not n.startswith("_")]


def _attribute(error: AttributeError) -> Found | None:
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
    if (kind == "tuple" or hasattr(_class_of(held), "__weft_items__")) and name in OF_ITEMS:
        return OF_ITEMS[name].format(OBJECT)
    return written_instead(held, name, OBJECT) or _of_mathematics(held, name, OBJECT)


def _of_mathematics(held: object, name: str, shown: str) -> str:
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


def _parameters(callee: Any) -> list[inspect.Parameter] | None:
    """The parameters of what a call calls, without ``self``; None where nobody knows them."""
    callee = get_origin(callee) or callee
    if isinstance(callee, type) and callee.__init__ is not object.__init__:
        callee = callee.__init__
    try:
        found = inspect.signature(callee).parameters
    except (TypeError, ValueError):
        return None
    return [p for n, p in found.items() if n != "self"]


def _signature(callee: Any) -> str:
    params = _parameters(callee)
    if params is None:
        return ""
    kept = [p.replace(annotation=inspect.Parameter.empty) for p in params]
    return str(inspect.Signature(kept))


def _call(error: TypeError, node: ast.AST | None, frame: FrameType | None) -> Found | None:
    text = re.sub(r"^__weft[\w.<>]*\.(?=[\w<>]+\(\))", "", str(error)).replace("<lambda>()", "this lambda")
    text = text.replace("kernel_print()", "print()")
    m = _CALL.match(text.replace("this lambda", "lambda()"))
    if m is None:
        return None
    name = c[1] if (c := _CONSTRUCT.match(text)) else m[1]
    if name == "Number" and isinstance(node, ast.Call):  # the base of Float32 and the others
        text = text.replace(name, ast.unparse(node.func), 1)
        name = ast.unparse(node.func)
        text = text.replace(".__init__()", "()")
    callee = value_of(node.func, frame) if isinstance(node, ast.Call) else None
    if callee is None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        for cls in (Number,):
            callee = getattr(cls, node.func.attr, None)
    message = text.replace(f"{name}.__init__()", f"{name}()")
    shape = _signature(callee) if callee is not None else ""
    notes = [f"it is {name}{shape}"] if shape else []
    if hint := _of_argument(text, callee):
        return problem("call", message, hint, *notes)
    told = _misfit(name, callee, node)
    return problem("call", *(told or (message, "give it the arguments that it takes")), *notes)


def _of_argument(text: str, callee: Any) -> str:
    """What to write for an argument that others' function of this name has."""
    kind = m[1] if (m := re.match(r"(?:[\w.<>]*\.)?(\w+)\.\w+\(\) ", text)) else ""
    of_module: dict[str, str] = said_by_module(str(getattr(callee, "__module__", "")), MARK) or {}
    words = re.findall(r"'(\w+)'", text)
    for asked in [f"{word}=" for word in words]:
        if told := instead_of_kind(kind, asked) or of_module.get(asked, ""):
            return told
    if "mask" in words or "other" in words:
        return f"write {OBJECT}[i] if mask else 0.0, and an if before a store; a Pointer takes mask="
    return ""


def _misfit(name: str, callee: Any, node: ast.AST | None) -> tuple[str, str] | None:
    """What is wrong with the arguments of a call first of all, and what to write; None where nobody knows."""
    from weft.diagnostics.unfit import misfits

    params = _parameters(callee)
    if params is None or not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    named = {keyword.arg: None for keyword in node.keywords if keyword.arg is not None}
    if len(named) < len(node.keywords):
        return None
    for found, _ in misfits(name, params, node.args, named).found:
        return found.message, found.hints[0]
    return None


def _module_of(node: ast.AST | None, frame: FrameType | None) -> str:
    """The package of the function that a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    callee = value_of(node.func, frame)
    held = value_of(node.func.value, frame) if isinstance(node.func, ast.Attribute) else None
    module = held.__name__ if isinstance(held, ModuleType) else getattr(callee, "__module__", None)
    return str(module or getattr(_class_of(callee), "__module__", "")).split(".")[0]


def _python_math(node: ast.AST | None, frame: FrameType | None) -> Found | None:
    module = _module_of(node, frame)
    if module not in _PYTHON_MATH or not isinstance(node, ast.Call):
        return None
    written = ast.unparse(node.func)
    name = getattr(value_of(node.func, frame), "__name__", written.rpartition(".")[2])
    late = next((a for a in node.args if not isinstance(a, ast.Constant)), None)
    shown = VALUE if late is None or late is node.args[0] else ast.unparse(late)
    message = f"`{written}` is Python's and computes at compile time, but `{shown}` exists only at run time"
    return problem("not-compile-time", message, _in_weft(node, name, frame))


def _in_weft(call: ast.Call, name: str, frame: FrameType | None) -> str:
    """What to write for a function of ``math`` or NumPy."""
    name = RENAMED.get(name, name)
    kind = dtype_elsewhere(value_of(call.func, frame))
    if kind is not None:
        return f"write {made_by[kind.name].__name__}({VALUE})"
    if name in NUMPYS:
        return NUMPYS[name]
    if not call.args or name not in MATH:
        return "see what weft.math has, or write it with @func"
    given = value_of(call.args[0], frame)
    shown = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else call.args
    text = ", ".join(map(ast.unparse, shown))
    if is_composite(given):
        return _of_mathematics(given, name, text) or "loop over its elements and compute with one at a time"
    return f"write weft.math.{name}({text})"


def _lookup(error: BaseException, node: ast.AST | None, frame: FrameType | None) -> Found | None:
    """A table known at compile time, looked up at a place known only at run time."""
    if not isinstance(node, ast.Subscript):
        return None
    table, stored = value_of(node.value, frame), isinstance(node.ctx, ast.Store)
    if stored and is_struct(made := cast("type[Any]", type(table))) and hasattr(table, "insert"):
        return inserted(made.__name__)
    late = isinstance(error, _LateIndex) or _is_late(error, value_of(node.slice, frame))
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
    length = len(table) if _class_of(table) is list else getattr(table, "size", 0)
    kind = dtype_elsewhere(getattr(table, "dtype", None))
    name = "Float32" if kind is None or kind.is_float else made_by[kind.name].__name__
    if frame and isinstance(node, ast.Name) and node.id in frame.f_globals:
        return f"pass it as an argument, which a kernel can write: a parameter `{node.id}: Pointer[{name}]`"
    if _class_of(table) is list and (kept := _array_of(cast("list[Any]", table))):
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


class _LateIndex(Exception):
    """Stands for weft's own refusal of a run-time index."""


def translated(
    error: BaseException,
    place: Location,
    frame: FrameType | None,
    *,
    direct: bool,
    inside: bool,
    helper: str,
) -> Found:
    """What to say of an exception that is not weft's, and which part of the expression is meant.

    Args:
        error: the exception.
        place: the innermost expression of the user's that it passed.
        frame: the frame of that place.
        direct: whether it was raised there and not in something called.
        inside: whether it was raised within weft.
        helper: the name of the plain function that the place lies in, if it is one.
    """
    source = source_of(place.file)
    node = None if source is None else source.at(place)
    found = _python_math(node, frame) or _lookup(error, node, frame)
    if isinstance(error, (AttributeError, TypeError)) and (frame is None or not direct):
        found = found or handed_on(node, frame)
    if found is None and direct:
        found = _direct(error, node, frame, source)
    if found is not None:
        return found
    kind = type(error).__name__
    if str(error).endswith("is not an iterator") and (loop := loop_for_next(node, source)):
        return problem(
            "not-compile-time", "`next` takes items that Python goes through at compile time", loop
        )
    if isinstance(error, AssertionError) and str(error).startswith("Expected code to be unreachable"):
        hint = "match what is left before, or write `assert False, message` for what happens at run time"
        return problem("unreachable", "`assert_never` can be reached here", hint)
    if isinstance(error, RecursionError):
        name = helper or "this call"
        hint = "end it by a condition known at compile time, or write a loop"
        return problem("recursion", f"{name} calls itself without end at compile time", hint)
    if inside and isinstance(error, AttributeError) and isinstance(node, ast.Attribute):
        found = _attribute(error) if error.name == node.attr else None  # what an element is asked for
        if found is not None:
            return found
    if inside and isinstance(error, TypeError):
        plain = numpys(error) or _plain(error, node)
        if plain is not None:
            return plain
    if inside and _is_of_mathematics(error):
        hint = "give it a number of weft's, such as Float32(...) or Int(...), for what it gives at run time"
        return problem("compile-time-error", f"{kind} at compile time: {error}", hint)
    if inside:
        message = f"weft itself failed here: {kind}: {error}"
        hint = "this is a defect of weft: please report it with the lines above"
        return problem("internal-error", message, hint)
    text = f"{kind} at compile time: {error}" if str(error) else f"{kind} at compile time"
    hint = f"{helper} is ordinary Python and runs at compile time" if helper else ""
    return problem("compile-time-error", text, hint)


def _is_of_mathematics(error: BaseException) -> bool:
    """Whether a function that only computes was given numbers for which Python's own has no value."""
    if not isinstance(error, (ValueError, ArithmeticError)):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and computes(str(trace.tb_frame.f_globals.get("__name__")))


def _plain(error: TypeError, node: ast.AST | None) -> Found | None:
    """A TypeError that Python raised within weft over an argument of the user's."""
    text = str(error)
    if isinstance(node, (ast.BinOp, ast.Compare)) and (found := not_combined(error)):
        return found
    called = f"{ast.unparse(node.func)}(...)" if isinstance(node, ast.Call) else "this"
    if m := re.match(r"must be real number, not (.+)", text):
        hint = operand_hint(m[1], m[1])
        return problem("operand", f"{called} takes a number, not {article(m[1])}", hint)
    if m := re.match(r"(.+) is not an element type", text):
        message = f"{called} takes an element type, which {m[1]} is not"
        hint = dtype_hint(getattr(error, "meant", m[1]))
        hint = "write the element type first, then the number" if m[1].isdigit() else hint
        return problem("element-type", message, hint)
    return None


def _unpacked(node: ast.AST | None, frame: FrameType | None, count: int) -> str:
    """How to take so many of the values that are there."""
    held = value_of(node.value, frame) if isinstance(node, ast.Assign) else None
    if isinstance(node, ast.Assign) and count < 3 and all(hasattr(_class_of(held), axis) for axis in "xyz"):
        names, text = ast.unparse(node.targets[0]).strip("()"), ast.unparse(node.value)
        return f"write {names} = {', '.join(f'{text}.{axis}' for axis in 'xyz'[:count])}"
    return "name as many variables as there are values"


def _direct(
    error: BaseException, node: ast.AST | None, frame: FrameType | None, source: Source | None
) -> Found | None:
    if isinstance(error, AttributeError):
        return _attribute(error)
    if isinstance(error, NameError):
        name = m[1] if (m := _UNBOUND.search(str(error))) else error.name
        known = () if frame is None else (*frame.f_locals, *frame.f_globals)
        guess = nearest(str(name), [each for each in known if not each.startswith("__weft")])
        if m:
            message, hint, notes = unassigned(m[1], node, source)
            return problem("undefined", message, shared_by_nonlocal(m[1], node, source) or hint, *notes)
        hint = f"did you mean `{guess}`?" if guess else f"assign `{name}` before"
        return problem("unknown-name", f"`{name}` is not defined", hint)
    if isinstance(error, ValueError) and (m := _COUNT.match(str(error))):
        count = (
            f", not {m[3]}"
            if m[3]
            else f", and there are {m[1].replace('not enough', 'fewer').replace('too many', 'more')}"
        )
        hint = _unpacked(node, frame, int(m[2]))
        return problem("unpack", f"{m[2]} values are needed here{count}", hint)
    if not isinstance(error, TypeError):
        return None
    return not_combined(error) or not_done(error, node, source) or _call(error, node, frame)


def _sorting(node: ast.AST | None) -> Found | None:
    """What Python sorts by asking which is less."""
    func = node.func if isinstance(node, ast.Call) else None
    if getattr(func, "id", getattr(func, "attr", None)) not in ("sorted", "sort"):
        return None
    return problem(
        "not-compile-time",
        "what exists only at run time is not sorted by Python, which would have to know what is less",
        "write the exchanges: a, b = min(a, b), max(a, b); of many numbers in an InlineArray, by loops",
    )


def _member(node: ast.AST | None, frame: FrameType | None) -> Found | None:
    """``Mode(n)``, of a number known at run time."""
    cls = value_of(node.func, frame) if isinstance(node, ast.Call) else None
    if not isinstance(cls, EnumMeta) or not isinstance(node, ast.Call) or not node.args:
        return None
    name, number = cls.__name__, ast.unparse(node.args[0])
    first, *_ = cast("list[Enum]", [*cls])
    member = f"{name}.{first.name}"
    hint = f"compare the number: {number} == {member}.value; or choose: {member} if ... else ..."
    if issubclass(cls, int):
        hint = f"write {number} itself: members of {name} are Ints, and are compared with it"
    message = f"`{name}({number})` asks at compile time for a member, but `{number}` exists only at run time"
    return problem("not-compile-time", message, hint)


def _cure(diagnostic: Diagnostic, node: ast.AST | None, source: Source | None) -> str:
    """What to write instead, where what stands around the place tells more than who refuses it knows."""
    if diagnostic.code == "undefined" and (m := _UNDEFINED.match(diagnostic.message)):
        return shared_by_nonlocal(m[1], node, source)
    return loop_for_next(node, source) if diagnostic.code == "not-compile-time" else ""


def refined(
    diagnostic: Diagnostic,
    part: object,
    place: Location,
    frame: FrameType | None,
    helper: str,
    known: bool | None,
) -> Found:
    """A refusal of weft's, said more exactly where the expression at ``place`` allows it.

    ``known`` tells of a number that Python wanted to know the value of: whether it did so right there
    and not within weft; None of any other refusal.
    """
    source = source_of(place.file)
    node = None if source is None else source.at(place)
    if cure := _cure(diagnostic, node, source):
        return replace(diagnostic, hints=(cure,)), part
    if diagnostic.code != "not-compile-time":
        return diagnostic, part
    if known is None:
        return handed_on(node, frame) or (diagnostic, part)
    found = _python_math(node, frame) or _lookup(_LateIndex(), node, frame) or handed_on(node, frame)
    if found is not None:
        return found
    found = _sorting(node) or _member(node, frame)
    if found is not None:
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        message = "`%` of a text computes at compile time, but what it shows exists only at run time"
        hint = 'write an f-string: print(f"{x}"), or {x:.3f} for three places'
        return problem(diagnostic.code, message, hint)
    if known and not helper and isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        message = diagnostic.message.split(" needs ")[-1]
        hint = "write it with `if`, or with min and max, which are compiled"
        if not message.endswith("this Bool exists only at run time"):
            hint = diagnostic.hints[0]
        message = f"`{called}` runs at compile time and needs {message}"
        return problem(diagnostic.code, message, hint)
    if not known and not helper:
        message = diagnostic.message.split(" needs ")[-1]
        hint = "pass it as a Comptime parameter, or write a Python value"
        return problem(diagnostic.code, f"this needs {message}", hint)
    if helper:
        hint = f"{helper} is ordinary Python and runs at compile time; decorate it with @func to compile it"
        if helper in ("__init__", "__post_init__"):
            hint = f"{helper} runs at compile time: let a @func decide, as in self.x = f(self.x, y)"
        return problem(diagnostic.code, diagnostic.message, hint, *diagnostic.notes, part=part)
    return diagnostic, part
