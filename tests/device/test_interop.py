"""Arrays of PyTorch, CuPy and JAX on a GPU: in kernels, on their streams, and weft's tensors in them."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from weft import BFloat16, Float32, Int, LaunchError, PerformanceWarning, Pointer, Tensor, config, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.interop import as_tensor, torch_op
from weft.layout import LayoutTensor

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]


@kernel
def add_one(x: Pointer[Float32], size: Int):
    if global_idx.x < size:
        x[global_idx.x] += 1.0


@kernel
def scale(x: LayoutTensor[Float32], by: Float32, out: LayoutTensor[Float32]):
    i, j = global_idx.y, global_idx.x
    out[i, j] = x[i, j] * by


@kernel
def widen(x: LayoutTensor[BFloat16], out: LayoutTensor[Float32]):
    out[global_idx.x] = Float32(x[global_idx.x])


@kernel
def claims(x: Pointer[Float32], n: Int):
    assert global_idx.x < n, "too many threads"
    x[global_idx.x] += 1.0


@pytest.fixture
def ctx() -> Iterator[DeviceContext]:
    with DeviceContext(api="cuda") as context:
        yield context


def library(name: str) -> Any:
    found = pytest.importorskip(name)
    return importlib.import_module(name) if found is None else found


@pytest.fixture
def torch() -> Any:
    found = library("torch")
    if not found.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return found


def test_torch_in_place_on_its_stream(ctx: DeviceContext, torch: Any) -> None:
    x = torch.zeros(1 << 20, device="cuda")
    for _ in range(50):
        x.add_(1.0)
        ctx.enqueue_function(add_one, x, x.numel(), grid_dim=4096, block_dim=256)
    assert torch.all(x == 100.0).item()  # without weft's synchronize: one stream


def test_torch_on_another_stream(ctx: DeviceContext, torch: Any) -> None:
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.zeros(1 << 22, device="cuda")
        for _ in range(20):
            x.add_(1.0)
            ctx.enqueue_function(add_one, x, x.numel(), grid_dim=1 << 14, block_dim=256)
        total = x.sum(dtype=torch.float64)
    side.synchronize()
    assert total.item() == 40.0 * (1 << 22)


def test_torch_with_a_buffer_of_weft(ctx: DeviceContext, torch: Any) -> None:
    out = Tensor(Float32, (512, 512), ctx)
    x = torch.zeros(512, 512, device="cuda")
    for n in range(20):
        x.add_(1.0)
        ctx.enqueue_function(scale, x, 2.0, out, over=(512, 512))
        x.mul_(1.0)
        if n % 5 == 0:
            assert np.all(out.numpy() == 2.0 * (n + 1))
    stream = ctx.create_stream()
    ctx.enqueue_function(add_one, x, x.numel(), grid_dim=1024, block_dim=256, stream=stream)
    assert torch.all(x == 21.0).item()


def test_torch_strides_and_types(ctx: DeviceContext, torch: Any) -> None:
    x = torch.rand(300, 200, device="cuda")
    out = torch.empty(200, 300, device="cuda")
    ctx.enqueue_function(scale, x.T, 3.0, out, over=(200, 300))
    assert torch.equal(out, x.T * 3.0)
    part = torch.empty(100, 100, device="cuda")
    ctx.enqueue_function(scale, x[::3, ::2], 1.0, part, over=(100, 100))
    assert torch.equal(part, x[::3, ::2])
    small = torch.rand(1000, device="cuda").to(torch.bfloat16)
    wide = torch.empty(1000, device="cuda")
    ctx.enqueue_function(widen, small, wide, over=1000)
    assert torch.equal(wide, small.float())


def test_torch_refusals(ctx: DeviceContext, torch: Any) -> None:
    def refusal(x: Any) -> str:
        with pytest.raises(LaunchError) as caught:
            ctx.enqueue_function(add_one, x, 4, grid_dim=1, block_dim=32)
        return str(caught.value)

    with config.scope(host_arrays="refuse"):
        text = refusal(torch.zeros(4))
        assert "torch.Tensor of Float32 on the host" in text
        assert 'x.to("cuda:0")' in text
        assert "Tensor.from_numpy(x, ctx)" in refusal(np.zeros(4, np.float32))
    doubles = refusal(torch.zeros(4, device="cuda", dtype=torch.float64))
    assert (
        "pass `changed = x.to(torch.float32)`, and after synchronize() write `x[...] = changed`, or annotate "
        in doubles
    )
    assert "x.contiguous()" in refusal(torch.zeros(4, 4, device="cuda").T[1:])


def count_python_launches(ctx: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted = [0]
    by_python = ctx.enqueue_by_python

    def counting(*args: Any, **named: Any) -> Any:
        counted[0] += 1
        return by_python(*args, **named)

    monkeypatch.setattr(ctx, "enqueue_by_python", counting)
    return counted


def test_torch_natively(ctx: DeviceContext, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that were made before do not go through Python, and do what those through Python do."""
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this PyTorch has no C exchange API")
    ctx.compile_function(add_one)
    counted = count_python_launches(ctx, monkeypatch)
    base = torch.zeros(4096, device="cuda")
    shapes = [base, base[64:], base.view(64, 64), base[128:256], torch.nn.Parameter(base[:64])[:0]]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    for n in range(40):
        x = shapes[n % len(shapes)]
        ctx.enqueue_function(add_one, x, x.numel(), grid_dim=16, block_dim=256)
    assert counted[0] <= 3
    expected = np.zeros(4096)
    for part in (slice(0, 4096), slice(64, 4096), slice(0, 4096), slice(128, 256)):
        expected[part] += 8
    assert np.array_equal(base.cpu().numpy(), expected)
    with torch.cuda.stream(side):
        before = counted[0]
        for _ in range(40):
            base.add_(1.0)
            ctx.enqueue_function(add_one, base, base.numel(), grid_dim=16, block_dim=256)
        assert np.array_equal(base.cpu().numpy(), expected + 80)
        assert counted[0] - before <= 3
    for wrong in (base.double(), base.view(64, 64).T, base[::2], torch._neg_view(base)):
        with pytest.raises(LaunchError):
            ctx.enqueue_function(add_one, wrong, 64, grid_dim=16, block_dim=256)
    on_host = torch.zeros(64)
    with pytest.warns(PerformanceWarning, match="copies"):
        ctx.enqueue_function(add_one, on_host, 64, grid_dim=16, block_dim=256)
    assert on_host.tolist() == [1.0] * 64
    ctx.close()
    with pytest.raises(LaunchError, match="closed"):
        ctx.enqueue_function(add_one, base, base.numel(), grid_dim=16, block_dim=256)


