"""Complex numbers against NumPy: on the host, on the CPU and on GPUs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from weft import Bool, CompileError, Float32, Int, Pointer, func, kernel, math
from weft.complex import ComplexFloat32, ComplexFloat64, ComplexSIMD
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

Array = npt.NDArray[Any]
_rng = np.random.default_rng(3)
A: Array = _rng.uniform(-2, 2, 64) + 1j * _rng.uniform(-2, 2, 64)
B: Array = _rng.uniform(-2, 2, 64) + 1j * _rng.uniform(-2, 2, 64)
A[:8] *= 1e30  # of which Float32 holds no squares
B[4:12] *= 1e30
B[12], B[13] = 2, 3j


def _polar(a: Any) -> Any:
    kind = cast("Any", type(a))
    return kind.from_polar(*a.polar())


FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Array, Array], Array]]] = {
    "add": (operator.add, np.add),
    "subtract": (operator.sub, np.subtract),
    "divide": (lambda a, b: a / b, np.divide),
    "multiply": (lambda a, b: a * (b / abs(b)), lambda a, b: a * (b / np.abs(b))),
    "scaled": (lambda a, b: 2 * a / 3 - (1 - b) + 0.5, lambda a, b: 2 * a / 3 - (1 - b) + 0.5),
    "literals": (
        lambda a, b: (1 + 2j) / b + a * 1j - (3 - 1j),
        lambda a, b: (1 + 2j) / b + a * 1j - (3 - 1j),
    ),
    "conj": (lambda a, b: -a.conj() + b, lambda a, b: -a.conj() + b),
    "exp": (lambda a, b: (a / abs(a)).exp() + b, lambda a, b: np.exp(a / np.abs(a)) + b),
    "polar": (lambda a, b: _polar(a), lambda a, b: a),
    "functions": (
        lambda a, b: math.exp(a / abs(a)) + math.log(b) * math.sqrt(a / abs(a)),
        lambda a, b: np.exp(a / np.abs(a)) + np.log(b) * np.sqrt(a / np.abs(a)),
    ),
    "root": (lambda a, b: math.sqrt(a), lambda a, b: np.sqrt(a)),
    "powers": (
        lambda a, b: (a / abs(a)) ** 5 + (b / abs(b)) ** -2,
        lambda a, b: (a / np.abs(a)) ** 5 + (b / np.abs(b)) ** -2,
    ),
    "roots": (
        lambda a, b: a**0.25 + math.pow(b / abs(b), 1.5) * (b / abs(b)) ** (0.5 - 1j) + a**0,
        lambda a, b: a**0.25 + (b / np.abs(b)) ** 1.5 * (b / np.abs(b)) ** (0.5 - 1j) + 1,
    ),
}


def run(device: DeviceContext, kind: Any, numpy: Any, compute: Callable[[Any, Any], Any]) -> Array:
    def each(a: Pointer[Any], b: Pointer[Any], out: Pointer[Any], n: Int) -> None:
        i = global_idx.x
        if i < n:
            out[i] = compute(a[i], b[i])

    each.__annotations__ |= dict.fromkeys(("a", "b", "out"), cast("Any", Pointer)[kind])
    x, y, out = (device.enqueue_create_buffer(kind, A.size) for _ in range(3))
    device.enqueue_copy(dst=x, src=A.astype(numpy))
    device.enqueue_copy(dst=y, src=B.astype(numpy))
    device.enqueue_function(kernel(each), x, y, out, A.size, grid_dim=2, block_dim=32)
    found = np.empty(A.size, numpy)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    return found


@pytest.mark.parametrize(("kind", "numpy"), [(ComplexFloat32, np.complex64), (ComplexFloat64, np.complex128)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(device: DeviceContext, name: str, kind: Any, numpy: Any) -> None:
    compute, of_numpy = FUNCTIONS[name]
    a, b = A.astype(numpy), B.astype(numpy)
    right, tolerance = of_numpy(a, b), 1e-5 if numpy is np.complex64 else 1e-13
    np.testing.assert_allclose(run(device, kind, numpy, compute), right, rtol=tolerance, atol=tolerance)
    host = [compute(kind(complex(p)), kind(complex(q))) for p, q in zip(a, b, strict=True)]
    numbers = [complex(float(z.re), float(z.im)) for z in host]
    np.testing.assert_allclose(numbers, right, rtol=tolerance, atol=tolerance)


@func
def _sizes(z: ComplexFloat32) -> tuple[Float32, Float32, Float32]:
    return abs(z), z.squared_norm(), z.phase()


@pytest.mark.parametrize(
    "z", [3 + 4j, -1e30 + 2e30j, 0j, complex("inf"), complex(1, float("-inf")), 1e-30 - 1e-30j]
)
def test_absolute_values(z: complex) -> None:
    size, squared, phase = (float(part) for part in _sizes(ComplexFloat32(z)))
    number = np.complex64(z)
    np.testing.assert_allclose([size, phase], [np.abs(number), np.angle(number)], rtol=1e-6)
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(squared, number.real * number.real + number.imag * number.imag, rtol=1e-6)


def test_lanes() -> None:
    @func
    def product(a: Any, b: Any) -> Any:
        return a * b + 1, a == a, a == b

    four: Any = cast("Any", ComplexSIMD)[Float32, 4]
    a = four(Float32.simd(1, 2, 3, 4), Float32.simd(0, 1, 0, -1))
    found, same, other = product(a, ComplexFloat32(1 + 2j))[0], *product(a, a)[1:]
    right = np.array([1, 2 + 1j, 3, 4 - 1j]) * (1 + 2j) + 1
    assert (found.re.value, found.im.value) == (tuple(right.real.tolist()), tuple(right.imag.tolist()))
    assert (same, other) == (True, True)


def test_other_arrays_are_refused() -> None:
    @kernel
    def k(z: Pointer[ComplexFloat64]) -> None:
        z[0] = z[0] + 1

    ctx, z = DeviceContext(api="cpu"), np.array([1 + 1j], np.complex64)
    with pytest.raises(Exception, match=r"`re` is float32, in .* float64"):
        ctx.enqueue_function(k, z, grid_dim=1, block_dim=1)
    with pytest.raises((CompileError, TypeError)):
        _ = cast("Any", ComplexFloat32(1)) + "x"


@kernel
def equalities(z: Pointer[ComplexFloat32], out: Pointer[Bool]):
    i = global_idx.x
    found = z[i] == 1 + 2j, z[i] == 0, 0.0 != z[i], z[i] in (1 + 2j, 3), z[i] == ComplexFloat64(z[i].re, 2)
    for n, same in enumerate(found):
        out[5 * i + n] = same


def test_equal_to_numbers_of_python_and_of_another_width(device: DeviceContext) -> None:
    z = np.array([1 + 2j, 0, 3, 2j, complex(np.nan, 0)], np.complex64)
    values, out = device.enqueue_create_buffer(ComplexFloat32, 5), np.zeros((5, 5), np.bool_)
    device.enqueue_copy(dst=values, src=z)
    flags = device.enqueue_create_buffer(Bool, 25)
    device.enqueue_function(equalities, values, flags, grid_dim=1, block_dim=5)
    device.enqueue_copy(dst=out.reshape(-1), src=flags)
    device.synchronize()
    assert out.tolist() == [[x == 1 + 2j, x == 0, x != 0, x in (1 + 2j, 3), x.imag == 2] for x in z]
    assert ComplexFloat32(1, 2) == 1 + 2j
    assert ComplexFloat32(1, 2) != 1
    assert ComplexSIMD[Float32, 2](2) == 2
    assert ComplexFloat32(1) != "1"


def test_powers_of_zero_and_of_nothing() -> None:
    zero: Any = ComplexFloat64(0)
    infinite, left = ComplexFloat64(np.inf, np.nan), cast("Any", ComplexFloat64(-1, -0.0))
    assert zero**2 == zero**0.5 == math.sqrt(zero) == 0
    assert zero**0 == infinite**0 == 1
    assert np.copysign(1.0, math.sqrt(left).im.value) == -1.0


def _ends(numpy: Any) -> Any:
    """Numbers of which parts are zeros, infinities, nan and each end of the range."""
    info: Any = np.finfo(numpy)
    parts = [0.0, 1.0, 2.5, 100.0, np.inf, info.max, info.tiny, info.smallest_subnormal, 1e-5]
    reals = np.array([*parts, *[-part for part in parts], np.nan], info.dtype)
    reals = np.append(reals, np.log(info.max) + info.dtype.type(0.3))
    found: Any = np.zeros((reals.size, reals.size), numpy)
    found.real, found.imag = reals, reals[:, None]
    return found.reshape(-1)


def same_numbers(found: Any, right: Any, tolerance: float) -> None:
    """Whether parts are near each other, of the same kind, and zeros of the same sign."""
    for part, other in ((found.real, right.real), (found.imag, right.imag)):
        least = float(np.finfo(part.dtype).smallest_subnormal)
        np.testing.assert_allclose(part, other, rtol=tolerance, atol=2 * least)
        zero = other == 0
        np.testing.assert_array_equal(np.signbit(part[zero]), np.signbit(other[zero]))


def _of_c(name: str, z: Any) -> Any:
    """What C's functions give, by NumPy in twice the precision, where that has them."""
    wide: Any = np.dtype(np.complex128 if z.dtype == np.complex64 else np.clongdouble)
    with np.errstate(all="ignore"):
        return getattr(np, name)(z.astype(wide)).astype(z.dtype)


