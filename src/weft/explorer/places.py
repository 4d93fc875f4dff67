"""Which lines of Python the lines of each form come from, read from the forms' own texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple


class Place(NamedTuple):
    """A line of a source file."""

    file: str
    line: int


class Line(NamedTuple):
    """A line of a form, and the line of Python that it comes from, then those of the calls around it."""

    text: str
    places: tuple[Place, ...] = ()


_AT = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
_IR_END = re.compile(r" loc\((?:callsite\()?\"")
_LLVM_AT = re.compile(r", !dbg !(\d+)")


def of_ir(text: str) -> list[Line]:
    """The IR of weft, printed with locations, which are taken off."""
    lines: list[Line] = []
    for line in text.splitlines():
        cut = _IR_END.search(line)
        places = tuple(Place(m[1], int(m[2])) for m in _AT.finditer(line, cut.start())) if cut else ()
        lines.append(Line(line[: cut.start()] if cut else line, places))
    return lines


def of_llvm(text: str) -> list[Line]:
    """LLVM's IR, whose metadata says where its instructions come from, and is left out."""
    nodes = {m[1]: m[2] for m in re.finditer(r"^!(\d+) = (?:distinct )?!(DI\w+\(.*\))$", text, re.MULTILINE)}

    def named(node: str, word: str) -> str:
        found = re.search(rf'\b{word}: (?:!(\d+)|(\d+)|"((?:[^"\\]|\\.)*)")', node)
        return next((g for g in found.groups() if g is not None), "") if found else ""

    @cache
    def file_of(number: str) -> str:
        node = nodes.get(number, "")
        if node.startswith("DIFile"):
            folder, name = named(node, "directory"), named(node, "filename")
            return f"{folder}/{name}" if folder and not name.startswith("/") else name
        return file_of(named(node, "file")) if node else ""

    @cache
    def places(number: str) -> tuple[Place, ...]:
        found: list[Place] = []
        while node := nodes.get(number, ""):
            line = int(named(node, "line") or 0)
            if line:
                found.append(Place(file_of(named(node, "scope")), line))
            number = named(node, "inlinedAt")
        return tuple(found)

    lines: list[Line] = []
    for line in text.splitlines():
        if line.startswith(("!", "attributes #")):
            continue
        at = _LLVM_AT.search(line)
        lines.append(Line(_LLVM_AT.sub("", line), places(at[1]) if at else ()))
    while lines and not lines[-1].text:
        lines.pop()
    return lines


_LOC = re.compile(r"\s*\.loc\s+(\d+) (\d+)")
_FILE = re.compile(r'\s*\.file\s+(\d+) "([^"]*)"(?: "([^"]*)")?', re.MULTILINE)
_LABEL = re.compile(r"[\w$.]+:")


def of_assembly(text: str, calls: Mapping[Place, tuple[Place, ...]]) -> list[Line]:
    """PTX or a processor's assembly: a ``.loc`` holds until the next, or until a function ends."""
    files = {m[1]: f"{m[2]}/{m[3]}" if m[3] else m[2] for m in _FILE.finditer(text)}
    lines: list[Line] = []
    now: tuple[Place, ...] = ()
    for line in text.splitlines():
        if (at := _LOC.match(line)) is not None:
            place = Place(files.get(at[1], ""), int(at[2]))
            now = (place, *calls.get(place, ())) if place.line else now
        elif line.startswith("}") or ".cfi_endproc" in line:
            lines.append(Line(line))
            now = ()
        elif not _FILE.match(line):
            lines.append(Line(line, () if not line[:1].isspace() or _LABEL.match(line.strip()) else now))
    return lines


_SASS_GAP = re.compile(r"^ {8}(/\*[0-9a-f]+\*/) {11}")
_SASS_AT = re.compile(r'\s*//## File "([^"]*)", line (\d+)')


def of_sass(text: str, calls: Mapping[Place, tuple[Place, ...]]) -> list[Line]:
    """NVIDIA's machine code, as ``nvdisasm -g`` prints it."""
    lines: list[Line] = []
    now: tuple[Place, ...] = ()
    for line in text.splitlines():
        if (at := _SASS_AT.match(line)) is not None:
            place = Place(at[1], int(at[2]))
            now = (place, *calls.get(place, ()))
        elif not line.strip().startswith("//"):
            shown = _SASS_GAP.sub(r"\1 ", line.expandtabs(8))
            lines.append(Line(shown, now if "/*" in line else ()))
    return lines


def calls_around(lines: Iterable[Line]) -> dict[Place, tuple[Place, ...]]:
    """From where each line is called, over all that stand within one another's calls.

    Assembly has the innermost line alone; a helper's line belongs to every call of it.
    """
    found: dict[Place, dict[Place, None]] = {}
    for line in lines:
        if line.places:
            found.setdefault(line.places[0], {}).update(dict.fromkeys(line.places[1:]))
    return {place: tuple(around) for place, around in found.items()}
