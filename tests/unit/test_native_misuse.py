"""Native launches in programs that change, close and replace what launches are recognised by."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any, cast

import pytest

from driver_played import CupyArray, Gpu
from weft import Comptime, Float32, Int32, LaunchError, Pointer, Tensor, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.launch.native.objects import supported
from weft.layout import Layout, LayoutTensor

pytestmark = pytest.mark.skipif(not supported(), reason="this Python's objects have another form")


@kernel
def scale(x: Pointer[Float32], factor: Int32):
    x[global_idx.x] *= factor.cast(Float32)


@kernel
def copied(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    out[global_idx.y, global_idx.x] = x[global_idx.y, global_idx.x]


def native_context() -> DeviceContext:
    ctx = DeviceContext(api="cuda")
    ctx.compile_function(scale)
    return ctx


def tensors(ctx: DeviceContext, count: int) -> list[LayoutTensor[Any]]:
    return [ctx.enqueue_create_buffer(Float32, 64).tensor(Layout.row_major(4, 8)) for _ in range(count)]


class ByProperties:
    """A tensor of the user's."""

    def __init__(self, tensor: LayoutTensor[Any]) -> None:
        self.tensor = tensor

    storage = property(lambda self: self.tensor.storage)
    layout = property(lambda self: self.tensor.layout)
    element = property(lambda self: self.tensor.element)

    def to_layout_tensor(self) -> LayoutTensor[Any]:
        return self.tensor


class Rows:
    """Rows of a tensor, which kernels take from the first of them on."""

    __slots__ = ("_view", "first")

    def __init__(self, view: LayoutTensor[Any], first: int) -> None:
        self._view, self.first = view, first

    def to_layout_tensor(self) -> LayoutTensor[Any]:
        buffer: Any = self._view.storage
        return buffer.sub_buffer(self.first * 8, 32).tensor(Layout.row_major(4, 8))


def test_tensors_of_the_user_s(gpu: Gpu) -> None:
    ctx = native_context()
    x, out = tensors(ctx, 2)
    for first in (0, 0, 4):
        ctx.enqueue_function(copied, Rows(x, first), out, over=(4, 8))  # pyright: ignore[reportArgumentType]
    offsets = [slots[0] - gpu.launches[0][3][0] for *_, slots in gpu.launches]
    assert offsets == [0, 0, 128]
    for _ in range(4):
        ctx.enqueue_function(copied, ByProperties(x), out, over=(4, 8))  # pyright: ignore[reportArgumentType]
    assert gpu.launches[-1][3] == gpu.launches[0][3]


def test_a_launch_function_keeps_its_context(gpu: Gpu) -> None:
    ctx = native_context()
    x = ctx.enqueue_create_buffer(Float32, 8)
    ctx.enqueue_function(scale, x, 3, over=8)
    launch = functools.partial(ctx.enqueue_function, scale)
    alive = weakref.ref(ctx)
    del ctx
    gc.collect()
    launch(x, 4, over=8)
    launch(x, 4, over=9)
    assert [who for who, *_ in gpu.launches] == ["python", "native", "python"]
    del launch, x
    gc.collect()
    assert alive() is None


@struct
class Config:
    factor: Int32


def test_bound_values_that_change(gpu: Gpu) -> None:
    @kernel
    def by_config(x: Pointer[Float32], config: Config):
        x[global_idx.x] *= config.factor.cast(Float32)

    @kernel
    def by_list(x: Pointer[Float32], n: Int32, *, factors: Comptime[list[float]]):
        for factor in factors:
            x[global_idx.x + n] *= factor

    ctx = native_context()
    x, config, factors = ctx.enqueue_create_buffer(Float32, 8), Config(Int32(3)), [2.0]
    bound = by_config.bind(config=config)
    for factor in (3, 3, 9):
        config.factor = Int32(factor)
        ctx.enqueue_function(bound, x, over=8)
        assert gpu.launches[-1][3][1] == factor
    listed = by_list.bind(factors=factors)
    for _ in range(3):
        ctx.enqueue_function(listed, x, 0, over=8)
    factors.append(5.0)
    ctx.enqueue_function(listed, x, 0, over=8)
    assert {who for who, *_ in gpu.launches} == {"python"}


