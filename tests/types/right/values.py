"""Tuples, named tuples, dataclasses, enums and match."""

import dataclasses
import enum
from typing import NamedTuple

from weft import Bool, Float32, Int, Pointer, func, kernel, struct
from weft.gpu import global_idx


class Mode(enum.Enum):
    NEAREST = 0
    LINEAR = 1


class Place(NamedTuple):
    x: Float32
    y: Float32


@dataclasses.dataclass(frozen=True)
class Box:
    low: Place
    high: Place

    @func
    def has(self, p: Place) -> Bool:
        return self.low.x <= p.x < self.high.x and self.low.y <= p.y < self.high.y


@struct
class Circle:
    radius: Float32


@struct
class Rectangle:
    width: Float32
    height: Float32


@func
def area(shape: Circle | Rectangle) -> Float32:
    match shape:
        case Circle(r):
            return 3.14159 * r * r
        case Rectangle(width=w, height=h):
            return w * h


@func
def minmax(x: Pointer[Float32], n: Int) -> tuple[Float32, Float32]:
    low, high = x[0], x[0]
    for i in range(1, n):
        low, high = min(low, x[i]), max(high, x[i])
    return low, high


@func
def sample(x: Pointer[Float32], at: Float32, mode: Mode) -> Float32:
    i = Int(at)
    if mode is Mode.NEAREST:
        return x[i]
    f = at - Float32(i)
    return x[i] * (1 - f) + x[i + 1] * f


@kernel
def moved(x: Pointer[Float32], box: Box, mode: Mode, by: tuple[Float32, Int]):
    i = global_idx.x
    dx, n = by
    low, high = minmax(x, n)
    if box.has(Place(x[i] + dx, low)):
        x[i] = sample(x, high, mode)


assert area(Rectangle(2.0, 3.0)) == 6.0
assert abs(area(Circle(1.0)) - 3.14159) < 1e-6
