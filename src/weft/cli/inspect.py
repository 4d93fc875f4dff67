"""``weft inspect``: what a kernel of a file is compiled to."""

from __future__ import annotations

import argparse
import os
import sys
from types import ModuleType
from typing import Any, Literal

from weft.cli.asked import asked, file_and_name, find_kernel, in_options, kernels_of
from weft.cli.program import compiled, execute
from weft.compile import CodeKind, compile_info, default_target
from weft.compiler.pipeline import EMISSION_KINDS
from weft.diagnostics import CompileError, nearest
from weft.lang.signature import describe_parameters
from weft.targets import Target, find_target
from weft.targets.occupancy import Resources

_NVIDIA: dict[str, CodeKind | Literal["resources"]] = {
    "ptx": "asm",
    "cubin": "object",
    "sass": "sass",
    "resources": "resources",
}
"""Forms that NVIDIA's GPUs alone have, by their names."""
_BLOCKS = (32, 64, 128, 256, 512, 1024)


def inspect(words: argparse.Namespace) -> int:
    """Print a kernel in the form that was asked for, or list the kernels of the file."""
    file, name = file_and_name(words.kernel)
    target = find_target(default_target() if words.target is None else words.target)
    kind = _kind(words.emit, target)
    module = execute(compiled(file), "__inspected__")  # not __main__: only definitions are wanted
    if not name:
        return _list(file, module)
    kernel = find_kernel(file, name, module)
    named = asked(words, vars(module))
    try:
        form = "asm" if kind == "resources" else kind
        how: Any = {"target": target, "over": words.over, "opt_level": words.opt_level}
        info = compile_info(kernel, emission_kind=form, **how, **named)
    except CompileError as error:
        raise CompileError(in_options(d, kernel) for d in error.diagnostics) from None
    if words.output is not None and os.path.exists(words.output) and os.path.samefile(words.output, file):
        message = f"-o {words.output} would write over the file that is inspected"
        raise CompileError.at("output", message, None, hints=("give the output another name",))
    _write(_table(info.resources) if kind == "resources" else info.code, words.output)
    return 0


def _table(used: Resources) -> str:
    """What a kernel uses, and how full blocks of several sizes make a multiprocessor."""
    lines = [f"{name:<14}{getattr(used, name):>8}" for name in Resources.__slots__]
    lines += ["", "threads  blocks  warps  occupancy  limited by"]
    for threads in _BLOCKS:
        held = used.occupancy(threads)
        numbers = f"{threads:>7}{held.blocks:>8}{held.warps:>7}{held.fraction:>10.0%}"
        lines.append(f"{numbers}   {held.limited_by}")
    return "\n".join([*lines, ""])


def _kind(word: str, target: Target) -> CodeKind | Literal["resources"]:
    """What ``--emit`` asks for.

    Raises:
        CompileError: there is no such form, or not for the target.
    """
    if target.format == "ptx" and word in _NVIDIA:
        return _NVIDIA[word]
    for known in EMISSION_KINDS:
        if word == known:
            return known
    message, hint = f"--emit {word} is no form of a kernel", "write --emit asm for PTX or assembly"
    guess = nearest(word, (*EMISSION_KINDS, *_NVIDIA))
    if word in _NVIDIA:
        message = f"--emit {word} is for NVIDIA's GPUs, and the target is {target.name}"
        hint = "add --target sm_90, say, or write --emit asm for assembly"
    elif guess is not None:
        hint = f"did you mean --emit {guess}?"
    notes = (f"there are {', '.join(EMISSION_KINDS)}, and for NVIDIA's GPUs {', '.join(_NVIDIA)}",)
    raise CompileError.at("unknown-emission-kind", message, None, notes=notes, hints=(hint,))


def _list(file: str, module: ModuleType) -> int:
    found = kernels_of(module)
    for name, kernel in found.items():
        print(f"{name}{describe_parameters(kernel.definition)}")
    if not found:
        print(
            f"{file} has no kernels; for one that a function makes, call it: {file}:'make(2)'",
            file=sys.stderr,
        )
    return 0


def _write(code: str | bytes, output: str | None) -> None:
    data = code.encode() if isinstance(code, str) else code
    if output is not None:
        try:
            with open(output, "wb") as out:
                out.write(data)
        except OSError as error:
            message = f"cannot write {output}: {error.strerror}"
            raise CompileError.at("output", message, None, hints=("give -o another name",)) from None
        return
    if isinstance(code, bytes) and sys.stdout.isatty():
        raise CompileError.at("output", "an object file is not for a terminal", None, hints=("add -o FILE",))
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
