from typing import Generic, TypeVar

from weft import Float32, Float64, Floating, func, struct
from weft.math import sqrt

T = TypeVar("T", bound=Floating)


@struct
class Complex(Generic[T]):
    re: T
    im: T

    def __add__(self, other: "Complex[T]") -> "Complex[T]":
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other: "Complex[T]") -> "Complex[T]":
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __abs__(self) -> T:
        return sqrt(self.re * self.re + self.im * self.im)


@func
def power(z: Complex[T], n: int) -> Complex[T]:
    result = z
    for _ in range(n - 1):
        result = result * z
    return result


@func
def size(re: Float32, im: Float32) -> Float32:
    return abs(power(Complex(re, im), 3))


@func
def size64(re: Float64, im: Float64) -> Float64:
    z = Complex[Float64](re, im)
    return abs(z * z + z)


assert abs(size(3.0, 4.0) - 125.0) < 1e-3
assert size64(0.0, 1.0) == abs(1j * 1j + 1j)
