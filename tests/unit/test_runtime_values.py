"""Extents, limits and the text of numbers."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft import Float32, Tensor
from weft.abi.artifact import PrintSite
from weft.abi.formats import bits_of, pack, unpack
from weft.abi.number_text import format_value
from weft.diagnostics import OBJECT, LaunchError
from weft.diagnostics.instead import ON_HOST
from weft.dtype import DType
from weft.gpu.host import DeviceContext
from weft.runtime.dim import Dim, as_dim
from weft.runtime.driver import DeviceInfo
from weft.runtime.limits import check_launch
from weft.runtime.printing import Console, format_print

H200 = DeviceInfo(
    "NVIDIA H200",
    "cuda",
    "sm_90",
    1024,
    (1024, 1024, 64),
    (2**31 - 1, 65535, 65535),
    232448,
    132,
    32,
    150 << 30,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (64, (64, 1, 1)),
        ((8,), (8, 1, 1)),
        ((2, 2), (2, 2, 1)),
        ([4, 4, 2], (4, 4, 2)),
        (Dim(3, 2), (3, 2, 1)),
        (np.int32(5), (5, 1, 1)),
    ],
)
def test_dim(value: Any, expected: tuple[int, int, int]) -> None:
    dim = as_dim(value)
    assert dim == expected
    assert (dim.x, dim.y, dim.z) == tuple(dim)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "grid_dim=(0, 1, 1) launches nothing"),
        ((4, 0), "grid_dim=(4, 0, 1) launches nothing"),
        (-1, "grid_dim=-1 has a negative extent"),
        ((1, 2, 3, 4), "grid_dim=(1, 2, 3, 4) has 4 extents"),
        ((), "grid_dim=() has 0 extents"),
        (2.5, "2.5 is a float"),
        (True, "True is a bool"),
        ("8", "'8' is a str"),
        ((8, None), "None is a NoneType"),
    ],
)
def test_dim_refused(value: Any, message: str) -> None:
    with pytest.raises(LaunchError) as refused:
        as_dim(value, "grid_dim")
    assert message in refused.value.diagnostics[0].message
    location = refused.value.diagnostics[0].location
    assert location is not None
    assert location.file == __file__


def test_limits() -> None:
    assert check_launch(H200, Dim(2**31 - 1), Dim(32, 32)) == []
    [found] = check_launch(H200, Dim(1), Dim(1025))
    assert found.message == "block_dim=(1025, 1, 1) has 1025 threads; NVIDIA H200 allows 1024 per block"
    assert "grid_dim=(5, 1, 1), block_dim=(256, 1, 1)" in found.hints[0]
    [found] = check_launch(H200, Dim(1), Dim(64, 64))
    assert "grid_dim=(2, 2, 1), block_dim=(32, 32, 1)" in found.hints[0]
    [found] = check_launch(H200, Dim(1), Dim(1, 1, 128))
    assert found.message == "block_dim=(1, 1, 128) is 128 in z; NVIDIA H200 allows 64 there"
    codes = [found.code for found in check_launch(H200, Dim(1, 70000), Dim(2000), shared_bytes=1 << 20)]
    assert codes == ["block-threads", "grid-extent", "shared-memory"]
    [found] = check_launch(H200, Dim(1), Dim(1024), kernel_threads=512)
    assert found.code == "block-registers"
    assert [found.code for found in check_launch(H200, Dim(0), Dim(1, 0))] == ["dim-empty", "dim-empty"]


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@given(data=st.data())
def test_floats_print_shortest(name: str, data: st.DataObject) -> None:
    dtype: DType = getattr(DType, name)
    value = data.draw(st.floats(width=dtype.bits))  # pyright: ignore[reportArgumentType]
    text = format_value(dtype, value)
    scalar = np.dtype(name).type(value)
    assert np.dtype(name).type(text) == scalar or np.isnan(scalar)
    digits = text.split("e")[0].replace(".", "").strip("-0")
    peer = str(scalar).split("e")[0].replace(".", "").strip("-0")
    assert len(digits) <= len(peer)


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        (DType.float32, 10.0, "10.0"),
        (DType.float32, float(np.float32(0.1)), "0.1"),
        (DType.float32, float("inf"), "inf"),
        (DType.float32, float("nan"), "nan"),
        (DType.float32, float(np.float32(1e-7)), "1e-07"),
        (DType.float32, float(np.finfo(np.float32).max), "3.4028235e+38"),
        (DType.float32, -0.0, "-0.0"),
        (DType.float64, 0.1, "0.1"),
        (DType.bfloat16, 0.10009765625, "0.1"),
        (DType.bool, 1, "True"),
        (DType.uint64, 2**64 - 1, "18446744073709551615"),
        (DType.int8, -5, "-5"),
    ],
)
def test_format_value(dtype: DType, value: float, text: str) -> None:
    assert format_value(dtype, value) == text


def test_format_print() -> None:
    site = PrintSite(("x = ", DType.float32, " at ", DType.int32, " ", (DType.float32, ">6"), "!\n"))
    tenth = int.from_bytes(struct.pack("<f", 0.1), "little")
    assert format_print(site, [tenth, (-3) & (2**64 - 1), tenth]) == "x = 0.1 at -3    0.1!\n"
    assert format_value(DType.float32, 2.0, ".2f") == "2.00"
    assert format_value(DType.float32, 2.0, "d") == "2.0"


@given(st.floats(width=32))
def test_bfloat16_is_nearest(value: float) -> None:
    bits = bits_of(DType.bfloat16, value)
    back = unpack(DType.bfloat16, bits.to_bytes(2, "little"))
    if np.isnan(value):
        assert np.isnan(back)
        return
    with np.errstate(all="ignore"):
        if np.isfinite(back):
            neighbours = [
                unpack(DType.bfloat16, (other & 0xFFFF).to_bytes(2, "little"))
                for other in (bits - 1, bits + 1)
                if 0 <= other & 0x7FFF < 0x7F80
            ]
            assert all(abs(back - value) <= abs(near - value) for near in neighbours)


def test_pack() -> None:
    assert pack(DType.int16, -2) == b"\xfe\xff"
    assert pack(DType.float32, np.float64(1.0)) == struct.pack("<f", 1.0)
    assert pack(DType.float32, np.int64(2**60 + 2**36 + 1)) == struct.pack("<f", 2**60 + 2**37)
    assert pack(DType.float32, Float32(0.5)) == struct.pack("<f", 0.5)
    with pytest.raises(OverflowError):
        pack(DType.uint8, 256)
    with pytest.raises(TypeError):
        pack(DType.int32, 1.5)
    with pytest.raises(TypeError):
        pack(DType.float32, "1")


def test_console_writes_out_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.write("a" * 10)
    assert capsys.readouterr().out == ""
    console.write("b" * 70000)
    assert len(capsys.readouterr().out) == 70010
    console.write("c")
    console.flush()
    assert capsys.readouterr().out == "c"


def test_other_libraries_names_stay_plain_attribute_errors() -> None:
    """For ``hasattr`` and ``getattr``; and what they are told to write exists."""
    ctx = DeviceContext(api="cpu")
    held: list[Any] = [ctx, ctx.enqueue_create_buffer(Float32, 2), ctx.enqueue_create_host_buffer(Float32, 2)]
    held += [Tensor(Float32, 2), ctx.create_stream(), ctx.record_event()]
    for one in held:
        assert not hasattr(one, "no_such_name")
        assert getattr(one, "to_nothing", 3) == 3
        with pytest.raises(AttributeError):
            one._hidden
        named: dict[str, str] = getattr(one.__class__, ON_HOST)
        assert named
        for name, hint in named.items():
            if not hasattr(one.__class__, name):
                with pytest.raises(LaunchError) as refused:
                    getattr(one, name)
                assert isinstance(refused.value, AttributeError)
            for said in re.findall(rf"{OBJECT}\.(\w+)", hint):
                assert hasattr(one, said), (name, said)
