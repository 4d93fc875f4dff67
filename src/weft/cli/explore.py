"""``weft explore``: a page with what becomes of a file's kernels, and again whenever it is saved."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from weft.build.plan import kernels_of
from weft.cli.asked import asked, check_names, file_and_name, find_kernel, in_options
from weft.cli.program import compiled, execute
from weft.compile import default_target
from weft.diagnostics import CompileError
from weft.explorer.page import page
from weft.explorer.profiled import Profiled
from weft.explorer.stages import Explored, explored, with_machine_code
from weft.explorer.ways import Ways, ways_of, with_ways
from weft.lang.decorators import Kernel
from weft.lang.signature import parameters
from weft.runtime.driver import Extents
from weft.targets import Target, find_target


def explore(words: argparse.Namespace) -> int:
    """Write the page, or serve it until it is interrupted; a program that is followed gives its status."""
    file, name = file_and_name(words.kernel)
    target = find_target(default_target() if words.target is None else words.target)
    measured = Profiled.read(words.profile) if words.profile is not None else Profiled()

    def look() -> dict[str, Explored]:
        found = _looked_at(file, name, target, words)
        return {name: measured.added(kernel) for name, kernel in found.items()}

    def follow(
        block: Extents | None = words.block, thread: Extents | None = words.thread
    ) -> tuple[Ways, int]:
        return ways_of(file, words.args, block, thread)

    follows = words.follow or words.block is not None or words.thread is not None

    if words.serve:
        from weft.explorer.serve import serve

        return serve(Path(file), look, (lambda *where: follow(*where)[0]) if follows else None, words.port)
    found, (ways, status) = look(), follow() if follows else ({}, 0)
    _tell_missing(found, ways, follows)
    text = page({name: with_ways(with_machine_code(kernel), ways) for name, kernel in found.items()})
    output = words.output or f"{os.path.splitext(os.path.basename(file))[0]}.html"
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot write {output}: {error.strerror}"
        raise CompileError.at("output", message, None, hints=("give -o another name",)) from None
    print(f"wrote {output}")
    return status


def _tell_missing(found: Mapping[str, Explored], ways: Ways, follows: bool) -> None:
    for name, kernel in found.items():
        if follows and kernel.name not in ways:
            print(f"weft: the program launches no {name} whose threads could be followed", file=sys.stderr)


def _looked_at(file: str, name: str, target: Target, words: argparse.Namespace) -> dict[str, Explored]:
    """The kernels that are asked for; without a name all of the file that compile without more words."""
    module = execute(compiled(file), "__explored__")
    named = asked(words, vars(module))
    if name:
        return {name: _one(find_kernel(file, name, module), target, words.over, named)}
    found: dict[str, Explored] = {}
    kernels = kernels_of(module)
    check_names(words, kernels.values())
    for each, kernel in kernels.items():
        try:
            found[each] = _one(kernel, target, words.over, _of(kernel, named))
        except CompileError as error:
            said = "; ".join(d.message for d in error.diagnostics)
            print(f"weft: left out {each}: {said}", file=sys.stderr)
    if not found:
        _refuse(file, module)
    return found


def _one(kernel: Kernel[...], target: Target, over: int, named: dict[str, Any]) -> Explored:
    try:
        return explored(kernel, (), target, over, named)
    except CompileError as error:
        raise CompileError(in_options(d, kernel) for d in error.diagnostics) from None


def _of(kernel: Kernel[...], named: dict[str, Any]) -> dict[str, Any]:
    """What is said of the parameters that this kernel has."""
    known = {p.name for p in parameters(kernel.definition)}
    return {n: value for n, value in named.items() if n in known}


def _refuse(file: str, module: ModuleType) -> None:
    kernels = kernels_of(module)
    message = f"{file} has no kernels" if not kernels else f"none of the kernels of {file} compiles as it is"
    hint = "for one that a function makes, write the call" if not kernels else "say more: --type, --layout"
    raise CompileError.at("unknown-kernel", message, None, hints=(f"{hint}: weft explore {file}:NAME",))
