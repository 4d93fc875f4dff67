"""What a search has found, for people: a line, a table, and a picture of the space."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from weft.benchmark.report import digits, time_text
from weft.benchmark.text import columns
from weft.record import record
from weft.tuning.candidates import Candidate
from weft.tuning.classes import Class
from weft.tuning.config import Config, shown
from weft.tuning.search import Timing

_CELL, _ROW, _EDGE, _LETTER = 84, 26, 16, 6.6
"""Widths and heights in a picture: of a square, of a line, around all of it, of a letter."""


@record
class Search:
    """One class of launches: what became of each configuration, in the order of the space."""

    kernel: str
    of: Class
    candidates: Sequence[Candidate]
    timings: Sequence[Timing]

    @property
    def best(self) -> float:
        """Seconds of the fastest."""
        return min((seconds for _, seconds in self.each()), default=math.inf)

    def each(self) -> list[tuple[Candidate, float]]:
        """Configurations and their seconds, infinite where there are none."""
        pairs = zip(self.candidates, self.timings, strict=True)
        return [(c, math.inf if c.left_out else t.seconds) for c, t in pairs]


def line(search: Search) -> str:
    """What was chosen, and how much better than the first that is that was measured."""
    ranked = sorted(search.each(), key=lambda pair: pair[1])
    name = search.kernel.rpartition(".")[2]
    left_out = sum(bool(candidate.left_out) for candidate, _ in ranked)
    if not ranked or ranked[0][1] == math.inf:
        return f"{name}, {search.of}: nothing could be measured"
    first = next(seconds for _, seconds in search.each() if seconds < math.inf)
    gain = f", {digits(first / ranked[0][1])} times as fast as the first" if first > ranked[0][1] else ""
    rest = f", {left_out} left out" if left_out else ""
    text = f"{name}, {search.of}: {ranked[0][0].config} ({time_text(ranked[0][1])}{gain}; {len(ranked)} tried"
    return f"{text}{rest})"


def table(search: Search) -> str:
    """All configurations, the fastest first; those that were left out last, with the reasons."""
    ranked = sorted(search.each(), key=lambda pair: pair[1])
    names = list(search.candidates[0].config)
    resources = any(candidate.residency for candidate, _ in ranked)
    head = [*names, "median", "times the best", ""]
    rows = [["", *head, "registers", "spilled", "shared", "occupancy"] if resources else ["", *head]]
    for candidate, seconds in ranked:
        given = [shown(candidate.config[name]) for name in names]
        if seconds < math.inf:
            times = seconds / search.best
            row = [time_text(seconds), digits(times), "█" * max(1, round(12 / times))]
        else:
            row = ["", "", ""]
        found = candidate.residency
        if resources and found is None:
            row += [""] * 4
        elif found is not None:
            row += [str(found.registers), str(found.spilled), str(found.shared), f"{found.occupancy:.0%}"]
        rows.append(["*" if seconds == search.best < math.inf else "", *given, *row])
    reasons = [f"  {c.config}: {c.left_out}" for c, _ in ranked if c.left_out]
    return "\n".join([f"{search.kernel}, {search.of}", columns(rows), *reasons])


def svg(searches: Iterable[Search]) -> str:
    """All of the space as squares, darker the slower; the reason why one is missing is its title."""
    parts: list[str] = []
    width, top = 0.0, float(_EDGE)
    for search in searches:
        wide, top = _panel(search, top, parts)
        width = max(width, wide)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{top:.0f}" '
        f'viewBox="0 0 {width:.0f} {top:.0f}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join(
        [head, f'<rect width="{width:.0f}" height="{top:.0f}" fill="#fff"/>', *parts, "</svg>\n"]
    )


def page(searches: Sequence[Search]) -> str:
    """The picture and the tables as a page of HTML, complete in itself."""
    tables = "".join(f"<pre>{html.escape(table(search))}</pre>\n" for search in searches)
    style = "body{font-family:sans-serif;margin:2em}pre{font-size:13px}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>weft tune</title>'
        f"<style>{style}</style></head>\n<body>\n<h1>weft tune</h1>\n{svg(searches)}{tables}</body></html>\n"
    )


def _panel(search: Search, top: float, parts: list[str]) -> tuple[float, float]:
    """Add what shows one class; how wide it is, and where the next begins."""
    rows, row_names, columns_, column_names = _axes([c.config for c in search.candidates])
    found = {c.config: (c, seconds) for c, seconds in search.each()}
    labels = [_label(row_names, row) for row in rows]
    left = _EDGE + _LETTER * max([1, *map(len, labels)]) + 8
    title = f"{search.kernel}: {search.of}"
    parts.append(_text(_EDGE, top + 14, title, weight="bold"))
    top += 28
    for j, column in enumerate(columns_):
        parts.append(_text(left + (j + 0.5) * _CELL, top + 14, _label(column_names, column), anchor="middle"))
    top += 20
    for i, row in enumerate(rows):
        parts.append(_text(left - 8, top + 17, labels[i], anchor="end"))
        for j, column in enumerate(columns_):
            config = Config(dict(zip((*row_names, *column_names), (*row, *column), strict=True)))
            if config in found:
                parts += _square(*found[config], search.best, left + j * _CELL, top)
        top += _ROW
    return max(left + len(columns_) * _CELL, _EDGE + 7.2 * len(title)) + _EDGE, top + 24


def _square(candidate: Candidate, seconds: float, best: float, x: float, y: float) -> list[str]:
    """A configuration: green where it is the best, paler the slower, grey where it was left out."""
    title = html.escape(f"{candidate.config}: {candidate.left_out or time_text(seconds)}")
    colour, text = "#e4e4e4", "–"
    if seconds < math.inf:
        worse = min(1.0, math.log2(max(1.0, seconds / best)) / 3)
        colour, text = f"hsl({140 - 120 * worse:.0f}, 65%, {62 + 22 * worse:.0f}%)", time_text(seconds)
    border = 'stroke="#000" stroke-width="2"' if seconds == best < math.inf else 'stroke="#fff"'
    box = f'x="{x + 1:.0f}" y="{y + 1:.0f}" width="{_CELL - 2}" height="{_ROW - 2}"'
    return [
        f'<g><title>{title}</title><rect {box} rx="3" fill="{colour}" {border}/>'
        f"{_text(x + _CELL / 2, y + 17, text, anchor='middle')}</g>"
    ]


def _axes(
    space: Sequence[Config],
) -> tuple[list[tuple[Any, ...]], list[str], list[tuple[Any, ...]], list[str]]:
    """What goes down and what goes across: the parameter with the most values goes across."""
    values = {name: list(dict.fromkeys(config[name] for config in space)) for name in space[0]}
    across = max(values, key=lambda name: len(values[name]))
    down = [name for name in values if name != across]
    used = {tuple(config[name] for name in down) for config in space}
    rows = [row for row in product(*(values[name] for name in down)) if row in used]
    return rows, down, [(value,) for value in values[across]], [across]


def _label(names: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in zip(names, values, strict=True))


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {place}>{html.escape(text)}</text>"
