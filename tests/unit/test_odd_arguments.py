"""Arguments of the host's API that no signature allows: each is refused by a sentence, none by Python's."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable
from fractions import Fraction
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import DType, Float32, Int, Int8, Int32, Pointer, WeftError, kernel
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang.decorators import Kernel
from weft.lang.number import number_class
from weft.layout import Layout


@kernel
def ones(o: Pointer[Float32], n: Int):
    if global_idx.x < n:
        o[global_idx.x] = 1.0


def annotated(annotation: Any) -> Kernel[...]:
    def odd(o: Any):
        pass

    odd.__annotations__["o"] = annotation
    return kernel(odd)


CTX = DeviceContext(api="cpu")
BUFFER = CTX.enqueue_create_buffer(Float32, 16)
PLACE: dict[str, Any] = {"grid_dim": 1, "block_dim": 1}
USES: dict[str, Callable[[Any], object]] = {
    "grid_dim": lambda odd: CTX.enqueue_function(ones, BUFFER, 0, grid_dim=odd, block_dim=1),
    "block_dim": lambda odd: CTX.enqueue_function(ones, BUFFER, 0, grid_dim=1, block_dim=odd),
    "over": lambda odd: CTX.enqueue_function(ones, BUFFER, 0, over=odd),
    "shared": lambda odd: CTX.enqueue_function(ones, BUFFER, 0, **PLACE, shared_mem_bytes=odd),
    "stream": lambda odd: CTX.enqueue_function(ones, BUFFER, 0, **PLACE, stream=odd),
    "cluster": lambda odd: CTX.enqueue_function(ones, BUFFER, 0, **PLACE, cluster_dim=odd),
    "kernel": lambda odd: CTX.enqueue_function(odd, BUFFER, 0, **PLACE),
    "pointer": lambda odd: CTX.enqueue_function(ones, odd, 0, **PLACE),
    "annotation": lambda odd: CTX.enqueue_function(annotated(odd), BUFFER, **PLACE),
    "annotation of an array": lambda odd: CTX.enqueue_function(annotated([odd]), np.zeros(1), **PLACE),
    "compile_function": lambda odd: CTX.compile_function(annotated(odd)),
    "size": lambda odd: CTX.enqueue_create_buffer(Float32, odd),
    "first": lambda odd: BUFFER.sub_buffer(odd, 1),
    "count": lambda odd: BUFFER.sub_buffer(0, odd),
    "layout": lambda odd: BUFFER.tensor(odd),
    "extent": lambda odd: Layout.row_major(odd),
    "device": lambda odd: DeviceContext(odd),
    "api": lambda odd: DeviceContext(api=odd),
    "emission": lambda odd: compile_info(ones, emission_kind=odd),
    "target": lambda odd: compile_info(ones, target=odd),
    "ranks": lambda odd: compile_info(ones, over=odd),
}
ODD: dict[str, Any] = {
    "array": np.array([1.5, 2.5]),
    "matrix": np.array([[1.5]]),
    "float": 2.5,
    "numpy_float": np.float32(2.5),
    "text": "three",
    "bytes": b"x",
    "nan": math.nan,
    "complex": 1j,
    "dict": {1: 2},
    "list": [1.5],
    "set": {1.5},
    "object": object(),
    "slice": slice(1),
    "fraction": Fraction(1, 2),
    "number": Float32(2.5),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("use", USES)
def test_odd_arguments(use: str, odd: str) -> None:
    with pytest.raises(WeftError):
        USES[use](ODD[odd])
    CTX.synchronize()


@pytest.mark.parametrize("dim", [np.array([2, 3]), np.array([[1]]), np.array(True)])
def test_arrays_as_extents(dim: Any) -> None:
    with pytest.raises(WeftError, match=r"grid_dim=array.* is not made of ints: array"):
        CTX.enqueue_function(ones, BUFFER, 0, grid_dim=dim, block_dim=1)


def test_a_number_is_not_searched() -> None:
    for searched in (number_class(DType.float32, 4)(1.0), Float32(1.0)):
        with pytest.raises(WeftError, match="`in` searches a tuple, list, set, dict or range, but this is a"):
            assert 1.0 in searched


def test_integers_of_other_kinds() -> None:
    part = BUFFER.sub_buffer(np.int8(3), np.int32(2))  # pyright: ignore[reportArgumentType]
    assert len(part) == 2
    assert DeviceContext(np.int64(0), api="cpu").id == 0  # pyright: ignore[reportArgumentType]
    CTX.enqueue_function(ones, BUFFER, 16, over=np.array(16))  # pyright: ignore[reportArgumentType]
    CTX.enqueue_function(ones, BUFFER, 16, over=(Int8(2), np.uint8(8)))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "over", [2**62, 2**61, 2**46, 2**100, (2**40, 2**40), (2**31,) * 3, (2**31, 2**31), (0, 2**70)]
)
def test_ranges_too_large(over: Any) -> None:
    with pytest.raises(
        WeftError, match=r"over=.* (counts past 2\*\*62 elements|takes \d+ blocks of .* threads)"
    ):
        CTX.enqueue_function(ones, BUFFER, 0, over=over)


# -- one memory at two addresses -----------------------------------------------------------------------


@kernel
def writes_around(a: Pointer[Int32], b: Pointer[Int32], out: Pointer[Int32]):
    a[0] = 8
    before = b[0]
    a[0] = 999
    out[0] = before + b[0]


def around(a: Any, b: Any) -> int:
    out = np.zeros(1, np.int32)
    CTX.enqueue_function(writes_around, a, b, out, **PLACE)
    CTX.synchronize()
    return int(out[0])


def test_two_mappings_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "data"
    np.zeros(16, np.int32).tofile(path)

    def mapped() -> Any:
        return np.memmap(path, np.int32, "r+")

    assert around(mapped(), mapped()) == 1007
    assert around(mapped()[2:], mapped().reshape(4, 4).reshape(-1)[2:]) == 1007
    with open(path, "r+b") as file:
        one, two = (mmap.mmap(file.fileno(), 64) for _ in range(2))
        assert around(np.frombuffer(one, np.int32), np.frombuffer(memoryview(two), np.int32)) == 1007


def test_two_mappings_of_shared_memory() -> None:
    one = shared_memory.SharedMemory(create=True, size=64)
    try:
        two = shared_memory.SharedMemory(one.name)
        a, b = (np.ndarray((4,), np.int32, memory.buf) for memory in (one, two))
        assert around(a, b) == 1007
        del a, b
        two.close()
    finally:
        one.close()
        one.unlink()
