"""Element types as NumPy, PyTorch and ``DType`` spell them, wherever weft takes one."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

from weft import (
    SIMD,
    CompileError,
    Comptime,
    Float32,
    Float64,
    InlineArray,
    Int32,
    LaunchError,
    Pointer,
    Tensor,
    kernel,
    struct,
)
from weft.compile import compile_info
from weft.dtype import DType, as_dtype
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout
from weft.memory import SoA
from weft.sys import align_of, size_of

KERNELS = """
import numpy as np
from weft import *
from weft.dtype import DType
from weft.gpu import global_idx
from weft.layout import LayoutTensor
from weft.memory import stack_allocation

@kernel
def spelt(x: Pointer[np.float32], by: np.float32, out: LayoutTensor[DType.float64], n: np.dtype("int32")):
    kept = stack_allocation(np.float32, 1)
    kept[0] = x[global_idx.x] * by
    out[global_idx.x] = kept[0].cast(np.float64) + SIMD[np.float64, 1](0.5) * n

@struct
class Scaled:
    x: Pointer[np.float32]
    by: np.float32

@func
def first(s: Scaled) -> np.float64:
    return s.x[0] * s.by

@kernel
def uses_first(x: Pointer[DType.float32], out: Pointer[Float64]):
    twice = first(Scaled(x, 2.0))
    out[0] = twice * twice
"""


QUOTED = """
from typing import NamedTuple, TypeVar
from weft import *
from weft.gpu import global_idx
from weft.layout import LayoutTensor

T = TypeVar("T")

class Span(NamedTuple):
    at: Pointer["Int32"]
    n: "Int"

@kernel
def quoted(
    out: Pointer["Later"], p: Pointer["T"], t: LayoutTensor["Int32"], n: "Int", *, add: Comptime["int"],
):
    span = Span(out, n)
    span.at[global_idx.x] = Int32(p[0]) + t[0, 1] + add

Later = Int32

@func
def both(a: tuple["Int", Int]) -> tuple["Int", "Float32"]:
    return a[1], Float32(a[0])

@struct
class Node:
    value: Int32
    next: Pointer["Node"]

@kernel
def follow(p: Pointer[Node], out: Pointer[Int32]):
    p[0] = Node(1, p + 1)
    p[1] = Node(2, p + 2)
    p[2] = Node(3, p)
    out[0] = 100 * p[0].next[0].next[0].value + 10 * p[2].next[0].value + p[1].value