def test_torch_tensors_natively(ctx: DeviceContext, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = count_python_launches(ctx, monkeypatch)
    x, out = torch.rand(200, 300, device="cuda"), torch.empty(300, 200, device="cuda")
    for n in range(30):
        ctx.enqueue_function(scale, x, float(n), out.T, over=(200, 300))
        assert torch.equal(out.T, x * float(n))
    native = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    assert counted[0] <= (12 if native else 30)
    ctx.enqueue_function(scale, x[:, :200], 2.0, out[:200].T, over=(200, 200))
    assert torch.equal(out[:200].T, x[:, :200] * 2.0)


def test_synchronize_waits_for_native_launches_on_torchs_stream(ctx: DeviceContext, torch: Any) -> None:
    ctx.compile_function(claims)
    x = torch.zeros(32, device="cuda")
    for _ in range(20):
        ctx.enqueue_function(claims, x, 32, grid_dim=1, block_dim=32)
    ctx.synchronize()
    torch.cuda._sleep(200_000_000)
    x.add_(1.0)
    ctx.enqueue_function(claims, x, 32, grid_dim=1, block_dim=32)
    ctx.synchronize()
    assert torch.cuda.current_stream().query()


def test_copies_with_torch(ctx: DeviceContext, torch: Any) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, 1 << 22)
    x = torch.zeros(2048, 2048, device="cuda")
    for n in range(10):
        x.add_(1.0)  # on torch's stream, which the copy waits for
        ctx.enqueue_copy(dst=buffer, src=x)
        ctx.enqueue_function(add_one, buffer, len(buffer), grid_dim=1 << 14, block_dim=256)
        ctx.enqueue_copy(dst=x, src=buffer)
        assert torch.all(x == 2.0 * (n + 1)).item()  # which waits for the copy
    host = torch.empty(4, dtype=torch.float32)
    ctx.enqueue_copy(dst=host, src=buffer[:4])
    ctx.synchronize()
    assert host.tolist() == [20.0] * 4
    for end, what in (
        (x.T, "contiguous"),
        (x.double(), "float64"),
        (x[0], "2048 float32"),
    ):
        with pytest.raises(LaunchError, match=what):
            ctx.enqueue_copy(dst=buffer, src=end)


