"""What the stages of a program's compilation took: a table, and a trace as Chrome's viewer reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from weft.build.outcome import Outcome
from weft.diagnostics.timed import own_times

STAGES = (
    "stage",
    "elaborate",
    "verify",
    "look up",
    "passes",
    "lower",
    "read",
    "optimise",
    "make code of",
    "assemble",
)
"""In their order; the last but one three are LLVM's, the last is the driver's."""


def table(outcomes: Sequence[Outcome], seconds: float, most: int = 20) -> str:
    """Milliseconds by stage: of those kernels that took longest, and of all."""
    times = [(o, {s: 1e3 * t for s, t in own_times(list(o.spans)).items()}) for o in outcomes]
    stages = [s for s in STAGES if any(s in each for _, each in times)]
    times.sort(key=lambda each: -sum(each[1].values()))
    head = ["milliseconds", *stages, "all"]
    rows = [[_name(o), *_cells(stages, each)] for o, each in times[:most]]
    if len(times) > most:
        rest: dict[str, float] = {s: sum(each.get(s, 0.0) for _, each in times[most:]) for s in stages}
        rows.append([f"{len(times) - most} others", *_cells(stages, rest)])
    total = {s: sum(each.get(s, 0.0) for _, each in times) for s in stages}
    rows.append(["all", *_cells(stages, total)])
    whole = sum(total.values()) or 1.0
    rows.append(["of all", *(f"{100 * total[s] / whole:.0f} %" for s in stages), "100 %"])
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(w) if n == 0 else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *rows)
    ]
    times_as_long = f"{whole / (1e3 * seconds):.1f} times as much"
    lines.append(
        f"{1e3 * seconds:.0f} ms from start to end; the stages add up to {whole:.0f}, {times_as_long}"
    )
    return "\n".join(lines)


def _name(outcome: Outcome) -> str:
    return f"{outcome.item.name} ({outcome.item.target.name})"


def _cells(stages: Sequence[str], times: dict[str, float]) -> list[str]:
    return [*(f"{times.get(s, 0.0):.1f}" for s in stages), f"{sum(times.values()):.1f}"]


def trace(outcomes: Sequence[Outcome]) -> str:
    """The stages as events of Chrome's traces, for ``chrome://tracing`` or Perfetto."""
    events = [
        {
            "name": span.stage,
            "cat": "compile",
            "ph": "X",
            "ts": 1e6 * span.start,
            "dur": 1e6 * (span.end - span.start),
            "pid": outcome.process,
            "tid": span.thread,
            "args": {"kernel": outcome.item.name, "target": outcome.item.target.name},
        }
        for outcome in outcomes
        for span in outcome.spans
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})
