"""``weft inspect --diff``: two kernels, or one compiled in two ways, and what differs."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable
from typing import NamedTuple

from weft.cli.asked import asked, file_and_name, find_kernel
from weft.cli.forms import form_of, made_form
from weft.cli.program import compiled, execute
from weft.compile import compile_info, default_target
from weft.diagnostics import CompileError
from weft.explorer.passes import difference
from weft.explorer.places import of_assembly, of_llvm, of_sass
from weft.targets import find_target

_ADDRESS = re.compile(r"/\*[0-9a-f]+\*/\s*")
_NUMBERS = "registers spill_stores spill_loads stack shared barriers".split()
_THREADS = (128, 256, 512)
_COLOURS = {"-": "\033[31m", "+": "\033[32m", "@": "\033[36m"}


class _Side(NamedTuple):
    """One of the two: what it is called, its lines, and its row of numbers, by their names."""

    title: str
    lines: list[str]
    numbers: dict[str, str]


def compare(words: argparse.Namespace, parse: Callable[[list[str]], argparse.Namespace]) -> str:
    """What makes the kernel of ``words`` different from that of ``words.diff``, which has words of its own.

    Raises:
        CompileError: a side does not compile, or is no kernel.
    """
    given = shlex.split(words.diff)
    if not given:
        raise _refused("--diff has no words", "write --diff file.py:other, or --diff='-O0'")
    other = parse(given)
    if other.emit is not None or other.output is not None or other.diff is not None:
        raise _refused(f"--diff {words.diff!r} has words that are for both", "write --emit beside --diff")
    other = _filled(other, words)
    if other.kernel is None:
        other.kernel = words.kernel
    sides = [_side(each, words.emit or "asm") for each in (other, words)]
    names = [side.title for side in sides]
    if names[0] == names[1]:
        raise _refused("both sides are the same", "name another kernel, or say what differs: --diff='-O0'")
    lines = difference(sides[0].lines, sides[1].lines, (names[0], names[1]))
    shown = [_coloured(line) for line in lines] if sys.stdout.isatty() and not words.output else lines
    return "\n".join([*(shown or ["no difference"]), "", *_table(sides), ""])


def _filled(side: argparse.Namespace, words: argparse.Namespace) -> argparse.Namespace:
    """A side with what both have in common, where it says nothing itself."""
    for name in ("target", "opt_level"):
        if getattr(side, name) is None:
            setattr(side, name, getattr(words, name))
    side.over = side.over or words.over
    for name in ("param", "type", "layout"):
        own = {item.partition("=")[0] for item in getattr(side, name)}
        common = [item for item in getattr(words, name) if item.partition("=")[0] not in own]
        setattr(side, name, [*common, *getattr(side, name)])
    return side


def _side(words: argparse.Namespace, emit: str) -> _Side:
    file, name = file_and_name(words.kernel)
    if not name:
        raise _refused(f"{words.kernel} names no kernel", f"write {file}:KERNEL")
    target = find_target(default_target() if words.target is None else words.target)
    module = execute(compiled(file), "__inspected__")
    kernel = find_kernel(file, name, module)
    named = asked(words, vars(module))
    form = form_of(emit, target)
    made = made_form(kernel, form, target, words, named)
    if isinstance(made, bytes):
        raise _refused(f"--emit {emit} is no text that can be compared", "write --emit sass, say")
    lines = _plain(made, form)
    options = [f"-O{words.opt_level}"] if words.opt_level is not None else []
    options += [f"--over {words.over}"] if words.over else []
    options += [f"{kind} {item}" for kind in ("param", "type", "layout") for item in getattr(words, kind)]
    title = " ".join([words.kernel, target.name, *options])
    numbers = {f"lines of {emit}": str(len(lines))}
    how = {"target": target, "over": words.over, "opt_level": words.opt_level}
    info = compile_info(kernel, **how, **named)
    numbers["milliseconds"] = f"{sum(info.times.values()):.1f}"
    try:
        used = info.resources
    except CompileError:  # of a CPU, or no assembler is here
        return _Side(title, lines, numbers)
    numbers |= {number.replace("_", " "): str(getattr(used, number)) for number in _NUMBERS}
    for threads in _THREADS:
        held = used.occupancy(threads)
        numbers[f"occupancy of {threads}"] = f"{held.fraction:.0%} ({held.limited_by})"
    return _Side(title, lines, numbers)


def _plain(text: str, form: str) -> list[str]:
    """The lines of a form without places and addresses, which differ where nothing else does."""
    if form == "sass":
        return [_ADDRESS.sub("", line.text) for line in of_sass(text, {})]
    if form == "asm":
        return [line.text for line in of_assembly(text, {})]
    return [line.text for line in of_llvm(text)] if form.startswith("llvm") else text.splitlines()


def _table(sides: list[_Side]) -> list[str]:
    """The numbers of both beside each other."""
    a, b = (side.numbers for side in sides)
    rows = [(name, a.get(name, "-"), b.get(name, "-")) for name in dict.fromkeys([*a, *b])]
    wide = max(len(one) for _, one, _ in rows) + 2
    marked = [(name, one, two, "" if one == two else "  *") for name, one, two in rows]
    return [f"{name:<18}{one:>{wide}}  ->  {two}{mark}" for name, one, two, mark in marked]


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[:1], "")
    return f"{colour}{line}\033[0m" if colour else line


def _refused(message: str, hint: str) -> CompileError:
    return CompileError.at("option", message, None, hints=(hint,))