def test_torch_in_a_graph_of_weft(ctx: DeviceContext, torch: Any) -> None:
    x = torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    with ctx.capture() as graph:
        for _ in range(3):
            ctx.enqueue_function(add_one, x, 1000, grid_dim=4, block_dim=256)
    for _ in range(20):  # what the stub has learned meanwhile is no part of the graph
        ctx.enqueue_function(add_one, x, 1000, grid_dim=4, block_dim=256)
    ctx.synchronize()
    for _ in range(4):
        graph.replay()
    ctx.synchronize()
    assert torch.all(x == 32.0).item()
    address = x.data_ptr()
    del x
    gc.collect()
    others = [torch.zeros(1000, device="cuda") for _ in range(50)]
    assert address not in [other.data_ptr() for other in others]  # the graph keeps its memory
    graph.replay()
    ctx.synchronize()
    assert all(torch.all(other == 0.0).item() for other in others)


class Interface:
    """What another library makes of a stretch of GPU memory: ``__cuda_array_interface__`` and no more."""

    def __init__(self, buffer: Any, shape: tuple[int, ...], **more: Any) -> None:
        self.buffer = buffer
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": "<f4",
            "data": (buffer.unsafe_ptr(), False),
            "version": 3,
            **more,
        }


def test_cuda_array_interface(ctx: DeviceContext) -> None:
    buffer = ctx.enqueue_create_buffer(Float32, 24)
    buffer.enqueue_fill(1.0)
    ctx.synchronize()
    for stream in (None, 1, 2):
        array = Interface(buffer, (4, 6), stream=stream)
        ctx.enqueue_function(add_one, array, 24, grid_dim=1, block_dim=32)
    columns = Interface(buffer, (6, 4), strides=(4, 24))
    out = Tensor(Float32, (6, 4), ctx)
    ctx.enqueue_function(scale, columns, 2.0, out, over=(6, 4))
    assert np.all(out.numpy() == 8.0)
    with pytest.raises(LaunchError, match="not contiguous"):
        ctx.enqueue_function(add_one, columns, 24, grid_dim=1, block_dim=32)
    constant = Interface(buffer, (24,), data=(buffer.unsafe_ptr(), True))
    with pytest.raises(LaunchError, match="Interface is read-only"):
        ctx.enqueue_function(add_one, constant, 24, grid_dim=1, block_dim=32)
    ctx.enqueue_copy(dst=Interface(buffer, (24,)), src=np.zeros(24, np.float32))
    ctx.synchronize()
    with buffer.map_to_host() as host:
        assert list(host) == [0.0] * 24


def test_torch_graph_capture(ctx: DeviceContext, torch: Any) -> None:
    x = torch.zeros(1000, device="cuda")
    ctx.enqueue_function(add_one, x, 1000, grid_dim=4, block_dim=256)
    ctx.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1.0)
        ctx.enqueue_function(add_one, x, 1000, grid_dim=4, block_dim=256)
    x.zero_()
    for _ in range(3):
        graph.replay()
    assert torch.all(x == 6.0).item()


def test_tensors_to_torch_and_back(ctx: DeviceContext, torch: Any) -> None:
    tensor: Tensor[Any] = Tensor(Float32, (300, 200), ctx)
    tensor.fill(2.0)
    ctx.enqueue_function(scale, tensor, 2.0, tensor, over=(300, 200))
    seen = torch.from_dlpack(tensor)
    assert seen.device.type == "cuda"
    assert torch.all(seen == 4.0).item()
    seen.add_(1.0)
    torch.cuda.synchronize()
    assert np.all(tensor.numpy() == 5.0)
    del tensor
    assert torch.all(seen == 5.0).item()
    again = Tensor.from_dlpack(seen)
    ctx.enqueue_function(scale, again, 2.0, again, over=(300, 200))
    ctx.synchronize()
    assert torch.all(seen == 10.0).item()
    assert torch.all(
        torch.as_tensor(Tensor.from_numpy(np.ones(5, np.float32), ctx), device="cuda") == 1
    ).item()


