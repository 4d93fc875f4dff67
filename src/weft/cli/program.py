"""Loading a user's file."""

from __future__ import annotations

import os
import sys
from types import CodeType, ModuleType

from weft.diagnostics import CompileError


def compiled(file: str) -> CodeType:
    """The code of a Python file.

    Raises:
        CompileError: there is no such file.
        SyntaxError: it is not Python.
    """
    try:
        with open(file, "rb") as source:
            text = source.read()
    except OSError as error:
        raise CompileError.at("no-file", f"cannot read {file}: {error.strerror}", None) from None
    return compile(text, os.path.abspath(file), "exec", dont_inherit=True)


def execute(code: CodeType, name: str) -> ModuleType:
    """Run a file's code as the module of that name, its folder first on the path for imports."""
    module = ModuleType(name)
    module.__file__ = code.co_filename
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(code.co_filename))
    exec(code, vars(module))
    return module
