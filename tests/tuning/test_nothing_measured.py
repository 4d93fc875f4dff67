"""``tune`` where nothing can be measured: one error with the reason, at the caller's line."""

from __future__ import annotations

import math
from typing import Any

import pytest

from weft import Comptime, Float32, Int, LaunchError, Pointer, autotune, kernel
from weft.gpu.host import DeviceContext


@kernel
def never(x: Pointer[Float32], n: Int, *, EACH: Comptime[int]):
    assert n < 0, "n is below 0"
    x[0] = 1.0 * EACH


def told(ctx: DeviceContext, **how: Any) -> str:
    tuned = autotune({"EACH": [1, 2], "block_dim": [1]}, key=["n"], **how)(never)
    x = ctx.enqueue_create_buffer(Float32, 4)
    with pytest.raises(LaunchError) as found:
        tuned.tune(ctx, x, 4, grid_dim=1)
    assert "test_nothing_measured.py" in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("isolated", [True, False])
def test_all_fail(isolated: bool) -> None:
    text = told(DeviceContext(api="cpu"), isolated=isolated)
    assert "never cannot be tuned: assertion failed in kernel 'never': n is below 0" in text


def test_a_clock_that_finds_none_fit() -> None:
    text = told(DeviceContext(api="cpu"), measure=lambda config, launch: math.inf)  # pyright: ignore[reportUnknownLambdaType]
    assert "never cannot be tuned: measure= gives inf for each configuration" in text


def test_contexts_that_say_nothing_of_speed() -> None:
    assert "a context with checks" in told(DeviceContext(api="cpu", checked=True))
    assert "the interpreter says nothing" in told(DeviceContext(api="interpreter"))


@pytest.mark.parametrize("share", [2.0, -0.5, "half"])
def test_a_share_that_is_none(share: Any) -> None:
    with pytest.raises(LaunchError, match="write a share from 0 to 1"):
        autotune({"EACH": [1]}, min_occupancy=share)(never)
