"""What plain helpers define, and NumPy's classes in their patterns."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import Float32, Float64, Int, Pointer, UInt32, func, kernel, struct
from weft.gpu.host import DeviceContext


def _clamp(n: float) -> Any:
    @func
    def clamped(x: Float32) -> Float32:
        return x if not (x > n) else Float32(n)

    return clamped


def _boxed(n: float) -> Any:
    @struct
    class Box:
        a: Float32

        def least(self, other: Box) -> Box:
            return Box(self.a) if not (self.a > other.a) else Box(Float32(n) * other.a)

    return Box


def test_what_helpers_define_is_compiled_as_it_stands(device: DeviceContext) -> None:
    """Their own text is rewritten; what stands in it is compiled from its text, with such annotations."""

    @kernel
    def program(x: Pointer[Float32]):
        box = _boxed(1.0)
        x[0] = _clamp(2)(x[0]) + box(x[1]).least(box(x[2])).a

    x = device.enqueue_create_host_buffer("float32", 3)
    x[:] = [5.0, 7.0, 3.0]
    device.enqueue_function(program, x, grid_dim=1, block_dim=1)
    device.synchronize()
    assert x[0] == 5.0


def kind_of_numpys(x: Any) -> int:
    match x:
        case np.bool_():
            return 1
        case np.int8() | np.uint32():  # pyright: ignore[reportGeneralTypeIssues]
            return 2
        case np.integer():
            return 3
        case np.float64() | np.ndarray():
            return 4
        case np.floating():
            return 5
        case _:
            return 6


@kernel
def kinds_of_numpys(out: Pointer[Int], f: Pointer[Float32], n: Int):
    out[0] = kind_of_numpys(f[0])
    out[1] = kind_of_numpys(Float64(f[0]))
    out[2] = kind_of_numpys(n)
    out[3] = kind_of_numpys(UInt32(n))
    out[4] = kind_of_numpys(n > 2)
    out[5] = kind_of_numpys(np.zeros(2))
    out[6] = kind_of_numpys("text")


def test_classes_of_numpy_in_a_pattern(device: DeviceContext) -> None:
    one: Any = np.float32(1)
    given = (one, np.float64(1), np.int64(1), np.uint32(1), np.bool_(True), np.zeros(2), "text")
    out, f = device.enqueue_create_buffer(Int, len(given)), device.enqueue_create_buffer(Float32, 1)
    device.enqueue_function(kinds_of_numpys, out, f, 3, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        assert [int(found) for found in host] == [kind_of_numpys(value) for value in given]
