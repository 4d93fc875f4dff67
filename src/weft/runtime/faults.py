"""What kernels tell of faults: assertions that fail, and what checked contexts find."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from weft.abi.artifact import FOUND, AssertSite, FaultSite, KernelInfo
from weft.abi.console import IDS
from weft.abi.formats import unpack
from weft.abi.number_text import format_value
from weft.abi.warp import WARP
from weft.diagnostics import Location, Report
from weft.diagnostics.reports import Indices, Other
from weft.record import replace
from weft.runtime.printing import format_print


class Noted(NamedTuple):
    """An access that was noted: its site, its block where that is known, and its thread.

    ``under_way``: it is a copy that its thread has not waited for.
    """

    site: FaultSite
    block: Indices | None
    thread: Indices
    under_way: bool = False


class Told(NamedTuple):
    """What is told of a fault: the kernel, the place, the thread, and the values."""

    kernel: KernelInfo
    site: AssertSite | FaultSite
    block: Indices
    thread: Indices
    values: Sequence[int]
    other: Noted | None = None


def report(kernel: KernelInfo, number: int, words: Sequence[int], other: Noted | None = None) -> Report:
    """The report of a fault at a site of a kernel; ``words`` are where the thread is, then the values.

    ``other`` is the other access of a race.
    """
    site = kernel.sites[number]
    assert isinstance(site, (AssertSite, FaultSite))
    told = Told(kernel, site, _place(words[:3]), _place(words[3:IDS]), words[IDS:], other)
    return _assertion_failed(told) if isinstance(site, AssertSite) else KINDS[site.kind](told, site)


def _place(words: Sequence[int]) -> Indices:
    x, y, z = words
    return x, y, z


def signed(values: Sequence[int]) -> list[int]:
    """Words as integers with a sign."""
    return [value - (value >> 63 << 64) for value in values]


def _assertion_failed(told: Told) -> Report:
    message, name = format_print(told.site, told.values), told.kernel.signature.name
    return Report(
        "device-assert",
        f"assertion failed in kernel {name!r}{f': {message}' if message else ''}",
        location_of(told.site),
        name,
        told.block,
        told.thread,
        said=f"failed in block {told.block}, thread {told.thread}",
    )


def of_access(told: Told, site: FaultSite, message: str, at: int, hints: tuple[str, ...] = ()) -> Report:
    """A report of an access of memory; ``at`` is the byte of the memory where it begins."""
    return Report(
        site.kind,
        message,
        location_of(site),
        told.kernel.signature.name,
        told.block,
        told.thread,
        verb=site.verb,
        buffer="" if site.name == FOUND else site.name,
        index=at // _bytes_each(told, site),
        size=_bytes_each(told, site),
        address=told.values[-1],
        hints=hints,
    )


def named(site: FaultSite) -> str:
    """The memory of an access, in words."""
    if site.name == FOUND:
        return "a buffer"
    return f"`{site.name}`" if site.name else "an array of its own"


def _is_given(told: Told, site: FaultSite) -> bool:
    """Whether it is of memory that the launch gave."""
    return site.name in [p.name for p in told.kernel.signature.parameters]


def _bytes_each(told: Told, site: FaultSite) -> int:
    """How long an element is: a struct where the launch gave memory of such, else what is accessed."""
    given = [p.dtype for p in told.kernel.signature.parameters if p.name == site.name and p.pointer]
    return max([site.size, *(dtype.itemsize for dtype in given if not dtype.is_number)])


def _misaligned(told: Told, site: FaultSite) -> Report:
    at, begin, _, address = signed(told.values)
    much, rest = site.alignment, address % site.alignment
    message = (
        f"kernel {told.kernel.signature.name!r} {site.verb} {site.size} bytes of {named(site)} as if they "
        f"began at a multiple of {much} bytes, but they begin {rest} behind one"
    )
    hint = "leave alignment= out, or begin where it holds"
    return of_access(told, site, message, at - (begin if begin > -(1 << 61) else 0), (hint,))


def _index(told: Told, site: FaultSite) -> Report:
    at, extent = signed(told.values)
    name = told.kernel.signature.name
    message = f"kernel {name!r} takes index {at} of a mode that counts from 0 to {extent - 1}"
    hints = (
        "an index from the end is written n - 1" if at < 0 else "guard the access, or correct the index",
    )
    return Report(site.kind, message, location_of(site), name, told.block, told.thread, index=at, hints=hints)


def _out_of_bounds(told: Told, site: FaultSite) -> Report:
    if not site.verb:
        return _index(told, site)
    at, begin, end, _ = signed(told.values)
    size = _bytes_each(told, site)
    element, count = (at - begin) // size, (end - begin) // size
    what = f"{count} {'element' if count == 1 else 'elements'} of {size} bytes"
    name = told.kernel.signature.name
    message = f"kernel {name!r} {site.verb} element {element} of {named(site)}, which has {what}"
    hint = "leave out the threads that have no element: `if i < n:`, or launch with over=n"
    return of_access(told, site, message, at - begin, (hint,) if _is_given(told, site) else ())


def _element(told: Told, site: FaultSite) -> tuple[str, int]:
    """The element that an access is of, in words, and at which byte of the memory it begins."""
    at, begin, _, _ = signed(told.values)[-4:]
    at -= begin if begin > -(1 << 61) else 0  # of memory whose ends are not known
    return f"element {at // _bytes_each(told, site)} of {named(site)}", at


def _uninitialised(told: Told, site: FaultSite) -> Report:
    what, at = _element(told, site)
    message = f"kernel {told.kernel.signature.name!r} {site.verb} {what}, which nobody has written"
    hint = (
        "write it before, in the kernel or by `enqueue_fill`" if _is_given(told, site) else "write it before"
    )
    return of_access(told, site, message, at, (hint,))


def _data_race(told: Told, site: FaultSite) -> Report:
    what, at = _element(told, site)
    other = told.other
    assert other is not None
    if other.under_way:
        return _copied(told, site, other)
    there, verb = other.block, other.site.verb
    message = (
        f"kernel {told.kernel.signature.name!r} {site.verb} {what} in one thread and {verb} it in another, "
        "and nothing orders the two"
    )
    hint, verbs = "let the threads of the block wait between the two: `barrier()`", {site.verb, verb}
    if "updates" in verbs:
        hint += f"; or {'read it by `Atomic.load`' if 'reads' in verbs else 'write it by `Atomic.store`'}"
    if "warps" in told.kernel.uses and _in_a_warp(told.thread, other.thread):
        hint += "; or those of the warp alone: `syncwarp()`"
    if "over" in told.kernel.uses:
        hint = "elements of a range have no order: give each its own memory, use `Atomic`, or launch twice"
    elif there != told.block:
        hint = (
            "blocks have no order: give each its own memory, use `Atomic`, hand over by a release, "
            "or launch twice"
        )
        if "grid_sync" in told.kernel.uses:
            hint = "let all blocks wait between the two: `grid_sync()`"
        elif "clusters" in told.kernel.uses:
            hint = "let the cluster's blocks wait between the two: `cluster_sync()`; others have no order"
    if there != told.block and "" not in (site.scope, other.site.scope):
        hint = 'one is atomic for its own block alone: leave out `scope="block"`'
    where = f"{verb} it in {'another block' if there is None else f'block {there}'}, thread {other.thread}"
    place = Other(location_of(other.site), where, there, other.thread)
    return replace(of_access(told, site, message, at, (hint,)), other=place)


def _copied(told: Told, site: FaultSite, other: Noted) -> Report:
    what, at = _element(told, site)
    message = (
        f"kernel {told.kernel.signature.name!r} {site.verb} {what}, to which a copy may still be under way"
    )
    own = other.thread == told.thread and other.block == told.block
    hint = "wait for it before: `async_copy_wait_all()`, or `async_copy_wait_group(n)` of ended groups"
    if other.site.counted:
        hint = "wait before for the barrier that counts its bytes: `bar.wait(phase)`"
    elif not own:
        hint += "; and then at a `barrier()`, as each thread waits for its own copies"
    where = f"begun in block {other.block}, thread {other.thread}, and not waited for"
    place = Other(location_of(other.site), where, other.block, other.thread)
    return replace(of_access(told, site, message, at, (hint,)), other=place)


def _in_a_warp(one: Indices, two: Indices) -> bool:
    """Whether two threads of a block are certain to be of one warp."""
    return one[1:] == two[1:] == (0, 0) and one[0] // WARP == two[0] // WARP


def _arithmetic(message: str, hint: str) -> Callable[[Told, FaultSite], Report]:
    """A report of arithmetic; in the message stand ``{}`` for what was computed and ``{to}`` for the type."""

    def made(told: Told, site: FaultSite) -> Report:
        values = [unpack(d, w.to_bytes(8, "little")) for d, w in zip(site.pieces, told.values, strict=True)]
        texts = [format_value(d, value) for d, value in zip(site.pieces, values, strict=True)]
        if not texts:
            words = f"a lane of `{site.name}`"
        elif site.name.isidentifier():
            words = _SPELLED.get(site.name) or f"{site.name}({', '.join(['{}'] * len(texts))})"
        else:
            words = f"{{}} {site.name} {{}}"
        name = told.kernel.signature.name
        said = message.format(words.format(*texts), to="" if site.result is None else site.result.name)
        return Report(
            site.kind,
            f"kernel {name!r}: {said}",
            location_of(site),
            name,
            told.block,
            told.thread,
            hints=(hint,),
        )

    return made


_SPELLED = {"negate": "-({})", "absolute": "abs({})", "cast": "{}"}


def _endless(told: Told, site: FaultSite) -> Report:
    name = told.kernel.signature.name
    message = (
        f"kernel {name!r} does not leave this loop: a thread has gone on and on since it accessed memory "
        "outside of what there is, and is ended"
    )
    notes = ("what is outside is read as 0, so what the loop waits for may never come",)
    hints = ("mend that access, and let the loop end where its memory ends",)
    return Report(
        site.kind, message, location_of(site), name, told.block, told.thread, notes=notes, hints=hints
    )


KINDS: Mapping[str, Callable[[Told, FaultSite], Report]] = {
    "misaligned": _misaligned,
    "out-of-bounds": _out_of_bounds,
    "endless-loop": _endless,
    "uninitialised": _uninitialised,
    "data-race": _data_race,
    "integer-overflow": _arithmetic(
        "{} does not fit {to}", "compute in a wider type: Int(x); unsigned integers wrap around by design"
    ),
    "integer-wrap": _arithmetic(
        "{} wraps around in {to}", "compare before, or compute in a signed type: Int(x)"
    ),
    "division-by-zero": _arithmetic("{} divides by zero", "test the divisor before"),
    "shift-count": _arithmetic(
        "{} shifts {to} by its width or more, or by a negative number", "mask the count, or test it before"
    ),
    "not-finite": _arithmetic("{} is no finite number in {to}", "test the operands before"),
    "lossy-conversion": _arithmetic(
        "{} does not fit {to}", "convert by x.saturating_cast(...), or to a wider type"
    ),
}
"""What is said of each kind of fault."""


def location_of(site: AssertSite | FaultSite) -> Location:
    """Where an assertion stands, or what else a site is of: its expression, or all of its statement."""
    from weft.diagnostics.wrote import statement_place

    if isinstance(site, AssertSite):
        return statement_place(
            site.file, site.line, site.column, lambda found: found if isinstance(found, ast.Assert) else None
        )
    file, line, (end, end_column) = site.file, site.line, site.end
    if not end:
        found = statement_place(file, line, site.column)
    else:
        found = Location(file, line, site.column, end, end_column)
    caller: Location | None = None
    for called_from in reversed(site.callers):
        caller = Location(*called_from, inlined_at=caller)
    return found if caller is None else replace(found, inlined_at=caller)
