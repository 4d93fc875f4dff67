"""``weft profile``: run a file, and tell what its kernels took."""

from __future__ import annotations

import argparse
import html
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.cli.run import run
from weft.diagnostics import CompileError, WeftError
from weft.explorer.roofline import Point, roofline_svg
from weft.launch import profile as measured
from weft.launch.context import DeviceContext
from weft.runtime.driver import DeviceInfo

_COPIED = 1 << 28
"""Bytes of the copy that is measured on a GPU; a sixteenth of them on a CPU."""
_DRAWN = 2000
"""Launches of the timeline."""


def profile(words: argparse.Namespace) -> int:
    """Run the file as ``weft run`` would, and write the table to standard error at its end."""
    if words.nvtx:
        measured.start_ranges()
    measured.start()
    status = 1
    try:
        status = run(words.file, words.args)
        return status
    finally:
        rows, events = measured.rows(), measured.trace()
        measured.stop()
        copied = {row.device.name: copy_rate(row.device) for row in rows}
        if rows or status == 0:  # a program that failed has said why there are none
            print(table(rows, copied), file=sys.stderr)
        if words.trace is not None:
            _write("--trace", words.trace, json.dumps({"traceEvents": events, "otherData": copied}))
        if words.page is not None:
            _write("--page", words.page, page(Path(words.file).name, rows, copied, events))


def copy_rate(device: DeviceInfo) -> float:
    """Bytes a second that a copy in the device's memory reads and writes, the best of some; 0 if it fails."""
    size = _COPIED if not device.shares_host else _COPIED // 16
    try:
        with DeviceContext(api=device.api) as ctx:
            src, dst = (ctx.enqueue_create_buffer("uint8", size) for _ in range(2))
            src.enqueue_fill(1)
            best = 0.0
            for _ in range(5):
                before = ctx.record_event()
                ctx.enqueue_copy(dst=dst, src=src)
                after = ctx.record_event()
                ctx.synchronize()
                best = max(best, 2 * size / after.seconds_since(before))
            return best
    except (WeftError, ZeroDivisionError):  # a device that is full, or that the program has broken
        return 0.0


def table(rows: list[measured.Row], copied: Mapping[str, float]) -> str:
    """The rows as text. ``copied`` has the bytes a second of a copy, by the names of devices."""
    if not rows:
        return "weft profile: no kernel was launched"
    whole, wide = sum(row.total for row in rows), max(6, *(len(row.name) for row in rows))
    head = "launches  total ms  share  median us  least us    GB/s  GFLOP/s  of roof"
    lines = [f"{'kernel':<{wide}}  {head}"]
    for row in rows:
        numbers = f"{row.count:>10}{row.total * 1e3:>10.3f}{row.total / whole:>7.0%}"
        times = f"{row.median * 1e6:>11.1f}{row.least * 1e6:>10.1f}{row.rate / 1e9:>8.0f}"
        roof = row.of_roof(copied.get(row.device.name, 0.0))
        reached = f"{row.flops / 1e9:>9.0f}" if row.flops else f"{'':>9}"
        lines.append(f"{row.name:<{wide}}{numbers}{times}{reached}{f'{roof:9.0%}' if roof else ''}".rstrip())
    devices = ", ".join(f"{name} ({rate / 1e9:,.0f} GB/s)" for name, rate in copied.items())
    note = (
        "of roof: beside that copy, and the device's Float32 where weft.benchmark.declare_work says\n"
        "operations. Bytes as declared, else as if a launch read or wrote all of its arrays once; events\n"
        "take some 2 us"
    )
    return "\n".join([*lines, f"on {devices}, measured by a copy; {note}"])


_STYLE = """
:root { color-scheme: light dark; --bar: #f5f6f8; --line: #d8dce2; --key: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --bar: #1b2027; --line: #2a3038; --key: #8ab4f8; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 24px auto; max-width: 1080px; padding: 0 16px; }
table { border-collapse: collapse; } td, th { padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); }
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }
.time { width: 100%; height: 74px; background: var(--bar); } h2 { margin: 26px 0 6px; font-size: 17px; }
"""


def page(
    name: str, rows: list[measured.Row], copied: Mapping[str, float], events: list[dict[str, Any]]
) -> str:
    """One page of HTML that needs nothing else: the table, a roofline and a timeline for each device."""
    heads = "kernel,launches,total ms,median us,least us,GB/s,GFLOP/s,of roof".split(",")
    parts = [f"<h1>weft profile {html.escape(name)}</h1><table><tr>{_cells(heads, 'th')}</tr>"]
    for row in rows:
        roof = row.of_roof(copied.get(row.device.name, 0.0))
        cells = [html.escape(row.name), f"{row.count}", f"{row.total * 1e3:.3f}", f"{row.median * 1e6:.1f}"]
        cells += [f"{row.least * 1e6:.1f}", f"{row.rate / 1e9:.0f}"]
        cells += [f"{row.flops / 1e9:.0f}" if row.flops else "", f"{roof:.0%}" if roof else ""]
        parts.append(f"<tr>{_cells(cells, 'td')}</tr>")
    parts.append("</table>")
    for device in dict.fromkeys(row.device for row in rows):
        own = [row for row in rows if row.device == device]
        points = [Point(row.name, row.intensity, row.flops) for row in own]
        drawn = roofline_svg(points, device.bandwidth, device.flops, copied.get(device.name, 0.0))
        missing = ", ".join(html.escape(row.name) for row in own if not row.work)
        parts.append(f"<h2>Roofline of {html.escape(device.name)}</h2>{drawn}")
        if missing:
            parts.append(f"<p>Without declared operations (<code>declare_work</code>): {missing}.</p>")
        parts.append(f"<h2>Timeline</h2>{_timeline([e for e in events if e['pid'] == device.name])}")
    head = '<!doctype html><html lang="en"><meta charset="utf-8">'
    head += f"<title>weft profile {html.escape(name)}</title><style>{_STYLE}</style>"
    return f"{head}{''.join(parts)}</html>\n"


def _cells(texts: Sequence[str], tag: str) -> str:
    return "".join([f"<{tag}>{text}</{tag}>" for text in texts])


def _timeline(events: list[dict[str, Any]]) -> str:
    """The first launches as bars over time, each with its name and what it took."""
    shown = events[:_DRAWN]
    if not shown:
        return ""
    end = max(e["ts"] + e["dur"] for e in shown)
    hues = {name: n * 67 % 360 for n, name in enumerate(dict.fromkeys(e["name"] for e in shown))}
    bars: list[str] = []
    for e in shown:
        left, wide = e["ts"] / end * 1000, max(0.6, e["dur"] / end * 1000)
        told = f"{html.escape(e['name'])}: {e['dur']:.1f} us at {e['ts']:.1f} us"
        colour = f"hsl({hues[e['name']]} 60% 55%)"
        bar = f'<rect x="{left:.2f}" width="{wide:.2f}" y="10" height="40" fill="{colour}">'
        bars.append(f"{bar}<title>{told}</title></rect>")
    text = f'<text x="2" y="68" font-size="12" fill="currentColor">0 to {end / 1e3:,.3f} ms'
    note = f", the first {_DRAWN} of {len(events)} launches" if len(events) > _DRAWN else ""
    box = (
        '<svg class="time" viewBox="0 0 1000 74" preserveAspectRatio="none" role="img" aria-label="timeline">'
    )
    return f"{box}{''.join(bars)}{text}{note}</text></svg>"


def _write(option: str, file: str, text: str) -> None:
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot write {file}: {error.strerror}"
        raise CompileError.at("output", message, None, hints=(f"give {option} another name",)) from None
