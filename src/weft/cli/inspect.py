"""``weft inspect``: what a kernel of a file is compiled to."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from types import ModuleType

from weft.build.plan import kernels_of
from weft.cli.asked import asked, check_types, file_and_name, find_kernel
from weft.cli.forms import form_of, made_form
from weft.cli.program import compiled, execute
from weft.compile import default_target
from weft.diagnostics import CompileError
from weft.lang.signature import describe_parameters
from weft.targets import find_target


def inspect(words: argparse.Namespace, parse: Callable[[list[str]], argparse.Namespace]) -> int:
    """Print a kernel in the form that was asked for, or list the kernels of the file.

    ``parse`` reads words as those of the command line were read: ``--diff`` has some of its own.
    """
    if words.kernel is None:
        raise CompileError.at("option", "no kernel is named", None, hints=("write weft inspect FILE:KERNEL",))
    if words.diff is not None:
        from weft.cli.difference import compare

        _write(compare(words, parse), words.output)
        return 0
    file, name = file_and_name(words.kernel)
    target = find_target(default_target() if words.target is None else words.target)
    form = form_of(words.emit or "asm", target)
    module = execute(compiled(file), "__inspected__")  # not __main__: only definitions are wanted
    if not name:
        return _list(file, module)
    kernel = find_kernel(file, name, module)
    given = asked(words, vars(module))
    check_types(words, kernel, given)
    code = made_form(kernel, form, target, words, given)
    if words.output is not None and os.path.exists(words.output) and os.path.samefile(words.output, file):
        message = f"-o {words.output} would write over the file that is inspected"
        raise CompileError.at("output", message, None, hints=("give the output another name",))
    _write(code, words.output)
    return 0


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
