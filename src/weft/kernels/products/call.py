"""``matmul``: a product of matrices, by what the device and the matrices' shape ask for."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from math import prod
from typing import Any, TypeVar

from weft.calls.planned import planned_but
from weft.diagnostics import LaunchError, a_
from weft.dtype import DType, DTypeLike, as_dtype, dtype_hint
from weft.kernels.copies import copy
from weft.kernels.operands import DTYPE_KINDS, Operand, Operands
from weft.kernels.places import Shape, row_major
from weft.kernels.products import routes
from weft.kernels.products.problem import Ends, Problem, as_side, summed, turned
from weft.kernels.scalars import as_number
from weft.lang.number import type_name

A = TypeVar("A")
_BY_NAME = ("KEYWORD_ONLY", "VAR_KEYWORD")
_BYTES = ("float8_e4m3fn", "float8_e5m2")


@planned_but("out")
def matmul(
    a: A,
    b: Any,
    out: Any = None,
    *,
    bias: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    alpha: float = 1.0,
    epilogue: Callable[..., Any] | None = None,
    dtype: DTypeLike | None = None,
    tf32: bool = False,
) -> A:
    """The product of two matrices, or of all in two batches of them, as ``numpy.matmul`` has it.

    ``epilogue(alpha * (a @ b) * scale_a * scale_b + bias)`` is computed in one go. Products of shorter floats
    are summed in Float32, those of 8-bit integers in Int32. Where the result is wider, sums of integers are
    as exact as 64 bits. The same arrays give the same bits each time.

    Args:
        a: of shape ``(..., m, k)``, or ``(k,)``: one row, which the result has not. Of any strides.
        b: of shape ``(..., k, n)``, or ``(k,)``, and of the type of ``a``; 8-bit floats may differ. Leading
            axes are broadcast.
        out: where the result goes: of its shape and type.
        bias: what is added, an array that is broadcast to the result's shape; integers if the result is.
        scale_a: what rows are multiplied by, broadcast to ``(..., m, 1)``: of 8-bit floats, say.
        scale_b: likewise columns, broadcast to ``(..., 1, n)``.
        alpha: what all is multiplied by.
        epilogue: a function that gives what is written, of an element alone, or also of its row and column,
            with its matrix's number in front of these where there are leading axes. What it captures becomes
            arguments, as for ``weft.algorithm``. It may be called more than once for an element.
        dtype: of the result; by default that of ``a``, Float32 for 8-bit floats and Int32 for 8-bit integers.
        tf32: whether Float32 may be rounded to 10 bits of precision, as the tensor cores have it.

    Returns:
        the product, an array of the library of ``a``.

    Raises:
        LaunchError: the shapes or types do not fit, or an argument is wrong.

    Algorithms: ``weft.kernels.products.routes`` says which is taken.

    Example:
        >>> import numpy as np
        >>> from weft.kernels import matmul
        >>> a, b = np.float32([[1, 2], [3, 4]]), np.float32([[1, 0, 1], [0, 1, 1]])
        >>> matmul(a, b, bias=np.float32([0, 0, -5]), epilogue=lambda x, i, j: x if x > 0 else 0.0)
        array([[1., 2., 0.],
               [3., 4., 2.]], dtype=float32)
    """
    op = Operands("matmul", a=a, b=b, bias=bias, scale_a=scale_a, scale_b=scale_b)
    left, right = (x if x.dtype.is_float else x.of("number") for x in (op["a"], op["b"]))
    alpha = as_number("matmul", "alpha", alpha, 6)
    kind = result_type(left, right, dtype)
    rank = len(left.shape) > 1, len(right.shape) > 1
    as_matrix(left, 0)
    as_matrix(right, 1)
    (m, k), n = left.shape[-2:], right.shape[-1]
    if right.shape[-2] != k:
        right.refuse(f"of {right.shape[-2]} rows, and a has {k} columns", f"pass one of shape (..., {k}, n)")
    lead = _leading(left, right)
    places = places_of("matmul", epilogue, 3 if lead else 2)
    shape = (*lead, *([m] * rank[0]), *([n] * rank[1]))
    target = op.result(shape, kind, out)
    if bias is not None:
        _as_result(op["bias"], shape, rank)
    for axis in (0, 1):
        if not rank[axis]:
            target.shape = (*target.shape[: len(lead) + axis], 1, *target.shape[len(lead) + axis :])
            target.strides = (*target.strides[: len(lead) + axis], 0, *target.strides[len(lead) + axis :])
    if prod(target.shape):
        spread = (("*", "scale_a", (m, 1)), ("*", "scale_b", (1, n)), ("+", "bias", (m, n)))
        terms = [
            (way, _term(op, op[name], lead, inner, (m, n))) for way, name, inner in spread if op.get(name)
        ]
        if kind.is_integer and (alpha != 1 or len(terms) > (bias is not None)):
            left.refuse(
                f"of {type_name(left.dtype)}, and what is scaled is a float", "pass dtype=Float32, say"
            )
        if kind.is_integer and bias is not None and op["bias"].dtype.is_float:
            found, hint = type_name(op["bias"].dtype), "pass dtype=Float32, or a bias of integers"
            op["bias"].refuse(f"of {found}, and the result is of {type_name(kind)}", hint)
        ends = Ends(alpha, terms, epilogue, places)
        into = as_side(op, target, lead, (m, n), fill=False)
        sides = as_side(op, left, lead, (m, k)), turned(as_side(op, right, lead, (k, n)))
        routes.multiply(Problem(op, *sides, into, ends), tf32=tf32)
        if into.address != target.address:
            copy(op, into.seen(target.shape, row_major(target.shape)), target)
    return op.give(target)


def places_of(operation: str, epilogue: Any, most: int = 2) -> int:
    """How many numbers an epilogue takes that say where an element lies: none, or ``most``.

    Raises:
        LaunchError: it is no function, or takes others.
    """
    if epilogue is None:
        return most
    if not callable(epilogue):
        message = f"{operation}: epilogue is {a_(type(epilogue).__name__)}"
        raise LaunchError.here("argument-type", message, "pass a function", at=("epilogue", 2))
    try:
        taken = [p for p in signature(epilogue).parameters.values() if p.kind.name not in _BY_NAME]
    except (TypeError, ValueError):  # of what says nothing of itself
        return 0 if isinstance(epilogue, type) else most
    needed = sum(p.default is p.empty for p in taken)
    if (needed == 1 and len(taken) <= most) or (needed == 0 and len(taken) == 1):
        return 0
    if most == 2 <= needed <= 3 <= len(taken) or needed == most + 1:
        return most
    plural = "s" if len(taken) != 1 else ""
    message = f"{operation}: epilogue takes {len(taken)} argument{plural}, {len(taken) - needed} by default"
    all_of = "z, i, j: ... of it, its matrix's number" if most == 3 else "i, j: ... of it"
    hint = f"write lambda x: ... of an element alone, or lambda x, {all_of}, its row and column"
    raise LaunchError.here("argument-count", message, hint, at=("epilogue", 2))


def as_matrix(x: Operand, axis: int) -> None:
    """Have an operand of one axis be a matrix, of which ``axis`` has one element."""
    if not x.shape:
        x.refuse("a number", "pass an array, or multiply by it with *")
    if len(x.shape) == 1:
        x.shape = (1, *x.shape) if axis == 0 else (*x.shape, 1)
        x.strides = (0, *x.strides) if axis == 0 else (*x.strides, 0)


def _as_result(bias: Operand, shape: Shape, rank: tuple[bool, bool]) -> None:
    """Give the bias the axes of one element that the result of a vector has not."""
    _check_spread(bias, shape, shape[-2:])
    if not rank[1]:
        bias.shape, bias.strides = (*bias.shape, 1), (*bias.strides, 0)
    if not rank[0] and bias.shape:
        bias.shape = (*bias.shape[:-1], 1, bias.shape[-1])
        bias.strides = (*bias.strides[:-1], 0, bias.strides[-1])


def _leading(left: Operand, right: Operand) -> Shape:
    """The leading axes of the result."""
    a, b = left.shape[:-2], right.shape[:-2]
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        hint = "leading axes are equal, or 1 in one of them"
        right.refuse(f"of leading axes {right.shape[:-2]}, and those of a are {left.shape[:-2]}", hint)
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def _term(op: Operands, x: Operand, lead: Shape, inner: tuple[int, int], whole: tuple[int, int]) -> Operand:
    """What elements are multiplied by, or what is added to them."""
    x.of("float" if op["a"].dtype.is_float or x.name != "bias" else "number")
    _check_spread(x, (*lead, *inner), inner)
    return as_side(op, x, lead, whole)


def _check_spread(x: Operand, full: Shape, inner: Shape) -> None:
    """Refuse what is not broadcast to a shape; a message gives ``inner`` as what would be."""
    most = full[len(full) - len(x.shape) :] if len(x.shape) <= len(full) else ()
    if len(x.shape) > len(full) or any(
        own not in (1, extent) for own, extent in zip(x.shape, most, strict=True)
    ):
        x.refuse(f"of shape {x.shape}, which is not broadcast to {full}", f"pass one of shape {inner}, say")


def result_type(left: Operand, right: Operand, dtype: DTypeLike | None) -> DType:
    """The type of the result."""
    if left.dtype is not right.dtype and not (left.dtype.name in _BYTES and right.dtype.name in _BYTES):
        found = f"of {type_name(right.dtype)}, and a of {type_name(left.dtype)}"
        right.refuse(found, f"convert it to {type_name(left.dtype)}")
    if dtype is None:
        return summed(left.dtype) if left.dtype.bits == 8 else left.dtype
    try:
        found = as_dtype(dtype)
    except TypeError as wrong:
        message, hint = f"{left.operation}: dtype: {wrong}", dtype_hint(dtype)
        raise LaunchError.here("argument-type", message, hint, at=("dtype", 2)) from None
    if found.kind not in DTYPE_KINDS["number"]:
        message = f"{left.operation}: dtype is {type_name(found)}, and a product is of numbers"
        raise LaunchError.here("argument-type", message, "write Float32, say", at=("dtype", 2))
    return found
