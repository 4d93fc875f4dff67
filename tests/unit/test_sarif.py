"""What CI services read, beside the structure that OASIS's SARIF 2.1.0 asks for.

The tables below are the specification's, of the objects that weft writes: what each must have, what it may
have (its schema allows nothing else), and the form of each property. Sections are those of the standard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

import pytest

from weft.cli.reports import as_sarif
from weft.diagnostics.location import Location
from weft.diagnostics.reports import Other, Report

Form = Callable[[Any], bool]


class Shape(NamedTuple):
    """An object of SARIF: groups of properties of which it has one at least, and the forms of all."""

    required: tuple[tuple[str, ...], ...]
    forms: Mapping[str, str | Form | list[str]]


def at_least(least: int) -> Form:
    return lambda value: type(value) is int and value >= least


def one_of(*values: str) -> Form:
    return lambda value: value in values


def text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def bag(value: object) -> bool:
    """3.8: names with any values."""
    return isinstance(value, dict)


def reference(value: Any) -> bool:
    """3.4.3, RFC 3986: other characters are written as %XX."""
    return (
        isinstance(value, str)
        and re.fullmatch(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+", value) is not None
    )


ROOT = Shape(
    (("version",), ("runs",)),
    {"$schema": reference, "version": one_of("2.1.0"), "runs": ["run"], "properties": bag},
)
SHAPES = {
    "run": Shape(  # 3.14
        (("tool",),),
        {
            "tool": "tool",
            "results": ["result"],
            "columnKind": one_of("utf16CodeUnits", "unicodeCodePoints"),
            "properties": bag,
        },
    ),
    "tool": Shape((("driver",),), {"driver": "toolComponent", "properties": bag}),  # 3.18
    "toolComponent": Shape(  # 3.19
        (("name",),), {"name": text, "version": text, "rules": ["reportingDescriptor"], "properties": bag}
    ),
    "reportingDescriptor": Shape((("id",),), {"id": text, "shortDescription": "message"}),  # 3.49
    "message": Shape((("text", "id"),), {"text": text, "id": text}),  # 3.11, 3.12
    "result": Shape(  # 3.27
        (("message",),),
        {
            "ruleId": text,
            "ruleIndex": at_least(-1),
            "level": one_of("none", "note", "warning", "error"),
            "message": "message",
            "locations": ["location"],
            "relatedLocations": ["location"],
            "occurrenceCount": at_least(1),
            "properties": bag,
        },
    ),
    "location": Shape(  # 3.28
        (), {"id": at_least(-1), "physicalLocation": "physicalLocation", "message": "message"}
    ),
    "physicalLocation": Shape(  # 3.29
        (("artifactLocation", "address"),), {"artifactLocation": "artifactLocation", "region": "region"}
    ),
    "artifactLocation": Shape((), {"uri": reference, "uriBaseId": text, "index": at_least(-1)}),  # 3.4
    "region": Shape(  # 3.30
        (), {name: at_least(1) for name in ("startLine", "startColumn", "endLine", "endColumn")}
    ),
}


def faults(value: Any, shape: Shape, where: str = "log") -> list[str]:
    """What the standard does not allow in an object."""
    if not bag(value):
        return [f"{where} is no object"]
    found = [f"{where} has none of {group}" for group in shape.required if not set(group) & set(value)]
    for name, each in value.items():
        form, at = shape.forms.get(name), f"{where}.{name}"
        if form is None:
            found.append(f"{at} is not of the standard")
        elif isinstance(form, list):
            many: list[Any] = list(each) if isinstance(each, list) else [None]  # pyright: ignore[reportUnknownArgumentType]
            for n, item in enumerate(many):
                found += faults(item, SHAPES[form[0]], f"{at}[{n}]")
        elif isinstance(form, str):
            found += faults(each, SHAPES[form], at)
        elif not form(each):
            found.append(f"{at} cannot be {each!r}")
    return found


def report(code: str, place: Location, **more: Any) -> Report:
    return Report(code, "this reads past the end", place, "halve", (0, 0, 0), (3, 0, 0), **more)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The log of faults in a file whose name must be written otherwise, and outside of the folder."""
    monkeypatch.chdir(tmp_path)
    here = Location(str(tmp_path / "first steps #1 ä.py"), 10, 4, 10, 19)
    called = Location("/elsewhere/a b.py", 3, inlined_at=Location(str(tmp_path / "main.py"), 7, 0, 8, 2))
    other = Other(Location(str(tmp_path / "main.py"), 12, 2), "this writes it", (1, 0, 0), (0, 0, 0))
    reports = (
        report("out-of-bounds", here, count=4, verb="reads", buffer="x", index=3, size=4),
        report("data-race", called, other=other),
        report("out-of-bounds", called),
    )
    return json.loads(json.dumps(as_sarif(reports)))


def test_the_log_is_what_the_standard_asks_for(log: dict[str, Any]) -> None:
    assert faults(log, ROOT) == []
    assert faults(json.loads(json.dumps(as_sarif(()))), ROOT) == []


def test_rules_and_places_belong_together(log: dict[str, Any]) -> None:
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)  # 3.49.3
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]  # 3.27.6
        related = result.get("relatedLocations", [])
        assert len({each["id"] for each in related}) == len(related)  # 3.28.2
        for each in (*result["locations"], *related):
            region = each["physicalLocation"]["region"]
            end = region.get("endLine", region["startLine"]), region.get("endColumn", 1 << 30)
            assert (region["startLine"], region["startColumn"]) < end  # 3.30.7, 3.30.8: the end is exclusive


def test_names_of_files_are_references(log: dict[str, Any], tmp_path: Path) -> None:
    uris: list[str] = [
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in log["runs"][0]["results"]
    ]
    assert uris == [
        "first%20steps%20%231%20%C3%A4.py",
        "file:///elsewhere/a%20b.py",
        "file:///elsewhere/a%20b.py",
    ]
    assert unquote(urlparse(uris[0]).path) == "first steps #1 ä.py"


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("version", "2.0.0", "log.version cannot be '2.0.0'"),
        ("runs.0.colour", 1, "log.runs[0].colour is not of the standard"),
        ("runs.0.results.0.level", "fatal", "log.runs[0].results[0].level cannot be 'fatal'"),
        ("runs.0.results.0.occurrenceCount", 0, "occurrenceCount cannot be 0"),
        ("runs.0.results.0.message", {}, "log.runs[0].results[0].message has none of ('text', 'id')"),
        ("runs.0.tool", [], "log.runs[0].tool is no object"),
    ],
)
def test_what_is_wrong_is_seen(log: dict[str, Any], path: str, value: object, found: str) -> None:
    at: Any = log
    *way, last = path.split(".")
    for name in way:
        at = at[int(name)] if name.isdigit() else at[name]
    at[last] = value
    assert found in "\n".join(faults(log, ROOT))
