from typing import Generic, Literal, TypeVar

from weft import Float32, Float64, InlineArray, Int, Number, Pointer, func, kernel, struct
from weft.gpu import global_idx

T = TypeVar("T", bound=Number)
N = TypeVar("N", bound=int)


@struct
class Span(Generic[T]):
    data: Pointer[T]
    size: Int

    def at(self, i: Int) -> T:
        return self.data[i % self.size]

    def __len__(self) -> int:
        return int(self.size)


@struct
class Ring(Generic[T, N]):
    items: InlineArray[T, N]
    head: Int

    def pushed(self, x: T) -> "Ring[T, N]":
        self.items[self.head % len(self.items)] = x
        self.head += 1
        return self


@func
def total(s: Span[T]) -> T:
    found = s.at(0)
    for i in range(1, len(s)):
        found += s.at(i)
    return found


@func
def filled(x: Float32) -> Float32:
    ring = Ring[Float32, Literal[4]](InlineArray[Float32, 4](fill=0.0), 0)
    for k in range(6):
        ring = ring.pushed(x * k)
    return ring.items[1]


@kernel
def sums(a: Pointer[Float64], n: Int, out: Pointer[Float64]):
    out[global_idx.x] = total(Span(a, n)) + total(Span(out, 1))
