"""What kernels tell of faults: assertions that fail, and what checked contexts find."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from weft.abi.artifact import AssertSite, FaultSite, KernelInfo
from weft.abi.console import IDS
from weft.diagnostics import Location, Report
from weft.diagnostics.reports import Place
from weft.runtime.printing import format_print


class Told(NamedTuple):
    """What is told of a fault: the kernel, the place, the thread, and the values."""

    kernel: KernelInfo
    site: AssertSite | FaultSite
    block: Place
    thread: Place
    values: Sequence[int]


def report(kernel: KernelInfo, number: int, words: Sequence[int]) -> Report:
    """The report of a fault at a site of a kernel; ``words`` are where the thread is, then the values."""
    site = kernel.sites[number]
    assert isinstance(site, (AssertSite, FaultSite))
    told = Told(kernel, site, _place(words[:3]), _place(words[3:IDS]), words[IDS:])
    return _assertion_failed(told) if isinstance(site, AssertSite) else KINDS[site.kind](told, site)


def _place(words: Sequence[int]) -> Place:
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
        buffer=site.name,
        index=at // site.size,
        size=site.size,
        address=told.values[-1],
        hints=hints,
    )


def named(site: FaultSite) -> str:
    """The memory of an access, in words."""
    return f"`{site.name}`" if site.name else "an array of its own"


def _out_of_bounds(told: Told, site: FaultSite) -> Report:
    at, begin, end, _ = signed(told.values)
    element, count = (at - begin) // site.size, (end - begin) // site.size
    what = f"{count} {'element' if count == 1 else 'elements'} of {site.size} bytes"
    name = told.kernel.signature.name
    message = f"kernel {name!r} {site.verb} element {element} of {named(site)}, which has {what}"
    hint = "leave out the threads that have no element: `if i < n:`, or launch with over=n"
    return of_access(told, site, message, at - begin, (hint,) if site.name else ())


KINDS: Mapping[str, Callable[[Told, FaultSite], Report]] = {"out-of-bounds": _out_of_bounds}
"""What is said of each kind of fault."""


def location_of(site: AssertSite | FaultSite) -> Location:
    """Where an assertion or an access stands: all of the statement, where its source is as it was."""
    from weft.diagnostics.wrote import statement_place

    def whole(found: ast.stmt) -> ast.AST | None:
        return found if isinstance(site, FaultSite) or isinstance(found, ast.Assert) else None

    return statement_place(site.file, site.line, site.column, whole)
