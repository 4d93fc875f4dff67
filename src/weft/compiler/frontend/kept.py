"""Refuses what a kernel leaves in objects of the program, where it means nothing later."""

from __future__ import annotations

import ast
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from weft.compiler.frontend.containers import Held, changed, noted, restored
from weft.compiler.source.definition import Definition
from weft.compiler.source.find import places_in
from weft.compiler.source.names import named
from weft.diagnostics import CompileError, Location, a_
from weft.lang.captured import reads_of
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


@contextmanager
def unchanged(fn: Definition, given: Mapping[str, Any]) -> Generator[None]:
    """Refuse that a function, elaborated meanwhile, changes a container that it is given at compile time.

    An object that it is given may remember more in a dict of its own.

    Raises:
        CompileError: it does. The containers are what they were.
    """
    before = Held(one for name, value in given.items() for one in noted(name, value))
    yield
    for name, now, then in before:
        if not changed(now, then) or (now is not given[name] and _has_more(now, then)):
            continue
        restored(before)
        raise CompileError.at(
            "compile-time-state",
            f"{fn.name} changes `{name}`, which it is given at compile time",
            place_of_change(reads_of([fn]), name) or fn.place(""),
            notes=("it is compiled once for many calls, each of which would change that in Python",),
            hints=(f"change a copy: mine = copy.deepcopy({name}); or give it memory, such as a NumPy array",),
        )


def _has_more(now: Any, then: Any) -> bool:
    if not isinstance(now, dict):
        return False
    table = cast("dict[Any, Any]", now)
    return all(key in table and table[key] is then[key] for key in then)


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
