"""Errors that Python itself raises over a kernel's text, in the words of the language.

A misspelt attribute, an operator between strangers, a call that does not fit: running the staged
function lets Python find them. What Python says is about its own types; here it becomes what was
found, what is there, and what to write instead.
"""

from __future__ import annotations

import ast
import re
from enum import Enum, EnumMeta
from types import FrameType, ModuleType
from typing import cast

from weft.compiler.frontend.attributes import of_mathematics, unknown_attribute
from weft.compiler.frontend.cures import loop_for_next, shared_by_nonlocal
from weft.compiler.frontend.handed import handed_on, numpys
from weft.compiler.frontend.looked_up import LateIndex, looked_up
from weft.compiler.frontend.meaning import class_of, value_of
from weft.compiler.frontend.names import MATH, NUMPYS, RENAMED
from weft.compiler.frontend.operations import Found, article, not_combined, not_done, operand_hint, problem
from weft.compiler.frontend.unassigned import unassigned
from weft.compiler.frontend.unfit_calls import unfit_call
from weft.compiler.frontend.unread import computes
from weft.diagnostics import VALUE, Diagnostic, Location, nearest
from weft.diagnostics.wrote import Source, source_of
from weft.dtype import dtype_elsewhere, dtype_hint, made_by
from weft.lang.spec import is_composite
from weft.record import replace

_COUNT = re.compile(
    r"(too many|not enough) values to unpack \(expected (?:at least )?(\d+)(?:, got (\d+))?\)"
)
_UNDEFINED = re.compile(r"`(\w+)` (?:may be undefined|is used before)")
_UNBOUND = re.compile(r"variable '(\w+)'")
_PYTHON_MATH = frozenset({"math", "cmath", "numpy", "operator", "statistics", "cupy", "torch", "jax"})


def _module_of(node: ast.AST | None, frame: FrameType | None) -> str:
    """The package of the function that a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    callee = value_of(node.func, frame)
    held = value_of(node.func.value, frame) if isinstance(node.func, ast.Attribute) else None
    module = held.__name__ if isinstance(held, ModuleType) else getattr(callee, "__module__", None)
    return str(module or getattr(class_of(callee), "__module__", "")).split(".")[0]


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
        return of_mathematics(given, name, text) or "loop over its elements and compute with one at a time"
    return f"write weft.math.{name}({text})"


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
    found = _python_math(node, frame) or looked_up(error, node, frame)
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
        found = unknown_attribute(error) if error.name == node.attr else None  # what an element is asked for
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
    if isinstance(node, ast.Assign) and count < 3 and all(hasattr(class_of(held), axis) for axis in "xyz"):
        names, text = ast.unparse(node.targets[0]).strip("()"), ast.unparse(node.value)
        return f"write {names} = {', '.join(f'{text}.{axis}' for axis in 'xyz'[:count])}"
    return "name as many variables as there are values"


def _direct(
    error: BaseException, node: ast.AST | None, frame: FrameType | None, source: Source | None
) -> Found | None:
    if isinstance(error, AttributeError):
        return unknown_attribute(error)
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
    return not_combined(error) or not_done(error, node, source) or unfit_call(error, node, frame)


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
    found = _python_math(node, frame) or looked_up(LateIndex(), node, frame) or handed_on(node, frame)
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
