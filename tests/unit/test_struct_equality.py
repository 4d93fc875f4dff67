"""``==``, ``!=`` and ``in`` of structs: in compiled code and on the host what dataclasses of Python give."""

from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from weft import SIMD, Bool, CompileError, Float32, Float64, Int, Int8, Pointer, func, kernel, struct
from weft.gpu.host import DeviceContext


@struct
class Inner:
    x: Float32
    n: Int8


@struct
class Outer:
    inner: Inner
    flag: Bool
    value: Float64


@struct
class Other:
    x: Float32
    n: Int8


@struct
class Tenths:
    n: Int

    def __eq__(self, other: Any) -> Any:
        return self.n // 10 == other.n // 10


@struct
class Lanes:
    v: SIMD[Float32, 4]


@struct
class Address:
    p: Pointer[Float32]


@dataclasses.dataclass
class PlainInner:
    x: float
    n: int


@dataclasses.dataclass
class PlainOuter:
    inner: PlainInner
    flag: bool
    value: float


@func
def compared(a: Outer, c: Outer) -> Any:
    n = 0
    if a == c:
        n = 1
    return a == c, a != c, not a == c, a in (c, c), a.inner == c.inner and a.flag, n


numbers = st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan")])
parts = st.tuples(numbers, st.sampled_from([0, 1]), st.booleans(), numbers)


@settings(max_examples=60, deadline=None)
@given(parts, parts)
def test_structs_compare_as_dataclasses(one: Any, other: Any) -> None:
    (a, p), (c, q) = (
        (Outer(Inner(x, n), flag, v), PlainOuter(PlainInner(x, n), flag, v)) for x, n, flag, v in (one, other)
    )
    same = (p.inner.x, p.inner.n, p.flag, p.value) == (q.inner.x, q.inner.n, q.flag, q.value)
    same = same and not any(v != v for v in (p.inner.x, p.value))  # as dataclasses do since Python 3.13
    inner = p.inner.x == q.inner.x and p.inner.n == q.inner.n
    assert compared(a, c) == (same, not same, not same, same, inner and p.flag, int(same))
    assert ((a == c), (a != c), a in [c]) == (same, not same, same)


@func
def others(a: Inner, c: Any, t: Tenths, u: Tenths) -> Any:
    return a == c, a != c, a in (c,), t == u, t != u


def test_structs_of_two_classes_and_a_comparison_of_their_own() -> None:
    a: Any = Inner(1.0, 2)
    c: Any = Other(1.0, 2)
    assert others(a, c, Tenths(11), Tenths(19)) == (False, True, False, True, False)
    assert others(a, c, Tenths(11), Tenths(20))[3:] == (False, True)
    assert (a == c, a != c, a == None, a == 5, a in [c]) == (False, True, False, False, False)  # noqa: E711
    assert (Tenths(11) == Tenths(19), Tenths(11) != Tenths(19)) == (True, False)


def test_a_struct_has_no_hash_as_a_dataclass_that_compares() -> None:
    with pytest.raises(TypeError, match="unhashable type: 'Inner'"):
        hash(Inner(1.0, 2))


@kernel
def by_lanes(p: Pointer[Float32], out: Pointer[Float32]):
    a, c = Lanes(p.load(0, width=4)), Lanes(p.load(4, width=4))
    out[0] = 1.0 if a == c else 2.0
    out[1] = 1.0 if a != c else 2.0


@pytest.mark.parametrize("last", [3.0, 7.0])
def test_lanes_are_equal_where_all_are(last: float) -> None:
    given_, out = np.array([0, 1, 2, 3, 0, 1, 2, last], np.float32), np.zeros(2, np.float32)
    ctx = DeviceContext(api="cpu")
    ctx.enqueue_function(by_lanes, given_, out, grid_dim=1, block_dim=1)
    ctx.synchronize()
    assert out.tolist() == ([1.0, 2.0] if last == 3.0 else [2.0, 1.0])


@func
def equal_addresses(a: Address, c: Address) -> Any:
    return a == c


@func
def is_the_same(a: Inner, c: Inner) -> Any:
    return a is c


def test_what_has_no_comparison_is_refused() -> None:
    ctx = DeviceContext(api="cpu")
    here = Address(ctx.enqueue_create_buffer(Float32, 1))
    with pytest.raises(CompileError, match=r"Address\.p is a Pointer, which has no `==`"):
        equal_addresses(here, here)
    with pytest.raises(CompileError, match="`is` compares objects of Python's"):
        is_the_same(Inner(1.0, 2), Inner(1.0, 2))
