"""Whatever a kernel or a function is called, its code is its own."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Float16, Float32, Int, Pointer, config, func, kernel
from weft.compile import compile_info
from weft.compiler.llvm import symbols
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
from weft.targets import TARGETS

IN_A_PROCESS = """
    fmod fmodf sin pow memcpy memset malloc free printf main exit llvm llvm_sin __truncsfhf2 __extendhfsf2
    __muldi3 weft weft_print weft_assert weft_take_memory entry kernel func environ Py_None PyErr_SetNone
    _init
""".split()
IN_PTX = """
    llvm __nvvm_reflect __assertfail malloc vprintf weft_console kernel func shared_1 dynamic_shared
    constant_1
    WARP_SZ _ __ tid reg param global double add ret main
""".split()
ODD = [
    'a"b',
    "a'b",
    "é",
    "ядро",
    "核",
    "",
    " ",
    "a b",
    "0a",
    "a.b",
    "llvm.sin.f32",
    "\x01f",
    "n\0l",
    "%a",
    "@f",
]
ODDER = ["$", "$$", "a$41$", "<genexpr>", "x\ny", "x;y", "\\", "\ud800", "🚀", "a" * 500]


def odd_sum(name: str, helper: str) -> Any:
    """A kernel and a function of these names, with what LLVM makes calls of and what needs memory."""

    def half(x: Float32) -> Float32:
        return (x % 2.5) * 0.5

    half.__name__ = helper
    made = func(half)

    def body(x: Pointer[Float32], y: Pointer[Float16], n: Int):
        shared = stack_allocation(Float32, 8, address_space=AddressSpace.SHARED)
        more = dynamic_shared_memory(Float32)
        i = global_idx.x
        if i < n:
            shared[0] = x[i]
            more[0] = 1.0
            x[i] = made(x[i]) + shared[0] * more[0]
            y[i] = y[i] + Float16(1.5)
            if i == n - 1:
                print("x", i, x[i] % 3.0)
            assert i >= 0, "no index"

    body.__name__ = name
    return kernel(body)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path) -> Any:
    with config.scope(cache_dir=tmp_path):
        yield


@pytest.mark.parametrize("name", [*IN_A_PROCESS, *ODD, *ODDER], ids=repr)
def test_any_name_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.arange(9, dtype=np.float32)
    y = np.arange(9, dtype=np.float16)
    with DeviceContext(api="cpu") as ctx:
        made = odd_sum(name, name)
        ctx.enqueue_function(made, x, y, 7, grid_dim=1, block_dim=8, shared_mem_bytes=64)
        ctx.synchronize()
    expected = np.arange(9, dtype=np.float32)
    expected[:7] = np.fmod(expected[:7], 2.5) * np.float32(0.5) + expected[:7]
    assert np.array_equal(x, expected)
    assert np.array_equal(y, np.arange(9) + np.where(np.arange(9) < 7, 1.5, 0))
    assert capsys.readouterr().out == f"x 6 {math.fmod(float(expected[6]), 3.0)}\n"


@pytest.mark.parametrize("name", [*IN_PTX, *ODD], ids=repr)
def test_any_name_is_taken_by_the_assembler(name: str, assemble: Callable[[str, str], str]) -> None:
    info = compile_info(odd_sum(name, name), target="sm_90")
    assert f".visible .entry {info.name}(" in str(info)
    assert assemble(str(info), "sm_90") == ""


@pytest.mark.parametrize("name", ["double", "scale_2", "_private", "llvm", "fmod", "Matmul"])
def test_a_plain_name_stays_as_it_is_in_ptx(name: str) -> None:
    assert compile_info(odd_sum(name, "other"), target="sm_90").name == name


NAMES = st.one_of(st.text(max_size=6), st.text("a$0_.", max_size=5))


@settings(max_examples=150)
@given(one=NAMES, other=NAMES)
def test_two_names_are_two_symbols(one: str, other: str) -> None:
    for target in (TARGETS["sm_90"], TARGETS["x86-64"]):
        ours = [symbols.entry_symbol(name, target) for name in (one, other)]
        ours += [f(name) for f in (symbols.function_symbol, symbols.global_symbol) for name in (one, other)]
        assert len(set(ours)) == (6 if one != other else 3)
        assert all(symbol.isascii() and symbol.replace("$", "_").isidentifier() for symbol in ours)
        assert "weft$console" not in ours


def test_no_symbol_of_this_process_is_ours() -> None:
    process = ctypes.CDLL(None)
    for name in IN_A_PROCESS:
        for symbol in (symbols.kernel_symbol(name, TARGETS["native"]), symbols.function_symbol(name)):
            assert not hasattr(process, symbol)