@pytest.mark.parametrize(("kind", "numpy"), [(ComplexFloat32, np.complex64), (ComplexFloat64, np.complex128)])
@pytest.mark.parametrize("name", ["exp", "log", "sqrt"])
def test_ends_of_the_range_are_those_of_c(device: DeviceContext, name: str, kind: Any, numpy: Any) -> None:
    z, of_weft = _ends(numpy), getattr(math, name)

    def each(z: Pointer[Any], out: Pointer[Any], n: Int) -> None:
        i = global_idx.x
        if i < n:
            out[i] = of_weft(z[i])

    each.__annotations__ |= dict.fromkeys(("z", "out"), cast("Any", Pointer)[kind])
    given, out = (device.enqueue_create_buffer(kind, z.size) for _ in range(2))
    device.enqueue_copy(dst=given, src=z)
    device.enqueue_function(kernel(each), given, out, z.size, grid_dim=(z.size + 31) // 32, block_dim=32)
    found = np.empty_like(z)
    device.enqueue_copy(dst=found, src=out)
    device.synchronize()
    right, tolerance = _of_c(name, z), 4 * float(np.finfo(numpy).eps)
    known = (z.real != -np.inf) | np.isfinite(z.imag) | (name != "exp")  # else zeros of any sign
    assert (found[~known] == 0).all()
    same_numbers(found[known], right[known], tolerance)
    host = [of_weft(kind(complex(number))) for number in z]
    numbers = np.array([complex(float(x.re), float(x.im)) for x in host], numpy)
    same_numbers(numbers[known], right[known], tolerance)


def test_logarithms_near_the_circle_keep_their_digits() -> None:
    angles: Any = np.linspace(0.1, 1.5, 50)
    near: Any = (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)
    near[0] = 1 + 1e-5j
    found = np.array([cast("Any", ComplexFloat32(complex(z))).log().re.value for z in near])
    right = np.log(near.astype(np.complex128)).real  # the squares are exact there
    np.testing.assert_allclose(found, right, rtol=1e-4)


def test_powers_by_numbers_of_python_and_numpy() -> None:
    z: Any = ComplexFloat64(-3, 0.0)
    assert z**2.0 == z ** (2 + 0j) == z * z == 9
    assert abs((z**0.5).im.value - 3**0.5) < 1e-15
    zero: Any = ComplexFloat32(0)
    given: Any = (0j, 0.5, 1 + 1j, 2j - 1)
    for exponent in given:
        with np.errstate(all="ignore"):
            right: Any = np.power(np.complex64(0), np.complex64(exponent))
        found = zero ** ComplexFloat32(complex(exponent))
        np.testing.assert_array_equal([found.re.value, found.im.value], [right.real, right.imag])
    large, power = cast("Any", ComplexFloat32(3e38)), cast("Any", ComplexFloat64(1, 1))
    assert large**1.5 == np.inf
    assert (large * 2) ** ComplexFloat32(0) == 1
    assert abs((2**power).re.value - (2 ** (1 + 1j)).real) < 1e-15
    assert ComplexFloat32.from_polar(np.inf, 0.0) == ComplexFloat32(np.inf, 0)


@pytest.mark.parametrize("divisor", [0.0, -0.0, complex(0.0, -0.0), complex(-0.0, -0.0)])
@pytest.mark.parametrize("z", [1, -1j, 2 - 3j, 0, complex(np.inf, 1)])
def test_a_quotient_by_zero_is_numpys(z: complex, divisor: complex) -> None:
    with np.errstate(all="ignore"):
        right: Any = np.complex128(z) / np.complex128(divisor)
    found: Any = ComplexFloat64(complex(z)) / ComplexFloat64(complex(divisor))
    np.testing.assert_array_equal([found.re.value, found.im.value], [right.real, right.imag])


def test_a_complex_number_beside_a_part_is_refused() -> None:
    with pytest.raises(CompileError, match="takes a complex number, or two parts"):
        ComplexFloat32(1j, 1)


@func
def sine(x: Float32) -> Any:
    z: Any = ComplexFloat32(x)
    return math.sin(z)


@func
def of_python(x: Float32) -> Any:
    return complex(x, 1.0).real


@pytest.mark.parametrize(
    ("function", "message"),
    [(sine, "compute with z.re and z.im"), (of_python, "write ComplexFloat32")],
)
def test_what_complex_numbers_are_not_given_to(function: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        function(1.0)


def test_as_pythons() -> None:
    assert complex(ComplexFloat32(1.5, -2.0)) == 1.5 - 2.0j
    with pytest.raises(CompileError, match=r"float\(...\) takes one number, not a SIMD"):
        complex(ComplexSIMD[Float32, 2](Float32.simd(1, 2), Float32.simd(3, 4)))
