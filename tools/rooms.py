"""Draws docs/assets/rooms.svg, the rooms of weft as the code has them: each row imports only from rows below.

Run it again (``python tools/rooms.py``) when a room comes or goes.
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "weft"
PICTURE = ROOT / "docs" / "assets" / "rooms.svg"
NESTED = {"compiler", "launch", "runtime"}
COLORS = {"compiler": "#dbe9f6", "launch": "#e3f1dd", "runtime": "#f6e8d5", "": "#f3e3ef", "base": "#ececec"}
FACADE = "weft.*, gpu.host, cli"
BASE, MEMORY = "dtype, config, record", "memory, atomic, ffi"
ALONE = {**dict.fromkeys(BASE.split(", "), BASE), **dict.fromkeys(MEMORY.split(", "), MEMORY)}
WIDTH, HEIGHT, GAP = 132, 46, 14


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module: its folder, within some folders theirs; what users import alone is one room."""
    if not parts:
        return FACADE
    if (len(parts) < 2 and not (PACKAGE / Path(*parts)).is_dir()) or parts[:2] == ("gpu", "host"):
        return ALONE.get(parts[0], FACADE)
    if parts[0] in ("cli", "sys"):
        return FACADE
    if parts[0] in NESTED:
        inner = PACKAGE / parts[0] / parts[1] if len(parts) > 1 else PACKAGE
        return f"{parts[0]}/{parts[1]}" if inner.is_dir() and inner != PACKAGE else parts[0]
    return parts[0]


def imports(path: Path) -> set[str]:
    """The rooms of weft that a file imports from when it is loaded."""
    found: set[str] = set()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "weft":
            base = tuple((node.module or "").split(".")[1:])
            found |= {
                room_of((*base, alias.name) if is_module((*base, alias.name)) else base)
                for alias in node.names
            }
    return found


def is_module(parts: tuple[str, ...]) -> bool:
    """Whether there is a file or folder of that name."""
    path = PACKAGE.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


def survey() -> tuple[dict[str, int], dict[str, set[str]]]:
    """Lines of each room, and what it imports."""
    lines: dict[str, int] = {}
    uses: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        room = room_of(parts[:-1] if parts[-1] == "__init__" else parts)
        lines[room] = lines.get(room, 0) + len(path.read_text(encoding="utf-8").splitlines())
        uses.setdefault(room, set()).update(imports(path) - {room})
    return lines, uses


def rows(uses: dict[str, set[str]]) -> dict[str, int]:
    """How far above the ground each room stands; rooms that import each other stand beside each other."""
    reached = {room: set(uses[room]) for room in uses}
    for _ in uses:
        for room in uses:
            reached[room] |= {far for near in reached[room] for far in reached.get(near, ())}
    together = {room: {o for o in reached[room] if room in reached.get(o, ())} | {room} for room in uses}
    height: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in height:
            group = together[room]
            below = {o for member in group for o in uses[member]} - group
            value = 1 + max((of(o) for o in below if o in uses), default=-1)
            height.update(dict.fromkeys(group, value))
        return height[room]

    return {room: of(room) for room in uses}


def drawn() -> str:
    """The picture."""
    lines, uses = survey()
    height = rows(uses)
    top = max(height.values())
    levels = [[room for room in sorted(height) if height[room] == n] for n in range(top, -1, -1)]
    levels = [level for level in levels if level]
    across = max(map(len, levels))
    width = across * (WIDTH + GAP) + GAP
    tall = len(levels) * (HEIGHT + GAP) + GAP
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" '
        'font-family="sans-serif" text-anchor="middle">',
        "<title>The rooms of weft: each row imports only from rows below</title>",
    ]
    for n, level in enumerate(levels):
        left = (width - len(level) * (WIDTH + GAP) + GAP) / 2
        for k, room in enumerate(level):
            x, y = left + k * (WIDTH + GAP), GAP + n * (HEIGHT + GAP)
            middle = x + WIDTH / 2
            base = room in ("abi", "diagnostics", "targets", BASE)
            color = COLORS["base"] if base else COLORS.get(room.split("/")[0], COLORS[""])
            out.append(
                f'<rect x="{x:g}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="{color}" stroke="#888"/>'
                f'<text x="{middle:g}" y="{y + 20}" font-size="13">{escape(room)}</text>'
                f'<text x="{middle:g}" y="{y + 36}" font-size="10" fill="#555">{lines[room]} lines</text>'
            )
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
