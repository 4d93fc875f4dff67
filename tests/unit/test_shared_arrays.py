"""What shares its memory by the buffer protocol or through NumPy, and weft's own memory, as arguments."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

from weft import Float32, Float64, Int, LaunchError, Pointer, Tensor, UInt8, func, kernel, struct
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.interop import as_tensor
from weft.layout import Layout, LayoutTensor

pytestmark = pytest.mark.filterwarnings("ignore:this launch copies")


@kernel
def double(x: Pointer[Float32], n: Int):
    if global_idx.x < n:
        x[global_idx.x] *= 2.0


@kernel
def negate(x: LayoutTensor[Float32]):
    x[global_idx.x] = -x[global_idx.x]


@kernel
def widen(text: Pointer[UInt8], out: Pointer[Float64]):
    out[global_idx.x] = Float64(text[global_idx.x])


@struct
class Fields:
    x: Pointer[Float32]
    image: LayoutTensor[Float32]


@struct
class Nested:
    fields: Fields
    by: Float32


@kernel
def mix(data: Nested):
    i = global_idx.x
    data.fields.image[i] = data.fields.x[i] * data.by


@func
def second(fields: Fields) -> Float32:
    return fields.x[1]


class Series:
    """Gives NumPy its memory, as pandas.Series does."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def to_numpy(self) -> Any:
        return self.__array__()


class Frame(Series):
    """Gives NumPy a copy, as a pandas.DataFrame of several types does."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values.copy()


class Interface:
    """Has the array interface alone."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, np.float32)
        self.__array_interface__ = self.values.__array_interface__


def refusal(ctx: DeviceContext, *args: Any, **more: Any) -> str:
    with pytest.raises(LaunchError) as caught:
        ctx.enqueue_function(*args, **more)
    return str(caught.value)


def doubled(ctx: DeviceContext, value: Any) -> Any:
    ctx.enqueue_function(double, value, 3, over=3)
    ctx.synchronize()
    return value


