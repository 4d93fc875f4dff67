"""What belongs to the host: a kernel's body cannot call it, for it would run once, while compiling.

Ordinary Python that a body calls runs at compile time. That is right for whatever depends on its arguments
alone: ``len``, ``math.sqrt(2)``, a NumPy function that makes a table, a helper. What has an effect, or
answers differently from call to call, is meant to run with the kernel, and cannot.
"""

from __future__ import annotations

from typing import Any, cast

from weft.lang.above import above

_AROUND = "call it on the host, before or after the launch"
_DRAW = "write rand(seed, i), from weft.random, or draw the numbers on the host and pass a buffer"
_MEET = "threads of a device meet by Atomic.fetch_add and its kin, from weft.atomic"
_PASS = "do it on the host and pass the result as an argument"

_HOST: dict[str, str] = {
    **dict.fromkeys(("random", "_random", "secrets", "uuid", "numpy.random"), _DRAW),
    **dict.fromkeys(("time", "datetime"), "measure around the launch: ctx.execution_time(...)"),
    **dict.fromkeys(("os", "posix", "nt", "io", "_io", "pathlib", "shutil", "tempfile", "glob"), _PASS),
    **dict.fromkeys((f"numpy.{n}" for n in ("load", "loadtxt", "genfromtxt", "fromfile", "memmap")), _PASS),
    **dict.fromkeys((f"numpy.{n}" for n in ("save", "savez", "savetxt")), _AROUND),
    **dict.fromkeys(("sys", "subprocess", "socket", "logging", "asyncio"), _AROUND),
    **dict.fromkeys(("threading", "_thread"), _MEET),
}
"""Modules, and functions of modules, each with what to write instead."""


def _of_name(module: str, name: str) -> str:
    """What to write instead of what a module has under a name."""
    if _is_weft(module):
        return _AROUND if above().on_host(module) else ""
    name = f"{module}.{name}"
    while name and name not in _HOST:
        name = name.rpartition(".")[0]
    return _HOST.get(name, "")


def _is_weft(module: str) -> bool:
    return module.partition(".")[0] == "weft"


def _of_class(cls: type[Any]) -> str:
    return next(filter(None, (_of_name(base.__module__, base.__qualname__) for base in cls.__mro__)), "")


def instead_of(callee: Any) -> str:
    """What to write instead of calling a function or a class of the host's; empty for all others."""
    held = getattr(callee, "__self__", getattr(callee, "__objclass__", None))
    if held is not None and not hasattr(held, "__loader__"):  # a method, and no module's function
        callee = held if isinstance(held, type) else cast("object", type(held))
    if isinstance(callee, type):
        return _of_class(cast("type[Any]", callee))
    module, name = getattr(callee, "__module__", None), getattr(callee, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return ""
    return _of_name(module, name)


def host_object(value: object) -> bool:
    """Whether ``value`` is a context, a buffer, a stream or the like."""
    modules = {base.__module__ for base in type(value).__mro__}
    return any(_is_weft(module) and above().on_host(module) for module in modules)
