"""Guards around a kernel's body, at the ends of what integers hold, beside Python."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.support.exact import whole

from weft.gpu.host import DeviceContext

GRID, BLOCK = 3, 5
OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
INDICES: dict[str, Callable[[int, int], int]] = {
    "at": lambda at, off: at,
    "thread_idx.x": lambda at, off: at % BLOCK,
    "at + 5": lambda at, off: at + 5,
    "at - 7": lambda at, off: at - 7,
    "at + Int(Int8(off))": lambda at, off: at + whole(8, True, off),
    "at - Int(Int8(off))": lambda at, off: at - whole(8, True, off),
    "Int(Int8(off)) - at": lambda at, off: whole(8, True, off) - at,
    "at - 9 + Int(Int8(off)) - 2": lambda at, off: at - 11 + whole(8, True, off),
    "at + off": lambda at, off: at + off,
    "off + at - off": lambda at, off: at,
    "at * 3": lambda at, off: at * 3,
}
FORMS = {
    "if {}:\n        out[at] = 1": True,
    "if not ({}):\n        return\n    out[at] = 1": True,
    "if {}:\n        return\n    out[at] = 1": False,
    "if {}:\n        pass\n    else:\n        return\n    out[at] = 1": True,
    "if {} and at < 14:\n        out[at] = 1": True,
    "if at >= 14 or {}:\n        return\n    out[at] = 1": False,
}
KINDS = {
    "Int": (64, True),
    "UInt": (64, False),
    "Int32": (32, True),
    "UInt32": (32, False),
    "Int8": (8, True),
}
HEAD = """
from weft import Int, Int8, Int32, UInt, UInt32, Pointer, kernel
from weft.gpu import block_dim, block_idx, thread_idx
"""
KERNEL = """
@kernel
def k{n}(out: Pointer[Int8], off: Int, n: {kind}) -> None:
    at = block_idx.x * block_dim.x + thread_idx.x
    i = {kind}({index})
    {body}
"""


def _cases() -> list[tuple[str, str, str, str, bool]]:
    """Index, operator, form, kind, and whether the index stands first: every pair, and some of the rest."""
    draw = random.Random(4)
    common = [*itertools.product(INDICES, ("<", "<="), ["if {}:\n        out[at] = 1"], ["Int"], [True])]
    every = [*itertools.product(INDICES, OPERATORS, FORMS, KINDS, (True, False))]
    return [*common, *draw.sample(every, 40)]


@pytest.fixture(scope="module")
def kernels(load: Any) -> ModuleType:
    text = HEAD
    for n, (index, op, form, kind, first) in enumerate(_cases()):
        condition = f"i {op} n" if first else f"n {op} i"
        text += KERNEL.format(n=n, kind=kind, index=index, body=form.format(condition))
    return load(text)


def test_a_guard_holds_for_the_threads_that_python_says(kernels: ModuleType) -> None:
    ctx = DeviceContext(api="cpu")
    draw = random.Random(5)
    for n, (index, op, form, kind, first) in enumerate(_cases()):
        bits, signed = KINDS[kind]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        limits = [low, low + 1, low + 7, 0, 1, 4, 7, 13, 14, 15, 22, high - 15, high - 1, high]
        if signed:
            limits += [-1, -7]
        for limit in limits:
            top = (1 << 63) - 1
            for off in (0, draw.choice([3, -9, 127, top, top - 4, top - 13, -top - 1, -top + 6])):
                out = np.zeros(GRID * BLOCK + 1, np.int8)
                ctx.enqueue_function(
                    getattr(kernels, f"k{n}"), out, off, limit, grid_dim=GRID, block_dim=BLOCK
                )
                ctx.synchronize()
                found: list[bool] = []
                for at in range(GRID * BLOCK):
                    i = whole(bits, signed, INDICES[index](at, off))
                    holds = OPERATORS[op](i, limit) if first else OPERATORS[op](limit, i)
                    runs = holds is FORMS[form] and ("14" not in form or at < 14)
                    found.append(runs)
                assert out.tolist() == [*map(int, found), 0], (index, op, form, kind, first, limit, off)
