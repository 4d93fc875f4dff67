"""The examples of products of matrices, assembled for the machines that run them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.ir.test_ptxas import ROOT, Case, load

from weft import BFloat16
from weft.gpu.host import DeviceContext
from weft.layout import Layout
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
