"""Element types as NumPy, PyTorch and ``DType`` spell them, wherever weft takes one."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from weft import Float32, LaunchError, Tensor
from weft.compile import compile_info
from weft.dtype import DType, as_dtype
from weft.gpu.host import DeviceContext
from weft.layout import Layout

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


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Type checkers take NumPy's types for what they are, so they do not see these."""
    file = tmp_path_factory.mktemp("kernels") / "spelt_kernels.py"
    file.write_text(KERNELS, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("spelt_kernels", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "like", [np.float32, np.dtype("float32"), np.zeros(1, "f4").dtype, np.zeros(1, "f4"), "float32", Float32]
)
def test_one_type(like: Any) -> None:
    assert as_dtype(like) is DType.float32


def test_each_of_numpys() -> None:
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split():
        assert as_dtype(getattr(np, name)).name == name
    assert as_dtype(np.bool_) is DType.bool


@pytest.mark.parametrize(
    "like", [np.floating, np.complex64, np.dtype(">f4"), np.dtype("f4,i4"), float, np.str_]
)
def test_what_is_no_type(like: Any) -> None:
    with pytest.raises(TypeError, match="is not an element type"):
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
    with pytest.raises(TypeError, match=r"torch\.qint8 is not an element type"):
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
