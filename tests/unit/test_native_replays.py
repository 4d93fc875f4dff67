"""Launches that are made again natively with other addresses, on a GPU whose driver is played here."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from driver_played import Gpu
from weft import Float32
from weft.gpu.host import DeviceContext
from weft.kernels import gemv, softmax, sum
from weft.launch.native.objects import supported
from weft.layout import Layout

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")


@pytest.fixture(autouse=True)
def far_apart(gpu: Gpu) -> None:
    places = itertools.count(1 << 32, 1 << 32)
    gpu.returns["cuMemAllocFromPoolAsync"] = lambda *_: (0, next(places))


def test_addresses_are_those_of_the_call(gpu: Gpu) -> None:
    gpu.slots = 4
    ctx = DeviceContext(api="cuda")
    x, y = (ctx.enqueue_create_buffer(Float32, 100) for _ in range(2))
    made = [
        softmax(x),
        softmax(y),
        softmax(x, out=y),
        softmax(y, out=x),
        softmax(x, out=x),
        softmax(y, out=y),
    ]
    ways = [who for who, *_ in gpu.launches]
    assert ways == ["python", "native"] * 3
    given = [x, y] * 3
    for (_, grid, block, addresses), source, result in zip(gpu.launches, given, made, strict=True):
        assert (grid, block) == gpu.launches[0][1:3]
        assert addresses[0] == source.address
        assert result.address in addresses[1:] or result is source


def test_scratch_lies_where_this_call_has_it(gpu: Gpu) -> None:
    gpu.slots = 8
    ctx = DeviceContext(api="cuda")
    x, y = (ctx.enqueue_create_buffer(Float32, 10_000_000) for _ in range(2))
    sum(x)
    first, gpu.launches = gpu.launches, []
    for array in (y, x):
        result: Any = sum(array)
        (_, grid, block, begun), (_, _, _, ended) = gpu.launches
        assert [who for who, *_ in gpu.launches] == ["native", "native"]
        assert (grid, block) == first[0][1:3]
        assert begun[0] == array.address
        scratch = [n for n, word in enumerate(first[0][3]) if word == first[1][3][0]]
        assert [begun[n] for n in scratch] == [ended[0]] * len(scratch) != []
        assert result.address in ended
        gpu.launches.clear()


def test_a_launch_that_the_driver_refuses_is_made_by_python(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = DeviceContext(api="cuda")
    x = ctx.enqueue_create_buffer(Float32, 10_000_000)
    sum(x)
    sum(x)
    count, status = len(gpu.launches), [0, 201]
    launched = gpu.note

    def note(who: str, *args: Any) -> int:
        return launched(who, *args) or (status.pop(0) if who == "native" else 0)

    monkeypatch.setattr(gpu, "note", note)
    sum(x)
    assert [who for who, *_ in gpu.launches[count:]] == ["native", "native", "python"]
    assert gpu.launches[-1][1:] == gpu.launches[-2][1:]


def test_kernels_with_other_plans_do_not_meet(gpu: Gpu) -> None:
    gpu.slots = 3
    ctx = DeviceContext(api="cuda")
    a = [ctx.enqueue_create_buffer(Float32, 64 * 64) for _ in range(2)]
    x = [ctx.enqueue_create_buffer(Float32, 64) for _ in range(2)]
    for _ in range(2):
        for matrix in a:
            for vector in x:
                gemv(matrix.tensor(Layout.row_major(64, 64)), vector)
                assert {matrix.address, vector.address} < {*gpu.launches[-1][3]}
    assert {who for who, *_ in gpu.launches[1:]} == {"native"}
