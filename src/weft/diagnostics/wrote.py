"""What the user wrote at a place: the syntax there, so that a message can point at a part and quote it.

A message may hold the marks of ``weft.diagnostics.diagnostic`` (``LEFT``, ``VALUE``, ...);
``resolved`` puts the user's own words in their place. Only errors come here: files are parsed anew.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import re
from collections.abc import Callable, Collection

from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.location import Location, character_column
from weft.diagnostics.syntax import parsed
from weft.record import replace

_MARK = re.compile("([(`]|, |)\ue000([a-z]+)\ue001([)`,]?)")
_IN_PLACE = re.compile("(\ue000left\ue001) (\\S+) (\ue000right\ue001)")
"""An operator between the operands, which stands before ``=`` where the statement is one."""
_CONVERTED = re.compile("^write (?=\\w+\\(\ue000stored\ue001\\)$)")
"""What becomes of the value that is stored, which an augmented assignment does not spell."""
_GENERIC = {"left": "a", "right": "b", "value": "...", "stored": "...", "index": "...", "object": "x"}
_LONGEST = 32
"""A longer expression is not quoted in the middle of a sentence."""
_LOOSE = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.UnaryOp, ast.NamedExpr)
_Span = tuple[int, int, int, int]


def node_location(node: ast.AST, file: str) -> Location:
    """Where a node stands, with columns in characters; of a block, its head."""
    line: int = getattr(node, "lineno", 1)
    end: int = getattr(node, "end_lineno", None) or line
    column = character_column(file, line, getattr(node, "col_offset", 0))
    if isinstance(node, (ast.stmt, ast.ExceptHandler)) and isinstance(getattr(node, "body", None), list):
        head = linecache.getline(file, line).split("#")[0].rstrip()
        return Location(file, line, column, line, max(column + 1, len(head)))
    return Location(file, line, column, end, character_column(file, end, getattr(node, "end_col_offset", 0)))


class Source:
    """The syntax tree of a file, looked up by place."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.parents: dict[ast.AST, ast.AST] = {}
        self.spans: dict[_Span, ast.AST] = {}
        self.statements: dict[tuple[int, int], ast.stmt] = {}
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, (ast.expr, ast.stmt)):
                end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
                self.spans[node.lineno, node.col_offset, *end] = node
            if isinstance(node, ast.stmt):
                self.statements[node.lineno, node.col_offset] = node

    def at(self, place: Location | None) -> ast.AST | None:
        """The expression or statement that takes up exactly this place; of several, the innermost."""
        if place is None or place.end_line is None or place.end_column is None or place.file != self.file:
            return None
        end = place.end_line, _byte_column(self.file, place.end_line, place.end_column)
        return self.spans.get((place.line, _byte_column(self.file, place.line, place.column), *end))

    def statement(self, line: int, byte_column: int) -> ast.stmt | None:
        """The statement that begins here."""
        return self.statements.get((line, byte_column))

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The statement that holds a node."""
        found: ast.AST | None = node
        while found is not None and not isinstance(found, ast.stmt):
            found = self.parents.get(found)
        return found

    def function_of(self, node: ast.AST) -> ast.FunctionDef | None:
        """The function that holds a node."""
        found: ast.AST | None = self.parents.get(node)
        while found is not None and not isinstance(found, ast.FunctionDef):
            found = self.parents.get(found)
        return found

    def place(self, node: ast.AST) -> Location:
        """Where a node stands."""
        return node_location(node, self.file)


def _byte_column(file: str, line: int, column: int) -> int:
    text = linecache.getline(file, line)
    return column if text.isascii() else len(text[:column].encode())


def source_of(file: str) -> Source | None:
    """The syntax of a file or of a notebook's cell, or None where it cannot be had."""
    return _parsed(file, "".join(linecache.getlines(file)))


def statement_place(
    file: str, line: int, byte_column: int, part: Callable[[ast.stmt], ast.AST | None] | None = None
) -> Location:
    """The place of the statement that begins there, or of a part of it; where none does, that place alone."""
    source = source_of(file)
    found = None if source is None else source.statement(line, byte_column)
    node = found if found is None or part is None else part(found)
    if source is None or node is None:
        return Location(file, line, character_column(file, line, byte_column))
    return source.place(node)


