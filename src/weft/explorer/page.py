"""The explorer's page: one HTML file that holds all it shows, and asks no network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from weft.explorer.places import Line, Place
from weft.explorer.stages import Explored, occupancies
from weft.targets import find_target


def page(kernels: Mapping[str, Explored], *, live: bool = False, follows: bool = False) -> str:
    """The page of some kernels, by their names.

    ``live``: it asks where it came from for changes; ``follows``: and for the ways of other threads.
    """
    data = {**as_data(kernels), "live": live, "follows": follows}
    template = (files("weft.explorer") / "page.html").read_text(encoding="utf-8")
    text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return template.replace("/*DATA*/", text)


def as_data(kernels: Mapping[str, Explored]) -> dict[str, Any]:
    """What the page's script reads."""
    return {"kernels": {name: _kernel(kernel) for name, kernel in kernels.items()}}


def _kernel(kernel: Explored) -> dict[str, Any]:
    numbers: dict[Place, int] = {}

    def lines(found: list[Line]) -> list[tuple[str, list[int]]]:
        return [
            (line.text, [numbers.setdefault(place, len(numbers)) for place in line.places]) for line in found
        ]

    stages = [{"name": s.name, "part": s.part, "lines": lines(s.lines)} for s in kernel.stages]
    sources: list[dict[str, Any]] = []
    for file, (first, text) in kernel.sources.items():
        own = [
            (line, [numbers[place]] if (place := Place(file, n)) in numbers else [])
            for n, line in enumerate(text, first)
        ]
        sources.append({"name": file, "first": first, "lines": own})
    used, sm = kernel.resources, find_target(kernel.target).residence
    return {
        "name": kernel.name,
        "target": kernel.target,
        "stages": stages,
        "sources": sources,
        "times": dict(kernel.times),
        "resources": used and {name: getattr(used, name) for name in used.__slots__ if name != "target"},
        "occupancy": occupancies(used) if used else [],
        "warps": sm.warps if sm else 0,
        "pictures": dict(kernel.pictures),
        "notes": kernel.notes,
        "measured": dict(kernel.measured),
        "roofline": kernel.roofline,
        "ways": kernel.ways and as_shown(kernel.ways, [*kernel.sources]),
    }


def as_shown(found: Mapping[str, Any], sources: Sequence[str]) -> dict[str, Any]:
    """The ways of a kernel's threads, with the number of each file among the sources that are shown."""
    numbers = {file: n for n, file in enumerate(sources)}

    def way(each: Mapping[str, Any]) -> dict[str, Any]:
        steps = [[numbers.get(file, -1), line, *rest] for (file, line), *rest in each["steps"]]
        return {**each, "steps": steps}

    return {**found, "ways": [way(each) for each in found["ways"]]}
