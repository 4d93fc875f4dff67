"""What became of a kernel that it may be slow by, with the line: ``weft inspect --emit remarks``.

Loops that became vectors, and those that did not and why, as LLVM says; registers that did not suffice;
arrays in memory; what weft's own lints find, such as addresses of a warp that lie apart.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterable

from weft.compiler.llvm.traced import Remark, remarks
from weft.compiler.pipeline import Compilation
from weft.diagnostics import CompileError
from weft.explorer.places import Line, Place, of_sass
from weft.record import record
from weft.runtime.driver import Toolkit
from weft.runtime.drivers import toolkit

_VECTORS = re.compile(r"vectorized loop \(vectorization width: (\d+)")
_NOT = re.compile(r"loop not vectorized: (.*)")
_SPILLS = re.compile(r"(\d+) spills .*? (\d+) reloads ")
_HINT = re.compile(r"\. Use #pragma.*$")
_LOCAL = re.compile(r"\b(STL|LDL)\b")


@record
class Told:
    """A remark: the line that it is about, none for the kernel as a whole, and its text."""

    place: Place | None
    text: str


def told(made: Compilation) -> list[Told]:
    """The remarks of a kernel, by its lines.

    Raises:
        CompileError: LLVM cannot compile it.
    """
    found = _of_lints(made)
    if made.target.threads == "loops":
        files = {os.path.basename(f.file): f.file for f in made.module.functions}
        files |= {os.path.basename(file): file for file in _files_of(made)}
        found += _of_llvm(remarks(made.llvm(), made.target), files)
    tools = toolkit(made.target.format)
    if tools is not None:
        try:
            found += _of_assembler(made, tools)
        except CompileError as error:
            found += [Told(None, f"{d.message}; {'; '.join(d.hints)}") for d in error.diagnostics]
    known = dict.fromkeys((each.place or Place("", 0), each.text) for each in found)
    return [Told(place if place.line else None, text) for place, text in sorted(known)]


def _files_of(made: Compilation) -> set[str]:
    found = re.findall(
        r'^!\d+ = !DIFile\(filename: "([^"]*)", directory: "([^"]*)"\)', made.llvm(), re.MULTILINE
    )
    return {os.path.join(folder, name) for name, folder in found}


def _of_lints(made: Compilation) -> list[Told]:
    found: list[Told] = []
    for doubt in made.doubts:
        at = doubt.location
        found.append(Told(at and Place(at.file, at.line), f"{doubt.code}: {doubt.message}"))
    return found


def _of_llvm(said: Iterable[Remark], files: dict[str, str]) -> list[Told]:
    """What LLVM says of loops and registers, once for each line; threads of a block are loops too."""
    vectors: dict[Place, int] = {}
    reasons: dict[Place, dict[str, None]] = {}
    spills: dict[Place, tuple[int, int]] = {}
    for remark in said:
        place = Place(files.get(remark.file, remark.file), remark.line)
        if found := _VECTORS.match(remark.text):
            vectors[place] = max(vectors.get(place, 0), int(found[1]))
        elif found := _NOT.match(remark.text):
            reasons.setdefault(place, {})[_HINT.sub("", found[1])] = None
        elif found := _SPILLS.match(remark.text):
            spills[place] = max(spills.get(place, (0, 0)), (int(found[1]), int(found[2])))
    made = [Told(at, f"vectorised: loops here became vectors of {width}") for at, width in vectors.items()]
    for at, why in reasons.items():
        word = "partly not vectorised" if at in vectors else "not vectorised"
        made.append(Told(at, f"{word}: {'; '.join(why)}"))
    for at, (stores, loads) in spills.items():
        made.append(Told(at, f"spilled: {stores} stores and {loads} loads of registers that did not suffice"))
    return made


def _of_assembler(made: Compilation, tools: Toolkit) -> list[Told]:
    """Spills and arrays in memory, as the vendor's assembler says, and where its code uses these."""
    binary, used = tools.assemble(str(made.emit("asm")), made.options[0].opt_level)
    if not used.stack and not used.spill_stores:
        return []
    whole = f"memory of a thread: {used.stack} bytes"
    if used.spill_stores or used.spill_loads:
        whole = f"spilled: {used.spill_stores} bytes of stores and {used.spill_loads} of loads; {whole}"
    return [Told(None, whole), *_by_lines(of_sass(tools.disassemble(binary), {}))]


def _by_lines(sass: Iterable[Line]) -> list[Told]:
    counts: dict[Place, list[int]] = {}
    for line in sass:
        if (found := _LOCAL.search(line.text)) and line.places:
            counts.setdefault(line.places[0], [0, 0])[found[1] == "LDL"] += 1
    return [
        Told(at, f"memory of a thread: {stores} stores and {loads} loads of this line go there")
        for at, (stores, loads) in counts.items()
    ]


def remarks_text(found: list[Told]) -> str:
    """Remarks with their lines, as compilers print them."""
    lines: list[str] = []
    for each in found:
        if each.place is None:
            lines.append(f"remark: {each.text}")
        else:
            source = linecache.getline(each.place.file, each.place.line).strip()
            lines += [f"{each.place.file}:{each.place.line}: {each.text}", f"    {source}"]
    return "\n".join([*(lines or ["no remarks"]), ""])
