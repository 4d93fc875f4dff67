"""``==`` of what is no number: types as they are spelt, places of threads, arrays, ranges, generics."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

import numpy as np
import pytest

from weft import (
    CompileError,
    Comptime,
    DType,
    Float32,
    Float64,
    InlineArray,
    Int,
    Int32,
    Pointer,
    func,
    kernel,
    struct,
)
from weft.gpu import block_dim, global_idx, lane_id, thread_idx
from weft.gpu.host import DeviceContext

T = TypeVar("T")


@kernel
def kinds(x: Any, out: Pointer[Int32], *, dtype: Comptime[Any]):
    single, integer, floating = cast("Any", (np.float32, np.integer, np.floating))
    found = (
        x.dtype == np.float32,
        single == x.dtype,
        x.dtype != "f4",
        x.dtype in (Float32, "int32"),
        x.element_type == np.float32,
        x.element_type is np.float32,
        x.element_type in (np.float16, np.float32),
        x.element_type != DType.float32,
        dtype == np.float32,
        dtype is np.int32,
        issubclass(dtype, floating),
        isinstance(x[0], integer),
        isinstance(x[0], single),
    )
    for n, holds in enumerate(found):
        out[n] = Int32(holds)


@pytest.mark.parametrize("numpy", [np.float32, np.int32, np.float64])
def test_types_are_known_however_they_are_spelt(numpy: Any, device: DeviceContext) -> None:
    single, integer = numpy is np.float32, numpy is np.int32
    values, out = device.enqueue_create_buffer(numpy, 1), np.zeros(13, np.int32)
    values.enqueue_fill(1)
    found = device.enqueue_create_buffer(Int32, 13)
    device.enqueue_function(kinds, values, found, dtype=numpy, grid_dim=1, block_dim=1)
    device.enqueue_copy(dst=out, src=found)
    device.synchronize()
    wanted = [single, single, not single, single or integer, single, single, single, not single]
    assert out.tolist() == [*wanted, single, integer, not integer, integer, single]


def test_types_on_the_host() -> None:
    assert DType.float32 == np.dtype("float32") == DType.float32
    assert DType.float32 == Float32 == np.float32
    assert DType.float32 not in ("float64", "nonsense", None, np.float64, 3)
    assert DType.int64 == "int64"
    with pytest.raises(CompileError, match="never Python's float"):
        assert DType.float32 == float  # noqa: E721


@kernel
def places(out: Pointer[Int32]):
    found = (
        thread_idx == (1, 0, 0),
        (1, 0, 0) != thread_idx,
        block_dim == (4, 1, 1),
        thread_idx == global_idx,
        thread_idx in ((0, 0, 0), (2, 0, 0)),
    )
    for n, holds in enumerate(found):
        out[5 * thread_idx.x + n] = Int32(holds)


def test_a_place_is_compared_as_a_tuple(device: DeviceContext) -> None:
    out = device.enqueue_create_buffer(Int32, 20)
    device.enqueue_function(places, out, grid_dim=1, block_dim=4)
    with out.map_to_host() as host:
        found = np.reshape(np.array(host), (4, 5)).tolist()
    assert found == [[i == 1, i != 1, True, True, i in (0, 2)] for i in range(4)]
    assert thread_idx != (0, 0, 0)  # on the host it is an object like any other


@struct
class Pair(Generic[T]):
    a: T
    b: InlineArray[T, 2]

    def first(self) -> T:
        return self.a


@func
def pairs(x: Float32, y: Float64) -> tuple[Any, Any]:
    one = Pair[Float32](x, InlineArray[Float32, 2](x, 1.0))
    other = Pair[Float64](y, InlineArray[Float64, 2](y, 1.0))
    return one == other, one.b != other.b


def test_generic_structs_and_arrays_of_two_types_compare_what_they_hold() -> None:
    assert pairs(0.5, 0.5) == (True, False)
    assert pairs(0.1, 0.1) == (False, True)


@func
def unlike(n: Int, *, way: Comptime[str]) -> Any:
    array = InlineArray[Int, 2](n, n)
    match way:
        case "number":
            return thread_idx == n
        case "pair":
            return (0, 0) == thread_idx
        case "list":
            return array == [1, 1]
        case "tuple":
            return array == (1, 1)
        case "function":
            return lane_id == 0
        case "among":
            return n if lane_id in (0, 1) else 0
        case "method":
            return n * (array.__len__ != 2)
        case "of a struct":
            return Pair(n, array).first == 1
        case "func":
            return n if known_ranges == 1 else 0
        case _:
            asked: Any = lane_id
            return 1 if asked else n


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("number", "thread_idx is three numbers"),
        ("pair", "thread_idx is three numbers"),
        ("list", r"an InlineArray\[Int, 2\] and a list would never hold"),
        ("function", "cannot compare an int with a function"),
        ("among", "cannot compare an int with a function"),
        ("method", "cannot compare an int with a method"),
        ("of a struct", "cannot compare an int with a partial"),
        ("func", "cannot compare an int with a Func"),
        ("condition", "`asked` is a function, which is always true"),
        ("tuple", r"an InlineArray\[Int, 2\] and a tuple would never hold"),
    ],
)
def test_what_would_never_be_equal_is_refused(way: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        unlike(1, way=way)


@func
def known_ranges() -> tuple[bool, bool]:
    return range(3) == range(0, 3, 1), range(0, 3, 2) == range(0, 5, 2)


def test_known_ranges_compare() -> None:
    assert known_ranges() == (True, False)
