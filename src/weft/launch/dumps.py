"""What ``compile_function`` shows of what it compiles."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from weft.compiler.pipeline import Compilation
from weft.diagnostics import CompileError, a_
from weft.lang.decorators import Kernel

Dump = bool | str | os.PathLike[str] | Callable[[], str | os.PathLike[str]]
"""Where a form of a kernel is shown: True prints it, a path is a file, a function gives the path."""


class Dumps:
    """The forms that ``compile_function`` is asked to show, by the names of its keywords.

    Raises:
        CompileError: one is neither a bool nor a path nor a function.
    """

    def __init__(self, dump_asm: Dump, dump_llvm: Dump) -> None:
        self.dump_asm: Dump = dump_asm
        self.dump_llvm: Dump = dump_llvm
        for name, where in (("dump_asm", dump_asm), ("dump_llvm", dump_llvm)):
            if not isinstance(cast("Any", where), (bool, str, os.PathLike)) and not callable(where):
                _refuse(name, f"{name} is {a_(type(where).__name__)}, not True, a path or a function")

    def check_known(self, kernel: Kernel[...], specs: object) -> None:
        """Refuse to show what is compiled at the first launch only.

        Raises:
            CompileError: specs are None, and a form is asked for.
        """
        for name in ("dump_asm", "dump_llvm"):
            if specs is None and getattr(self, name) is not False:
                message = f"{name}: {kernel.__name__} is compiled at its first launch, which says its types"
                hint = (
                    "give compile-time parameters here, or ask compile_info(kernel, ...), which takes types"
                )
                raise CompileError.here("open-type", message, hint, at=(name, 9))

    def show(self, make: Callable[[], Compilation]) -> None:
        """Print or write what is asked for.

        Raises:
            CompileError: a file cannot be written, or the device runs Python, which has no LLVM IR.
        """
        if self.dump_asm is False and self.dump_llvm is False:
            return
        made = make()
        if self.dump_llvm is not False:
            _put("dump_llvm", self.dump_llvm, str(made.emit("llvm")))
        if self.dump_asm is not False:
            _put("dump_asm", self.dump_asm, str(made.emit("asm")))


def _put(name: str, where: Dump, text: str) -> None:
    if where is True:
        print(text)
        return
    path = cast("Any", where() if callable(where) else where)
    if not isinstance(path, (str, os.PathLike)):
        _refuse(name, f"{name} gives {a_(type(path).__name__)}, not a path")
    try:
        Path(cast("str", path)).write_text(text, encoding="utf-8")
    except OSError as error:
        _refuse(name, f"{name}: cannot write {path}: {error.strerror}")


def _refuse(name: str, message: str) -> None:
    hint = f"write {name}=True to print it, or {name}='kernel.txt' for a file"
    raise CompileError.here("output", message, hint, at=(name, 9))
