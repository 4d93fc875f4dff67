"""The memory of checked contexts on a CPU: where it is, who made it, and for a while who gave it back.

What was given back is not used again until there is much of it, so that kernels which still reach it are
found. What a finalizer calls takes no lock.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.abi.artifact import FaultSite
from weft.diagnostics import Location, Report, caller_location
from weft.diagnostics.reports import Other
from weft.record import replace
from weft.runtime.cpu.memory import Block

_MOST_BYTES = 256 << 20
"""How much is held that was given back."""
NULL = 1 << 16
"""Addresses below belong to nobody."""


class Made(NamedTuple):
    """One allocation: how long it is, where it was made, and where given back."""

    nbytes: int
    made: Location | None
    gone: Location | None = None
    block: Block | None = None


_alive: dict[int, Made] = {}
_gone: dict[int, Made] = {}


def add(address: int, nbytes: int) -> None:
    """There is new memory."""
    _alive[address] = Made(nbytes, caller_location())


def leaves(address: int) -> None:
    """Memory is given back here, though work that is queued may still use it."""
    found = _alive.get(address)
    if found is not None:
        _alive[address] = found._replace(gone=caller_location())


def is_gone(address: int, block: Block | None) -> None:
    """Memory was given back; it is held if it is known."""
    found = _alive.pop(address, None)
    if found is None or block is None:
        return
    _gone[address] = found._replace(block=block)
    held = sum([made.nbytes for made in tuple(_gone.copy().values())])
    for old, made in tuple(_gone.copy().items()):
        if held <= _MOST_BYTES:
            break
        held -= made.nbytes
        _gone.pop(old, None)


def pieces() -> list[tuple[int, int, bool]]:
    """All of it: from, to, and whether it is still there."""
    there = [(address, address + made.nbytes, True) for address, made in tuple(_alive.copy().items())]
    return there + [(address, address + made.nbytes, False) for address, made in tuple(_gone.copy().items())]


def explained(report: Report, site: FaultSite, at: int) -> Report:
    """A report of an access by a pointer that came from no argument, ``at`` bytes into its memory."""
    assert report.address is not None
    low, does = report.address - at, f"kernel {report.kernel!r} {site.verb}"
    if low < NULL:
        message = f"{does} {site.size} bytes at {report.address:#x}, by a pointer that is null"
        return replace(report, message=message, index=None, hints=("test it before: `if Int(p) != 0:`",))
    gone, alive = _gone.get(low), _alive.get(low)
    if gone is not None:
        code = "use-after-free"
        message = f"{does} element {at // site.size} of a buffer that was given back"
        other = gone.gone and Other(gone.gone, "given back here")
        hints = ("keep the buffer until the kernel has run: close it behind `ctx.synchronize()`",)
        return replace(report, code=code, message=message, other=other, hints=hints)
    if alive is None or report.other is not None:
        return report
    return replace(report, other=alive.made and Other(alive.made, "made here"))
