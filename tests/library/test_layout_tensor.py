"""LayoutTensor against NumPy: elements, parts, tiles, vectors, threads' shares; host views; refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import BFloat16, CompileError, Comptime, Float32, Int, Int32, LaunchError, UInt8, func, kernel
from weft.gpu import global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import Mismatch, spec_of_annotation
from weft.layout import Layout, LayoutTensor
from weft.memory import stack_allocation

Launch = Callable[..., list[npt.NDArray[Any]]]
Ptx = Callable[..., str]
RNG = np.random.default_rng(3)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


def numbers(*shape: int) -> npt.NDArray[np.int32]:
    return RNG.integers(-1000, 1000, shape).astype(np.int32)


# -- elements ---------------------------------------------------------------------------------------


@kernel
def copy_by_rank(x: LayoutTensor[Int32], out: LayoutTensor[Int32]):
    """Any rank: the indices of a thread, taken apart."""
    rest = global_idx.x
    if rest < x.size():
        if x.rank == 1:
            out[rest] = x[rest]
        elif x.rank == 2:
            i, j = rest // x.dim(1), rest % x.dim(1)  # weft: ignore[index-division]
            out[i, j] = x[i, j]
            out[i, j] += 1
        else:
            k = rest % x.shape[2]
            j = rest // x.shape[2] % x.shape[1]  # weft: ignore[index-division]
            out[rest // (x.shape[1] * x.shape[2]), j, k] = x[rest // (x.dim(1) * x.dim(2)), j, k]


@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=3), dynamic=st.booleans())
@settings(max_examples=25)
def test_elements(launch: Launch, shape: list[int], dynamic: bool) -> None:
    x = numbers(*shape)
    found = launch(copy_by_rank, x, np.zeros_like(x), over=x.size, dynamic=dynamic)[1]
    assert found.tolist() == (x + (1 if x.ndim == 2 else 0)).tolist()


@kernel
def transpose(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    row, col = Int32(global_idx.y), global_idx.x
    if row < x.dim(0) and col < x.dim(1):
        out[col, row] = x[row, col]


def test_layouts_of_all_kinds(cpu: DeviceContext) -> None:
    data = floats(6, 4)
    for layout in (
        Layout.row_major(6, 4),
        Layout.col_major(6, 4),
        Layout((6, 4), (7, 1)),
        Layout(((2, 3), (2, 2)), ((1, 8), (2, 4))),
        Layout.row_major(6, 4).dynamic(0),
        Layout.col_major(6, 4).dynamic(),
    ):
        source = cpu.enqueue_create_buffer(Float32, 42)
        with source.map_to_host() as host:
            for i in range(6):
                for j in range(4):
                    host[layout(i, j)] = data[i, j]
        out = cpu.enqueue_create_buffer(Float32, 24)
        view = out.tensor(Layout.row_major(4, 6))
        cpu.enqueue_function(transpose, source.tensor(layout), view, grid_dim=1, block_dim=(8, 8))
        with out.map_to_host() as host:
            assert host.tensor(Layout.row_major(4, 6)).numpy().tolist() == data.T.tolist(), layout


def test_dynamic_layouts_compile_once() -> None:
    ctx = DeviceContext(api="cpu")
    for shape in ((3, 4), (7, 2), (1, 1)):
        x = numbers(*shape)
        buffers = [ctx.enqueue_create_buffer(Int32, x.size) for _ in range(2)]
        ctx.enqueue_copy(dst=buffers[0], src=x.reshape(-1))
        views = [b.tensor(Layout.row_major(*shape).dynamic()) for b in buffers]
        ctx.enqueue_function(copy_by_rank, *views, grid_dim=1, block_dim=32)
        with buffers[1].map_to_host() as host:
            assert host.tensor(Layout.row_major(*shape)).numpy().tolist() == (x + 1).tolist()
    assert len(ctx._loaded) == 1  # pyright: ignore[reportPrivateUsage]


def test_index_arithmetic_has_64_bits(ptx: Ptx) -> None:
    code = ptx(
        transpose, np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32), dynamic=True, kind="llvm"
    )
    offsets = [line for line in code.splitlines() if "getelementptr" in line]
    assert offsets
    assert all(" i64 " in line for line in offsets)


# -- parts ------------------------------------------------------------------------------------------


@kernel
def slices(x: LayoutTensor[Int32], out: LayoutTensor[Int32], at: Int, end: Int):
    row = x[at, :]
    block = x[1:3, at:end]
    every = x[::2, 1:]
    out[0, 0] = row[2]
    out[0, 1] = block[1, 0]
    out[0, 2] = Int32(block.dim(1))
    out[0, 3] = every[1, 2]
    out[1, :] = x[2, ...]
    out[2:4, 0:2] = 7
    out[3, 3] = x[..., 1][at]
    out[2, 2:].fill(9)


@pytest.mark.parametrize("dynamic", [False, True])
def test_slices(launch: Launch, ptx: Ptx, dynamic: bool) -> None:
    x, out = numbers(5, 4), numbers(4, 4)
    found = launch(slices, x, out, 1, 3, dynamic=dynamic, grid_dim=1, block_dim=1)[1]
    expected = out.copy()
    expected[0] = [x[1, 2], x[2, 1], 2, x[2, 3]]
    expected[1] = x[2]
    expected[2:4, 0:2] = 7
    expected[3, 3] = x[1, 1]
    expected[2, 2:] = 9
    assert found.tolist() == expected.tolist()
    ptx(slices, x, out, 1, 3, dynamic=dynamic)


@kernel
def by_steps(x: LayoutTensor[Int32], out: LayoutTensor[Int32], i: Int):
    out[0][i] = x[i][0] + x[i + 1][i] * 10
    out[i][0] += 5


@pytest.mark.parametrize("dynamic", [False, True])
def test_index_by_index(launch: Launch, ptx: Ptx, dynamic: bool) -> None:
    x, out = numbers(5, 4), numbers(4, 4)
    found = launch(by_steps, x, out, 1, dynamic=dynamic, grid_dim=1, block_dim=1)[1]
    expected = out.copy()
    expected[0][1] = x[1][0] + x[2][1] * 10
    expected[1][0] += 5
    assert found.tolist() == expected.tolist()
    ptx(by_steps, x, out, 1, dynamic=dynamic)


@func
def row_sum(row: LayoutTensor[Int32]) -> Int32:
    total = Int32(0)
    for i in range(len(row)):
        total += row[i]
    return total


@kernel
def sums_of_parts(x: LayoutTensor[Int32], out: LayoutTensor[Int32], n: Int):
    """Tensors as arguments of functions, and carried by control flow."""
    part = x[0, :]
    for i in range(n):
        if i % 2 == 0:
            part = x[i]
        out[i] = row_sum(part)
    out[n] = row_sum(x[:, 1])


@pytest.mark.parametrize("dynamic", [False, True])
def test_tensors_are_values(launch: Launch, ptx: Ptx, dynamic: bool) -> None:
    x, out = numbers(5, 7), np.zeros(6, np.int32)
    found = launch(sums_of_parts, x, out, 5, dynamic=dynamic, grid_dim=1, block_dim=1)[1]
    assert found.tolist() == [x[i // 2 * 2].sum() for i in range(5)] + [x[:, 1].sum()]
    ptx(sums_of_parts, x, out, 5, dynamic=dynamic)


@kernel
def number_tiles(out: LayoutTensor[Int32], *, height: Comptime[int], width: Comptime[int]):
    i, j = global_idx.y, global_idx.x
    tile = out.tile[height, width](i, j)
    for a in range(height):
        for b in range(width):
            tile[a, b] = Int32(i * 1000 + j * 100 + a * 10 + b)


@given(
    rows=st.integers(1, 4),
    cols=st.integers(1, 4),
    height=st.integers(1, 3),
    width=st.integers(1, 3),
    dynamic=st.booleans(),
)
@settings(max_examples=20)
def test_tiles(launch: Launch, rows: int, cols: int, height: int, width: int, dynamic: bool) -> None:
    out = np.zeros((rows * height, cols * width), np.int32)
    options: dict[str, Any] = {"height": height, "width": width, "dynamic": dynamic}
    found = launch(number_tiles, out, grid_dim=1, block_dim=(cols, rows), **options)[0]
    y, x = np.indices(out.shape)
    expected = y // height * 1000 + x // width * 100 + y % height * 10 + x % width
    assert found.tolist() == expected.tolist()


@kernel
def add_vectors(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    i, j = global_idx.y, global_idx.x
    out.vectorize[1, 4]()[i, j] = x.vectorize[1, 4]()[i, j] * 2.0 + 1.0


@kernel
def add_columns(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    i, j = global_idx.y, global_idx.x
    vectors = out.vectorize[2, 1]()
    vectors[i, j] = x.vectorize[2, 1]()[i, j] * 2.0
    vectors[i, j] += 1.0


@pytest.mark.parametrize("dynamic", [False, True])
def test_vectors(launch: Launch, ptx: Ptx, dynamic: bool) -> None:
    x = floats(6, 16)
    options: dict[str, Any] = {"dynamic": dynamic, "grid_dim": 1}
    found = launch(add_vectors, x, np.zeros_like(x), block_dim=(4, 6), **options)[1]
    np.testing.assert_allclose(found, x * 2 + 1, rtol=1e-6)
    found = launch(add_columns, x, np.zeros_like(x), block_dim=(16, 3), **options)[1]
    np.testing.assert_allclose(found, x * 2 + 1, rtol=1e-6)
    code = ptx(add_vectors, x, x, dynamic=dynamic)
    wide = ".v4.f32" in code or ".v4.b32" in code
    assert wide is not dynamic, "static strides prove the alignment"


@kernel
def promised(x: LayoutTensor[Float32]):
    vectors = x.vectorize[1, 4](alignment=16)
    vectors[global_idx.y, global_idx.x] = vectors[global_idx.y, global_idx.x] + 1.0


@kernel
def promised_load(x: LayoutTensor[Float32]):
    i, j = global_idx.y, global_idx.x * 4
    x.store(i, j, value=x.load(i, j, width=4, alignment=16) * 3.0, alignment=16)


@pytest.mark.parametrize("kern", [promised, promised_load])
def test_promised_alignment(ptx: Ptx, kern: Any) -> None:
    code = ptx(kern, np.zeros((8, 8), np.float32), dynamic=True)
    assert ".v4.f32" in code or ".v4.b32" in code


def test_misaligned_buffers_take_narrow_accesses() -> None:
    ctx = DeviceContext(api="cpu")
    whole = ctx.enqueue_create_buffer(Float32, 33)
    whole.enqueue_fill(1.0)
    for offset in (0, 1):
        part = whole.sub_buffer(offset, 32).tensor(Layout.row_major(2, 16))
        ctx.enqueue_function(add_vectors, part, part, grid_dim=1, block_dim=(4, 2))
    assert len(ctx._loaded) == 2  # pyright: ignore[reportPrivateUsage]
    with whole.map_to_host() as host:
        assert host.numpy().tolist() == [3.0] + [7.0] * 31 + [3.0]


@kernel
def gather(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """Along the last mode, whatever its stride is."""
    i = global_idx.x
    out.store(i, 1, value=x.load(i, 2, width=2))


def test_load_follows_the_last_mode(cpu: DeviceContext) -> None:
    data = floats(5, 4)
    buffer, out = cpu.enqueue_create_buffer(Float32, 20), cpu.enqueue_create_buffer(Float32, 20)
    cpu.enqueue_copy(dst=buffer, src=np.ascontiguousarray(data.T).reshape(-1))
    out.enqueue_fill(0.0)
    x, to = buffer.tensor(Layout.col_major(5, 4)), out.tensor(Layout.row_major(5, 4))
    cpu.enqueue_function(gather, x, to, grid_dim=1, block_dim=5)
    with out.map_to_host() as host:
        found = host.tensor(Layout.row_major(5, 4)).numpy()
        assert found[:, 1:3].tolist() == data[:, 2:4].tolist()
        assert not found[:, [0, 3]].any()


@kernel
def share(x: LayoutTensor[Int32], out: LayoutTensor[Int32], *, threads: Comptime[Layout]):
    t = thread_idx.x
    mine = x.distribute[threads](t)
    to = out.distribute[threads](t)
    to.copy_from(mine)
    for i in range(mine.dim(0)):
        for j in range(mine.dim(1)):
            to[i, j] += Int32(t) * 10000


@pytest.mark.parametrize("threads", [Layout.row_major(2, 4), Layout.col_major(4, 2), Layout.row_major(1, 8)])
def test_distribute(launch: Launch, ptx: Ptx, threads: Layout) -> None:
    x = numbers(8, 16)
    found = launch(share, x, np.zeros_like(x), threads=threads, grid_dim=1, block_dim=8)[1]
    rows, cols = threads.static_shape
    owner = np.array([[threads(i % rows, j % cols) for j in range(16)] for i in range(8)])
    assert found.tolist() == (x + owner * 10000).tolist()
    ptx(share, x, x, threads=threads)


@kernel
def staged_copy(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    """Each thread's vectors of a tile, through its registers."""
    t = thread_idx.x
    spread = Layout.row_major(4, 2)
    mine = x.tile[8, 16](global_idx.y, 0).vectorize[1, 4]().distribute[spread](t)
    held = stack_allocation(Float32, Layout.row_major(2, 8)).vectorize[1, 4]()
    held.copy_from(mine)
    out.tile[8, 16](global_idx.y, 0).vectorize[1, 4]().distribute[spread](t).copy_from(held)


