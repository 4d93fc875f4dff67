"""Checked mode: a thread that goes on for ever behind an access outside of memory is ended.

What such an access reads is 0, which may be what a loop waits to see the end of, as in ``while x[i] != key``.
Without the checks it would have found something there, or ended the process. So from its first such access
on a thread has so many rounds of loops whose end nothing says; once one has been ended in a loop, others have
fewer there. A loop that looks at what others write may go on for long, and is told of elsewhere.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from weft.abi.artifact import ROUNDS
from weft.compiler.ir.builder import Builder
from weft.compiler.ir.core import Function, Op, Region
from weft.compiler.ir.effects import reads_anew
from weft.compiler.ir.types import I64
from weft.compiler.passes.faults import NewSite, site_at, tell
from weft.compiler.passes.uniformity import LOOPS

_FEW = 1 << 12
"""Rounds of a thread where another was ended at the same loop."""
_FREE = 1 << 62


def may_be_endless(region: Region) -> bool:
    """Whether there are such loops."""
    return any(map(_is_open, region.walk()))


def _is_open(op: Op) -> bool:
    """Whether nothing says how many rounds a loop has; those that wait for others are told of elsewhere."""
    return op.name == "weft.while" and "waits" not in op.attrs and not _looks(op)


def _looks(loop: Op) -> bool:
    """Whether a loop may rightly go on for long, as it looks at what others write."""
    ops = [op for region in loop.regions for op in region.walk()]
    return any(reads_anew(op) and op.attrs.get("bin_op", "xchg") == "xchg" for op in ops)


class Rounds:
    """How many rounds a thread of one kernel has left, in a slot that is put into ``head``."""

    def __init__(self, b: Builder, kernel: Function, new_site: NewSite, head: list[Op]) -> None:
        self.b, self.kernel, self.new_site = b, kernel, new_site
        self.left = b.slot(I64, "rounds", head)
        with b.into(Region([], head)):
            b.set(self.left, b.constant(_FREE, I64))

    def begin(self) -> None:
        """The thread has made an access outside of memory."""
        b, left = self.b, self.b.get(self.left, I64)
        most = b.constant(ROUNDS, I64)
        b.set(self.left, b.select(b.compare("slt", left, most), left, most))

    def limit(self, region: Region, begun: AbstractSet[Region], *, before: bool = False) -> bool:
        """Have threads end in loops; gives whether they have ``begun`` to count in one of these, within.

        ``before``: they may have where the region begins.
        """
        found = region in begun
        for op in region.ops:
            again = op.name in LOOPS and not before and any(_has(each, begun) for each in op.regions)
            inside = [self.limit(each, begun, before=before or again) for each in op.regions]
            before = before or any(inside)
            found = found or any(inside)
            if before and _is_open(op):
                self.end(op)
        return found

    def end(self, loop: Op) -> None:
        """Have a thread end in a loop that has no rounds left."""
        b, condition = self.b, loop.regions[0]
        site = self.new_site(site_at(self.kernel, loop, "endless-loop", ()))
        b.loc = loop.loc
        with b.into(Region()) as counted:
            zero, some = b.constant(0, I64), b.constant(ROUNDS - _FEW, I64)
            left = b.arith("subi", b.get(self.left, I64), b.constant(1, I64))
            b.set(self.left, left)
            with b.into(Region()) as ends:
                tell(b, site, ())
                b.emit("weft.exit_thread")
            with b.into(Region()) as late:
                others = b.compare("ne", b.value("weft.faults", (), I64, {"site": site}), zero)
                b.branch(b.arith("ori", b.compare("sle", left, zero), others), ends)
            b.branch(b.compare("slt", left, some), late)
        condition.ops[-1:-1] = counted.ops


def _has(region: Region, begun: AbstractSet[Region]) -> bool:
    return region in begun or any(_has(each, begun) for op in region.ops for each in op.regions)
