"""What one pass over a function makes, and the module of all that a kernel reaches.

A pass writes to its own draft only. One that starts again leaves its draft behind with all that it noted;
so does code that nothing calls. The module is put together at the end, from what is reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from weft.abi.artifact import AssertSite, PrintSite
from weft.compiler.ir.core import Function, Global, Module, Op
from weft.diagnostics import CompileError
from weft.lang.pointer import AddressSpace
from weft.lang.spec import Spec
from weft.targets import Target

__all__ = ["Draft", "Program", "assemble", "memory_of", "reached", "shared_memory"]


@dataclass(slots=True, eq=False)
class Draft:
    """One pass over a function. ``refers`` are the operations that name what else the module has."""

    function: Function
    refers: list[tuple[Op, Draft | Global | PrintSite | AssertSite]] = field(
        default_factory=list[tuple[Op, "Draft | Global | PrintSite | AssertSite"]]
    )
    result: Spec | None = None
    """None while it is under way."""
    uses: set[str] = field(default_factory=set[str])
    dynamic_shared: int = 0
    uses_thread: bool = False
    """It asks which thread runs it."""
    refused: list[CompileError] = field(default_factory=list[CompileError])
    """What is wrong with it, unless less memory is taken in the end."""
    memory: frozenset[Global] = frozenset()
    """Once it is done: the memory of fixed size that it takes, with what it calls."""


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel with all that it calls, and what its launch must know."""

    module: Module
    function: Function
    prints: tuple[PrintSite, ...]
    asserts: tuple[AssertSite, ...]
    uses: frozenset[str]
    dynamic_shared: int


def reached(drafts: Iterable[Draft]) -> list[Draft]:
    """The drafts and all that they call, each once and before what calls it."""
    found: dict[Draft, None] = {}
    seen: set[Draft] = set()

    def visit(draft: Draft) -> None:
        if draft not in seen:
            seen.add(draft)
            for _, what in draft.refers:
                if isinstance(what, Draft):
                    visit(what)
            found[draft] = None

    for draft in drafts:
        visit(draft)
    return list(found)


def memory_of(draft: Draft) -> frozenset[Global]:
    """The memory of fixed size that a draft names, and what it calls."""
    found: set[Global] = set()
    for _, what in draft.refers:
        if isinstance(what, Draft):
            found |= what.memory
        elif isinstance(what, Global) and not what.external:
            found.add(what)
    return frozenset(found)


def shared_memory(drafts: Iterable[Draft]) -> int:
    """How many bytes of it are what a block shares."""
    found = frozenset[Global]().union(*[draft.memory or memory_of(draft) for draft in drafts])
    return sum(g.count * max(1, g.element.bits // 8) for g in found if g.space == AddressSpace.SHARED)


def assemble(kernel: Draft, target: Target) -> Program:
    """The module of a kernel and all that it calls, with names and numbers given in order.

    Raises:
        CompileError: a block of it would take more shared memory than the target has.
    """
    drafts = reached([kernel])
    if kernel.memory and shared_memory([kernel]) > target.static_limit:
        raise next(error for draft in reversed(drafts) for error in draft.refused)
    names = {kernel.function.name}
    for draft in drafts[:-1]:
        draft.function.name = _unique(draft.function.name, names)
    module = Module(kernel.function.name, target.name, [draft.function for draft in drafts])
    prints: list[PrintSite] = []
    asserts: list[AssertSite] = []
    memory: dict[Global, str] = {}
    for draft in drafts:
        for op, what in draft.refers:
            if isinstance(what, Draft):
                op.attrs = {"callee": what.function.name}
            elif isinstance(what, Global):
                name = memory.get(what) or _place(what, module.globals, names)
                memory[what] = name
                op.attrs = {"global_name": name}
            else:
                sites: list[PrintSite] | list[AssertSite] = prints if isinstance(what, PrintSite) else asserts
                op.attrs = {"site": len(sites)}
                sites.append(what)  # pyright: ignore[reportArgumentType]
    return Program(
        module,
        kernel.function,
        tuple(prints),
        tuple(asserts),
        frozenset[str]().union(*[draft.uses for draft in drafts]),
        max(draft.dynamic_shared for draft in drafts),
    )


def _unique(name: str, taken: set[str]) -> str:
    found, n = name, 0
    while found in taken:
        n += 1
        found = f"{name}_{n}"
    taken.add(found)
    return found


def _place(memory: Global, known: list[Global], names: set[str]) -> str:
    """Enter memory into a module's; all that is sized from outside is one, aligned as any of it asks."""
    if memory.external:
        for n, other in enumerate(known):
            if other.external and other.space == memory.space:
                known[n] = replace(other, align=max(other.align, memory.align))
                return other.name
        made = replace(memory, name=_unique(memory.name, names))
    else:
        made = replace(memory, name=_unique(f"{memory.name}_{1 + sum(not g.external for g in known)}", names))
    known.append(made)
    return made.name