def test_the_buffer_protocol(any_context: DeviceContext) -> None:
    ctx = any_context
    assert doubled(ctx, array.array("f", [1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]
    assert doubled(ctx, memoryview(array.array("f", [1.0, 2.0, 3.0]))).tolist() == [2.0, 4.0, 6.0]
    data = bytearray(np.arange(3, dtype=np.float32).tobytes())
    assert doubled(ctx, memoryview(data).cast("f")).tolist() == [0.0, 2.0, 4.0]
    assert np.frombuffer(data, np.float32).tolist() == [0.0, 2.0, 4.0]
    for text in (b"weft", bytearray(b"weft"), memoryview(b"weft")):
        out = np.zeros(4)
        ctx.enqueue_function(widen, text, out, over=4)
        ctx.synchronize()
        assert out.tolist() == [119.0, 101.0, 102.0, 116.0]


def test_what_numpy_makes_an_array_of(any_context: DeviceContext) -> None:
    assert doubled(any_context, Series([1, 2, 3])).values.tolist() == [2.0, 4.0, 6.0]
    assert doubled(any_context, Interface([1, 2, 3])).values.tolist() == [2.0, 4.0, 6.0]


def test_copies_and_constants_are_not_written(any_context: DeviceContext) -> None:
    ctx = any_context
    text = refusal(ctx, double, Frame([1, 2, 3]), 3, over=3)
    assert "double writes to `x`, but the Frame is read-only" in text
    assert "write to a copy: changed = np.array(x); this makes copies of itself" in text
    read_only = memoryview(np.zeros(3, np.float32).tobytes()).cast("f")
    assert "the memoryview is read-only" in refusal(ctx, double, read_only, 3, over=3)
    text = refusal(ctx, widen, b"weft", b"long enough for eight doubles...", over=4)
    assert "takes a buffer or array of Float64, not a bytes of UInt8" in text
    image = np.zeros(3, np.float32)
    ctx.enqueue_function(mix, Nested(Fields(Frame([1, 2, 3]), image), 2.0), over=3)
    ctx.synchronize()
    assert image.tolist() == [2.0, 4.0, 6.0]


def test_what_is_no_array(any_context: DeviceContext) -> None:
    assert "not a masked array" in refusal(any_context, double, np.ma.array(np.zeros(3, "f4")), 3, over=3)
    assert "not a list" in refusal(any_context, double, [1.0, 2.0, 3.0], 3, over=3)
    assert "not a type" in refusal(any_context, double, np.ndarray, 3, over=3)
    text = refusal(any_context, double, array.array("d", [1.0]), 1, over=1)
    assert "takes a buffer or array of Float32, not an array of Float64" in text
    assert 'pass `changed = np.asarray(memoryview(x)).astype("float32")`, and after synchronize()' in text
    assert "write `np.asarray(memoryview(x))[...] = changed`, or annotate Pointer[Float64]" in text
    text = refusal(any_context, double, bytearray(12), 3, over=3)
    assert "pass np.frombuffer(x, np.float32) for the numbers" in text
    assert "write over=3" in refusal(any_context, double, np.zeros(3, "f4"), 3, over=range(3))


def test_what_is_to_be_written_instead_works(any_context: DeviceContext) -> None:
    x = array.array("d", [1.0, 2.0])
    changed = np.asarray(memoryview(x)).astype("float32")
    any_context.enqueue_function(double, changed, 2, over=2)
    any_context.synchronize()
    np.asarray(memoryview(x))[...] = changed
    assert x.tolist() == [2.0, 4.0]
    raw = bytearray(np.ones(2, np.float32).tobytes())
    any_context.enqueue_function(double, np.frombuffer(raw, "float32"), 2, over=2)
    any_context.synchronize()
    assert np.frombuffer(raw, np.float32).tolist() == [2.0, 2.0]


def test_fields_of_structs(any_context: DeviceContext) -> None:
    """Also as the annotations of a struct say it."""
    ctx = any_context
    x, image = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    ctx.enqueue_function(mix, Nested(Fields(x, image), 2.0), over=3)
    ctx.synchronize()
    assert image.tolist() == [0.0, 2.0, 4.0]
    buffer = ctx.enqueue_create_buffer(Float32, 3)
    buffer.enqueue_fill(5.0)
    tensor = Tensor(Float32, 3, ctx)
    ctx.enqueue_function(mix, Nested(Fields(buffer, tensor), 0.5), over=3)
    assert tensor.numpy().tolist() == [2.5, 2.5, 2.5]
    ctx.enqueue_function(mix, Nested(Fields(tensor, buffer), 2.0), over=3)
    with buffer.map_to_host() as host:
        assert list(host) == [5.0, 5.0, 5.0]
    text = refusal(ctx, mix, Nested(Fields(x.astype(np.float64), image), 1.0), over=3)
    assert "not a NumPy array of Float64 in its field .x in its field .fields" in text


def test_fields_in_calls_from_python() -> None:
    assert second(Fields(np.array([3, 4], np.float32), np.zeros(1, np.float32))) == 4.0


def test_tensors_as_pointers_and_buffers_as_tensors(any_context: DeviceContext) -> None:
    ctx = any_context
    tensor = Tensor.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3), ctx)
    ctx.enqueue_function(double, tensor, 6, over=6)
    assert tensor.numpy().tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    buffer = ctx.enqueue_create_buffer(Float32, 3)
    buffer.enqueue_fill(2.0)
    ctx.enqueue_function(negate, buffer, over=3)
    ctx.enqueue_function(double, buffer.tensor(Layout.row_major(3, 1)), 3, over=3)  # pyright: ignore[reportArgumentType]
    with buffer.map_to_host() as host:
        assert list(host) == [-4.0, -4.0, -4.0]
    gaps = tensor.storage.tensor(Layout((2, 2), (3, 1)))
    assert "takes a buffer of Float32, not a LayoutTensor" in refusal(ctx, double, gaps, 4, over=4)
    columns = as_tensor(np.zeros((2, 3), np.float32).T)
    assert "annotate LayoutTensor[...]" in refusal(ctx, double, columns, 6, over=6)


def test_columns_of_pandas(any_context: DeviceContext) -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(3, dtype=np.float32), "b": np.ones(3, np.float32)})
    image = np.zeros(3, np.float32)
    for column, expected in (("a", [0.0, 2.0, 4.0]), ("b", [2.0, 2.0, 2.0])):
        any_context.enqueue_function(mix, Nested(Fields(frame[column], image), 2.0), over=3)
        any_context.synchronize()
        assert image.tolist() == expected
    assert "not a Series of Int" in refusal(any_context, double, pandas.Series([1, 2, 3]), 3, over=3)


def test_arrow(any_context: DeviceContext) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    image = np.zeros(3, np.float32)
    for values in (
        arrow.array([1, 2, 3], arrow.float32()),
        arrow.chunked_array([[1.0], [2.0, 3.0]], arrow.float32()),
    ):
        any_context.enqueue_function(mix, Nested(Fields(values, image), 2.0), over=3)
        any_context.synchronize()
        assert image.tolist() == [2.0, 4.0, 6.0]
    text = refusal(any_context, double, arrow.array([1, 2, 3], arrow.float32()), 3, over=3)
    assert "the FloatArray is read-only" in text
    assert "x.to_numpy(zero_copy_only=False).copy()" in text
    missing = arrow.array([1, None, 3], arrow.float32())
    assert "does not share its memory" in refusal(any_context, double, missing, 3, over=3)
