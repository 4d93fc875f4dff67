"""The examples of products of matrices, assembled for the machines that run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.ir.test_ptxas import ROOT, Case, load

from weft import BFloat16, Float32, Int8
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu.host import DeviceContext
from weft.kernels.products.finish import Ways, unchanged
from weft.kernels.products.schedule import Form
from weft.kernels.products.warpgroups import product
from weft.kernels.row_memory import Line
from weft.lang.accept import accept_as, spec_of_annotation
from weft.lang.signature import parameters
from weft.lang.spec import StaticSpec
from weft.layout import Layout, LayoutTensor
from weft.layout.tma_async import TensorMapSwizzle


def test_the_product_for_hopper(assemble: Callable[[str, str], str]) -> None:
    example, ctx = load(ROOT / "examples" / "hopper_matmul.py"), DeviceContext(api="cpu")
    swizzle, x = TensorMapSwizzle.SWIZZLE_128B, ctx.enqueue_create_buffer(BFloat16, 1 << 16)
    whole = x.tensor(Layout.row_major(256, 256))
    tiles = [ctx.create_tma_tile(whole, (rows, 64), swizzle=swizzle) for rows in (128, 256, 16)]
    given = {**dict(zip(("a", "b", "out"), tiles, strict=True)), "stages": 4, "band": 2}
    ptx = Case("hopper", example.matmul, given).ptx("sm_90")
    for word in ("setmaxnreg.inc", ".m64n256k16.", "cp.async.bulk.tensor.2d.global", ".maxntid 384"):
        assert word in ptx
    assert assemble(ptx, "sm_90a") == ""


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
def test_the_product_by_mma(arch: str, assemble: Callable[[str, str], str]) -> None:
    example, square = load(ROOT / "examples" / "matmul_mma.py"), Layout.row_major(256, 256)
    x = DeviceContext(api="cpu").enqueue_create_buffer(BFloat16, 1 << 16).tensor(square)
    ways = {"tile": (64, 64), "warp": (32, 32), "stages": 3, "group": 1}
    ptx = Case("mma", example.product, {"a": x, "b": x, "out": x, **ways}).ptx(arch)
    assert "mma.sync.aligned.m16n8k16" in ptx
    assert assemble(ptx, arch) == ""


def _ready(kind: Any, result: Any, form: Form, ways: Ways, line: int, **given: Any) -> str:
    """The PTX of ``weft.kernels.products.warpgroups``, whose rows of a stage have ``line`` elements."""
    ctx, batch = DeviceContext(api="cpu"), Layout((2, 256, 256), (65536, 256, 1)).dynamic()

    def whole(of: Any) -> LayoutTensor[Any]:
        return LayoutTensor[Any].of(ctx.enqueue_create_buffer(of, 1 << 17), batch, 1)

    sides = (kind, (1, 64, line)), (kind, (1, 64, line)), (result, (1, 16, ways.piece))
    a, b, out = (
        ctx.create_tma_tile(whole(of), box, swizzle=TensorMapSwizzle.SWIZZLE_128B) for of, box in sides
    )
    values: dict[str, Any] = {"a": a, "b": b, "out": (out,), "table": (), "parts": (), "epilogue": unchanged}
    values |= {"alpha": Float32(1), "terms": (), **given}
    known: dict[str, Any] = {"form": form, "ways": ways}
    specs = {
        p.name: StaticSpec(known[p.name])
        if p.comptime
        else accept_as(p.annotation, values[p.name])[0]
        if p.name in values
        else spec_of_annotation(p.annotation)
        for p in parameters(product.definition)
    }
    ptx = elaborate_kernel(product, specs, "sm_90", CompileOptions(None, distinct=True)).emit("asm")
    assert isinstance(ptx, str)
    return ptx


def test_the_ready_product_for_hopper(assemble: Callable[[str, str], str]) -> None:
    """With both sides across k, and neither spills nor calls; see ``weft.kernels.products.warpgroups``."""
    form = Form((128, 256), 1, 4, 16, 1, ("m", "n"), (False, False))
    ptx = _ready(BFloat16, BFloat16, form, Ways(BFloat16, piece=64), 64)
    assert "m64n256k16.f32.bf16.bf16" in ptx
    assert ", p, 1, 1, 1, 1;" in ptx
    assert assemble(ptx, "sm_90a") == ""


def test_the_ready_product_of_bytes_beside_fractions(assemble: Callable[[str, str], str]) -> None:
    """Whose sums become floats before such a bias is added."""
    bias = DeviceContext(api="cpu").enqueue_create_buffer(Float32, 256)
    form = Form((128, 128), 1, 4, 16, 1, ("k", "k"), (False, False))
    terms = (Line(bias, (0, 0), cast("Any", 1)),)
    ptx = _ready(Int8, Float32, form, Ways(Float32, ("+",), piece=32), 128, terms=terms)
    assert "m64n128k32.s32.s8.s8" in ptx
    assert "cvt.rn.f32.s32" in ptx
    assert "cvt.rzi.s32.f32" not in ptx
    assert assemble(ptx, "sm_90a") == ""
