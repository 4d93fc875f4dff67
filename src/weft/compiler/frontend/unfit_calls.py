"""What Python says of a call that does not fit what is called, in the words of the language."""

from __future__ import annotations

import ast
import inspect
import re
from types import FrameType
from typing import Any, get_origin

from weft.compiler.frontend.meaning import value_of
from weft.compiler.frontend.operations import Found, problem
from weft.diagnostics import OBJECT
from weft.diagnostics.instead import MARK, instead_of_kind, said_by_module
from weft.lang.number import Number

_CALL = re.compile(r"(?:[\w.<>]*\.)?([\w<>]+)\(\) (takes|got|missing)\b")
_CONSTRUCT = re.compile(r"^(\w+)\.__init__\(\)")


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


def unfit_call(error: TypeError, node: ast.AST | None, frame: FrameType | None) -> Found | None:
    """What is said of the call at ``node``; None where Python complains of something else."""
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
