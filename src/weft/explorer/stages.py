"""What a page of the explorer shows of a kernel: its forms, line by line, and what it uses of its machine."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any

from weft.compile import elaborated
from weft.compiler.ir.printer import print_module
from weft.compiler.passes.pipeline import run_passes
from weft.compiler.pipeline import Compilation
from weft.diagnostics import CompileError
from weft.explorer.places import Line, Place, calls_around, of_assembly, of_ir, of_llvm, of_sass
from weft.lang.decorators import Compiled
from weft.layout.algebra.layout import Layout
from weft.layout.show import layout_svg
from weft.record import field, record, replace
from weft.runtime.drivers import toolkit
from weft.targets import find_target
from weft.targets.occupancy import Resources

_MOST_DRAWN = 1024
"""Elements of a layout that is drawn."""
_BLOCKS = tuple(range(32, 1025, 32))
_SHARED = tuple(range(0, 225 * 1024, 8 * 1024))


@record
class Stage:
    """A form of the kernel. ``part`` says which pass gave it, where there are several of its name."""

    name: str
    lines: list[Line]
    part: str = ""


@record
class Explored:
    """A kernel in all its forms.

    ``sources`` has of each file the first line that is shown, and the text from there; ``times`` how long
    each stage took, in milliseconds; ``calls`` from where each line is called; ``notes`` why something is
    not there; ``measured`` and ``roofline`` what launches took, where somebody has measured that; ``ways``
    the lines that threads took, where they were followed (``ways.py``).
    """

    name: str
    target: str
    stages: list[Stage]
    sources: Mapping[str, tuple[int, list[str]]]
    times: Mapping[str, float]
    assembly: str
    calls: Mapping[Place, tuple[Place, ...]]
    pictures: Mapping[str, str]
    resources: Resources | None = None
    notes: list[str] = field(default_factory=list[str])
    measured: Mapping[str, str] = field(default_factory=dict[str, str])
    roofline: str = ""
    ways: Mapping[str, Any] | None = None


def explored(
    f: Callable[..., Any] | Compiled, types: tuple[Any, ...], target: Any, over: int, named: Mapping[str, Any]
) -> Explored:
    """Compile a kernel and look at each stage, but for machine code.

    Raises:
        CompileError: it cannot be compiled.
    """
    made = elaborated(f, types, target, over, named)
    stages = _by_passes(made)
    lowered = made.lowered(places=True)
    stages.append(Stage("llvm", of_llvm(lowered.text)))
    stages.append(Stage("llvm-opt", of_llvm(str(made.by_llvm(lowered, "llvm-opt")))))
    calls = calls_around(line for stage in stages for line in stage.lines)
    assembly = str(made.by_llvm(lowered, "asm"))
    stages.append(Stage("ptx" if made.target.format == "ptx" else "asm", of_assembly(assembly, calls)))
    sources = _sources(made.kernels[0].place[0], [line for stage in stages for line in stage.lines])
    pictures = {name: layout_svg(layout) for name, layout in _layouts(named).items()}
    name = made.kernels[0].signature.name
    return Explored(name, made.target.name, stages, sources, dict(made.times), assembly, calls, pictures)


def with_machine_code(found: Explored) -> Explored:
    """A kernel with what its vendor's tools make of its assembly, where they are here; else a note says why
    not. They take half a second.
    """
    tools = toolkit(find_target(found.target).format)
    if tools is None:
        return found
    try:
        binary, resources = tools.assemble(found.assembly)
        sass = Stage("sass", of_sass(tools.disassemble(binary), found.calls))
    except CompileError as error:
        said = [f"{d.message}; {'; '.join(d.hints)}" for d in error.diagnostics]
        return replace(found, notes=[*found.notes, *said])
    return replace(found, stages=[*found.stages, sass], resources=resources)


def _by_passes(made: Compilation) -> list[Stage]:
    stages = [Stage("ir", of_ir(made.ir(locations=True)), "as elaborated")]

    def seen(name: str, module: Any) -> None:
        lines = of_ir(print_module(module, locations=True))
        if [line.text for line in lines] != [line.text for line in stages[-1].lines]:
            stages.append(Stage("ir", lines, name))

    even = all(options.even for options in made.options)
    run_passes(made.module, made.target, even=even, seen=seen)
    return stages


def _sources(own: str, lines: list[Line]) -> dict[str, tuple[int, list[str]]]:
    """The kernel's file, and of others the functions that lines come from."""
    wanted: dict[str, set[int]] = {own: set()}
    for line in lines:
        for place in line.places:
            wanted.setdefault(place.file, set()).add(place.line)
    found: dict[str, tuple[int, list[str]]] = {}
    for file, numbers in wanted.items():
        text = [line.rstrip("\n") for line in linecache.getlines(file)]
        first, last = 1, len(text)
        if file != own and text:
            first, last = _functions(text, numbers)
        found[file] = first, text[first - 1 : last]
    return found


def _functions(text: list[str], numbers: set[int]) -> tuple[int, int]:
    """From where to where the functions of some lines reach, by how far their lines are indented."""
    first, last = min(numbers), min(max(numbers), len(text))
    while first > 1 and not text[first - 1].lstrip().startswith("def "):
        first -= 1
    deep = len(text[first - 1]) - len(text[first - 1].lstrip())
    while last < len(text) and (not text[last].strip() or text[last][: deep + 1].isspace()):
        last += 1
    while not text[last - 1].strip():
        last -= 1
    return first, last


def _layouts(named: Mapping[str, Any]) -> dict[str, Layout]:
    """Static layouts of one or two modes that are small enough to be drawn."""
    found: dict[str, Layout] = {}
    for name, value in named.items():
        layout = getattr(value, "layout", value)
        if isinstance(layout, Layout) and layout.is_static and layout.rank <= 2:
            if layout.size() <= _MOST_DRAWN:
                found[name] = layout
    return found


def occupancies(used: Resources) -> list[list[tuple[int, str]]]:
    """By dynamic shared memory (8 KiB a step) and threads of a block (32): warps, and what limits them."""
    table: list[list[tuple[int, str]]] = []
    for shared in _SHARED:
        held = [used.occupancy(threads, shared) for threads in _BLOCKS]
        table.append([(each.warps, each.limited_by) for each in held])
    return table
