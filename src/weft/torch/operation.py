"""What PyTorch is told of an operation, and what the tables of operations share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from weft.diagnostics import LaunchError
from weft.dtype import as_dtype
from weft.kernels.operands import accumulator
from weft.record import record
from weft.torch import batches
from weft.torch.calls import loaded


@record
class Operation:
    """What PyTorch is told of one."""

    name: str
    schema: str
    run: Callable[..., Any]
    """Of tensors that know nothing of derivatives."""
    like: Callable[..., Any]
    """Of the same arguments: new tensors of the result's shape and type."""
    saved: Callable[[Sequence[Any], Any], tuple[Any, Any]]
    """Of the inputs and the result: the tensors and the values that the derivative takes."""
    backward: Callable[..., Any]
    """Of the result's gradients and these: the gradients of the inputs."""
    batched: batches.Rule
    """What ``torch.vmap`` makes of it."""


def kernel_of(name: str) -> Callable[..., Any]:
    """The operation of ``weft.kernels``."""
    return getattr(importlib.import_module("weft.kernels"), name)


def checked(x: Any, dim: int) -> int:
    """An axis of a tensor that is traced, counted from the front.

    Raises:
        LaunchError: there is no such axis; PyTorch's own operations of the derivative would tell otherwise.
    """
    if not -x.dim() <= dim < x.dim():
        message = f"dim is {dim}, and x has {x.dim()} ax{'e' if x.dim() != 1 else 'i'}s"
        hint = f"write a number from {-x.dim()} to {x.dim() - 1}" if x.dim() else "pass one that has an axis"
        raise LaunchError.here("argument-type", message, hint, at=("dim", 1))
    return dim % x.dim()


def summed_type(x: Any) -> Any:
    """The type of sums: integers and bools are summed up as 64 bits."""
    if x.dtype.is_floating_point:
        return x.dtype
    return getattr(loaded.torch, accumulator(as_dtype(str(x.dtype).removeprefix("torch."))).name)
