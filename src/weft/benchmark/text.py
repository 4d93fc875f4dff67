"""Results as text: a table for people, CSV and JSON for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weft.benchmark.report import Report, digits, time_text


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Rows below each other, a rule after the first; the first column is text, the others are numbers."""
    lines = [list(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def shown(value: object) -> str:
    """A parameter's value: functions and types by their names."""
    return str(getattr(value, "__name__", value))


def _named(reports: Sequence[Report], of: Callable[[Report], Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for report in reports for name in of(report)))


def _table(reports: Sequence[Report]) -> str:
    params, units = _named(reports, lambda r: r.params), _named(reports, lambda r: r.rates)
    rows = [["name", *params, "median", "min", "max", "spread", "samples", *units]]
    for r in reports:
        times = [time_text(t) for t in (r.median, r.min, r.max)]
        given = [shown(r.params.get(name, "")) for name in params]
        rates = [digits(r.rates[unit]) if unit in r.rates else "" for unit in units]
        samples = f"{len(r.times)} x {r.batch_size}"
        rows.append([r.name, *given, *times, f"{digits(100 * r.spread)} %", samples, *rates])
    return columns(rows)


def _csv(reports: Sequence[Report]) -> str:
    import csv
    import io

    params, units = _named(reports, lambda r: r.params), _named(reports, lambda r: r.rates)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", *params, *_FIGURES, *units])
    for r in reports:
        given = [shown(r.params.get(name, "")) for name in params]
        figures = [getattr(r, name) for name in _FIGURES]
        writer.writerow([r.name, *given, *figures, *(r.rates.get(unit, "") for unit in units)])
    return text.getvalue().rstrip("\n")


def _json(reports: Sequence[Report]) -> str:
    import json

    found: list[dict[str, Any]] = [
        {
            "name": r.name,
            "params": dict(r.params),
            **{name: getattr(r, name) for name in _FIGURES},
            "rates": r.rates,
            "times": r.times,
        }
        for r in reports
    ]
    return json.dumps(found, indent=2, default=shown, ensure_ascii=False)


_FIGURES = ("median", "mean", "min", "max", "spread", "iters", "batch_size")
FORMATS: dict[str, Callable[[Sequence[Report]], str]] = {"table": _table, "csv": _csv, "json": _json}
SUFFIXES = {".txt": "table", ".csv": "csv", ".json": "json"}
