"""A roofline as SVG: operations a second over operations a byte, under what memory and lanes allow."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Scale = Callable[[float], float]
"""From a value to a place in the picture."""
_WIDE, _HIGH = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 14, 40


class Point(NamedTuple):
    """A kernel: operations a byte, and operations a second."""

    name: str
    intensity: float
    flops: float


def roofline_svg(points: Sequence[Point], bandwidth: float, flops: float, copied: float = 0.0) -> str:
    """The picture; points without operations are left out.

    Args:
        points: the kernels.
        bandwidth: bytes a second of the memory at most, by its clock; 0 where that is unknown.
        flops: operations a second of Float32 at most; 0 where that is unknown.
        copied: bytes a second that a copy was measured to read and write.

    Example:
        >>> roofline_svg([Point("scale", 0.125, 3e11)], 4.8e12, 6.7e13).count("<circle")
        1
    """
    drawn = [p for p in points if p.intensity > 0 and p.flops > 0]
    slope = bandwidth or copied
    ridge = flops / slope if slope and flops else 10.0
    xs = [0.05, ridge * 8, *(p.intensity for p in drawn)]
    top = flops or max([slope * ridge or 1e9, *(p.flops * 2 for p in drawn)])
    ys = [top * 1.6, *(p.flops for p in drawn), (copied or slope or 1e9) * min(xs)]
    low, high = _decades(xs)
    bottom, ceiling = _decades(ys)

    def x(value: float) -> float:
        return _LEFT + (math.log10(value) - low) / (high - low) * (_WIDE - _LEFT - _RIGHT)

    def y(value: float) -> float:
        share = (math.log10(value) - bottom) / (ceiling - bottom)
        return _HIGH - _BOTTOM - max(0.0, share) * (_HIGH - _TOP - _BOTTOM)

    parts = _axes(low, high, bottom, ceiling, x, y)
    for rate, dash in ((bandwidth, ""), (copied, ' stroke-dasharray="5 4"')):
        if rate:
            start = max(10.0**low, 10.0**bottom / rate)
            end = min(10.0**high, top / rate)
            named = "copy as measured" if dash else "memory"
            label = f"{named} {rate / 1e9:,.0f} GB/s"
            line = (
                f'x1="{x(start):.1f}" y1="{y(start * rate):.1f}" x2="{x(end):.1f}" y2="{y(end * rate):.1f}"'
            )
            parts.append(
                f'<line {line} stroke="#8884d8" stroke-width="2"{dash}><title>{label}</title></line>'
            )
            at = start**0.25 * end**0.75
            where = f'x="{x(at) + (8 if dash else -8):.1f}" y="{y(at * rate) + (14 if dash else -6):.1f}"'
            anchor = "start" if dash else "end"
            parts.append(f'<text {where} text-anchor="{anchor}">{label}</text>')
    if flops:
        first = flops / max(slope, 1.0)
        line = f'x1="{x(first):.1f}" x2="{x(10.0**high):.1f}" y1="{y(flops):.1f}" y2="{y(flops):.1f}"'
        parts.append(f'<line {line} stroke="#8884d8" stroke-width="2"/>')
        where = f'x="{_WIDE - _RIGHT - 4}" y="{y(flops) - 5:.1f}" text-anchor="end"'
        parts.append(f"<text {where}>Float32 {flops / 1e12:,.1f} TFLOP/s</text>")
    for p in drawn:
        name, told = html.escape(p.name), f"{p.flops / 1e9:,.1f} GFLOP/s, {p.intensity:.3g} FLOP/byte"
        circle = f'<circle cx="{x(p.intensity):.1f}" cy="{y(p.flops):.1f}" r="5" fill="#e4572e">'
        parts.append(f"{circle}<title>{name}: {told}</title></circle>")
        parts.append(f'<text x="{x(p.intensity) + 8:.1f}" y="{y(p.flops) + 4:.1f}">{name}</text>')
    style = 'font-family="system-ui,sans-serif" font-size="11" fill="currentColor"'
    size = f'viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" height="{_HIGH}"'
    label = 'role="img" aria-label="roofline"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} {label}>{"".join(parts)}</svg>'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _axes(low: int, high: int, bottom: int, ceiling: int, x: Scale, y: Scale) -> list[str]:
    parts: list[str] = []
    line = 'stroke="currentColor" stroke-opacity="0.15"'
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HIGH - _BOTTOM}" {line}/>')
        parts.append(f'<text x="{at:.1f}" y="{_HIGH - 24}" text-anchor="middle">{10.0**power:g}</text>')
    for power in range(bottom, ceiling + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" {line}/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_short(10.0**power)}</text>')
    middle = (_WIDE + _LEFT) / 2
    parts.append(f'<text x="{middle}" y="{_HIGH - 8}" text-anchor="middle">operations a byte</text>')
    turned = f"translate(12 {_HIGH / 2 - 10}) rotate(-90)"
    parts.append(f'<text transform="{turned}" text-anchor="middle">FLOP/s</text>')
    return parts


def _short(value: float) -> str:
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= unit:
            return f"{value / unit:g} {letter}"
    return f"{value:g}"
