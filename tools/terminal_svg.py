"""A picture of what a command prints: python tools/terminal_svg.py OUT.svg [--lines N] COMMAND...

The command believes that it writes to a terminal, so colours are drawn; lines in the midst of long output are
left out where ``--lines`` says how many there may be.
"""

from __future__ import annotations

import html
import os
import pty
import re
import shlex
import sys
from pathlib import Path

_COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "1": "#ffffff"}
_WIDE, _HIGH = 7.3, 17


def ran(command: list[str]) -> str:
    """What a command prints to a terminal."""
    parts: list[bytes] = []

    def read(descriptor: int) -> bytes:
        parts.append(os.read(descriptor, 1 << 16))
        return parts[-1]

    pty.spawn(command, read)
    return b"".join(parts).decode().replace("\r", "")


def svg(title: str, text: str, most: int) -> str:
    """The picture of a text with colours of ANSI."""
    lines = text.rstrip().expandtabs(4).split("\n")
    if len(lines) > most:
        head = most - most // 3
        lines = [*lines[:head], "...", *lines[head + 1 - most :]]
    plain = [re.sub(r"\033\[[\d;]*m", "", line) for line in lines]
    width, height = max(map(len, [*plain, title])) * _WIDE + 32, (len(lines) + 2) * _HIGH + 16
    rows = [f'<text x="16" y="{_HIGH + 6}" fill="#8b949e">$ {html.escape(title)}</text>']
    for n, line in enumerate(lines, 2):
        colour, y = "#c9d1d9", n * _HIGH + 10
        if found := re.search(r"\033\[([\d;]+)m", line):
            colour = _COLOURS.get(found[1].split(";")[-1], colour)
        shown = html.escape(re.sub(r"\033\[[\d;]*m", "", line))
        if shown.strip():
            rows.append(f'<text x="16" y="{y}" fill="{colour}">{shown}</text>')
    style = 'font-family="ui-monospace,DejaVu Sans Mono,monospace" font-size="12" style="white-space:pre"'
    box = f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0d1117"/>'
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{box}{"".join(rows)}</svg>\n'


def main(words: list[str]) -> None:
    """Draw what a command prints."""
    out, command, most = words[0], words[1:], 40
    if command[0] == "--lines":
        most, command = int(command[1]), command[2:]
    Path(out).write_text(svg(shlex.join(command), ran(command), most), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