def test_torch_op_compiles(torch: Any) -> None:
    op = torch_op("weft_tests::scale", scale, out={"out": "x"}, over="out")
    x = torch.rand(300, 200, device="cuda")
    assert torch.equal(op(x, 2.0), x * 2.0)
    torch.library.opcheck(op, (x, 2.0), test_utils=("test_schema", "test_faketensor"))

    def around(x: Any) -> Any:
        return op(x + 1.0, 3.0) - 1.0

    compiled = torch.compile(around, fullgraph=True)
    assert torch.allclose(compiled(x), (x + 1.0) * 3.0 - 1.0)
    touch = torch_op("weft_tests::add_one", add_one, mutates=["x"], grid_dim=256, block_dim=256)
    y = torch.zeros(60_000, device="cuda")
    touch(y, y.numel())
    assert torch.all(y == 1.0).item()


def test_cupy(ctx: DeviceContext) -> None:
    cupy = library("cupy")
    x = cupy.arange(60_000, dtype=cupy.float32).reshape(300, 200)
    out = cupy.empty((200, 300), cupy.float32)
    ctx.enqueue_function(scale, x.T, 2.0, out, over=(200, 300))
    assert bool((out == x.T * 2).all())
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = cupy.zeros(1 << 22, cupy.float32)
        for _ in range(20):
            y += 1
            ctx.enqueue_function(add_one, y, y.size, grid_dim=1 << 14, block_dim=256)
        total = float(y.sum(dtype=cupy.float64))
        stream.synchronize()
    assert total == 40.0 * (1 << 22)
    tensor = Tensor.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3), ctx)
    assert cupy.asnumpy(cupy.from_dlpack(tensor)).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert float(as_tensor(x).shape[0]) == 300


def test_cupy_natively(ctx: DeviceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that were made before do not go through Python, and do what those through Python do."""
    cupy = library("cupy")
    ctx.compile_function(add_one)
    counted = count_python_launches(ctx, monkeypatch)
    base = cupy.zeros(4096, cupy.float32)
    shapes = [base, base[64:], base.reshape(64, 64), base[128:256], base[:0]]
    for n in range(40):
        x = shapes[n % len(shapes)]
        ctx.enqueue_function(add_one, x, x.size, grid_dim=16, block_dim=256)
    assert counted[0] == 1
    expected = np.zeros(4096)
    for part in (slice(0, 4096), slice(64, 4096), slice(0, 4096), slice(128, 256)):
        expected[part] += 8
    assert np.array_equal(cupy.asnumpy(base), expected)
    cupy.cuda.get_current_stream().synchronize()
    with cupy.cuda.Stream(non_blocking=True):
        for _ in range(40):
            base += 1
            ctx.enqueue_function(add_one, base, base.size, grid_dim=16, block_dim=256)
        assert np.array_equal(cupy.asnumpy(base), expected + 80)
        assert counted[0] == 2
    for wrong in (base.astype(np.float64), base.reshape(64, 64).T, base[::2]):
        with pytest.raises(LaunchError):
            ctx.enqueue_function(add_one, wrong, 64, grid_dim=16, block_dim=256)
    out, x = cupy.empty((300, 200), cupy.float32), cupy.random.rand(200, 300, dtype=cupy.float32)
    counted[0] = 0
    for n in range(30):
        ctx.enqueue_function(scale, x, float(n), out.T, over=(200, 300))
        assert bool((out.T == x * np.float32(n)).all())
    assert counted[0] == 1


def test_jax(ctx: DeviceContext) -> None:
    jax = library("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    source = jax.numpy.arange(60_000, dtype=jax.numpy.float32).reshape(300, 200)
    out = Tensor(Float32, (300, 200), ctx)
    for _ in range(5):
        ctx.enqueue_function(scale, source * 2.0, 2.0, out, over=(300, 200))
    assert np.array_equal(out.numpy(), 4.0 * np.asarray(source))
    seen = jax.dlpack.from_dlpack(out)
    assert np.array_equal(np.asarray(seen), out.numpy())
    small = jax.numpy.arange(100, dtype=jax.numpy.bfloat16)
    wide = Tensor(Float32, 100, ctx)
    ctx.enqueue_function(widen, small, wide, over=100)
    assert np.array_equal(wide.numpy(), np.arange(100, dtype=np.float32))
