"""The type variables of the public signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from weft.lang import BFloat16, Float16, Float32, Float64, Floating
from weft.lang.number import Number

if TYPE_CHECKING:
    from typing import Any

    from weft.layout import LayoutTensor
    from weft.linalg.vectors import Vector
    from weft.tile import Tile

    Elements = LayoutTensor[Any] | Tile[Any] | Vector[Any, Any]

FloatT = TypeVar(
    "FloatT",
    Float16,
    BFloat16,
    Float32,
    Float64,
    Floating,
    float,
    "LayoutTensor[Any]",
    "Tile[Any]",
    "Vector[Any, Any]",
)
"""A float of the language, a SIMD of them, or Python's; or a tensor, tile or vector, element by element."""
TensorT = TypeVar("TensorT", bound="LayoutTensor[Any] | Tile[Any] | Vector[Any, Any]")
"""A tensor, a tile or a vector, element by element."""
NumberT = TypeVar("NumberT", bound=Number)
"""A number of the language, or a SIMD of them."""
PlainT = TypeVar("PlainT", int, float)
"""A Python number."""
