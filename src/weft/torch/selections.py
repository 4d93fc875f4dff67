"""Sums, extremes and what is taken from places, as operations of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.torch import batches, derivatives
from weft.torch.calls import loaded
from weft.torch.operation import Operation, checked, kernel_of, summed_type


def _reduced(name: str) -> Callable[..., Any]:
    def run(x: Any, dim: Any, keepdim: bool) -> Any:
        return kernel_of(name)(x, tuple(dim), keepdims=keepdim)

    return run


def _reduced_like(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    def like(x: Any, dim: Any, keepdim: bool) -> Any:
        along = {checked(x, d) for d in dim}
        shape = [1 if n in along else size for n, size in enumerate(x.shape) if keepdim or n not in along]
        return x.new_empty(shape, dtype=kind(x))

    return like


def _mean_type(x: Any) -> Any:
    return x.dtype if x.dtype.is_floating_point else loaded.torch.float64


def _own_type(x: Any) -> Any:
    return x.dtype


def _take(x: Any, indices: Any, dim: int) -> Any:
    return kernel_of("take")(x, indices, dim)


def _take_like(x: Any, indices: Any, dim: int) -> Any:
    along = checked(x, dim)
    return x.new_empty((*x.shape[:along], *indices.shape, *x.shape[along + 1 :]))


def _take_along(x: Any, indices: Any, dim: int) -> Any:
    return kernel_of("take_along_axis")(x, indices, dim)


def _take_along_like(x: Any, indices: Any, dim: int) -> Any:
    along = checked(x, dim)
    own = [1 if n == along else size for n, size in enumerate(x.shape)]
    return x.new_empty(loaded.torch.broadcast_shapes(own, indices.shape))


def _sort(x: Any, dim: int, descending: bool) -> Any:
    return kernel_of("topk")(x, x.shape[checked(x, dim)], dim, largest=descending)


def _sort_like(x: Any, dim: int, descending: bool) -> Any:
    return _topk_like(x, dim, x.shape[checked(x, dim)], descending)


def _topk(x: Any, dim: int, k: int, largest: bool) -> Any:
    return kernel_of("topk")(x, k, dim, largest=largest)


def _topk_like(x: Any, dim: int, k: int, largest: bool) -> Any:
    along = checked(x, dim)
    shape = (*x.shape[:along], k, *x.shape[along + 1 :])
    return x.new_empty(shape), x.new_empty(shape, dtype=loaded.torch.int64)


def _grouped(a: Any, b: Any, ends: Any) -> Any:
    return kernel_of("grouped_matmul")(a, b, ends)


def _grouped_like(a: Any, b: Any, ends: Any) -> Any:
    return a.new_empty((a.shape[0], b.shape[2]))


def _along(given: Any) -> tuple[Any, ...]:
    """The shape and the axes of what was reduced, and whether they stay."""
    return tuple(given[0].shape), tuple(given[1]), given[2]


_REDUCTION = "(Tensor x, int[] dim, bool keepdim) -> Tensor"
OPERATIONS = (
    Operation(
        "sum",
        _REDUCTION,
        _reduced("sum"),
        _reduced_like(summed_type),
        lambda given, y: ((), _along(given)),
        derivatives.sum,
        batches.along_dims("sum"),
    ),
    Operation(
        "mean",
        _REDUCTION,
        _reduced("mean"),
        _reduced_like(_mean_type),
        lambda given, y: ((), _along(given)),
        derivatives.mean,
        batches.along_dims("mean"),
    ),
    Operation(
        "prod",
        _REDUCTION,
        _reduced("prod"),
        _reduced_like(summed_type),
        lambda given, y: (given[:1], _along(given)),
        derivatives.prod,
        batches.along_dims("prod"),
    ),
    *(
        Operation(
            name,
            _REDUCTION,
            _reduced(name),
            _reduced_like(_own_type),
            lambda given, y: ((given[0], y), _along(given)),
            derivatives.extreme,
            batches.along_dims(name),
        )
        for name in ("max", "min")
    ),
    Operation(
        "take",
        "(Tensor x, Tensor indices, int dim) -> Tensor",
        _take,
        _take_like,
        lambda given, y: (given[1:2], (tuple(given[0].shape), given[2])),
        derivatives.take,
        batches.one_by_one("take"),
    ),
    Operation(
        "take_along_axis",
        "(Tensor x, Tensor indices, int dim) -> Tensor",
        _take_along,
        _take_along_like,
        lambda given, y: (given[1:2], (tuple(given[0].shape), given[2])),
        derivatives.take_along_axis,
        batches.one_by_one("take_along_axis"),
    ),
    Operation(
        "sort",
        "(Tensor x, int dim, bool descending) -> (Tensor, Tensor)",
        _sort,
        _sort_like,
        lambda given, made: (made[1:], (tuple(given[0].shape), given[1])),
        derivatives.chosen,
        batches.along_a_dim("sort"),
    ),
    Operation(
        "topk",
        "(Tensor x, int dim, int k, bool largest) -> (Tensor, Tensor)",
        _topk,
        _topk_like,
        lambda given, made: (made[1:], (tuple(given[0].shape), given[1])),
        derivatives.chosen,
        batches.along_a_dim("topk"),
    ),
    Operation(
        "grouped_matmul",
        "(Tensor a, Tensor b, Tensor ends) -> Tensor",
        _grouped,
        _grouped_like,
        lambda given, y: (given, ()),
        derivatives.grouped_matmul,
        batches.one_by_one("grouped_matmul"),
    ),
)
