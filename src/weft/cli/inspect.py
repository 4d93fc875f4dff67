"""``weft inspect``: what a kernel of a file is compiled to."""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Iterable
from typing import Any

from weft.cli.program import compiled, execute
from weft.compile import compile_info
from weft.diagnostics import CompileError, nearest
from weft.lang.decorators import Kernel
from weft.lang.signature import describe_parameters


def inspect(words: argparse.Namespace) -> int:
    """Print a kernel in the form that was asked for, or list the kernels of the file."""
    file, _, name = words.kernel.rpartition(":")
    if not file or os.path.exists(words.kernel):
        file, name = words.kernel, ""
    module = execute(compiled(file), "__inspected__")  # not __main__: only definitions are wanted
    kernels = {n: v for n, v in vars(module).items() if isinstance(v, Kernel)}
    if not name:
        for n, kernel in kernels.items():
            if n == kernel.__name__ or kernel.bound:
                print(f"{n}{describe_parameters(kernel.definition)}")
        return 0
    if name not in kernels:
        raise _unknown(file, name, kernels)
    layouts = dict(_layout(item) for item in words.layout)
    values = dict(_value(item, vars(module)) for item in words.param)
    info = compile_info(
        kernels[name], emission_kind=words.emit, target=words.target, over=words.over, **layouts, **values
    )
    if words.output is not None and os.path.exists(words.output) and os.path.samefile(words.output, file):
        message = f"-o {words.output} would write over the file that is inspected"
        raise CompileError.at("output", message, None, hints=("give the output another name",))
    _write(info.code, words.output)
    return 0


def _write(code: str | bytes, output: str | None) -> None:
    data = code.encode() if isinstance(code, str) else code
    if output is not None:
        with open(output, "wb") as out:
            out.write(data)
        return
    if isinstance(code, bytes) and sys.stdout.isatty():
        raise CompileError.at("output", "an object file is not for a terminal", None, hints=("add -o FILE",))
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def _unknown(file: str, name: str, kernels: Iterable[str]) -> CompileError:
    known = list(kernels)
    guess = nearest(name, known)
    return CompileError.at(
        "unknown-kernel",
        f"{file} has no kernel {name!r}",
        None,
        notes=(f"it has {', '.join(known)}" if known else "it has no kernels at all",),
        hints=(f"did you mean {guess!r}?",) if guess else (),
    )


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


def _value(item: str, scope: dict[str, Any]) -> tuple[str, Any]:
    """A parameter's value: a literal, or the name of something in the file."""
    name, text = _split(item, "--param", "factor=2")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if text in scope:
            return name, scope[text]
    raise CompileError.at(
        "option", f"--param {item}: {text!r} is neither a literal nor a name in the file", None
    )
