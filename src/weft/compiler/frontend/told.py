"""What code under elaboration tells of: what it uses, takes, asks of its launch, and what is doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.abi.artifact import AskedTiles, AssertSite, Piece, Site
from weft.compiler.frontend.draft import Doubt, Draft, shared_memory
from weft.compiler.frontend.locate import located_here
from weft.compiler.frontend.staging import Staging
from weft.compiler.ir.core import Global, Op, Value
from weft.compiler.ir.types import pointer
from weft.compiler.source.definition import MISSING
from weft.diagnostics import CompileError, Diagnostic
from weft.lang.allocate import check_shared_memory
from weft.lang.elaboration import current
from weft.lang.generic import bound_of
from weft.lang.pointer import AddressSpace
from weft.lang.signature import parameters
from weft.record import replace
from weft.targets import Target


def staging_at_hand() -> Staging:
    """The builder of the code at hand."""
    b = current()
    assert isinstance(b, Staging)
    return b


class Told:
    """What the language asks of the elaboration under way, and notes for the function at hand."""

    target: Target
    checked: frozenset[str]
    """What kernels are checked for, for which operations are to say which expression they come from."""
    under_way: list[Draft]

    @property
    def changed_by_value(self) -> set[type[Any]]:
        """Classes of structs of which the code at hand, or what it calls, sets parts of copies."""
        return self.under_way[-1].by_value

    def refer(self, op: Op, what: Draft | Global | Site) -> Op:
        """Note what an operation names, where it is reached; ``assemble`` writes the name into it."""
        if staging_at_hand().live:
            self.under_way[-1].refer(op, what)
        return op

    def assert_site(self, pieces: tuple[Piece, ...]) -> AssertSite:
        """An assertion at the line at hand."""
        b = staging_at_hand()
        line, column = b.loc[:2]
        return AssertSite(pieces, b.file, line, column)

    def note_use(self, name: str) -> None:
        """The code at hand uses something that a launch must know of."""
        if staging_at_hand().live:
            self.under_way[-1].uses.add(name)

    def note_dynamic_shared(self, nbytes: int) -> None:
        """The code at hand takes so much of the shared memory that its launch gives."""
        draft = self.under_way[-1]
        if staging_at_hand().live:
            draft.dynamic_shared = max(draft.dynamic_shared, nbytes)

    def describe_tiles(
        self,
        memory: Value,
        extents: tuple[int, ...],
        strides: tuple[int, ...],
        box: tuple[int, ...],
        swizzle: int,
    ) -> Value | None:
        """Where the launch describes tiles of an argument, of which the code at hand has the address.

        None where ``memory`` is no argument of the kernel, or other code than the kernel's own asks; and in
        checked kernels, whose accesses are all to be seen.
        """
        draft = self.under_way[-1]
        function = draft.function
        if self.checked or not function.kernel or function.over_rank or memory not in function.args:
            return None
        asked = AskedTiles(function.args.index(memory), extents, strides, box, swizzle)
        if asked not in draft.tiles:
            draft.tiles[asked] = Value(pointer(AddressSpace.GLOBAL), None, f"tiles{len(draft.tiles)}")
            function.args.append(draft.tiles[asked])
        return draft.tiles[asked]

    def note_bounds(self, threads: int, blocks: int) -> None:
        """A block that runs the code at hand has at most so many threads, and so many of them fit at once."""
        if staging_at_hand().live:
            self.under_way[-1].bound(threads, blocks)

    def note_thread(self) -> None:
        """The code at hand asks which thread runs it."""
        self.under_way[-1].uses_thread |= staging_at_hand().live

    def take_shared_memory(self, what: str, size: int, hint: str | Sequence[str] = "", *notes: str) -> None:
        """Note that the code at hand has taken ``size`` bytes of what a block shares, as ``what`` says.

        If that is too much the kernel is refused, but only where all that it reaches is known: what is taken
        by a pass that starts again does not count.
        """
        draft = self.under_way[-1]
        if staging_at_hand().live:
            try:
                taken = shared_memory(self.under_way) - size
                check_shared_memory(what, size, taken, self.target, hint, notes)
            except CompileError as error:
                f = draft.function
                draft.refused.append(located_here(error, f.file, f.line, f.source_name))

    def postpone(self, error: CompileError) -> None:
        """Refuse the code at hand, unless a type that this pass assumes proves to be another."""
        b, f = staging_at_hand(), self.under_way[-1].function
        if b.live:  # who calls this is said where it is raised
            placed, own = located_here(error, f.file, f.line, f.source_name), error.diagnostics[0].notes
            placed.diagnostics = tuple([replace(d, notes=own) for d in placed.diagnostics])
            b.postponed.append(placed)

    def doubt(self, diagnostic: Diagnostic, value: Value | None = None) -> None:
        """Warn of the code at hand, if ``value`` proves to be what the diagnostic says."""
        if staging_at_hand().live:
            self.under_way[-1].doubts.append(Doubt(diagnostic, value))

    def is_for_several_types(self) -> bool:
        """Whether the code at hand may be elaborated for other types too, as its text stands."""
        fn = self.under_way[-1].definition
        return "<locals>" in fn.qualname or any(
            p.annotation in (MISSING, Any, object) or p.variable or p.comptime or bound_of(p.annotation)
            for p in parameters(fn)
        )
