"""Tests in several processes that share a GPU, and those that want it for themselves."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["gpu_turn"]


@contextmanager
def gpu_turn(*, alone: bool, folder: Path | None = None) -> Generator[None]:
    """Wait until nobody has the GPU for itself, and to have it ``alone`` until nobody has it at all.

    Locks of files, which end with their process. Who waits to be alone holds the gate, so that those who
    come later wait behind it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    name = (folder or Path(tempfile.gettempdir())) / f"weft-tests-{os.getuid()}"
    with open(f"{name}.gate", "w") as gate, open(f"{name}.gpu", "w") as gpu:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(gpu, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield
