"""What one pass over a function makes, and the module of all that kernels reach.

A pass writes to its own draft only. One that starts again leaves its draft behind with all that it noted;
so does code that nothing calls. The module is put together at the end, from what its kernels reach. What is
known of a kernel is what its draft has gathered of what it calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from weft.abi.artifact import AskedTiles, Site
from weft.compiler.frontend.given_back import GivenBack
from weft.compiler.frontend.nonlocals import SharedSpec
from weft.compiler.ir.core import Function, Global, Module, Op, Value
from weft.compiler.source.definition import Definition
from weft.diagnostics import CompileError, Diagnostic
from weft.dtype import DType
from weft.lang.pointer import AddressSpace
from weft.lang.spec import Spec
from weft.record import field, record, replace
from weft.targets import Target


class Doubt(NamedTuple):
    """A warning, if ``value`` proves to be what its code says."""

    diagnostic: Diagnostic
    value: Value | None


@record(frozen=False, eq=False)
class Draft:
    """One pass over a function, and what is known of it with all that it calls.

    ``refers`` are the operations that name what else the module has, of its own code alone.
    """

    function: Function
    definition: Definition
    name: str
    """What it would be called if no other function were in its module."""
    refers: list[tuple[Op, Draft | Global | Site]] = field(
        default_factory=list[tuple[Op, "Draft | Global | Site"]]
    )
    result: Spec | None = None
    """None while it is under way."""
    fields: tuple[GivenBack, ...] = ()
    """The fields of objects it is lent that it gives back beside its result."""
    changes: tuple[SharedSpec, ...] = ()
    """Likewise, the variables of functions around it."""
    literals: tuple[DType | None, ...] = ()
    """What those of its parameters that are given literals have met."""
    uses: set[str] = field(default_factory=set[str])
    tiles: dict[AskedTiles, Value] = field(default_factory=dict[AskedTiles, Value])
    """Which its launch is to describe, and the argument that says where."""
    dynamic_shared: int = 0
    max_threads: int = 0
    """Of a block; 0: any number."""
    min_blocks: int = 0
    """That are to fit on a multiprocessor at once."""
    uses_thread: bool = False
    """It asks which thread runs it."""
    tells: bool = False
    """It prints or asserts."""
    memory: set[Global] = field(default_factory=set[Global])
    """Memory of fixed size, and that of the launch's size, which counts for nothing."""
    refused: list[CompileError] = field(default_factory=list[CompileError])
    """What is wrong with it, unless less memory is taken in the end."""
    changed: dict[str, type[Any]] = field(default_factory=dict[str, "type[Any]"])
    """Of which parameters it changes parts, of which class: of a copy, where Python would of the caller's."""
    by_value: set[type[Any]] = field(default_factory=set["type[Any]"])
    """Classes of structs of which it sets parts of copies, or what it calls does."""
    kept: frozenset[str] = frozenset()
    """Of which parameters a struct may live on: in the result, or in what is made of it."""
    same: tuple[int, ...] = ()
    """Of the structs in the result, which of the objects that it is lent each is (``lent``)."""
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    """What is hardly meant so in its own code."""

    def is_apart(self) -> bool:
        """Whether it matters to its code, or to who calls it, which of its arguments are objects."""
        return bool(self.fields or self.changed or self.kept) or any(which >= 0 for which in self.same)

    def refer(self, op: Op, what: Draft | Global | Site) -> None:
        """Note what an operation names, and of what it calls all that is known."""
        self.refers.append((op, what))
        if isinstance(what, Draft):
            self.uses |= what.uses
            self.by_value |= what.by_value
            self.dynamic_shared = max(self.dynamic_shared, what.dynamic_shared)
            self.bound(what.max_threads, what.min_blocks)
            self.uses_thread |= what.uses_thread
            self.tells |= what.tells
            self.memory |= what.memory
            self.refused += what.refused
        elif not isinstance(what, Global):
            self.tells = True
        else:
            self.memory.add(what)

    def bound(self, threads: int, blocks: int) -> None:
        """A block has at most so many threads, where that is not 0; so many blocks are to fit at once."""
        self.max_threads = min(filter(None, (self.max_threads, threads)), default=0)
        self.min_blocks = max(self.min_blocks, blocks)


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


