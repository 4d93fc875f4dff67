"""weft.random against the generator's published vectors, Philox in Python, and what distributions must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weft import Float32, Float64, Int, Int32, Pointer, UInt32, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.random import Random, philox4x32, rand, randint, randn


def by_python(key: int, counter: int) -> list[int]:
    """Philox4x32-10 on integers of any size, written from the paper."""
    k = [key & 0xFFFFFFFF, key >> 32]
    c = [counter >> 32 * n & 0xFFFFFFFF for n in range(4)]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


@pytest.mark.parametrize(
    ("seed", "counter", "subsequence", "expected"),
    [  # the known answers of Random123
        (0, 0, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (-1, -1, -1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            0x299F31D0A4093822,
            0x85A308D3243F6A88 - 2**64,
            0x0370734413198A2E,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_known_answers(seed: int, counter: int, subsequence: int, expected: list[int]) -> None:
    found: Any = philox4x32(seed, counter, subsequence)
    assert list(found) == expected
    whole = (subsequence % 2**64) << 64 | counter % 2**64
    assert by_python(seed % 2**64, whole) == expected


@kernel
def draws(bits: Pointer[UInt32], u: Pointer[Float32], z: Pointer[Float32], die: Pointer[Int32], n: Int):
    i = global_idx.x
    if i < n:
        random = Random(seed=7, subsequence=i)
        first = random.step()
        uniform = random.step_uniform()
        normal = random.step_normal(10.0, 2.0)
        for k in range(4):
            bits[4 * i + k] = first[k]
            u[4 * i + k] = uniform[k]
            z[4 * i + k] = normal[k]
        die[4 * i] = Int32(randint(3, i, 1, 7))
        die[4 * i + 1] = Int32(randint(3, i, -5, 5))
        die[4 * i + 2] = Int32(1000 * rand(3, i))
        die[4 * i + 3] = Int32(1000 * randn(3, i))


def test_distributions(device: DeviceContext) -> None:
    n = 1 << 14
    buffers = [device.enqueue_create_buffer(dtype, 4 * n) for dtype in (UInt32, Float32, Float32, Int32)]
    device.enqueue_function(draws, *buffers, n, over=n)  # pyright: ignore[reportCallIssue]
    found: list[npt.NDArray[Any]] = []
    for buffer in buffers:
        with buffer.map_to_host() as host:
            found.append(np.array(host.numpy()).reshape(n, 4))
    bits, u, z, die = found
    for i in (0, 1, 77, n - 1):
        assert bits[i].tolist() == by_python(7, i << 64)
        assert (u[i].astype(np.float64) * 2**24).tolist() == [b >> 8 for b in by_python(7, i << 64 | 1)]
        raw = np.array([b >> 8 for b in by_python(7, i << 64 | 2)], np.float64)
        radius = np.sqrt(-2 * np.log((raw[::2] + 1) / 2**24))
        angle = 2 * np.pi * raw[1::2] / 2**24
        expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel() * 2 + 10
        assert np.allclose(z[i], expected, rtol=0, atol=1e-5)
    assert u.min() >= 0
    assert u.max() < 1
    # five deviations of a mean of so many, and of the frequency of a side of the die
    many = 4 * n
    assert abs(u.mean() - 0.5) < 5 * (1 / 12 / many) ** 0.5
    assert abs(z.mean() - 10) < 5 * 2 / many**0.5
    assert abs(z.std() - 2) < 5 * 2 / (2 * many) ** 0.5
    sides = np.bincount(die[:, 0], minlength=7)
    assert sides[0] == 0
    assert np.all(abs(sides[1:] / n - 1 / 6) < 5 * (5 / 36 / n) ** 0.5)
    assert (die[:, 1].min(), die[:, 1].max()) == (-5, 4)
    assert abs(die[:, 2].mean() - 500) < 5 * 289 / n**0.5
    assert abs(die[:, 3].mean()) < 5 * 1000 / n**0.5 + 1


@kernel
def doubles(u: Pointer[Float64], z: Pointer[Float64], n: Int):
    i = global_idx.x
    if i < n:
        random = Random(seed=7, subsequence=i)
        uniform = random.step_uniform64()
        normal = random.step_normal64(10.0, 2.0)
        for k in range(2):
            u[2 * i + k] = uniform[k]
            z[2 * i + k] = normal[k]


def test_of_64_bits(device: DeviceContext) -> None:
    n = 1 << 13
    u, z = (device.enqueue_create_buffer(Float64, 2 * n) for _ in range(2))
    device.enqueue_function(doubles, u, z, n, over=n)
    with u.map_to_host() as host_u, z.map_to_host() as host_z:
        uniform, normal = (np.array(host.numpy()).reshape(n, 2) for host in (host_u, host_z))
    for i in (0, 1, 77, n - 1):
        raw = [
            [(b[k] << 32 | b[k + 1]) >> 11 for k in (0, 2)]
            for b in (by_python(7, i << 64 | step) for step in (0, 1))
        ]
        assert (uniform[i] * 2.0**53).tolist() == raw[0]
        radius, angle = np.sqrt(-2 * np.log((raw[1][0] + 1) / 2.0**53)), 2 * np.pi * raw[1][1] / 2.0**53
        expected = radius * np.array([np.cos(angle), np.sin(angle)]) * 2 + 10
        assert np.allclose(normal[i], expected, rtol=1e-14, atol=1e-14)
    many = 2 * n
    assert 0 <= uniform.min() < uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 5 * (1 / 12 / many) ** 0.5
    assert abs(normal.mean() - 10) < 5 * 2 / many**0.5
    assert abs(normal.std() - 2) < 5 * 2 / (2 * many) ** 0.5


def test_from_python() -> None:
    assert rand(1, 2) == (by_python(1, 2)[0] >> 8) / 2**24
    assert [randint(5, n, 3, 3) for n in range(3)] == [3, 3, 3]
    assert [randint(5, n, 3, -7) for n in range(3)] == [3, 3, 3]
    assert {randint(5, n, 0, 2) for n in range(20)} == {0, 1}


RANGES = [
    *[(0, 2**63 - 1), (-(2**63), 2**63 - 1), (-(2**63), 0), (0, 2**32), (-5, 2**32 + 1), (-(2**62), 2**62)],
    *[(-(2**63), -(2**63) + 1), (2**63 - 2, 2**63 - 1), (733, -(2**63)), (0, 10**15), (1, 0), (-1, 1)],
]


@kernel
def integers(low: Pointer[Int], high: Pointer[Int], out: Pointer[Int], n: Int):
    i = global_idx.x
    if i < n:
        out[i] = randint(11, i, low[i], high[i])


def test_integers_of_all_ranges(device: DeviceContext) -> None:
    """Of 64 random bits, scaled by exact integers."""
    pairs = [RANGES[i % len(RANGES)] for i in range(240)]
    right = [
        low + ((bits[0] << 32 | bits[1]) * max(high - low, 0) >> 64)
        for (low, high), bits in zip(pairs, (by_python(11, i) for i in range(240)), strict=True)
    ]
    low, high, out = (device.enqueue_create_buffer(Int, 240) for _ in range(3))
    device.enqueue_copy(dst=low, src=np.array([pair[0] for pair in pairs]))
    device.enqueue_copy(dst=high, src=np.array([pair[1] for pair in pairs]))
    device.enqueue_function(integers, low, high, out, 240, grid_dim=4, block_dim=64)
    with out.map_to_host() as host:
        assert [int(n) for n in host] == right
    assert [int(randint(11, i, *pair)) for i, pair in enumerate(pairs[:24])] == right[:24]