def test_a_buffer_that_is_closed_while_its_launch_is_made(gpu: Gpu) -> None:
    ctx = native_context()
    one, two = (ctx.enqueue_create_buffer(Float32, 8) for _ in range(2))

    @kernel
    def another(x: Pointer[Float32], factor: Int32):
        x[global_idx.x] += factor.cast(Float32)

    gpu.returns["cuModuleLoadDataEx"] = lambda *_: (one.close(), (0, 0))[1]
    ctx.enqueue_function(another, one, 3, over=8)
    two.close()
    with pytest.raises(LaunchError, match="closed"):
        ctx.enqueue_function(another, two, 3, over=8)


def test_forgotten_sites_do_not_pile_up(gpu: Gpu) -> None:
    ctx = native_context()
    x = ctx.enqueue_create_buffer(Float32, 8)
    for n in range(1000):
        ctx.enqueue_function(scale.bind(factor=n), x, over=8)
    native = ctx._native  # pyright: ignore[reportPrivateUsage]
    assert native is not None
    assert len(native._gone) <= 256  # pyright: ignore[reportPrivateUsage]


def test_fresh_tensors_make_no_second_site(gpu: Gpu) -> None:
    ctx = native_context()
    x = Tensor(Float32, (4, 8), ctx)
    for _ in range(10):
        out = Tensor(Float32, (4, 8), ctx)
        for _ in range(2):
            ctx.enqueue_function(copied, x, out, over=(4, 8))
    y, z = Tensor(Float32, (8, 8), ctx), Tensor(Float32, (8, 8), ctx)
    gpu.launches.clear()
    for _ in range(5):
        ctx.enqueue_function(copied, y, z, over=(8, 8))
    assert [who for who, *_ in gpu.launches] == ["python", *["native"] * 4]


def test_parts_of_a_tensor_know_who_uses_it(gpu: Gpu) -> None:
    ctx, other = native_context(), DeviceContext(api="cuda")
    tensor = Tensor(Float32, 32, ctx)
    part: Any = tensor.storage
    part = part[8:16]
    ctx.enqueue_function(scale, part, 3, over=8)
    other.enqueue_function(scale, cast("Any", tensor.storage), 3, over=32)
    gpu.calls.clear()
    ctx.enqueue_function(scale, part, 3, over=8)
    assert "cuStreamSynchronize" in gpu.calls  # the other context's
    gpu.calls.clear()
    ctx.enqueue_function(scale, part, 3, over=8)
    assert "cuStreamSynchronize" not in gpu.calls
    ctx.enqueue_function(scale, cast("Any", tensor.storage), 3, over=32)
    assert "cuStreamSynchronize" not in gpu.calls


def test_binding_a_number_of_many_digits() -> None:
    assert scale.bind(factor=10**5000).bound == {"factor": 10**5000}


def test_a_context_that_overrides_launches(gpu: Gpu) -> None:
    class Counting(DeviceContext):
        count = 0

        def enqueue_function(self, *args: Any, **named: Any) -> None:
            self.count += 1
            super().enqueue_function(*args, **named)

    ctx = Counting(api="cuda")
    x = ctx.enqueue_create_buffer(Float32, 8)
    for _ in range(20):
        ctx.enqueue_function(scale, x, 3, over=8)
    assert ctx.count == 20


def test_an_interrupt_while_an_array_is_read(gpu: Gpu, cupy: type[CupyArray]) -> None:
    ctx = native_context()
    array: Any = cupy(4096, (8,))
    for _ in range(2):
        ctx.enqueue_function(scale, array, 3, over=8)

    def interrupt() -> None:
        CupyArray.when_read.clear()
        raise KeyboardInterrupt

    def launch() -> None:
        ctx.enqueue_function(scale, array, 3, over=8)
        sum(n for n in range(1000))  # Python looks for signals between instructions

    CupyArray.when_read.append(interrupt)
    with pytest.raises(KeyboardInterrupt):
        launch()


def test_a_context_that_is_closed_while_an_array_is_read(gpu: Gpu, cupy: type[CupyArray]) -> None:
    ctx = native_context()
    array: Any = cupy(4096, (8,))
    for _ in range(2):
        ctx.enqueue_function(scale, array, 3, over=8)
    CupyArray.when_read.append(ctx.close)
    with pytest.raises(LaunchError, match="closed"):
        ctx.enqueue_function(scale, array, 3, over=8)
