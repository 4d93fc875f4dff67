"""What Python says of operations that an object does not have: operators, calls, indices, loops.

Each becomes what was found, and what to write instead.
"""

from __future__ import annotations

import ast
import builtins
import re

from weft.diagnostics import INDEX, LEFT, OBJECT, RIGHT, STORED, VALUE, Diagnostic, a_
from weft.diagnostics.instead import instead_of_kind
from weft.diagnostics.wrote import Source
from weft.lang.above import above

__all__ = ["Found", "article", "inserted", "not_combined", "not_done", "operand_hint", "problem"]

Found = tuple[Diagnostic, object]
"""What is wrong, and which part of the expression is meant."""
_BINARY = re.compile(r"unsupported operand type\(s\) for (.+?):? '(.+)' and '(.+)'")
_COMPARE = re.compile(r"'(.+)' not supported between instances of '(.+)' and '(.+)'")
_JOINED = re.compile(r"can only concatenate (str|list|tuple) \(not \"(.+)\"\) to \1")
_UNARY = re.compile(r"bad operand type for (?:unary )?(.+): '(.+)'")
_VERB = re.compile(
    r"'(.+)' object (is not callable|is not subscriptable|is not iterable|does not support item assignment)"
)
_NAMED = {"NoneType": "None", "type": "a class", "function": "a function", "method": "a method"}
_UNPACK = re.compile(r"cannot unpack non-iterable (.+) object")


def problem(
    code: str, message: str, hint: str | tuple[str, ...] = "", *notes: str, part: object = None
) -> Found:
    """One thing that is wrong, which has no place yet."""
    hints = (hint,) if isinstance(hint, str) else hint
    return Diagnostic(code, message, notes=notes, hints=tuple(filter(None, hints))), part


def article(kind: str) -> str:
    """The name of a class with its article."""
    return _NAMED.get(kind) or a_(kind)


def operand_hint(left: str, right: str) -> str:
    """Of two that no operator combines, by the names of their classes."""
    kinds = {left, right}
    if kinds == {"Pointer"}:
        return "compute with their indices, or read their elements: p[i]"
    if "Pointer" in kinds:
        return "read an element, as in p[i], or move a pointer by p + n"
    if kinds & {"function", "method", "builtin_function_or_method"}:
        return "call it: write the parentheses"
    if "type" in kinds:
        return "make a value of the class: write Float32(...) and so on"
    if "NoneType" in kinds:
        return "give it a value first; a function without `return` gives None"
    if told := _of_either(left, right, "+{}"):
        return told
    if "complex" in kinds:
        return "write ComplexFloat32(re, im), from weft.complex"
    if kinds & {"str", "list", "tuple", "dict", "set", "ndarray"}:
        return "a kernel computes with numbers: take one out of it at compile time"
    told = _of_either(left, right, "+")
    return told or "convert one of them, or define the operator as a method of the @struct"


def _of_either(left: str, right: str, asked: str) -> str:
    """What the class of one of two says of an operator that it has not, beside the other, which is ``{}``."""
    told = instead_of_kind(left, asked.format(right), LEFT)
    return told or instead_of_kind(right, asked.format(left), RIGHT)


def compared_hint(left: str, right: str) -> str:
    """The same of two that are compared."""
    return _of_either(left, right, "<") or operand_hint(left, right)


def not_combined(error: TypeError) -> Found | None:
    """What Python says that an operator does not take."""
    text = str(error)
    if m := _BINARY.match(text):
        op, left, right = m.groups()
        op = {"** or pow()": "**"}.get(op, op.rstrip("=") if op not in ("==",) else op)
        product = _of_either(left, right, "@") or "write the sum of the products as a loop"
        hint = product if op == "@" else operand_hint(left, right)
        return problem("operand", f"`{op}` cannot combine {article(left)} with {article(right)}", hint)
    if m := _JOINED.match(text):
        hint = operand_hint(m[1], m[2])
        if m[1] == "str":
            hint = 'write an f-string, f"n is {n}", or print them one by one: print(a, b)'
        return problem("operand", f"`+` cannot combine {article(m[1])} with {article(m[2])}", hint)
    if m := _COMPARE.match(text):
        op, left, right = m.groups()
        message = f"`{op}` cannot compare {article(left)} with {article(right)}"
        return problem("operand", message, compared_hint(left, right))
    if m := _UNARY.match(text):
        message = f"`{m[1]}` takes a number, not {article(m[2])}"
        return problem("operand", message, operand_hint(m[2], m[2]))
    return None


