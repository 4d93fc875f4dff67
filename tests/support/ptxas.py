"""NVIDIA's assembler, which needs no GPU."""

from __future__ import annotations

from weft.runtime.cuda.toolkit import find_tool

__all__ = ["find_ptxas"]


def find_ptxas() -> str | None:
    """The assembler of NVIDIA's wheel, or one on the PATH."""
    return find_tool("ptxas")
