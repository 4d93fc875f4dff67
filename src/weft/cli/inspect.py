"""``weft inspect``: what a kernel of a file is compiled to."""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import re
import sys
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, cast, get_origin

from weft.cli.program import compiled, execute
from weft.compile import CodeKind, compile_info, default_target
from weft.compiler.pipeline import EMISSION_KINDS
from weft.diagnostics import CompileError, Diagnostic, a_, nearest
from weft.lang.accept import element_dtype
from weft.lang.decorators import Func, Kernel
from weft.lang.signature import describe_parameters, parameters
from weft.layout import LayoutTensor
from weft.record import replace
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
    file, name = _file_and_name(words.kernel)
    target = find_target(default_target() if words.target is None else words.target)
    kind = _kind(words.emit, target)
    module = execute(compiled(file), "__inspected__")  # not __main__: only definitions are wanted
    if not name:
        return _list(file, module)
    kernel = _find(file, name, module)
    named = dict(_value(item, "--param", vars(module)) for item in words.param)
    named.update(_value(item, "--type", vars(module)) for item in words.type)
    for name, layout in map(_layout, words.layout):
        dtype = element_dtype((named.get(name),))
        named[name] = layout if dtype is None else SimpleNamespace(layout=layout, dtype=dtype)
    try:
        form = "asm" if kind == "resources" else kind
        info = compile_info(kernel, emission_kind=form, target=target, over=words.over, **named)
    except CompileError as error:
        raise CompileError(_in_options(d, kernel) for d in error.diagnostics) from None
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


def _file_and_name(text: str) -> tuple[str, str]:
    """The file that is there, and what stands behind it, which may hold colons itself."""
    ends = [at for at, letter in enumerate(text) if letter == ":"]
    for at in (len(text), *ends):
        if os.path.isfile(text[:at]):
            return text[:at], text[at + 1 :]
    file, _, name = text.rpartition(":")
    return (file, name) if file else (text, "")


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
    found = _kernels(module)
    for name, kernel in found.items():
        print(f"{name}{describe_parameters(kernel.definition)}")
    if not found:
        print(
            f"{file} has no kernels; for one that a function makes, call it: {file}:'make(2)'",
            file=sys.stderr,
        )
    return 0


def _kernels(module: ModuleType) -> dict[str, Kernel[...]]:
    """The kernels of a module by the expressions that they are: those of its classes and containers too."""
    found: dict[int, tuple[str, Kernel[...]]] = {}

    def look(shown: str, value: Any, deep: bool) -> None:
        if isinstance(value, Kernel):
            kernel: Kernel[...] = value
            if id(kernel) not in found or shown == kernel.__name__:
                found[id(kernel)] = shown, kernel
        elif deep and isinstance(value, type) and value.__module__ == module.__name__:
            for name, part in vars(value).items():
                look(f"{shown}.{name}", getattr(part, "__func__", part), False)
        elif deep and isinstance(value, dict):
            for key, part in cast("dict[Any, Any]", value).items():
                look(f"{shown}[{key!r}]", part, False)
        elif deep and isinstance(value, (list, tuple)):
            for key, part in enumerate(cast("list[Any]", value)):
                look(f"{shown}[{key}]", part, False)

    for name, value in tuple(vars(module).items()):
        look(name, value, not name.startswith("__"))
    return dict(found.values())


def _find(file: str, name: str, module: ModuleType) -> Kernel[...]:
    """The kernel of that name, or that an expression in the file's names makes.

    Raises:
        CompileError: it is none.
    """
    try:
        made = eval(compile(name, "<command line>", "eval", dont_inherit=True), dict(vars(module)))
    except (SyntaxError, NameError, AttributeError, LookupError):
        raise _unknown(file, name, _kernels(module)) from None
    if isinstance(made, Kernel):
        return made
    raise _unknown(file, name, _kernels(module), made)


def _in_options(diagnostic: Diagnostic, kernel: Kernel[...]) -> Diagnostic:
    """A message about what a parameter lacks, with the option that gives it."""
    named = re.search(r"`(\w+)`$", diagnostic.message)
    known = {p.name: p for p in parameters(kernel.definition)}
    if named is None or diagnostic.code not in ("open-type", "missing-comptime") or named[1] not in known:
        return diagnostic
    name, p = named[1], known[named[1]]
    hint = (
        f"write --type {name}=Float32, say" if p.variable else f"write --type '{name}=Pointer[Float32]', say"
    )
    if p.comptime and not p.variable:
        hint = f"write --param {name}=2, say, or the name of a value in the file"
    elif (get_origin(p.annotation) or p.annotation) is LayoutTensor:
        hint = f"write --layout {name}=480,640, say"
    return replace(diagnostic, hints=(hint,))


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


def _unknown(file: str, name: str, kernels: Iterable[str], made: object = None) -> CompileError:
    known = list(kernels)
    guess = nearest(name, known)
    hints = (f"did you mean {guess!r}?",) if guess else ()
    message = f"{file} has no kernel {name!r}"
    if isinstance(made, Func):
        message = f"{name} is a @func: it becomes code within the kernels that call it"
        hints = ("inspect one of those",)
    elif made is not None:
        what = a_(type(made).__name__)
        message = f"{name} in {file} is {what}, not a kernel"
        if callable(made):
            hints = (f"where it makes a kernel, write the call: {file}:'{name}(...)'",)
    notes = (f"it has {', '.join(known)}" if known else "it has no kernels at all",)
    return CompileError.at("unknown-kernel", message, None, notes=notes, hints=hints)


def _split(item: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if not equals or not name.isidentifier():
        raise CompileError.at(
            "option", f"{option} {item} names no parameter", None, hints=(f"write {option} {example}",)
        )
    return name, value


def _layout(item: str) -> tuple[str, Any]:
    from weft.layout import Layout

    name, extents = _split(item, "--layout", "image=512,512,3")
    try:
        return name, Layout.row_major(*(int(e) for e in extents.split(",")))
    except ValueError:
        raise CompileError.at(
            "option",
            f"--layout {item}: {extents!r} is not a list of extents",
            None,
            hints=("write --layout image=512,512,3",),
        ) from None


def _value(item: str, option: str, scope: dict[str, Any]) -> tuple[str, Any]:
    """A parameter's value or type: an expression of what the file names, and weft for a type."""
    import weft

    name, text = _split(item, option, "factor=2" if option == "--param" else "T=Float32")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        names = {**vars(weft), **scope} if option == "--type" else scope
    if text in names:
        return name, names[text]
    with contextlib.suppress(SyntaxError, NameError, AttributeError, TypeError):
        if option == "--type":
            return name, eval(compile(text, "<command line>", "eval", dont_inherit=True), dict(names))
    what = "neither a literal nor a name in the file" if option == "--param" else "no type"
    hint = "name a value of the file" if option == "--param" else f"write {option} {name}=Float32, say"
    raise CompileError.at("option", f"{option} {item}: {text!r} is {what}", None, hints=(hint,))
