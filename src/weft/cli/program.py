"""Loading a user's file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, ModuleType

from weft.diagnostics import CompileError, Location, WeftError
from weft.diagnostics.location import is_internal


def compiled(file: str) -> CodeType:
    """The code of a Python file.

    Raises:
        CompileError: there is no such file, or it is not Python.
    """
    try:
        with open(file, "rb") as source:
            text = source.read()
    except OSError as error:
        name = file.partition(".py:")[0] + ".py"
        hints = (f"write {name}: the whole file is run",) if os.path.exists(name) else ()
        message = f"cannot read {file}: {error.strerror}"
        raise CompileError.at("no-file", message, None, hints=hints) from None
    try:
        return compile(text, os.path.abspath(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:  # a null byte is a ValueError in Python 3.11
        raise _not_python(file, error) from None


def _not_python(file: str, error: SyntaxError | ValueError) -> CompileError:
    said, place = str(error), None
    if isinstance(error, SyntaxError):
        said, line = error.msg, error.lineno or 1
        if error.offset and error.text is not None:
            last = error.end_offset if error.end_lineno == line else None
            end = max((last or 0) - 1, error.offset)
            place = Location(error.filename or file, line, error.offset - 1, line, end)
    hint = "give it a file of Python" if not file.endswith(".py") else ""
    message = f"{file} is not Python: {type(error).__name__}: {said}"
    return CompileError.at("no-python", message, place, hints=(hint,) if hint else ())


def guarded(action: Callable[[], int]) -> int:
    """Do what runs a user's file: what that raises is shown with its own frames, and gives exit status 1."""
    try:
        return action()
    except WeftError:
        raise
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and is_internal(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next  # this command's own frames
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1


def execute(code: CodeType, name: str) -> ModuleType:
    """Run a file's code as the module of that name, its folder first on the path for imports.

    A file of a package that is not the program itself may import what is beside it as Python lets it.
    """
    module = ModuleType(name)
    module.__file__ = code.co_filename
    sys.modules[name] = module
    folder = os.path.dirname(code.co_filename)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    if name != "__main__" and (package := _package(folder)):
        module.__package__ = package
        sys.path.insert(1, folder[: -len(package) - 1])
    exec(code, vars(module))
    return module


def _package(folder: str) -> str:
    """The name of the package that a folder is; empty where it is none."""
    if not os.path.isfile(os.path.join(folder, "__init__.py")):
        return ""
    above, name = os.path.split(folder)
    return f"{_package(above)}.{name}".lstrip(".")
