"""Checked contexts on a CPU: launches of two streams on the same memory race unless something orders them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from planted import marked
from weft import DeviceError, Float32, Int, Pointer, kernel
from weft.atomic import Atomic
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning")


@kernel
def fill(x: Pointer[Float32], first: Int):
    x[first + global_idx.x] = 1.0  #!


@kernel
def double(x: Pointer[Float32], y: Pointer[Float32]):
    y[global_idx.x] = 2.0 * x[global_idx.x]  #!


@kernel
def count(x: Pointer[Float32]):
    Atomic.fetch_add(x, 1.0)


def told(act: Callable[[DeviceContext, Any], None]) -> list[Any]:
    with DeviceContext(api="cpu", checked=True) as ctx, ctx.create_stream() as other:
        try:
            act(ctx, other)
            other.synchronize()
            ctx.synchronize()
        except DeviceError as error:
            return list(error.reports)
    return []


def go(ctx: DeviceContext, stream: Any, program: Any, *args: Any) -> None:
    ctx.enqueue_function(program, *args, grid_dim=2, block_dim=32, stream=stream)


def arrays() -> tuple[Any, Any]:
    return np.zeros(128, np.float32), np.zeros(128, np.float32)


def test_a_write_beside_a_read() -> None:
    x, y = arrays()

    def act(ctx: DeviceContext, other: Any) -> None:
        go(ctx, None, fill, x, 0)
        go(ctx, other, double, x, y)

    (report,) = told(act)
    assert (report.code, report.buffer, report.index) == ("data-race", "x", 0)
    assert (
        "kernel 'fill' of another stream" in report.message or "kernel 'double' of another" in report.message
    )
    assert {report.location.line, report.other.location.line} == set(marked(fill) | marked(double))
    assert sum(f"{__file__}:" in note for note in report.notes) == 2


def test_two_writes() -> None:
    x, _ = arrays()

    def act(ctx: DeviceContext, other: Any) -> None:
        go(ctx, None, fill, x, 0)
        go(ctx, other, fill, x, 63)

    (report,) = told(act)
    assert report.message.startswith(
        "kernel 'fill' writes element 63 of `x`, kernel 'fill' of another stream "
    )


def ordered_by_event(ctx: DeviceContext, other: Any, x: Any, y: Any) -> None:
    go(ctx, None, fill, x, 0)
    other.enqueue_wait_for(ctx.record_event())
    go(ctx, other, double, x, y)


def ordered_by_stream(ctx: DeviceContext, other: Any, x: Any, y: Any) -> None:
    go(ctx, other, fill, x, 0)
    ctx.enqueue_wait_for(other)
    go(ctx, None, double, x, y)


def ordered_by_host(ctx: DeviceContext, other: Any, x: Any, y: Any) -> None:
    go(ctx, None, fill, x, 0)
    ctx.synchronize()
    go(ctx, other, double, x, y)


def ordered_by_host_and_event(ctx: DeviceContext, other: Any, x: Any, y: Any) -> None:
    go(ctx, other, fill, x, 0)
    other.record_event().synchronize()
    go(ctx, None, double, x, y)


def other_parts(ctx: DeviceContext, other: Any, x: Any, y: Any) -> None:
    go(ctx, None, fill, x, 0)
    go(ctx, other, fill, x, 64)


def both_read(ctx: DeviceContext, other: Any, x: Any, y: Any) -> None:
    go(ctx, None, double, x, y[:64])
    go(ctx, other, double, x, y[64:])


def both_atomic(ctx: DeviceContext, other: Any, x: Any, y: Any) -> None:
    go(ctx, None, count, x)
    go(ctx, other, count, x)


@pytest.mark.parametrize(
    "act",
    [
        ordered_by_event,
        ordered_by_stream,
        ordered_by_host,
        ordered_by_host_and_event,
        other_parts,
        both_read,
        both_atomic,
    ],
)
def test_what_is_in_order_is_not_reported(act: Any) -> None:
    x, y = arrays()
    assert told(lambda ctx, other: act(ctx, other, x, y)) == []


def test_an_event_too_early() -> None:
    x, y = arrays()

    def act(ctx: DeviceContext, other: Any) -> None:
        early = ctx.record_event()
        go(ctx, None, fill, x, 0)
        other.enqueue_wait_for(early)
        go(ctx, other, double, x, y)

    assert [report.code for report in told(act)] == ["data-race"]


def test_copies_and_fills() -> None:
    lines: list[int] = []

    def act(ctx: DeviceContext, other: Any) -> None:
        x, y = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(2))
        x.enqueue_fill(1.0)
        y.enqueue_fill(2.0)
        ctx.synchronize()
        lines.append(sys._getframe().f_lineno + 1)  # pyright: ignore[reportPrivateUsage]
        ctx.enqueue_copy(dst=x, src=y)
        ctx.enqueue_fill(y[60:], 3.0, stream=other)

    (report,) = told(act)
    assert (report.code, report.kernel, report.buffer) == ("data-race", "", "")
    assert {report.location.line, report.other.location.line} == {lines[0], lines[0] + 1}
    assert "a copy" in report.message
    assert "a fill" in report.message


@pytest.mark.parametrize("wait", [True, False])
def test_copies_in_order_and_of_other_parts(wait: bool) -> None:
    def act(ctx: DeviceContext, other: Any) -> None:
        x, y = (ctx.enqueue_create_buffer(Float32, 64) for _ in range(2))
        x.enqueue_fill(1.0)
        y.enqueue_fill(2.0)
        ctx.synchronize()
        go(ctx, other, fill, x, 0)
        if wait:
            ctx.enqueue_wait_for(other)
        ctx.enqueue_copy(dst=y, src=x) if wait else ctx.enqueue_copy(dst=y[:32], src=y[32:])

    assert told(act) == []


def test_large_arrays() -> None:
    x = np.zeros(5 << 20, np.float32)

    def act(ctx: DeviceContext, other: Any) -> None:
        go(ctx, None, fill, x, (5 << 20) - 64)
        go(ctx, other, fill, x, (5 << 20) - 65)

    (report,) = told(act)
    assert report.index == (5 << 20) - 64
