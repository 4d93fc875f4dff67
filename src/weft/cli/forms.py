"""The forms of a kernel that ``weft inspect`` shows, by the words for them."""

from __future__ import annotations

import argparse
from typing import Any, Literal

from weft.cli.asked import in_options
from weft.compile import CodeKind, compile_info, elaborated
from weft.compiler.frontend.stage import staged_text
from weft.compiler.pipeline import EMISSION_KINDS
from weft.diagnostics import CompileError, nearest
from weft.lang.decorators import Kernel
from weft.targets import Target
from weft.targets.occupancy import Resources

Form = CodeKind | Literal["staged", "resources", "passes", "remarks"]
_VENDORS: dict[str, Form] = {
    "ptx": "asm",
    "cubin": "object",
    "sass": "sass",
    "resources": "resources",
}
"""Forms that NVIDIA's GPUs alone have, by their names."""
_EVERYWHERE: tuple[Form, ...] = ("staged", *EMISSION_KINDS, "passes", "remarks")
_BLOCKS = (32, 64, 128, 256, 512, 1024)


def form_of(word: str, target: Target) -> Form:
    """What ``--emit`` asks for.

    Raises:
        CompileError: there is no such form, or not for the target.
    """
    if target.format == "ptx" and word in _VENDORS:
        return _VENDORS[word]
    for known in _EVERYWHERE:
        if word == known:
            return known
    message, hint = f"--emit {word} is no form of a kernel", "write --emit asm for PTX or assembly"
    guess = nearest(word, (*_EVERYWHERE, *_VENDORS))
    if word in _VENDORS:
        message = f"--emit {word} is for NVIDIA's GPUs, and the target is {target.name}"
        hint = "add --target sm_90, say, or write --emit asm for assembly"
    elif guess is not None:
        hint = f"did you mean --emit {guess}?"
    notes = (f"there are {', '.join(_EVERYWHERE)}, and for NVIDIA's GPUs {', '.join(_VENDORS)}",)
    raise CompileError.at("unknown-emission-kind", message, None, notes=notes, hints=(hint,))


def made_form(
    kernel: Kernel[...], form: Form, target: Target, words: argparse.Namespace, named: dict[str, Any]
) -> str | bytes:
    """A kernel in a form, compiled as the words of the command line say.

    Raises:
        CompileError: it cannot be compiled, or what the form needs is not here.
    """
    how: dict[str, Any] = {"over": words.over, "opt_level": words.opt_level}
    try:
        if form == "staged":
            return staged_text(kernel.definition, True) + "\n"
        if form in ("passes", "remarks"):
            made = elaborated(kernel, (), target, how["over"], named, opt_level=how["opt_level"])
            if form == "passes":
                from weft.explorer.passes import passes_text

                return passes_text(made)
            from weft.explorer.remarks import remarks_text, told

            return remarks_text(told(made))
        if form == "resources":
            return table(compile_info(kernel, target=target, **how, **named).resources)
        return compile_info(kernel, emission_kind=form, target=target, **how, **named).code
    except CompileError as error:
        raise CompileError(in_options(d, kernel) for d in error.diagnostics) from None


def table(used: Resources) -> str:
    """What a kernel uses, and how full blocks of several sizes make a multiprocessor."""
    lines = [f"{name:<14}{getattr(used, name):>8}" for name in Resources.__slots__]
    lines += ["", "threads  blocks  warps  occupancy  limited by"]
    for threads in _BLOCKS:
        held = used.occupancy(threads)
        numbers = f"{threads:>7}{held.blocks:>8}{held.warps:>7}{held.fraction:>10.0%}"
        lines.append(f"{numbers}   {held.limited_by}")
    return "\n".join([*lines, ""])