@kernel
def misspelt(out: Pointer["Flaot32"]):
    out[0] = 1
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Type checkers take NumPy's types for what they are, so they do not see these."""
    file = tmp_path_factory.mktemp("kernels") / "spelt_kernels.py"
    file.write_text(KERNELS + QUOTED, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("spelt_kernels", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "like", [np.float32, np.dtype("float32"), np.zeros(1, "f4").dtype, "float32", Float32]
)
def test_one_type(like: Any) -> None:
    assert as_dtype(like) is DType.float32


def test_each_of_numpys() -> None:
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split():
        assert as_dtype(getattr(np, name)).name == name
    assert as_dtype(np.bool_) is DType.bool


@pytest.mark.parametrize(
    "like", [np.floating, np.complex64, np.dtype(">f4"), np.dtype("f4,i4"), float, np.str_, np.zeros(1, "f4")]
)
def test_what_is_no_type(like: Any) -> None:
    with pytest.raises(TypeError, match="takes an element type, not"):
        as_dtype(like)


def _name(self: Any) -> str:
    return f"torch.{self.name}"


def test_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's types are known by their names, without PyTorch."""
    module = ModuleType("torch")
    kind = type("dtype", (), {"__module__": "torch", "__repr__": _name})
    monkeypatch.setitem(sys.modules, "torch", module)
    for name in ("bfloat16", "float32", "int64", "uint8", "bool"):
        like: Any = kind()
        like.name = name
        assert as_dtype(like).name == name
    like = kind()
    like.name = "qint8"
    with pytest.raises(TypeError, match=r"takes an element type, not torch\.qint8"):
        as_dtype(like)


def test_annotations(any_context: DeviceContext, kernels: Any) -> None:
    ctx = any_context
    x, out = ctx.enqueue_create_buffer(np.float32, 4), Tensor(np.float64, 4, ctx)
    ctx.enqueue_fill(x, 3.0)
    ctx.enqueue_function(kernels.spelt, x, 2.0, out, 4, over=4)
    assert out.numpy().tolist() == [8.0] * 4
    with pytest.raises(
        LaunchError, match=r"x: Pointer.Float32., by: Float32, out: LayoutTensor.Float64., n: I"
    ):
        ctx.enqueue_function(kernels.spelt, x, over=4)


def test_it_compiles_without_a_launch(kernels: Any) -> None:
    text = str(compile_info(kernels.spelt, Layout.row_major(4), emission_kind="llvm", target="sm_90"))
    assert "load float" in text
    assert "store double" in text


def test_fields_and_results(kernels: Any) -> None:
    third = kernels.first(kernels.Scaled(np.full(1, 1 / 3, np.float32), 2.0))
    assert third == float(np.float32(1 / 3)) * 2
    text = str(compile_info(kernels.uses_first, emission_kind="llvm", target="sm_90"))
    assert "define internal double @func$first" in text


def test_arrays_made_like_arrays(any_context: DeviceContext) -> None:
    x = np.arange(4, dtype=np.int16)
    buffer = any_context.enqueue_create_buffer(x.dtype, x.size)
    any_context.enqueue_copy(dst=buffer, src=x)
    with buffer.map_to_host() as host:
        assert list(host) == [0, 1, 2, 3]


def test_quotes(any_context: DeviceContext, kernels: Any) -> None:
    ctx = any_context
    x, t = (ctx.enqueue_create_buffer("int32", 4) for _ in range(2))
    ctx.enqueue_fill(x, 3)
    ctx.enqueue_fill(t, 4)
    ctx.enqueue_function(kernels.quoted, x, x, t.tensor(Layout.row_major(2, 2)), 4, add=5, over=1)
    with x.map_to_host() as host:
        assert list(host) == [12, 3, 3, 3]
    assert kernels.both((1, 2)) == (2, 1.0)


def test_a_struct_that_points_to_its_like(any_context: DeviceContext, kernels: Any) -> None:
    nodes = any_context.enqueue_create_buffer(kernels.Node, 3)
    out = any_context.enqueue_create_buffer("int32", 1)
    any_context.enqueue_function(kernels.follow, nodes, out, grid_dim=1, block_dim=1)
    with out.map_to_host() as host:
        assert host[0] == 312


def test_a_quoted_name_that_is_none(kernels: Any) -> None:
    with pytest.raises(CompileError, match="`Flaot32` of `out` does not evaluate") as caught:
        compile_info(kernels.misspelt)
    assert caught.value.diagnostics[0].hints == ("did you mean `Float32`?",)


T = TypeVar("T")


@kernel
def filled(out: Pointer[T]):
    out[global_idx.x] = T(3.75)  # pyright: ignore[reportCallIssue]


@kernel
def through(out: Pointer[Float64], *, by: Comptime[type[Any]]):
    out[global_idx.x] = Float64(by(out[global_idx.x] + 0.75))


def alias(name: str, value: Any) -> Any:
    """What ``type name = value`` makes, from Python 3.12 on."""
    typing = pytest.importorskip("typing" if sys.version_info >= (3, 12) else "typing_extensions")
    return typing.TypeAliasType(name, value)


FLOAT = alias("F", alias("Float", Float32))


@pytest.mark.parametrize("like", [Float32, np.float32, np.dtype("float32"), "float32", DType.float32, FLOAT])
def test_types_that_are_given(device: DeviceContext, like: Any) -> None:
    x = device.enqueue_create_buffer(Float32, 2)
    ways: list[Any] = [filled[like], filled.bind(T=like), device.compile_function(filled, T=like)]
    for way in ways:
        device.enqueue_fill(x, 0)
        device.enqueue_function(way, x, over=2)
        with x.map_to_host() as host:
            assert list(host) == [3.75, 3.75]
    device.enqueue_function(filled, x, T=like, over=1)  # pyright: ignore[reportCallIssue]
    assert "f32" in str(compile_info(filled, T=like, emission_kind="ir"))


@pytest.mark.parametrize("like", [Int32, np.int32, np.dtype("int32"), "int32", alias("I", Int32)])
def test_types_for_a_compile_time_parameter(device: DeviceContext, like: Any) -> None:
    x = device.enqueue_create_buffer(Float64, 1)
    x.enqueue_fill(2.5)
    device.enqueue_function(through, x, by=like, over=1)
    with x.map_to_host() as host:
        assert host[0] == 3.0


def test_a_generic_struct_s_type() -> None:
    held: Any = Held  # in its brackets type checkers take a text for a name
    assert held["float32"] is held[np.float32] is held[FLOAT] is held[Float32]


def test_names_of_type(device: DeviceContext) -> None:
    kind: Any = Held[Float32]
    row: Any = alias("Row", kind)
    for made in (device.enqueue_create_buffer, device.enqueue_create_host_buffer):
        assert made(FLOAT, 3).dtype == Float32
        assert made(row, 3).dtype is as_dtype(kind)
        assert made(alias("Four", SIMD[FLOAT, 4]), 3).dtype.itemsize == 16
    items: Any = alias("Items", InlineArray[FLOAT, 3])
    assert items.__value__ is InlineArray[Float32, 3]
    assert (size_of(items), align_of(row), Tensor(FLOAT, 2).dtype) == (12, 4, DType.float32)
    assert SoA(device, row, 3).field("value").dtype == FLOAT
    assert as_dtype(FLOAT) == FLOAT != DType.float64
    with pytest.raises(LaunchError, match="str is not an element type"):
        device.enqueue_create_buffer(alias("Words", str), 3)


@struct
class Held(Generic[T]):
    value: T
