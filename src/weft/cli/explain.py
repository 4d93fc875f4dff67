"""``weft explain``: what the code of a message means."""

from __future__ import annotations

import re
import sys

from weft.diagnostics import CompileError, nearest
from weft.diagnostics.explain import GROUPS, page, pages

_BOLD, _RED, _CYAN, _DIM = "1", "1;31", "36", "2"


def explain(code: str | None) -> int:
    """Print the page of a code, or list all codes.

    Raises:
        CompileError: no message has this code.
    """
    colour = sys.stdout.isatty()
    if code is None:
        print(_listed(colour))
        return 0
    code = code.rpartition("[")[2].rstrip("]")  # as messages print it, too: error[code]
    found = page(code)
    if found is None:
        raise _unknown(code)
    heading, _, body = found.text.partition("\n")
    print(
        _paint(f"{code}: {heading.removeprefix('# ')}", _BOLD, colour), _shown(body, colour), sep="\n", end=""
    )
    return 0


def _paint(text: str, style: str, colour: bool) -> str:
    return f"\033[{style}m{text}\033[0m" if colour else text


def _listed(colour: bool) -> str:
    parts: list[str] = []
    for group, (name, when) in GROUPS.items():
        found = list(pages(group))
        width = max(len(p.code) for p in found)
        lines = [f"  {_paint(p.code.ljust(width), _CYAN, colour)}  {p.title}" for p in found]
        parts.append("\n".join([_paint(name, _BOLD, colour), when, *lines]))
    return "\n\n".join(
        [*parts, "`weft explain CODE` tells more, with a program that is wrong and one that is right."]
    )


def _shown(body: str, colour: bool) -> str:
    """Markdown for a terminal: blocks indented, without their fences."""
    lines: list[str] = []
    block = ""
    for line in body.splitlines():
        if line.startswith("```"):
            block = "" if block else line
        elif block:
            style = _RED if re.match(r"(error|warning)\[", line) else _DIM if block == "```output" else ""
            lines.append(f"    {_paint(line, style, colour and bool(style))}".rstrip())
        else:
            lines.append(re.sub("`[^`]+`", lambda m: _paint(m[0], _CYAN, colour), line))
    return "\n".join(lines)


def _unknown(code: str) -> CompileError:
    known = {p.code: p.title for group in GROUPS for p in pages(group)}
    guess = nearest(code, known)
    alike = [c for c, title in known.items() if code.lower() in f"{c} {title}".lower()]
    hints = [f"did you mean {guess}?"] if guess else []
    notes = [f"of this speak {', '.join(alike)}"] if alike and alike != [guess] else []
    return CompileError.at(
        "unknown-code",
        f"no message has the code {code}",
        None,
        notes=notes,
        hints=hints or ["`weft explain` lists all codes"],
    )
