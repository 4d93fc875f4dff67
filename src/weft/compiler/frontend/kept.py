"""Refuses run-time values that a kernel leaves in objects of the program, where they mean nothing later."""

from __future__ import annotations

import ast

from weft.compiler.source.find import places_in
from weft.compiler.source.names import named
from weft.diagnostics import CompileError, Location, a_
from weft.lang.reads import Reads
from weft.lang.spec import holds_values


def check_kept(reads: Reads) -> None:
    """Refuse a run-time value in a container, an attribute or a global of the program; take it out again.

    Args:
        reads: what was there before the code was elaborated.

    Raises:
        CompileError: there is one.
    """
    for held in reads.held:
        if held.items is not None and holds_values(held.of):
            name = next((name for _, name, value in reads.names if value is held.of), "")
            held.put_back()
            shown = f"`{name}`" if name else "this"
            _refuse(reads, name, f"{shown}, {a_(type(held.of).__name__)} of the host, is given a value")
    for space, name, before in reads.names:
        if space.get(name) is not before and holds_values((space.get(name),)):
            space[name] = before
            _refuse(reads, name, f"`{name}` of the host becomes a value")
    for fn, (code, *_) in reads.functions:
        for name in named(code).stored:
            if holds_values((fn.__globals__.get(name),)):
                _refuse(reads, name, f"the global `{name}` becomes a value")


def place_of_change(reads: Reads, name: str) -> Location | None:
    """Where a function that was read changes what has the name, or calls a method of that."""

    def changes(node: ast.AST) -> bool:
        held: ast.AST = node
        if isinstance(node, ast.Call):
            held = node.func.value if isinstance(node.func, ast.Attribute) else [*node.args, node][0]
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            held = node.value
        elif not isinstance(getattr(node, "ctx", None), ast.Store):
            return False
        return name in (getattr(held, "id", None), getattr(held, "attr", None))

    return next((place for fn, _ in reads.functions for place in places_in(fn, changes)), None)


def _refuse(reads: Reads, name: str, what: str) -> None:
    raise CompileError.at(
        "compile-time-container",
        f"{what} that exists only at run time",
        place_of_change(reads, name),
        hints=("write it to memory that the kernel takes as a parameter, and read that on the host",),
    )