def variable_given(file: str, line: int, byte_column: int, functions: Collection[str]) -> str:
    """The variable to which the statement that begins there gives what one of these functions returns."""
    source = source_of(file)
    found = None if source is None else source.statement(line, byte_column)
    if isinstance(found, ast.Assign) and isinstance(found.value, ast.Call):
        (target, *more), called = found.targets, ast.unparse(found.value.func).rpartition(".")[2]
        if isinstance(target, ast.Name) and not more and called in functions:
            return target.id
    return ""


def indexed(file: str, span: tuple[int, int, int, int]) -> str:
    """What is indexed at a place, ``rows`` of ``rows[i][j]``, where it has a name."""
    source = source_of(file)
    found = None if source is None else source.spans.get(span)
    if not isinstance(found, ast.Subscript):
        return ""
    while isinstance(found, ast.Subscript):
        found = found.value
    text = ast.unparse(found)
    return text if text.replace(".", "").isidentifier() else ""


PARSERS: dict[str, Callable[[str], ast.Module]] = {}
"""What reads the files of a language other than Python, by the end of their names, such as ``.mojo``."""


@functools.lru_cache(maxsize=16)
def _parsed(file: str, text: str) -> Source | None:
    if not text:
        return None
    try:
        parse = PARSERS.get(os.path.splitext(file)[1], ast.parse)
        return Source(file, parsed(text, parse))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _parts(node: ast.AST | None, source: Source) -> dict[str, ast.AST]:
    """The named parts of what was under evaluation."""
    found = _roles(node, source)
    if "value" in found and not isinstance(node, (ast.Call, ast.UnaryOp, ast.IfExp)):
        found["stored"] = found["value"]
    above = source.parents.get(node) if isinstance(node, ast.Subscript) else node
    if isinstance(above, ast.AugAssign) and isinstance(above.target, ast.Subscript):
        found["stored"] = ast.copy_location(ast.BinOp(above.target, above.op, above.value), above.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "store":
        found["stored"] = node.args[-1] if node.args else node
    return found


def _roles(node: ast.AST | None, source: Source) -> dict[str, ast.AST]:
    if isinstance(node, ast.BinOp):
        return {"left": node.left, "right": node.right}
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return {"left": node.left, "right": node.comparators[0]}
    if isinstance(node, ast.AugAssign):
        within = (
            _roles(node.target, source) if isinstance(node.target, (ast.Attribute, ast.Subscript)) else {}
        )
        return {**within, "left": node.target, "right": node.value, "value": node.value}
    if isinstance(node, ast.IfExp):
        return {"left": node.body, "right": node.orelse, "value": node.test}
    if isinstance(node, ast.Subscript):
        found: dict[str, ast.AST] = {"object": node.value, "index": node.slice}
        above = source.parents.get(node)
        if isinstance(node.ctx, ast.Store) and isinstance(above, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            if above.value is not None:
                found["value"] = above.value
        return found
    if isinstance(node, ast.Attribute):
        return {"object": node.value}
    if isinstance(node, ast.UnaryOp):
        return {"value": node.operand}
    if isinstance(node, ast.Call):
        found = {"value": node.args[0]} if node.args else {}
        if len(node.args) > 1:
            found.update(left=node.args[0], right=node.args[1])
        if isinstance(node.func, ast.Attribute):
            found["object"] = node.func.value
        return found
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)) and node.value is not None:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        within = _roles(target, source) if isinstance(target, (ast.Attribute, ast.Subscript)) else {}
        return {**within, "value": node.value}
    if isinstance(node, (ast.If, ast.While)):
        return {"value": node.test}
    return {"value": node} if isinstance(node, ast.expr) else {}


def _literal(node: ast.AST, value: object) -> ast.AST | None:
    """The literal of this value below a node, if there is just one."""
    found: list[ast.AST] = []
    for below in ast.walk(node):
        try:
            known = ast.literal_eval(below) if isinstance(below, (ast.Constant, ast.UnaryOp)) else None
        except (ValueError, TypeError):
            continue
        if type(known) is type(value) and known == value:
            found.append(below)
    return found[0] if len(found) == 1 else None


