"""Which kernel a command means: a file's, with what its parameters leave open."""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any, get_args, get_origin

from weft.build.plan import kernels_of, named
from weft.diagnostics import CompileError, Diagnostic, LaunchError, WeftError, a_, nearest
from weft.lang.accept import element_dtype
from weft.lang.decorators import Func, Kernel
from weft.lang.generic import describe_annotation
from weft.lang.maybe import without_none
from weft.lang.number import Number
from weft.lang.signature import parameters
from weft.layout import LayoutTensor
from weft.record import replace


def asked(words: argparse.Namespace, scope: dict[str, Any]) -> dict[str, Any]:
    """What the options ``--param``, ``--type`` and ``--layout`` say of parameters, by their names."""
    named = dict(_value(item, "--param", scope) for item in words.param)
    named.update(_value(item, "--type", scope) for item in words.type)
    for name, layout in map(_layout, words.layout):
        kind = named.get(name)
        dtype = element_dtype(get_args(kind) if get_origin(kind) is LayoutTensor else (kind,))
        named[name] = layout if dtype is None else _Tensor(layout, dtype)
    return named


class _Tensor:
    """What ``--layout`` and ``--type`` say together of a parameter."""

    __weft_spec_of_annotation__ = LayoutTensor.__weft_spec_of_annotation__

    def __init__(self, layout: Any, dtype: Any) -> None:
        self.layout: Any = layout
        self.dtype: Any = dtype


def check_names(words: argparse.Namespace, kernels: Iterable[Kernel[...]]) -> None:
    """Refuse what is said of parameters that none of the kernels has.

    Raises:
        CompileError: there is such a parameter.
    """
    known = {p.name for kernel in kernels for p in parameters(kernel.definition)}
    for option in ("param", "type", "layout"):
        for item in getattr(words, option):
            if (name := item.partition("=")[0]) not in known:
                message, guess = (
                    f"--{option} {item}: no kernel has a parameter `{name}`",
                    nearest(name, known),
                )
                hints = (f"did you mean `{guess}`?",) if guess else ()
                raise CompileError.at("option", message, None, hints=hints)


def check_types(words: argparse.Namespace, kernel: Kernel[...], given: dict[str, Any]) -> None:
    """Refuse types for parameters that have one in the text: they would change nothing.

    Raises:
        CompileError: there is such a parameter.
    """
    for item in words.type:
        name = item.partition("=")[0]
        found = [p.annotation for p in kernel.definition.parameters() if p.name == name]
        kind = found[0] if found and without_none(found[0]) is None else None
        written = isinstance(kind, type) and issubclass(kind, Number) and kind is not Number
        if (written or element_dtype(get_args(kind))) and kind is not given.get(name):
            message = f"--type {item}: `{name}` is annotated {describe_annotation(kind)}"
            hint = "leave it out, or take the annotation away: --type says what the text leaves open"
            raise CompileError.at("option", message, None, hints=(hint,))


def file_and_name(text: str) -> tuple[str, str]:
    """The file that is there, and what stands behind it, which may hold colons itself."""
    ends = [at for at, letter in enumerate(text) if letter == ":"]
    for at in (len(text), *ends):
        if os.path.isfile(text[:at]):
            return text[:at], text[at + 1 :]
    file, _, name = text.rpartition(":")
    return (file, name) if file else (text, "")


def find_kernel(file: str, name: str, module: ModuleType) -> Kernel[...]:
    """The kernel of that name, or that an expression in the file's names makes.

    Raises:
        CompileError: it is none.
    """
    made = _meant(file, name, module)
    if isinstance(made, Kernel):
        return made
    raise _unknown(file, name, kernels_of(module), made)


def find_kernels(file: str, name: str, module: ModuleType) -> dict[str, Kernel[...]]:
    """The kernel of that name, or the kernels of a list that an expression in the file's names makes.

    Without a name, all that the file has.

    Raises:
        CompileError: it is none.
    """
    if not name:
        return kernels_of(module)
    made = _meant(file, name, module)
    if isinstance(made, Kernel):
        return {name: made}
    if hasattr(made, "__iter__"):
        with contextlib.suppress(LaunchError):
            return named(made)
    raise _unknown(file, name, kernels_of(module), made)


def _meant(file: str, name: str, module: ModuleType) -> Any:
    try:
        return eval(compile(name, "<command line>", "eval", dont_inherit=True), dict(vars(module)))
    except (SyntaxError, NameError, AttributeError, LookupError):
        raise _unknown(file, name, kernels_of(module)) from None


def in_options(diagnostic: Diagnostic, kernel: Kernel[...]) -> Diagnostic:
    """A message about what a parameter lacks, with the option that gives it."""
    named = re.search(
        r"`(\w+)`(?:$| is not known: found (no layout|no element type|a Layout))", diagnostic.message
    )
    known = {p.name: p for p in parameters(kernel.definition)}
    if named is None or diagnostic.code not in ("open-type", "missing-comptime") or named[1] not in known:
        return diagnostic
    name, p = named[1], known[named[1]]
    hint = (
        f"write --type {name}=Float32, say" if p.variable else f"write --type '{name}=Pointer[Float32]', say"
    )
    if p.comptime and not p.variable:
        hint = f"write --param {name}=2, say, or the name of a value in the file"
    elif named[2] in ("no element type", "a Layout"):
        hint = f"write --type {name}=Float32, say"
    elif named[2] == "no layout" or (get_origin(p.annotation) or p.annotation) is LayoutTensor:
        hint = f"write --layout {name}=480,640, say"
    return replace(diagnostic, hints=(hint,))


def _unknown(file: str, name: str, kernels: Iterable[str], made: object = None) -> CompileError:
    known = list(kernels)
    guess = nearest(name, known)
    hints = (f"did you mean {guess!r}?",) if guess else ()
    message = f"{file} has no kernel {name!r}"
    if isinstance(made, Func):
        message = f"{name} is a @func: it becomes code within the kernels that call it"
        hints = ("inspect one of those",)
    elif made is not None:
        what = "a class" if isinstance(made, type) else a_(type(made).__name__)
        message = f"{name} in {file} is {what}, not a kernel"
        if callable(made):
            hints = (f"where it makes a kernel, write the call: {file}:'{name}(...)'",)
    notes = (f"it has {', '.join(known)}" if known else "it has no kernels at all",)
    return CompileError.at("unknown-kernel", message, None, notes=notes, hints=hints)


def _split(item: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if equals and name.isidentifier():
        return name, value
    what = "names no parameter"
    if item.isidentifier():
        what, example = "gives it no value", f"{item}={example.partition('=')[2]}"
    raise CompileError.at(
        "option", f"{option} {item} {what}", None, hints=(f"write {option} {example}, say",)
    )


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
            hints=(f"write --layout {name}=512,512,3, say",),
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
    try:
        if option == "--type":
            return name, eval(compile(text, "<command line>", "eval", dont_inherit=True), dict(names))
    except WeftError:
        raise
    except Exception:  # whatever an expression may raise
        pass
    what = "neither a literal nor a name in the file" if option == "--param" else "no type"
    hint = "name a value of the file" if option == "--param" else f"write {option} {name}=Float32, say"
    raise CompileError.at("option", f"{option} {item}: {text!r} is {what}", None, hints=(hint,))
