"""Nested tuples of integers: the shapes, strides and coordinates of layouts.

An ``IntTuple`` is an integer, or a tuple of such. Its *leaves* are its integers, read left to
right; its *modes* are the elements of its outermost tuple. A shape gives extents (in elements), a
stride gives steps (in elements); both have the same nesting, they are *congruent*.

Source: CuTe's layout concepts (NVIDIA CUTLASS, ``media/docs/cpp/cute/01_layout.md``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from numbers import Integral, Number
from typing import TYPE_CHECKING, TypeAlias, cast

from weft.layout.algebra.values import RunTimeInt, Scalar, is_static, mul, wrong

if TYPE_CHECKING:
    from typing_extensions import TypeIs

IntTuple: TypeAlias = "int | RunTimeInt | tuple[IntTuple, ...]"
"""Extents, strides or coordinates: an integer, or one for each mode, nested as the modes are."""


def is_tuple(t: IntTuple) -> TypeIs[tuple[IntTuple, ...]]:
    """Whether ``t`` has modes, rather than being one integer."""
    return isinstance(t, tuple)


def canonical(t: object, what: str = "extent") -> IntTuple:
    """``t`` as an ``IntTuple``: lists become tuples, NumPy integers become ``int``.

    Raises:
        CompileError: A leaf is no integer (``what`` says what it was meant to be).

    >>> canonical([2, [3, 4]])
    (2, (3, 4))
    """
    if type(t) is int:
        return t
    if isinstance(t, tuple | list):
        return tuple(canonical(part, what) for part in cast("Iterable[object]", t))
    if isinstance(t, bool):
        wrong(f"{t!r} is a truth value, not an integer {what}", "write an int")
    if isinstance(t, Integral):
        return int(t)
    fraction = isinstance(t, Number) or getattr(getattr(t, "dtype", None), "is_float", False)
    if fraction or hasattr(t, "shape") or not hasattr(type(t), "__floordiv__"):
        whole = "write an int, a run-time integer, or a tuple of these"
        hint = "write an int; to divide, //" if isinstance(t, float) else whole
        wrong(f"{t!r} is no integer {what}", hint)
    return cast("RunTimeInt", t)


def flatten(t: IntTuple) -> tuple[Scalar, ...]:
    """The leaves of ``t``, left to right.

    >>> flatten((2, (3, (4,)), 5))
    (2, 3, 4, 5)
    """
    if not is_tuple(t):
        return (t,)
    return tuple(leaf for mode in t for leaf in flatten(mode))


def unflatten(leaves: Iterable[Scalar], profile: IntTuple) -> IntTuple:
    """The tuple with the nesting of ``profile`` and the given leaves.

    >>> unflatten([1, 2, 3], (0, (0, 0)))
    (1, (2, 3))
    """
    source = iter(leaves)

    def build(t: IntTuple) -> IntTuple:
        return tuple(build(mode) for mode in t) if is_tuple(t) else next(source)

    return build(profile)


def map_leaves(function: Callable[[Scalar], Scalar], t: IntTuple) -> IntTuple:
    """``t`` with ``function`` applied to each leaf.

    >>> map_leaves(lambda leaf: leaf * 10, (1, (2, 3)))
    (10, (20, 30))
    """
    return tuple(map_leaves(function, mode) for mode in t) if is_tuple(t) else function(t)


def all_static(t: IntTuple) -> bool:
    """Whether every leaf is known now."""
    return all(all_static(mode) for mode in t) if is_tuple(t) else is_static(t)


def rank(t: IntTuple) -> int:
    """The number of modes; 1 for an integer.

    >>> rank(6), rank((6,)), rank((3, (6, 2), 8))
    (1, 1, 3)
    """
    return len(t) if is_tuple(t) else 1


def depth(t: IntTuple) -> int:
    """How deep tuples nest; 0 for an integer.

    >>> depth(6), depth((4, 3)), depth((3, (6, 2)))
    (0, 1, 2)
    """
    return 1 + max((depth(mode) for mode in t), default=0) if is_tuple(t) else 0


def product(t: IntTuple) -> Scalar:
    """The product of the leaves: the number of elements of a shape.

    >>> product((3, (6, 2), 8))
    288
    """
    if not is_tuple(t):
        return t
    result: Scalar = 1
    for mode in t:
        result = mul(result, product(mode))
    return result


def congruent(a: IntTuple, b: IntTuple) -> bool:
    """Whether ``a`` and ``b`` nest the same way.

    >>> congruent((2, (3, 4)), (1, (5, 6))), congruent((2, 3), 6)
    (True, False)
    """
    if is_tuple(a):
        return is_tuple(b) and len(a) == len(b) and all(map(congruent, a, b))
    return not is_tuple(b)


def prefix_product(shape: IntTuple) -> IntTuple:
    """Strides of the compact layout in which the leftmost leaf runs fastest (column-major).

    >>> prefix_product((2, (3, 4)))
    (1, (2, 6))
    """
    return unflatten(itertools.accumulate(flatten(shape), mul, initial=1), shape)


def suffix_product(shape: IntTuple) -> IntTuple:
    """Strides of the compact layout in which the rightmost leaf runs fastest (row-major).

    >>> suffix_product((2, (3, 4)))
    (12, (4, 1))
    """
    strides = flatten(prefix_product(flatten(shape)[::-1]))
    return unflatten(reversed(strides), shape)


def format_tuple(t: IntTuple, marks: frozenset[int] = frozenset()) -> str:
    """``t`` as text; a run-time leaf is ``?``, and a leaf whose index is in ``marks`` has ``?`` behind it.

    >>> format_tuple((2, (3, 4)), frozenset({1})), format_tuple((8,))
    ('(2, (3?, 4))', '(8)')
    """
    index = iter(range(len(flatten(t))))

    def text(t: IntTuple) -> str:
        if is_tuple(t):
            return f"({', '.join(map(text, t))})"
        mark = "?" if next(index) in marks else ""
        return f"{t}{mark}" if is_static(t) else "?"

    return text(t)
