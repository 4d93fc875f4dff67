"""What checked kernels have found in a program that ``weft run`` runs, told at its end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TextIO
from urllib.parse import quote

from weft.diagnostics import CompileError, Location, Report
from weft.diagnostics.reports import Other, merged, shown

Format = Literal["text", "json", "sarif"]


def tell(reports: Sequence[Report], form: Format, output: str | None, to: TextIO | None) -> int:
    """Write reports in a form to the file of that name, else to an open one or standard error.

    Returns:
        the exit status: 1 where there are any.

    Raises:
        CompileError: the file cannot be written.
    """
    found, out = merged(reports), to or sys.stderr
    if form == "text":
        from weft.diagnostics.rendering import render_all

        colour = output is None and out.isatty()
        text = render_all(shown(found), colour=colour) + "\n" if found else ""
    else:
        text = json.dumps(as_json(found) if form == "json" else as_sarif(found), indent=2) + "\n"
    if output is not None:
        try:
            Path(output).write_text(text, encoding="utf-8")
        except OSError as error:
            message = f"cannot write {output}: {error.strerror}"
            raise CompileError.at("no-file", message, None) from None
    else:
        print(text, end="", file=out, flush=True)
    return 1 if found else 0


def as_json(reports: Sequence[Report]) -> dict[str, Any]:
    """The reports as data for JSON; lines and columns count from 1."""
    return {"version": 1, "reports": [_report(report) for report in reports]}


def _report(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {
        "code": report.code,
        "message": report.message,
        "kernel": report.kernel or None,
        **_place(report.location),
        "block": report.block if report.kernel else None,
        "thread": report.thread if report.kernel else None,
        "count": report.count,
        "access": report.verb or None,
        "buffer": report.buffer or None,
        "index": report.index,
        "size": report.size,
        "address": report.address,
        "help": list(report.hints),
    }
    if report.other is not None:
        other = report.other
        found["other"] = {
            **_place(other.location),
            "text": other.text,
            "block": other.block,
            "thread": other.thread,
        }
    return {name: value for name, value in found.items() if value is not None}


def _place(place: Location) -> dict[str, Any]:
    found: dict[str, Any] = {"file": place.file, "line": place.line, "column": place.column + 1}
    if place.end_line is not None and place.end_column is not None:
        found |= {"end_line": place.end_line, "end_column": place.end_column + 1}
    if place.inlined_at is not None:
        found["called_from"] = _place(place.inlined_at)
    return found


def as_sarif(reports: Sequence[Report]) -> dict[str, Any]:
    """The reports as OASIS's SARIF 2.1.0 has them."""
    from weft import __version__
    from weft.diagnostics.explain import page

    rules: dict[str, Any] = {}
    for report in reports:
        known = page(report.code)
        title = report.code if known is None else known.title
        rules.setdefault(report.code, {"id": report.code, "shortDescription": {"text": title}})
    driver = {
        "name": "weft",
        "version": __version__,
        "rules": list(rules.values()),
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(report, list(rules).index(report.code)) for report in reports],
            }
        ],
    }


_PROPERTIES = ("kernel", "block", "thread", "access", "buffer", "index", "size", "address")
"""What SARIF has no word for, by the names that JSON has."""


def _result(report: Report, rule: int) -> dict[str, Any]:
    where = report.diagnostic().labels[0].text
    found: dict[str, Any] = {
        "ruleId": report.code,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": f"{report.message}, {where}"},
        "locations": [_physical(report.location)],
        "occurrenceCount": report.count,
        "properties": {name: value for name, value in _report(report).items() if name in _PROPERTIES},
    }
    related = [] if report.other is None else [_related(report.other)]
    caller = report.location.inlined_at
    while caller is not None:
        related.append({**_physical(caller), "message": {"text": "called from here"}})
        caller = caller.inlined_at
    if related:
        found["relatedLocations"] = [{"id": n, **each} for n, each in enumerate(related, 1)]
    return found


def _related(other: Other) -> dict[str, Any]:
    return {**_physical(other.location), "message": {"text": other.text}}


def _physical(place: Location) -> dict[str, Any]:
    region = {"startLine": place.line, "startColumn": place.column + 1}
    if place.end_line is not None and place.end_column is not None:
        region |= {"endLine": place.end_line, "endColumn": place.end_column + 1}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(place.file)}, "region": region}}


def _uri(file: str) -> str:
    """The file as seen from the present folder, where it is in that, since CI services look there."""
    path = Path(os.path.abspath(file))
    if path.is_relative_to(Path.cwd()):
        return quote(path.relative_to(Path.cwd()).as_posix())
    return path.as_uri()
