"""``SIMD[Float32, ...]``: structs and functions for one lane and for many; NumPy's complex numbers agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import SIMD, CompileError, Float16, Float32, Float64, Int, Pointer, func, kernel, struct
from weft.compile import compile_info
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

RNG = np.random.default_rng(5)


@struct
class Complex:
    re: SIMD[Float32, ...]
    im: SIMD[Float32, ...]

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)


@func
def squared_norm(z: Complex) -> Any:
    return z.re * z.re + z.im * z.im


@kernel
def polynomial(re: Pointer[Float32], im: Pointer[Float32], norm: Pointer[Float32], n: Int, c: Complex):
    """z*z + c, twice: four lanes at once, and the rest one by one."""
    i = 4 * global_idx.x
    if i + 4 <= n:
        z = Complex(re.load(i, width=4), im.load(i, width=4))
        for _ in range(2):
            z = z * z + c
        re.store(i, z.re)
        im.store(i, z.im)
        norm.store(i, squared_norm(z))
    elif i < n:
        for k in range(i, n):
            w = Complex(re[k], im[k])
            for _ in range(2):
                w = w * w + c
            re[k] = w.re
            im[k] = w.im
            norm[k] = squared_norm(w)


@pytest.mark.parametrize("n", [3, 8, 10])
def test_lanes_and_numbers(n: int) -> None:
    z: npt.NDArray[np.complex64] = (RNG.random(n) + 1j * RNG.random(n)).astype(np.complex64)
    ctx = DeviceContext(api="cpu")
    re, im, norm = (ctx.enqueue_create_buffer(Float32, n) for _ in range(3))
    ctx.enqueue_copy(dst=re, src=np.ascontiguousarray(z.real))
    ctx.enqueue_copy(dst=im, src=np.ascontiguousarray(z.imag))
    ctx.enqueue_function(polynomial, re, im, norm, n, Complex(0.25, -0.5), grid_dim=3, block_dim=1)
    expected = z.copy()
    for _ in range(2):
        expected *= expected
        expected += np.complex64(0.25 - 0.5j)
    with re.map_to_host() as a, im.map_to_host() as c, norm.map_to_host() as d:
        assert np.allclose(np.asarray(a) + 1j * np.asarray(c), expected, rtol=1e-5)
        assert np.allclose(np.asarray(d), np.abs(expected) ** 2, rtol=1e-5)


def test_on_the_host_it_is_one_lane() -> None:
    product: Any = Complex(1, 2.0) * Complex(3.0, 0.5)
    assert (product.re, product.im) == (2.0, 6.5)
    assert repr(Complex(1, 2)) == "Complex(re=Float32(1.0), im=Float32(2.0))"


@func
def converted(x: SIMD[Float32, ...]) -> Any:
    y: SIMD[Float64, ...] = x
    return y / 3.0


@kernel
def widened(h: Pointer[Float16], out: Pointer[Float64]):
    out.store(0, converted(h.load(0, width=2)))
    out[2] = converted(h[2])
    out[3] = converted(7)


def test_other_formats_are_converted() -> None:
    ctx = DeviceContext(api="cpu")
    h, out = ctx.enqueue_create_buffer(Float16, 3), ctx.enqueue_create_buffer(Float64, 4)
    ctx.enqueue_copy(dst=h, src=np.array([1, 2, 5], np.float16))
    ctx.enqueue_function(widened, h, out, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        assert list(host) == [1 / 3.0, 2 / 3.0, 5 / 3.0, 7 / 3.0]


@kernel
def other_lanes(p: Pointer[Float32], n: Int):
    z = Complex(p.load(0, width=4), 0.0)
    for _ in range(n):
        z.re = p[0]


@kernel
def other_format(p: Pointer[Float32], x: Float64):
    p[0] = Complex(x, 0.0).re  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("kern", "message"),
    [
        (other_lanes, r"`z` is Complex\(re: SIMD\[Float32, 4\], im: Float32\), but becomes "),
        (other_format, ".re is a Float32, and a Float64 does not become one by itself"),
    ],
)
def test_refused(kern: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_info(kern, target="native")