def test_a_tile_through_registers(launch: Launch, ptx: Ptx) -> None:
    x = floats(24, 16)
    found = launch(staged_copy, x, np.zeros_like(x), grid_dim=(1, 3), block_dim=8)[1]
    assert found.tolist() == x.tolist()
    code = ptx(staged_copy, x, x)
    assert ".local" not in code
    assert ".v4.f32" in code or ".v4.b32" in code


@kernel
def fill_and_copy(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    whole = stack_allocation(Float32, Layout.row_major(9, 10)).fill(2)
    whole[0, 0] += x[0, 0]
    out.copy_from(whole)
    out.reshape(Layout.row_major(90))[89] = 5.0


def test_fill_and_copy_in_loops(launch: Launch, ptx: Ptx) -> None:
    x = floats(9, 10)
    found = launch(fill_and_copy, x, x, grid_dim=1, block_dim=1)[1]
    expected = np.full_like(x, 2)
    expected[0, 0] += x[0, 0]
    expected[8, 9] = 5
    assert found.tolist() == expected.tolist()
    ptx(fill_and_copy, x, x)


@kernel
def assign_rows(x: LayoutTensor[Float32], out: LayoutTensor[Float32]):
    for i in range(out.dim(0)):
        if i % 2 == 0:
            out[i] = x[i]
        else:
            out[i, :] = 3.0


def test_rows_are_assigned(launch: Launch, ptx: Ptx) -> None:
    """As NumPy assigns them: a number fills a row, and a row is copied."""
    x = floats(3, 4)
    expected = x.copy()
    expected[1] = 3.0
    assert launch(assign_rows, x, np.zeros_like(x), grid_dim=1, block_dim=1)[1].tolist() == expected.tolist()
    ptx(assign_rows, x, x)


# -- on the host --------------------------------------------------------------------------------------


def test_printing(cpu: DeviceContext) -> None:
    host = cpu.enqueue_create_host_buffer(Float32, 25)
    host[:] = range(10, 35)
    rows = [" ".join(f"{v}.0" for v in range(10 + 5 * i, 15 + 5 * i)) + " " for i in range(5)]
    assert str(host.tensor(Layout.row_major(5, 5))) == "\n".join(rows)
    assert str(host.tensor(Layout.row_major(3))) == "10.0 11.0 12.0"
    assert str(host.tensor(Layout.row_major(2, 1, 2))) == "10.0 11.0 \n\n12.0 13.0 "
    device = cpu.enqueue_create_buffer(Float32, 25).tensor(Layout.row_major(5, 5))
    assert str(device).startswith("<LayoutTensor of float32, layout ((5, 5):(5, 1)), over <DeviceBuffer")


def test_elements_on_the_host(cpu: DeviceContext) -> None:
    host = cpu.enqueue_create_host_buffer(Int32, 24)
    host[:] = range(24)
    t = host.tensor(Layout.col_major(4, 6))
    assert t[1, 2] == 9
    t[1, 2] = 100
    t[3, 1:3] = -1
    assert host[9] == 100
    expected = np.arange(24).reshape(6, 4).T.copy()
    expected[1, 2], expected[3, 1:3] = 100, -1
    assert t.numpy().tolist() == expected.tolist()
    assert t[1:3, ::2].numpy().tolist() == expected[1:3, ::2].tolist()
    assert t.tile[2, 3](1, 1).numpy().tolist() == expected[2:, 3:].tolist()
    assert t.vectorize[2, 1]().numpy().tolist() == expected.reshape(2, 2, 6).transpose(0, 2, 1).tolist()
    t[0, :].copy_from(t[2, :])
    assert t[0, 5] == t[2, 5]
    t.fill(3)
    assert host.numpy().tolist() == [3] * 24
    with pytest.raises(IndexError, match="index 6 is outside mode 1, which counts from 0 to 5"):
        t[0, 6]
    with pytest.raises(IndexError, match="index -1 is outside"):
        t[-1, 0]


def test_bfloat16_on_the_host(cpu: DeviceContext) -> None:
    host = cpu.enqueue_create_host_buffer(BFloat16, 4)
    t = host.tensor(Layout.row_major(2, 2))
    t[1, 0] = 1.5
    assert t[1, 0] == 1.5


def test_device_elements_are_refused(cpu: DeviceContext) -> None:
    t = cpu.enqueue_create_buffer(Float32, 4).tensor(Layout.row_major(2, 2))
    for use in (lambda: t[0, 0], lambda: t.numpy(), lambda: t.fill(1.0), lambda: t.__setitem__((0, 0), 1.0)):
        with pytest.raises(CompileError, match="map_to_host"):
            use()


def test_layouts_past_the_buffer(cpu: DeviceContext) -> None:
    buffer = cpu.enqueue_create_buffer(Float32, 10)
    with pytest.raises(
        CompileError, match=r"\(\(3, 4\):\(4, 1\)\) spans 12 elements, but the DeviceBuffer has 10"
    ):
        LayoutTensor(buffer, Layout.row_major(3, 4))
    with pytest.raises(CompileError, match="not a list"):
        LayoutTensor([1.0], Layout.row_major(1))
    with pytest.raises(CompileError, match="is no layout"):
        LayoutTensor(buffer, 4)  # pyright: ignore[reportArgumentType, reportCallIssue]


# -- refusals -----------------------------------------------------------------------------------------


def test_arguments_of_other_types(cpu: DeviceContext) -> None:
    words = cpu.enqueue_create_buffer(Int32, 4)
    options: dict[str, Any] = {"grid_dim": 1, "block_dim": 1}
    with pytest.raises(
        LaunchError, match=r"`x`.* takes a LayoutTensor of Float32, not a LayoutTensor of Int32"
    ):
        cpu.enqueue_function(promised, words.tensor(Layout.row_major(4)), **options)  # pyright: ignore[reportArgumentType]
    with pytest.raises(LaunchError, match=r"takes a LayoutTensor of Float32, not a LayoutTensor of Int32"):
        cpu.enqueue_function(promised, words, **options)  # pyright: ignore[reportArgumentType]


@kernel
def wrong_rank(x: LayoutTensor[Float32]):
    x[0, 1] = 1.0


@kernel
def outside(x: LayoutTensor[Float32]):
    x[8] = 1.0


@kernel
def negative(x: LayoutTensor[Float32]):
    x[-1] = 1.0


@kernel
def float_index(x: LayoutTensor[Float32]):
    x[x[0]] = 1.0


@kernel
def slice_from_end(x: LayoutTensor[Float32]):
    x[:-1] = 0.0


@kernel
def slice_outside(x: LayoutTensor[Float32]):
    x[2:9].fill(1.0)


@kernel
def tile_outside(x: LayoutTensor[Float32]):
    x.tile[4](2).fill(1.0)


@kernel
def wide_element(x: LayoutTensor[Float32]):
    x[0] = x.load(0, width=4)


@kernel
def narrowing(x: LayoutTensor[UInt8], y: LayoutTensor[Int32]):
    x[0] = y[0]


@pytest.mark.parametrize(
    ("kern", "code", "message"),
    [
        (wrong_rank, "rank", r"rank 1 \(layout \(\(8\):\(1\)\)\), but 2 indices were given"),
        (outside, "bounds", "index 8 is outside mode 0, which counts from 0 to 7"),
        (negative, "bounds", "index -1 is outside mode 0"),
        (float_index, "index", "an index must be an integer, not Float32"),
        (slice_from_end, "bounds", "the bound -1 of a slice is outside mode 0"),
        (slice_outside, "bounds", "the range 2:9 is outside mode 0"),
        (tile_outside, "bounds", "index 2 is outside mode 0, which counts from 0 to 1"),
        (wide_element, "lanes", r"an element is one Float32, not SIMD\[Float32, 4\]"),
    ],
)
def test_wrong_indices(ptx: Ptx, kern: Any, code: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as info:
        ptx(kern, np.zeros(8, np.float32))
    assert info.value.diagnostics[0].code == code
    place = info.value.diagnostics[0].labels[0].location
    assert place.file.endswith("test_layout_tensor.py")


def test_narrowing_is_refused(ptx: Ptx) -> None:
    with pytest.raises(CompileError, match="Int32 does not become a UInt8 by itself"):
        ptx(narrowing, np.zeros(8, np.uint8), np.zeros(8, np.int32))


def test_annotations_without_a_launch() -> None:
    layout = Layout.row_major(4, 5)
    spec = spec_of_annotation(LayoutTensor[Float32], layout)
    assert spec == spec_of_annotation(LayoutTensor[Float32], layout)
    assert hash(spec) == hash(spec_of_annotation(LayoutTensor[Float32], layout))
    assert spec != spec_of_annotation(LayoutTensor[Float32], layout.dynamic())
    assert [leaf.suffix for leaf in spec.leaves()] == [""]
    leaves = spec_of_annotation(LayoutTensor[Float32], layout.dynamic()).leaves()
    assert [leaf.suffix for leaf in leaves] == ["", ".shape[0]", ".shape[1]", ".stride[0]"]
    assert spec.describe() == "LayoutTensor[Float32] ((4, 5):(5, 1))"
    with pytest.raises(Mismatch):
        spec_of_annotation(LayoutTensor[Float32])


# -- rows that change where they lie ------------------------------------------------------------------


@kernel
def rows_changed(t: LayoutTensor[Float32], u: LayoutTensor[Int32]):
    t[1] += 2.0
    t[2] *= t[1]
    t[0:2] -= 1.0
    t[:, 1] /= 2.0
    t[0] **= 2
    t[1:3, 0:2] += t[0:2, 0:2]
    for row in u:
        row[0] += 1
    for i in range(len(u)):
        u[i] += u[0, 0]
    u[1] <<= 2
    u[2] |= 1
    u[0] //= -2
    u[0] %= 5


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("columns", [4, 70])
def test_rows_change_as_numpy_has_them(launch: Launch, columns: int, dynamic: bool) -> None:
    t, u = (numbers(3, columns) / 4).astype(np.float32), numbers(3, columns)  # exact, as GPUs may use fma
    found = launch(rows_changed, t, u, grid_dim=1, block_dim=1, dynamic=dynamic)
    rows_changed.function(t, u)
    assert np.array_equal(found[0], t)
    assert np.array_equal(found[1], u)


@kernel
def overlapping(t: LayoutTensor[Int32], m: LayoutTensor[Int32], n: Int):
    t[1:n] = t[0 : n - 1]
    t[0 : n - 2] = t[2:n]
    t[3:n] += t[0 : n - 3]
    t[0 : n - 2] -= t[2:n]
    m[1:9, 1:9] = m[0:8, 0:8]
    m[0:8, 1:9] = m[1:9, 0:8]
    m[1:9, 0:8] += m[0:8, 1:9]
    m[2:9] = m[0:7]


@pytest.mark.parametrize("dynamic", [False, True])
def test_overlapping_parts_are_as_if_copied_before(launch: Launch, dynamic: bool) -> None:
    t, m = numbers(100), numbers(9, 9)
    found = launch(overlapping, t, m, 100, grid_dim=1, block_dim=1, dynamic=dynamic)
    overlapping.function(t, m, 100)
    assert np.array_equal(found[0], t)
    assert np.array_equal(found[1], m)
