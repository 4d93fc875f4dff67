"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w+-]*).*$")


def blocks(text: str) -> list[tuple[int, str, list[str]]]:
    """First line's index, language and lines, without the fence's indentation, of each block."""
    found: list[tuple[int, str, list[str]]] = []
    closing = indent = ""
    inside = False
    for index, line in enumerate(text.splitlines()):
        if not inside:
            match = FENCE.match(line)
            if match:
                inside = True
                closing, indent = match["fence"], match["indent"]
                found.append((index + 1, match["language"], []))
        elif line.strip() == closing:
            inside = False
        else:
            found[-1][2].append(line.removeprefix(indent))
    return found
