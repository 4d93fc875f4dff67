"""How many threads a warp has, on every target that has any."""

from __future__ import annotations

WARP = 32
"""Lanes of a warp: masks of 32 bits and the layouts of matrix products are of so many."""
