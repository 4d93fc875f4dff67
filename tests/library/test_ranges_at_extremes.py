"""Ranges with steps, at the ends of what integers hold, beside Python's."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import numpy as np
import pytest

from weft import Comptime, Int, Int32, Pointer, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

MOST = 60
"""Rounds that are looked at where there may be many."""
Case = tuple[int, int, int]


@kernel
def first_rounds(out: Pointer[Int], args: Pointer[Int], most: Int):
    i = global_idx.x
    rounds, seen = Int(0), Int(0)
    for k in range(args[3 * i], args[3 * i + 1], args[3 * i + 2]):
        seen = seen * 31 + k
        rounds += 1
        if rounds >= most:
            break
    out[2 * i], out[2 * i + 1] = rounds, seen


@kernel
def all_rounds(out: Pointer[Int], args: Pointer[Int], most: Int):
    i = global_idx.x
    rounds, seen = Int(0), Int(0)
    for k in range(args[3 * i], args[3 * i + 1], args[3 * i + 2]):
        seen = seen * 31 + k
        rounds += 1
    out[2 * i], out[2 * i + 1] = rounds, seen


@kernel
def all_rounds_of_32(out: Pointer[Int], args: Pointer[Int], most: Int):
    i = global_idx.x
    rounds, seen = Int(0), Int(0)
    for k in range(Int32(args[3 * i]), Int32(args[3 * i + 1]), Int32(args[3 * i + 2])):
        seen = seen * 31 + Int(k)
        rounds += 1
    out[2 * i], out[2 * i + 1] = rounds, seen


@kernel
def known_step(out: Pointer[Int], args: Pointer[Int], most: Int, *, step: Comptime[int]):
    i = global_idx.x
    rounds, seen = Int(0), Int(0)
    for k in range(args[3 * i], args[3 * i + 1], step):
        seen = seen * 31 + k
        rounds += 1
        if rounds >= most:
            break
    out[2 * i], out[2 * i + 1] = rounds, seen


def python(case: Case, most: int) -> list[int]:
    rounds = seen = 0
    for k in islice(range(*case), most) if case[2] else ():
        seen = (seen * 31 + k + 2**63) % 2**64 - 2**63
        rounds += 1
    return [rounds, seen]


def numbers(rng: random.Random, bits: int) -> int:
    most = 2 ** (bits - 1)
    near = rng.choice([-most, 0, most - 1, -most // 2, most // 2]) + rng.randint(-20, 20)
    some = rng.choice([near, near, rng.randint(-50, 50), rng.randint(-most, most - 1)])
    return max(-most, min(most - 1, some))


def check(device: DeviceContext, kernel: Any, cases: list[Case], most: int = 2**62, **step: Any) -> None:
    args, out = np.array(cases, np.int64), np.zeros((len(cases), 2), np.int64)
    given, made = (device.enqueue_create_buffer(Int, a.size) for a in (args, out))
    device.enqueue_copy(dst=given, src=args.reshape(-1))
    device.enqueue_function(kernel, made, given, most, grid_dim=len(cases), block_dim=1, **step)
    device.enqueue_copy(dst=out.reshape(-1), src=made)
    device.synchronize()
    wanted = [python(case, most) for case in cases]
    assert [(case, o) for case, o in zip(cases, out.tolist(), strict=True)] == [
        *zip(cases, wanted, strict=True)
    ]


def short(cases: list[Case]) -> list[Case]:
    return [case for case in cases if not case[2] or abs(case[1] - case[0]) // abs(case[2]) < 300]


def drawn(bits: int, seed: int) -> list[Case]:
    rng, ends = random.Random(seed), [-(2 ** (bits - 1)), -2, -1, 0, 1, 2, 2 ** (bits - 1) - 1]
    corners = [(a, b, c) for a in ends for b in ends for c in ends]
    return corners + [(numbers(rng, bits), numbers(rng, bits), numbers(rng, bits)) for _ in range(1500)]


def test_the_first_rounds(device: DeviceContext) -> None:
    check(device, first_rounds, drawn(64, 1), MOST)


def test_all_rounds(device: DeviceContext) -> None:
    check(device, all_rounds, short(drawn(64, 2)))
    check(device, all_rounds_of_32, short(drawn(32, 3)))


@pytest.mark.parametrize("step", [2, -2, 3, -7, 16, 2**40, -(2**62), 2**63 - 1, -(2**63)])
def test_steps_that_are_known(device: DeviceContext, step: int) -> None:
    cases = [(lower, upper, step) for lower, upper, _ in drawn(64, 4)[:700]]
    check(device, known_step, cases, MOST, step=step)
