"""Reports: what a checked launch has found wrong, as data; a diagnostic is what it looks like."""

from __future__ import annotations

from collections.abc import Iterable

from weft.diagnostics.diagnostic import Diagnostic, Label
from weft.diagnostics.location import Location, caller_location, is_internal
from weft.record import record, replace

Indices = tuple[int, int, int]
"""Of a block in the grid, or of a thread in its block: x, y, z."""
SHOWN = 20
"""So many reports are shown as text; the rest are counted."""


@record
class Other:
    """The other place that takes part: the other access of a race, or the barrier after a decision."""

    location: Location
    text: str
    block: Indices | None = None
    thread: Indices | None = None


@record
class Report:
    """One fault at one place of a kernel, as the first thread that came to it had it.

    ``code`` and ``message`` are those of its diagnostic, and ``location`` has ``file``, ``line`` and
    ``column``. ``count`` is how often it happened there, in all threads of the launches that were waited for.
    Of an access of memory, ``verb`` is ``"reads"``, ``"writes"`` or ``"updates"``; ``buffer`` the name of the
    parameter or the variable of the kernel, where it has one; ``index`` the element and ``size`` its bytes;
    ``address`` where that would be. What the host does wrong has no kernel (``""``), block and thread.
    """

    code: str
    message: str
    location: Location
    kernel: str
    block: Indices
    thread: Indices
    count: int = 1
    verb: str = ""
    buffer: str = ""
    index: int | None = None
    size: int | None = None
    address: int | None = None
    other: Other | None = None
    said: str = ""
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    def diagnostic(self) -> Diagnostic:
        """The report as a message has it."""
        where = self.said or f"in block {self.block}, thread {self.thread}"
        if self.count > 1:
            where += f", and {self.count - 1} more time{'s' * (self.count > 2)}"
        labels = [Label(self.location, where)]
        if self.other is not None:
            labels.append(Label(self.other.location, self.other.text))
        return Diagnostic(self.code, self.message, tuple(labels), self.notes, self.hints)


def merged(reports: Iterable[Report]) -> tuple[Report, ...]:
    """Reports of which each place and fault has one, the first, with how often all of them happened.

    A place that reads and writes what is wrong alike (``x[i] += 1``) has one too, and so has a race that both
    sides have come to.
    """
    found: dict[object, Report] = {}
    for report in reports:
        other = None if report.other is None else report.other.location
        key: object = report.code, report.kernel, report.location, other
        if report.code == "data-race":
            key = report.kernel, frozenset((report.location, other))
        first = found.setdefault(key, report)
        if first is not report and first.verb == report.verb:
            found[key] = replace(first, count=first.count + report.count)
    return tuple(found.values())


def shown(reports: Iterable[Report]) -> list[Diagnostic]:
    """The diagnostics of reports, as many as are read."""
    each = list(reports)
    found = [report.diagnostic() for report in each[:SHOWN]]
    if len(each) > SHOWN:
        more = len(each) - SHOWN
        found.append(Diagnostic("more-failures", f"{more} more places have faults", count=more))
    return found


def placed(reports: Iterable[Report]) -> tuple[Report, ...]:
    """The same at the call under way, of those whose own place is within weft, as in a ready kernel."""
    found = tuple(reports)
    if not any(is_internal(each.location.file) for each in found):
        return found
    place = caller_location()
    if place is None:
        return found
    return tuple([replace(r, location=place) if is_internal(r.location.file) else r for r in found])


_kept: list[Report] | None = None


def keep_reports() -> list[Report]:
    """From now on keep reports of this process here, instead of raising errors: the program goes on."""
    global _kept
    if _kept is None:
        _kept = []
    return _kept


def to_raise(reports: list[Report]) -> list[Report]:
    """Those of some reports that an error is to be raised for: all, or none where they are kept."""
    if _kept is None:
        return reports
    _kept.extend(placed(reports))
    return []
