"""Attention: of many queries, and of one at a time to a long cache of keys and values.

The kernels are in ``weft.kernels.flash``. Where there are few queries and many keys, the keys are parted
among blocks, and a second kernel joins what these made ("Flash-Decoding", Dao, Haziza, Massa, Sizov 2023).
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal, TypeVar, overload

from weft.calls.planned import planned_but
from weft.diagnostics import LaunchError
from weft.dtype import as_dtype
from weft.kernels.flash.plan import Attending
from weft.kernels.operands import Operand, Operands, accumulator
from weft.kernels.scalars import as_index, as_number
from weft.lang.number import type_name

A = TypeVar("A")
_WIDEST = 256
"""Features of a head at most."""
_FAR = 1 << 48
"""More keys than there are."""


@overload
def attention(
    q: A, k: A, v: A, *, causal: bool = ..., diagonal: int = ..., scale: float | None = ..., out: Any = ...
) -> A: ...
@overload
def attention(
    q: A,
    k: A,
    v: A,
    *,
    causal: bool = ...,
    diagonal: int = ...,
    scale: float | None = ...,
    out: Any = ...,
    return_lse: Literal[True],
) -> tuple[A, A]: ...
@planned_but("out")
def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    diagonal: int = 0,
    scale: float | None = None,
    out: Any = None,
    return_lse: bool = False,
) -> Any:
    """``softmax(q @ k.T * scale) @ v`` for each head, as PyTorch's ``scaled_dot_product_attention``.

    The scores are never in memory. Sums are Float32, of Float64 that; results are the same each time.

    Args:
        q: queries (batch, head, row, feature): floating, with up to 256 features, of any strides. Fastest on
            GPUs of compute capability 9.0 are multiples of 8 features of 16 bits.
        k: keys (batch, head, row, feature). Their heads are as many or fewer: each serves as many of ``q``'s,
            which follow each other.
        v: values, of ``k``'s shape.
        causal: whether row ``i`` of ``q`` meets only keys up to row ``i + diagonal``. A row that meets none
            becomes 0.
        diagonal: as of ``numpy.tril``; ``k.shape[2] - q.shape[2]`` lets the last query meet all keys.
        scale: of scores; by default ``1 / sqrt(features)``.
        out: where the result goes: of ``q``'s shape and type.
        return_lse: whether the logarithms of the sums of exponentials (batch, head, row) are given too.

    Returns:
        the result, and with ``return_lse`` these logarithms, Float32 or, of Float64, that.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import attention
        >>> q, k = np.float32([[[[0, 0], [0, 999]]]]), np.float32([[[[1, 0], [0, 1]]]])
        >>> attention(q, k, 10 * k).tolist()
        [[[[5.0, 5.0], [0.0, 10.0]]]]
        >>> attention(q, k, 10 * k, causal=True).tolist()
        [[[[10.0, 0.0], [0.0, 10.0]]]]
    """
    op = Operands("attention", q=q, k=k, v=v)
    if len(op["q"].shape) != 4:
        op["q"].refuse(f"of shape {op['q'].shape}", "it has the axes batch, head, row, feature")
    beyond = as_index("attention", "diagonal", diagonal, 4, -_FAR, _FAR)
    if beyond and not causal:
        message = f"attention: diagonal is {beyond}, and causal is {causal!r}, so all keys would be met"
        raise LaunchError.here("argument-type", message, "write causal=True too", at=("diagonal", 4))
    return _attended(op, out, scale, return_lse, beyond if causal else None)


@overload
def decode_attention(
    q: A,
    k: A,
    v: A,
    *,
    lengths: Any = ...,
    page_table: Any = ...,
    scale: float | None = ...,
    out: Any = ...,
) -> A: ...
@overload
def decode_attention(
    q: A,
    k: A,
    v: A,
    *,
    lengths: Any = ...,
    page_table: Any = ...,
    scale: float | None = ...,
    out: Any = ...,
    return_lse: Literal[True],
) -> tuple[A, A]: ...
@planned_but("out")
def decode_attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    lengths: Any = None,
    page_table: Any = None,
    scale: float | None = None,
    out: Any = None,
    return_lse: bool = False,
) -> Any:
    """Attention of one query for each sequence to a cache of keys and values, in one piece or in pages.

    The keys of a sequence are parted among blocks, so that one long sequence keeps a GPU busy.

    Args:
        q: queries (batch, head, feature).
        k: keys (batch, head, row, feature); with ``page_table``, (page, head, row of the page, feature). A
            cache that lies otherwise is given with its axes exchanged: any strides are taken.
        v: values, of ``k``'s shape.
        lengths: how many keys each sequence has, Int32 (batch,); by default all. More than there are, and
            pages that are not there, are told by an assertion.
        page_table: which page has rows ``n * rows of a page`` and following of a sequence, Int32 (batch, n).
        scale: of scores; by default ``1 / sqrt(features)``.
        out: where the result goes: of ``q``'s shape and type.
        return_lse: whether the logarithms of the sums of exponentials (batch, head) are given too.

    Returns:
        the result, and with ``return_lse`` these logarithms. A sequence without keys becomes 0.

    Raises:
        LaunchError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import decode_attention
        >>> q, k = np.zeros((1, 1, 2), np.float32), np.arange(16, dtype=np.float32).reshape(4, 1, 2, 2)
        >>> decode_attention(q, k, k, page_table=np.int32([[3, 0]]), lengths=np.int32([3]))
        array([[[8.666667, 9.666667]]], dtype=float32)
    """
    op = Operands("decode_attention", q=q, k=k, v=v, lengths=lengths, page_table=page_table)
    given = op["q"]
    if len(given.shape) != 3:
        given.refuse(f"of shape {given.shape}", "it has the axes batch, head, feature: q[:, :, 0], say")
    batch = given.shape[0]
    for name, axes in (("lengths", ["batch"]), ("page_table", ["batch", "pages of a sequence"])):
        found = op.get(name)
        if found is not None:
            found.of(as_dtype("int32"))
            if len(found.shape) != len(axes) or found.shape[0] != batch:
                hint = f"its shape is ({', '.join(axes)}), and q has {batch} batches"
                found.refuse(f"of shape {found.shape}", hint)
    return _attended(op, out, scale, return_lse)


def _attended(op: Operands, out: Any, scale: Any, with_lse: bool, diagonal: int | None = None) -> Any:
    q, k, v, lengths, table = op["q"], op["k"], op["v"], op.get("lengths"), op.get("page_table")
    _check(q, k, v, table is not None)
    scale = q.shape[-1] ** -0.5 if scale is None else as_number(op.operation, "scale", scale, 3)
    if not isfinite(scale):
        message = f"{op.operation}: scale is {scale!r}"
        raise LaunchError.here("argument-type", message, "write a finite number", at=("scale", 3))
    target = op.result(q.shape, q.dtype, out)
    lse = op.result(q.shape[:-1], accumulator(q.dtype), None, name="lse")
    if target.size:
        queries, results, sums = [x.grouped(k.shape[1]) if len(q.shape) == 3 else x for x in (q, target, lse)]
        Attending(op, queries, results, sums, k, v, lengths, table, scale, diagonal).launch()
    made = op.give(target)
    return (made, op.give(lse)) if with_lse else made


def _check(q: Operand, k: Operand, v: Operand, paged: bool) -> None:
    q.of("float")
    heads, width = q.shape[1], q.shape[-1]
    if q.dtype.bits < 16 or not 1 <= width <= _WIDEST:
        q.refuse(
            f"of {type_name(q.dtype)} with {width} features",
            f"pass floats of 16 to 64 bits with 1 to {_WIDEST}",
        )
    for x in (k, v):
        x.of(q.dtype)
        if len(x.shape) != 4 or x.shape[3] != width or not x.shape[1] or heads % x.shape[1]:
            hint = f"it has 4 axes, {width} features as q, and a number of heads that divides q's {heads}"
            x.refuse(f"of shape {x.shape}", hint)
        if not paged and x.shape[0] != q.shape[0]:
            x.refuse(f"of shape {x.shape}", f"q has {q.shape[0]} batches: pass as many")
    v.shaped(k.shape, "k's is")