def shared_memory(drafts: Iterable[Draft]) -> int:
    """How many bytes of it are what a block shares."""
    found = list[Global]()
    for memory in set[Global]().union(*[draft.memory for draft in drafts]):
        _enter(memory, found)
    return sum(
        g.count * max(1, g.element.bits // 8) for g in _with_room(found) if g.space == AddressSpace.SHARED
    )


def assemble(kernels: Sequence[Draft], target: Target) -> tuple[Module, list[dict[int, Site]]]:
    """The module of kernels and all that they call, with names given in order; each one's sites, numbered.

    The names are written into the drafts' own functions: what several modules share has those of the last.

    Raises:
        CompileError: a block of one would take more shared memory than the target has.
    """
    drafts, names = reached(kernels), set[str]()
    for draft in [*kernels, *(draft for draft in drafts if draft not in kernels)]:
        draft.function.name = _unique(draft.name, names)
    module = Module(kernels[0].function.name, target.name, [draft.function for draft in drafts])
    waiting, memory = set(drafts), dict[Global, str]()
    sites: list[dict[int, Site]] = []
    for kernel in kernels:
        own = reached([kernel])
        if kernel.memory and shared_memory([kernel]) > target.static_limit:
            raise kernel.refused[0]
        sites.append({})
        for op, what in [refer for draft in own if draft in waiting for refer in draft.refers]:
            if isinstance(what, Draft):
                op.attrs = {"callee": what.function.name}
            elif isinstance(what, Global):
                name = memory.get(what) or _place(what, module.globals, names)
                memory[what] = name
                op.attrs = {"global_name": name, **({"count": what.count} if what.scratch else {})}
            else:
                number = sum(map(len, sites))
                op.attrs = {"site": number}
                sites[-1][number] = what
        waiting.difference_update(own)
    module.globals = _with_room(module.globals)
    return module, sites


def _with_room(memory: Collection[Global]) -> list[Global]:
    """What a block shares of fixed size made so long that what lies behind it is aligned as it asks.

    Linkers may put the memory of the launch's size right behind the other, wherever that ends.
    """
    shared = [g for g in memory if g.space == AddressSpace.SHARED]
    align = max([g.align for g in shared if g.external], default=1)

    def longer(g: Global) -> Global:
        unit = max(1, align // max(1, g.element.bits // 8))
        return replace(g, count=-(-g.count // unit) * unit)

    return [longer(g) if g in shared and not g.external else g for g in memory]


def _unique(name: str, taken: set[str]) -> str:
    found, n = name, 0
    while found in taken:
        n += 1
        found = f"{name}_{n}"
    taken.add(found)
    return found


def _enter(memory: Global, known: list[Global]) -> int:
    """Enter memory into a module's; gives its number there.

    All that is sized from outside is one, as is all scratch, as long and aligned as any of it asks.
    """
    if memory.external or memory.scratch:
        for n, g in enumerate(known):
            if (g.external, g.scratch, g.space) == (memory.external, memory.scratch, memory.space):
                known[n] = replace(g, count=max(g.count, memory.count), align=max(g.align, memory.align))
                return n
    known.append(memory)
    return len(known) - 1


def _place(memory: Global, known: list[Global], names: set[str]) -> str:
    """Enter memory into a module's, where it is given a name."""
    before, n = len(known), _enter(memory, known)
    if n == before:
        number = "" if memory.external else f"_{1 + sum(not g.external for g in known[:n])}"
        known[n] = replace(memory, name=_unique(f"{memory.name}{number}", names))
    return known[n].name
