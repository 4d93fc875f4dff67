"""Random numbers that depend on a seed and an offset alone: the same on every device, in any order.

The generator is Philox4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy
as 1, 2, 3", SC 2011), as in cuRAND, PyTorch, Triton and Mojo. Each offset gives four numbers of 32 bits that
have nothing to do with those of any other. There is no state to share: a thread takes its own offsets.

Example:
    >>> from weft import Float32, Int, Pointer, kernel
    >>> from weft.gpu import global_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.random import Random, rand
    >>> @kernel
    ... def dropout(x: Pointer[Float32], n: Int, p: Float32, seed: Int):
    ...     i = global_idx.x
    ...     if i < n and rand(seed, i) < p:
    ...         x[i] = 0.0
    >>> @kernel
    ... def estimate_pi(inside: Pointer[Int], rounds: Int):
    ...     random, found = Random(seed=1, subsequence=global_idx.x), 0
    ...     for _ in range(rounds):
    ...         u = random.step_uniform()
    ...         found += Int(u[0] * u[0] + u[1] * u[1] < 1.0) + Int(u[2] * u[2] + u[3] * u[3] < 1.0)
    ...     inside[global_idx.x] = found
    >>> ctx = DeviceContext(api="cpu")
    >>> inside = ctx.enqueue_create_buffer(Int, 64)
    >>> ctx.enqueue_function(estimate_pi, inside, 500, grid_dim=1, block_dim=64)
    >>> with inside.map_to_host() as host:
    ...     print(round(4 * sum(host) / (64 * 1000), 1))
    3.1
"""

from __future__ import annotations

from typing import Any

from weft.diagnostics.modules import present
from weft.lang import SIMD, Float32, Float64, Int, UInt32, UInt64, func, struct, unroll
from weft.lang.number import number_class
from weft.math import cos, log, sin, sqrt

__all__ = ["Random", "philox4x32", "rand", "randint", "randn"]

_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85


@func
def philox4x32(seed: Int, offset: Int, subsequence: Int) -> SIMD[UInt32, 4]:
    """Four numbers of 32 random bits. ``seed`` is Philox's key, the others its counter's two halves.

    Example:
        >>> from weft.random import philox4x32
        >>> [hex(n) for n in philox4x32(0, 0, 0)]
        ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    k0, k1 = _halves(UInt64(seed))
    a, b = _halves(UInt64(offset))
    c, d = _halves(UInt64(subsequence))
    for _ in unroll(range(_ROUNDS)):
        low0, high0 = _halves(UInt64(a) * _MULTIPLIERS[0])
        low1, high1 = _halves(UInt64(c) * _MULTIPLIERS[1])
        a, b, c, d = high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0
        k0 += _WEYL[0]
        k1 += _WEYL[1]
    return _four(UInt32, a, b, c, d)


def _halves(x: UInt64) -> tuple[UInt32, UInt32]:
    return x.cast(UInt32), (x >> 32).cast(UInt32)


def _four(kind: Any, *lanes: Any) -> Any:
    return number_class(kind.dtype, 4)(*lanes)


def _uniform(bits: Any) -> Any:
    """The upper 24 bits as multiples of 2**-24."""
    return (bits >> 8).cast(Float32) * 2.0**-24


@func
def rand(seed: Int, offset: Int) -> Float32:
    """A number of the multiples of 2**-24 in [0, 1), each as likely. Another offset, another number."""
    return _uniform(philox4x32(seed, offset, 0)[0])


@func
def randn(seed: Int, offset: Int) -> Float32:
    """A normally distributed number of mean 0 and variance 1, by Box's and Muller's method; at most 5.8."""
    return _normal(philox4x32(seed, offset, 0))[0]


@func
def randint(seed: Int, offset: Int, low: Int, high: Int) -> Int:
    """An integer from ``low`` to ``high - 1``; ``low`` where there is none.

    Each is as likely up to a part of ``(high - low) / 2**64``, as 64 bits are scaled and none is rejected.
    """
    bits = philox4x32(seed, offset, 0)
    count = UInt64(high) - UInt64(low) if low < high else UInt64(0)
    # the upper 64 of 128 bits: of the bits' halves times those of the count
    (below, above), upper, lower = _halves(count), UInt64(bits[0]), UInt64(bits[1])
    first = upper * below + (lower * below >> 32)
    second = lower * above + UInt64(first.cast(UInt32))
    return Int(UInt64(low) + upper * above + (first >> 32) + (second >> 32))


def _normal(bits: Any) -> Any:
    """Four normally distributed numbers of four times 32 random bits."""
    u = ((bits >> 8).cast(Float32) + 1.0) * 2.0**-24  # in (0, 1]
    radius = [sqrt(-2.0 * log(u[n])) for n in (0, 2)]
    angle = [6.283185307179586 * _uniform(bits[n]) for n in (1, 3)]
    r, s = radius
    a, b = angle
    return _four(Float32, r * cos(a), r * sin(a), s * cos(b), s * sin(b))


def _wholes(bits: Any) -> list[Any]:
    """The upper 53 of each 64 bits."""
    return [((UInt64(bits[n]) << 32 | UInt64(bits[n + 1])) >> 11).cast(Float64) for n in (0, 2)]


def _two(*lanes: Any) -> Any:
    return number_class(Float64.dtype, 2)(*lanes)


@struct
class Random:
    """A sequence of random numbers: each step gives four or, of ``Float64``, two, and goes on.

    Equal seeds, subsequences and offsets give equal numbers; each seed has ``2**64`` subsequences of
    ``2**64`` steps. One that lies in memory is copied, and put back: ``random = copy.copy(states[i])``,
    ``u = random.step_uniform()``, ``states[i] = random``.
    """

    seed: Int
    subsequence: Int = Int(0)
    offset: Int = Int(0)

    def step(self) -> SIMD[UInt32, 4]:
        """Four times 32 random bits."""
        bits = philox4x32(self.seed, self.offset, self.subsequence)
        self.offset += 1
        return bits

    def step_uniform(self) -> SIMD[Float32, 4]:
        """Four numbers in [0, 1)."""
        return _uniform(self.step())

    def step_normal(self, mean: Float32 | float = 0.0, stddev: Float32 | float = 1.0) -> SIMD[Float32, 4]:
        """Four normally distributed numbers."""
        return _normal(self.step()) * stddev + mean

    def step_uniform64(self) -> SIMD[Float64, 2]:
        """Two numbers of the multiples of 2**-53 in [0, 1).

        Example:
            >>> from weft.random import Random
            >>> random = Random(seed=1)
            >>> random.step_uniform64()
            (0.8902591729757107, 0.5857259483801359)
        """
        return _two(*[whole * 2.0**-53 for whole in _wholes(self.step())])

    def step_normal64(self, mean: Float64 | float = 0.0, stddev: Float64 | float = 1.0) -> SIMD[Float64, 2]:
        """Two normally distributed numbers, at most 8.6 deviations from the mean."""
        first, second = _wholes(self.step())
        radius = sqrt(-2.0 * log((first + 1.0) * 2.0**-53))
        angle = 6.283185307179586 * (second * 2.0**-53)
        return _two(radius * cos(angle), radius * sin(angle)) * stddev + mean


present(globals())