_VERBS = {
    "is not subscriptable": (
        "index",
        "cannot be indexed",
        "index a pointer, a tensor, a tuple or a SIMD value",
    ),
    "is not iterable": (
        "iteration",
        "cannot be looped over",
        "loop over range(n) and index, or unroll a tuple",
    ),
}


def not_done(error: TypeError, node: ast.AST | None, source: Source | None) -> Found | None:
    """What Python says that an object is not or does not do: called, indexed, looped over, unpacked."""
    text = str(error)
    statement = None if source is None or node is None else source.statement_of(node)
    if (isinstance(statement, ast.Assign) and statement.value is node) or statement is node:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Tuple, ast.List)):
            text = re.sub(r"'(.+)' object is not iterable", r"cannot unpack non-iterable \1 object", text)
    if m := _UNPACK.match(text):
        return _unpacked(m[1])
    m = _VERB.match(text)
    if m is None:
        return None
    kind, verb = m[1].removeprefix("typing."), m[2]
    if verb == "is not callable":
        return _called(kind, node)
    if verb == "does not support item assignment":
        return _item_assigned(kind)
    code, words, hint = _VERBS[verb]
    if kind == "Pointer" and code == "iteration":
        hint = f"loop over range(n) and index: {VALUE}[i]"
    if kind in ("function", "method") and code == "index":
        hint = _parentheses(node)
    elif code == "index":
        hint = instead_of_kind(kind, "[]", OBJECT) or hint
    return problem(code, f"{article(kind)} {words}", hint, part=VALUE if code == "iteration" else None)


def _unpacked(kind: str) -> Found:
    hint = f"take its lanes: {VALUE}[0]" if kind.startswith("SIMD[") else "assign it to one variable"
    if kind.startswith("SIMD[") and kind.endswith((", 2]", ", 4]")):
        hint = f"write vec{kind[-2]}({VALUE}), from weft.linalg, or take its lanes: {VALUE}[0]"
    return problem("unpack", f"{article(kind)} is one value and cannot be unpacked", hint, part=VALUE)


def _called(kind: str, node: ast.AST | None) -> Found:
    shown = article(kind)
    attribute = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
    hint = "leave out the parentheses" if attribute else "call a function, a lambda or a class"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id):
        hint = f"give the variable another name: it hides Python's `{node.func.id}`"
    if kind == "TypeVar":
        hint = "only kernels and @funcs outside know what it stands for: decorate it, or write type(x)(...)"
    if isinstance(node, ast.Call):
        shown = f"`{ast.unparse(node.func)}` is {shown}"
        hint = instead_of_kind(kind, "()", ast.unparse(node.func)) or hint
    return problem("call", f"{shown}, which cannot be called", hint)


def _item_assigned(kind: str) -> Found:
    if above().exporter(kind):
        return inserted(kind)
    hint = instead_of_kind(kind, "[]=", OBJECT) or "write to a pointer or a tensor, or make a new value"
    if kind in ("function", "method"):
        hint = f"call it: {OBJECT}(...)"
    return problem("item-assignment", f"the items of {article(kind)} cannot be assigned", hint)


def _parentheses(node: ast.AST | None) -> str:
    """What to write where a function is indexed: ``t.load[width](i)`` is ``t.load(i, width=...)``."""
    hint = "call it, with all arguments in parentheses"
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute))):
        return hint
    called, within = ast.unparse(node.value), ast.unparse(node.slice).strip("()")
    if called.endswith(".store"):
        return f"{hint}: {called}(..., value)"
    if called.endswith(".load"):
        return f"{hint}: {called}(..., width={within})"
    return f"{hint}: {called}({within})"


def inserted(kind: str) -> Found:
    """A lane or a number of a vector is assigned."""
    message = f"the lanes of {article(kind)} are assigned in kernels and @funcs alone, not in a helper"
    note = f"{article(kind)} is a value like a number: changing a lane makes a new one"
    hint = f"write {OBJECT} = {OBJECT}.insert({INDEX}, {STORED})"
    return problem("item-assignment", message, hint, note)
