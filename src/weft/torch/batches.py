"""What ``torch.vmap`` makes of an operation: one call for the batch, whose axis is one more in front.

A rule is given how to call operations, what PyTorch knows of the batch, the axis of each argument that counts
it (None where the argument is one for all), and the arguments; it gives the result and its axes. Where
weights, angles or a table differ within the batch, the operation is called for each of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from weft.torch.calls import Call, loaded

Dims = Sequence[int | None]
Rule = Callable[..., Any]


def along_a_dim(name: str) -> Rule:
    """Of a tensor, the axis that the operation goes along, and what else there is."""

    def rule(call: Call, info: Any, dims: Dims, x: Any, dim: int, *more: Any) -> Any:
        front, rank = x.movedim(dims[0], 0), x.dim() - 1
        if not -rank <= dim < rank:
            return call(name, front[0], dim, *more), None  # which is refused
        return _in_front(call(name, front, dim + 1 if dim >= 0 else dim, *more))

    return rule


def along_dims(name: str) -> Rule:
    """Of a tensor, the axes that the operation goes along, and whether they stay."""

    def rule(call: Call, info: Any, dims: Dims, x: Any, dim: Sequence[int], keepdim: bool) -> Any:
        front, rank = x.movedim(dims[0], 0), x.dim() - 1
        if not all(-rank <= d < rank for d in dim):
            return call(name, front[0], tuple(dim), keepdim), None  # which is refused
        return call(name, front, tuple([d + 1 if d >= 0 else d for d in dim]), keepdim), 0

    return rule


def one_by_one(name: str) -> Rule:
    """Of tensors, each of which may differ within the batch."""

    def rule(call: Call, info: Any, dims: Dims, *args: Any) -> Any:
        return _one_by_one(call, name, info.batch_size, dims, args)

    return rule


def _in_front(made: Any) -> Any:
    """Results with the batch in front."""
    return made, (0,) * len(cast("tuple[Any, ...]", made)) if isinstance(made, tuple) else 0


def by_rows(name: str, rows: int = 0) -> Rule:
    """Of an argument of any leading axes, and of others that are one for all of these."""

    def rule(call: Call, info: Any, dims: Dims, *args: Any) -> Any:
        if any(dim is not None for n, dim in enumerate(dims) if n != rows):
            return _one_by_one(call, name, info.batch_size, dims, args)
        return call(name, *args[:rows], args[rows].movedim(dims[rows], 0), *args[rows + 1 :]), 0

    return rule


def matmul(call: Call, info: Any, dims: Dims, *args: Any) -> Any:
    """Of two batches of matrices, whose leading axes are broadcast."""
    rank = max(x.dim() - (dim is not None) for x, dim in zip(args, dims, strict=True))
    return call("matmul", *[_led(x, dim, rank) for x, dim in zip(args, dims, strict=True)]), 0


def _led(x: Any, dim: int | None, rank: int) -> Any:
    """With the batch in front of so many axes."""
    if dim is None:
        return x
    front = x.movedim(dim, 0)
    return front.reshape(front.shape[0], *[1] * (rank + 1 - front.dim()), *front.shape[1:])


def attention(call: Call, info: Any, dims: Dims, *args: Any) -> Any:
    """The batch is part of the axis that attention has for it."""
    size = info.batch_size
    tensors = [
        x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
        for x, dim in zip(args[:3], dims[:3], strict=True)
    ]
    made = call("attention", *[x.flatten(0, 1) for x in tensors], *args[3:])
    return tuple([x.unflatten(0, tensors[0].shape[:2]) for x in made]), (0, 0)


def _one_by_one(call: Call, name: str, size: int, dims: Dims, args: Sequence[Any]) -> Any:
    pairs = [*zip(args, dims, strict=True)]
    each = [[x if dim is None else x.select(dim, n).contiguous() for x, dim in pairs] for n in range(size)]
    return loaded.torch.stack([call(name, *given) for given in each]), 0
