"""Settings of weft, and the only place that reads the environment.

Two variables exist: ``WEFT_DEVICE`` names the device that ``DeviceContext()`` takes by default, and
``WEFT_CACHE_DIR`` the folder of the compilation cache. A program changes a setting for a while
with ``scope``::

    >>> from weft import config
    >>> with config.scope(device="cpu"):
    ...     config.settings().device
    'cpu'
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Settings", "scope", "settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set.

    ``device`` is the name of an API such as ``cpu`` or ``cuda``, or none for the best device here.
    """

    device: str | None
    cache_dir: Path


_scoped: ContextVar[Settings | None] = ContextVar("weft settings", default=None)


def settings() -> Settings:
    """The settings in force: those of the innermost ``scope``, else the environment's."""
    return _scoped.get() or _from_environment()


@contextmanager
def scope(
    *, device: str | None = None, cache_dir: str | os.PathLike[str] | None = None
) -> Generator[Settings]:
    """Within the context the given settings hold, in this thread and in tasks that it starts.

    Args:
        device: the API of the default device; none leaves it as it is.
        cache_dir: the folder of the compilation cache; none leaves it as it is.
    """
    outer = settings()
    token = _scoped.set(
        Settings(
            device=outer.device if device is None else device,
            cache_dir=outer.cache_dir if cache_dir is None else Path(cache_dir),
        )
    )
    try:
        yield settings()
    finally:
        _scoped.reset(token)


def _from_environment() -> Settings:
    cache_dir = os.environ.get("WEFT_CACHE_DIR")
    return Settings(
        device=os.environ.get("WEFT_DEVICE") or None,
        cache_dir=Path(cache_dir).expanduser() if cache_dir else _user_cache_dir(),
    )


def _user_cache_dir() -> Path:
    """The folder for weft where this system keeps a user's caches."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "weft" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "weft"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft"
