"""Settings of weft, and the only place that reads the environment.

``WEFT_DEVICE`` names the device that ``DeviceContext()`` takes by default, and ``WEFT_CACHE_DIR`` the
folder of the compilation cache. LLVM works in a process of its own, so that an error or an endless loop in
it costs a message and not the program: ``WEFT_COMPILE=in-process`` has it work in the program's, and
``WEFT_COMPILE_LIMIT`` says how many seconds it may take for one kernel elsewhere (60). A program changes a
setting for a while with ``scope``::

    >>> from weft import config
    >>> with config.scope(device="cpu"):
    ...     config.settings().device
    'cpu'
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.diagnostics import CompileError

__all__ = ["CompileIn", "Settings", "environment", "scope", "settings"]

CompileIn = Literal["process", "in-process"]
_PLACES: tuple[CompileIn, ...] = ("process", "in-process")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set.

    ``device`` is the name of an API such as ``cpu`` or ``cuda``, or none for the best device here.
    ``cache_dir`` is where the folder of the compilation cache is, or none where no home is known.
    ``compile`` says where LLVM works, ``compile_limit`` how many seconds it may take for a kernel in a
    process of its own.
    """

    device: str | None
    cache_dir: Path | None
    compile: CompileIn = "process"
    compile_limit: float = 60.0


_scoped: ContextVar[Settings | None] = ContextVar("weft settings", default=None)


def settings() -> Settings:
    """The settings in force: those of the innermost ``scope``, else the environment's."""
    return _scoped.get() or _from_environment()


@contextmanager
def scope(
    *,
    device: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    compile: CompileIn | None = None,
    compile_limit: float | None = None,
) -> Generator[Settings]:
    """Within the context the given settings hold, in this thread and in tasks that it starts.

    Args:
        device: the API of the default device; none leaves it as it is.
        cache_dir: the folder of the compilation cache; none leaves it as it is.
        compile: where LLVM works, ``"process"`` or ``"in-process"``; none leaves it as it is.
        compile_limit: how many seconds LLVM may take for a kernel; none leaves it as it is.
    """
    outer = settings()
    token = _scoped.set(
        Settings(
            device=outer.device if device is None else device,
            cache_dir=outer.cache_dir if cache_dir is None else Path(cache_dir),
            compile=outer.compile if compile is None else compile,
            compile_limit=outer.compile_limit if compile_limit is None else compile_limit,
        )
    )
    try:
        yield settings()
    finally:
        _scoped.reset(token)


def _from_environment() -> Settings:
    return Settings(
        device=os.environ.get("WEFT_DEVICE") or None,
        cache_dir=_cache_dir(),
        compile=_compile_in(os.environ.get("WEFT_COMPILE") or "process"),
        compile_limit=_seconds(os.environ.get("WEFT_COMPILE_LIMIT") or "60"),
    )


def environment() -> Mapping[str, str]:
    """What a process inherits that weft starts."""
    return os.environ


def _compile_in(text: str) -> CompileIn:
    for known in _PLACES:
        if text == known:
            return known
    message = f"WEFT_COMPILE={text} is none of {', '.join(_PLACES)}"
    raise CompileError.at(
        "setting", message, None, hints=("leave it unset: LLVM works in a process of its own",)
    )


def _seconds(text: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if limit > 0:
        return limit
    message = f"WEFT_COMPILE_LIMIT={text} is no number of seconds"
    raise CompileError.at("setting", message, None, hints=("write WEFT_COMPILE_LIMIT=300, say",))


def _cache_dir() -> Path | None:
    named = os.environ.get("WEFT_CACHE_DIR")
    try:
        return Path(named).expanduser() if named else _user_cache_dir()
    except RuntimeError:  # of a user who is not known, or has no home
        return None


def _user_cache_dir() -> Path:
    """The folder for weft where this system keeps a user's caches."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "weft" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "weft"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "weft"
