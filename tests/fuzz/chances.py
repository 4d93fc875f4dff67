"""The model's ``weft.random``: Philox of ten rounds on integers of any size, written from its paper."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.fuzz.kinds import INT, KINDS
from tests.fuzz.lanes import Vector
from tests.fuzz.scalars import Number, as_kind

__all__ = ["CHANCES"]


def _words(seed: Any, offset: Any, subsequence: Any) -> list[int]:
    key, counter = int(seed) % 2**64, int(subsequence) % 2**64 << 64 | int(offset) % 2**64
    k = [key & 0xFFFFFFFF, key >> 32]
    c = [counter >> 32 * n & 0xFFFFFFFF for n in range(4)]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def _vector(kind: str, values: list[Any]) -> Vector:
    return Vector(KINDS[kind], [as_kind(value, KINDS[kind]) for value in values])


def _philox4x32(seed: Any, offset: Any, subsequence: Any) -> Vector:
    return _vector("UInt32", _words(seed, offset, subsequence))


def _uniform(words: list[int]) -> list[float]:
    return [(word >> 8) / 2**24 for word in words]


def _rand(seed: Any, offset: Any) -> Number:
    return as_kind(_uniform(_words(seed, offset, 0))[0], KINDS["Float32"])


def _randint(seed: Any, offset: Any, low: Any, high: Any) -> Number:
    words, count = _words(seed, offset, 0), max(int(high) - int(low), 0)
    return as_kind(int(low) + ((words[0] << 32 | words[1]) * count >> 64), INT)


class _Random:
    def __init__(self, seed: Any, subsequence: Any = 0, offset: Any = 0) -> None:
        self.seed, self.subsequence, self.offset = seed, subsequence, offset

    def _next(self) -> list[int]:
        words = _words(self.seed, self.offset, self.subsequence)
        self.offset += 1
        return words

    def step(self) -> Vector:
        return _vector("UInt32", self._next())

    def step_uniform(self) -> Vector:
        return _vector("Float32", _uniform(self._next()))


CHANCES = SimpleNamespace(philox4x32=_philox4x32, rand=_rand, randint=_randint, Random=_Random)
