"""NVIDIA's assembler, which needs no GPU."""

from __future__ import annotations

import importlib.metadata
import shutil
from functools import cache

__all__ = ["WHEELS", "find_ptxas"]

WHEELS = ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")


@cache
def find_ptxas() -> str | None:
    """The assembler of NVIDIA's wheel, or one on the PATH."""
    for wheel in WHEELS:
        try:
            files = importlib.metadata.files(wheel) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.stem == "ptxas":
                return str(file.locate())
    return shutil.which("ptxas")