def resolved(
    diagnostic: Diagnostic,
    place: Location | None,
    part: object = None,
    *,
    given: ast.AST | None = None,
    whole: bool = False,
    quoted: bool = True,
) -> Diagnostic:
    """The diagnostic with its marks replaced by the words at ``place``, and labelled there.

    ``part`` narrows the place: one of the marks, or a literal that stands below. ``given`` is the argument of
    the call there that is meant, and is what ``VALUE`` and ``STORED`` stand for. ``whole`` makes all
    of the expression there what ``VALUE`` stands for, as an argument is. Without ``quoted`` it is not the
    expression that is meant, as of arguments that ``*`` gives.
    """
    source = None if place is None else source_of(place.file)
    node = None if source is None else source.at(place)
    parts = {} if source is None else _parts(node, source)
    if given is not None:
        parts.update(value=given, stored=given)
    if whole or not quoted:
        parts = {} if node is None or not quoted else {"value": node, "stored": node}
        if parts and isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            parts["object"] = node

    def words(match: re.Match[str]) -> str:
        before, name, after = match.groups()
        written = parts.get(name)
        text = _GENERIC[name] if written is None else ast.unparse(written)
        if len(text) > _LONGEST:
            text = _GENERIC[name]
        elif isinstance(written, _LOOSE) and not (before and after):
            text = f"({text})"
        return f"{before}{text}{after}"

    hints = diagnostic.hints
    stored = parts.get("stored")
    if isinstance(stored, ast.BinOp) and stored not in getattr(source, "parents", ()):
        hints = tuple(_CONVERTED.sub(f"write {ast.unparse(stored.left)} = ", hint) for hint in hints)
    if isinstance(node, ast.AugAssign):
        hints = tuple(_IN_PLACE.sub(r"\1 \2= \3", hint) for hint in hints)
    if source is not None and (part is not None or given is not None):
        narrower = given or _narrower(source, node, parts, part)
        if narrower is not None:
            place = source.place(narrower)
    labels = diagnostic.labels
    if not labels and place is not None:
        labels = (Label(place),)
    return replace(
        diagnostic,
        message=_MARK.sub(words, diagnostic.message),
        labels=labels,
        notes=tuple(_MARK.sub(words, note) for note in diagnostic.notes),
        hints=tuple(_MARK.sub(words, hint) for hint in hints),
    )


def _narrower(
    source: Source, node: ast.AST | None, parts: dict[str, ast.AST], part: object
) -> ast.AST | None:
    """What is meant of an expression by a mark, or by a literal that stands in it or beside it."""
    if isinstance(part, str) and part.startswith("\ue000"):
        return parts.get(part.strip("\ue000\ue001"))
    holder = None if node is None else source.statement_of(node)
    below = parts.get("value", node) if isinstance(node, ast.Subscript) else node
    found = None if below is None else _literal(below, part)
    if found is None and holder is not None and not hasattr(holder, "body"):
        return _literal(holder, part)
    return found


def argument_of(call: Location, names: Collection[str | int]) -> ast.AST | None:
    """The argument of the call at a place that is given by one of these names or positions."""
    source = source_of(call.file)
    node = None if source is None else source.at(call)
    if not isinstance(node, ast.Call):
        return None
    named = [k.value for k in node.keywords if k.arg in names]
    plain = next((n for n, a in enumerate(node.args) if isinstance(a, ast.Starred)), len(node.args))
    return next(
        (found for found in (*named, *[a for n, a in enumerate(node.args[:plain]) if n in names])), None
    )


def side_of(comparison: Location, method: str, own: bool) -> ast.AST | None:
    """The side of the comparison at a place that a method of Python's has as its own object, or not."""
    source = source_of(comparison.file)
    node = None if source is None else source.at(comparison)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    turned = method != f"__{_METHODS.get(type(node.ops[0]), '')}__"
    return node.left if own != turned else node.comparators[0]


_METHODS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"
}  # fmt: skip


def argument_place(
    call: Location, key: int | str, positional: int | None = None, *, named: bool = False
) -> Location:
    """The place of an argument of the call at a place, by name or by position; ``named``, with its name.

    ``positional`` is how many values came by position, where the call may name others before them or
    fewer. Without such an argument, the call's own place.
    """
    source = source_of(call.file)
    node = None if source is None else source.at(call)
    if isinstance(node, ast.Expr):
        node = node.value
    if source is None or not isinstance(node, ast.Call):
        return call
    if isinstance(key, str):
        keyword = next((k for k in node.keywords if k.arg == key), None)
        found = keyword if named or keyword is None else keyword.value
    else:
        at = key + (0 if positional is None else len(node.args) - positional)
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        found = node.args[at] if plain and 0 <= at < len(node.args) else None
    return call if found is None else source.place(found)


def imported_place(statement: Location, name: str) -> Location:
    """The place of a name in the ``from`` statement at a place; without it, the statement's own."""
    source = source_of(statement.file)
    node = None if source is None else source.at(statement)
    if source is None or not isinstance(node, ast.ImportFrom):
        return statement
    found = next((alias for alias in node.names if alias.name == name), None)
    return statement if found is None else source.place(found)


def parameter_place(file: str, line: int, name: str) -> Location:
    """Where the function whose first line this is declares a parameter; without it that line.

    ``return`` is the annotation of its result; no name, or none of it, is that of the function.
    """
    source = source_of(file)
    for node in () if source is None else source.parents:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([d.lineno for d in node.decorator_list], default=node.lineno)
            if line in (first, node.lineno):
                a = node.args
                for arg in (*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg):
                    if arg is not None and arg.arg == name:
                        return node_location(arg, file)
                if name == "return" and node.returns is not None:
                    return node_location(node.returns, file)
                if name in ("", "return"):
                    return _name_place(node, file)
    return Location(file, line)


def field_place(near: Location | None, cls: str, name: str) -> Location | None:
    """Where a class of this name, in the file of ``near``, annotates a field; else ``near``."""
    source = None if near is None else source_of(near.file)
    if near is None or source is None:
        return near
    found = [
        item.annotation
        for node in source.statements.values()
        if isinstance(node, ast.ClassDef) and node.name == cls
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == name
    ]
    nearest = min(found, key=lambda node: abs(node.lineno - near.line), default=None)
    return near if nearest is None else source.place(nearest)


def _name_place(node: ast.FunctionDef | ast.AsyncFunctionDef, file: str) -> Location:
    text = linecache.getline(file, node.lineno)
    column = text.find(node.name, character_column(file, node.lineno, node.col_offset) + 3)
    if column < 0:
        return Location(file, node.lineno)
    return Location(file, node.lineno, column, node.lineno, column + len(node.name))


def _binds(node: ast.AST, name: str) -> ast.AST | None:
    """What of a statement binds a name: its value where it has one."""
    if isinstance(node, ast.Assign):
        targets, shown = node.targets, node.value
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets, shown = [node.target], node.value
    elif isinstance(node, ast.For):
        targets, shown = [node.target], node.target
    else:
        return node if isinstance(node, ast.arg) and node.arg == name else None
    for target in targets:
        while isinstance(target, ast.Attribute):
            target = target.value
        names = [target] if isinstance(target, ast.Name) else list(ast.walk(target))
        if any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in names):
            return shown
        if isinstance(target, ast.Name) and target.id == name:
            return shown
    return None


def range_at(place: Location | None, kind: str) -> str:
    """The ``range(...)`` of a loop whose variable stands at a place, as one of ``kind``; empty of others."""
    source = None if place is None else source_of(place.file)
    node = None if place is None or source is None else source.at(place)
    loop = None if source is None or node is None else source.statement_of(node)
    if not (isinstance(loop, ast.For) and loop.target is node and isinstance(loop.iter, ast.Call)):
        return ""
    called, given = loop.iter.func, [ast.unparse(argument) for argument in loop.iter.args]
    if not (isinstance(called, ast.Name) and called.id == "range" and given):
        return ""
    end = min(1, len(given) - 1)
    given[end] = f"{kind}({given[end]})"
    return f"range({', '.join(given)})"


def binding_before(file: str, line: int, byte_column: int, name: str) -> Location | None:
    """Where the variable got its value: in the statement that begins here, or in the last before it."""
    source = source_of(file)
    here = None if source is None else source.statement(line, byte_column)
    if source is None or here is None:
        return None
    shown = _binds(here, name)
    if shown is not None:
        return source.place(shown)
    last = _last_before(source, here, lambda node: _binds(node, name))
    return None if last is None else source.place(last)


def deleted_before(source: Source, node: ast.AST, name: str) -> int | None:
    """The line of ``del name`` before a place in a function, with nothing between that gives it a value."""

    def gone(each: ast.AST) -> ast.AST | None:
        deletes = isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Del)
        return each if deletes else _binds(each, name)

    last = _last_before(source, node, gone)
    return last.lineno if isinstance(last, ast.Name) and isinstance(last.ctx, ast.Del) else None


def _last_before(source: Source, here: ast.AST, shown: Callable[[ast.AST], ast.AST | None]) -> ast.AST | None:
    """The last that is shown of what stands in the function before a place."""
    function = source.function_of(here)
    found = [shown(node) for node in (ast.walk(function) if function is not None else ())]
    return max(
        [node for node in found if node is not None and _begin(node) < _begin(here)], key=_begin, default=None
    )


def _begin(node: ast.AST) -> tuple[int, int]:
    """Line and column of a node that has a place."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
