"""Values known at compile time are told apart by type and content, strictly."""

from __future__ import annotations

import collections
import copy
import functools
import math
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from weft import Comptime, Float32, Float64, Int, Pointer, func, kernel
from weft.gpu.host import DeviceContext
from weft.lang.spec import StaticSpec
from weft.lang.told_apart import told_apart


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Config:
    a: Any
    b: Any = field(default=0, compare=False)


class Plain:
    """An object of which only identity is known, though all are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain)

    __hash__ = object.__hash__


_LEAVES: list[Any] = [
    *[0, 1, True, False, None, 0.0, -0.0, 1.0, math.nan, "1", b"1", 1j, 0j, -0j, ..., int, float],
    *[Int(1), Float32(1.0), Float32(0.0), Float32(-0.0), range(1), slice(1), slice(1.0)],
    *[np.int8(1), np.int64(1), np.float64(1.0), np.float32(1.0), np.dtype("int8"), np.dtype("int64")],
]
_ARRAYS = [
    np.array([1], "int8"),
    np.array([1], "int64"),
    np.array([[1]], "int64"),
    np.array([0.0]),
    np.array([-0.0]),
    np.array([1, 1.0, True], object),
    np.array([1, 1, 1], object),
    np.array([(1, 2.0)], [("x", "i4"), ("y", "f4")]),
    np.array([(1, 2.0)], [("x", "i4"), ("z", "f4")]),
]


def _hashable(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.tuples(inner, inner), st.builds(Pair, inner, inner), st.frozensets(inner, max_size=2))


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=2),
        st.tuples(inner, inner),
        st.builds(Pair, inner, inner),
        st.builds(Config, inner, inner),
        st.lists(inner, max_size=2).map(lambda items: collections.deque[Any](items)),
        st.dictionaries(_KEYS, inner, max_size=2),
        st.builds(functools.partial, st.just(max), inner),
    )


_KEYS = st.recursive(st.sampled_from([0, 1, True, 1.0, "1", b"1", None, -0.0]), _hashable, max_leaves=3)
_VALUES = st.recursive(
    st.one_of(st.sampled_from(_LEAVES), st.sampled_from(_ARRAYS), st.sets(_KEYS, max_size=2)),
    _containers,
    max_leaves=6,
)


def strictly_same(a: Any, c: Any) -> bool:
    """Whether Python could not tell two values apart but by identity."""
    kind = cast("type[Any]", type(a))
    if kind is not cast("type[Any]", type(c)):
        return False
    if issubclass(kind, (float, np.floating)):
        return struct.pack("<d", a) == struct.pack("<d", c)
    if issubclass(kind, complex):
        return strictly_same(a.real, c.real) and strictly_same(a.imag, c.imag)
    if issubclass(kind, (Float32, Int)):
        return repr(a) == repr(c)
    if issubclass(kind, np.ndarray):
        same = (a.dtype, a.shape) == (c.dtype, c.shape)
        return same and all(map(strictly_same, a.ravel().tolist(), c.ravel().tolist()))
    if issubclass(kind, dict):
        return strictly_same(list(a.items()), list(c.items()))
    if issubclass(kind, (set, frozenset)):
        return strictly_same(list(a), list(c))
    if issubclass(kind, (tuple, list, collections.deque)):
        return len(a) == len(c) and all(map(strictly_same, a, c))
    if issubclass(kind, Config):
        return strictly_same((a.a, a.b), (c.a, c.b))
    if issubclass(kind, functools.partial):
        return strictly_same(a.args, c.args)
    if issubclass(kind, slice):
        return strictly_same((a.start, a.stop, a.step), (c.start, c.stop, c.step))
    return bool(a == c)


@given(_VALUES, _VALUES)
def test_apart_where_type_or_content_differs(a: Any, c: Any) -> None:
    assert (StaticSpec(a) == StaticSpec(c)) is strictly_same(a, c)
    if strictly_same(a, c):
        assert hash(StaticSpec(a)) == hash(StaticSpec(c))


@given(_VALUES)
def test_a_copy_is_the_same(value: Any) -> None:
    copied = copy.deepcopy(value)
    assume(strictly_same(copied, value))  # a set may come to lie in another order
    assert told_apart(copied) == told_apart(value)


def _changed(value: Any) -> Any:
    """A value that is equal to another by ``==`` and prints alike at most, one leaf of it changed."""
    kind = cast("type[Any]", type(value))
    if issubclass(kind, bool):
        return int(value)
    if issubclass(kind, int):
        return float(value)
    if issubclass(kind, float):
        return -value if value == 0 else int(value)
    if issubclass(kind, list):
        return [_changed(value[0]), *value[1:]]
    if issubclass(kind, tuple):
        return (*value[:-1], _changed(value[-1]))
    if issubclass(kind, dict):
        return {k: _changed(v) for k, v in value.items()}
    return Config(value.a, _changed(value.b))


_EQUAL = st.recursive(
    st.sampled_from([0, 1, True, 0.0, 1.0]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.sampled_from("ab"), inner, min_size=1),
        st.builds(Config, inner, inner),
    ),
    max_leaves=6,
)


@given(_EQUAL)
def test_equal_values_of_other_types_are_apart(value: Any) -> None:
    assert _changed(value) == value
    assert StaticSpec(_changed(value)) != StaticSpec(value)


def test_other_objects_are_themselves() -> None:
    one, other = Plain(), Plain()
    assert one == other
    assert told_apart([one]) == told_apart([one]) != told_apart([other])


def test_an_object_that_is_gone_is_no_other_one() -> None:
    keys = {told_apart(Plain()) for _ in range(100)}
    assert len(keys) == 100


def test_depth_and_cycles_end() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    ring: list[Any] = [1]
    ring.append(ring)
    other: list[Any] = [1.0]
    other.append(other)
    assert hash(told_apart(deep)) == hash(told_apart(deep))
    assert told_apart(ring) == told_apart(ring) != told_apart(other)


@func
def _describe(x: Float32, *, v: Comptime[Any]) -> Float32:
    return x + _number_of(v)


def _number_of(v: Any) -> float:
    """A number that shows types, signs, dtypes, shapes and order of a value."""
    kind = cast("type[Any]", type(v))
    if issubclass(kind, np.ndarray):
        return v.itemsize * 10.0 + v.ndim
    if issubclass(kind, dict):
        return _number_of(next(iter(v.values())))
    if issubclass(kind, (list, tuple, set)):
        return _number_of(next(iter(v)))
    if issubclass(kind, Config):
        return _number_of(v.b)
    return {bool: 1.0, int: 2.0, float: 3.0}[kind] + (math.copysign(0.5, v))


_ALIKE: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ({"a": 1}, {"a": 1.0}),
    ({1}, {1.0}),
    ({"a": 1, "b": True}, {"b": True, "a": 1}),
    (np.array([1], "int8"), np.array([1], "int64")),
    (np.array([1]), np.array([[1]])),
    (Config(1, 1), Config(1, 1.0)),
    ([(1, 1)], [(1.0, 1)]),
]


@pytest.mark.parametrize(("one", "other"), _ALIKE, ids=repr)
def test_a_function_is_compiled_for_each(one: Any, other: Any) -> None:
    for value in (one, other, one):
        assert _describe(1.0, v=value) == 1.0 + _number_of(value)
        assert _describe.bind(v=value)(1.0) == 1.0 + _number_of(value)


@pytest.mark.parametrize(("one", "other"), _ALIKE, ids=repr)
def test_a_kernel_is_compiled_for_each(one: Any, other: Any) -> None:
    @kernel
    def write(o: Pointer[Float32], *, v: Comptime[Any]) -> None:
        o[0] = _number_of(v)

    ctx = DeviceContext(api="cpu")
    out = np.zeros(1, np.float32)
    for value in (one, other, one):
        ctx.enqueue_function(write, out, v=value, grid_dim=1, block_dim=1)
        ctx.synchronize()
        assert out[0] == _number_of(value)
        ctx.enqueue_function(write.bind(v=value), out, over=1)
        ctx.synchronize()
        assert out[0] == _number_of(value)


def test_what_changed_between_launches_is_compiled_anew() -> None:
    @kernel
    def write(o: Pointer[Float64], *, v: Comptime[Any]) -> None:
        o[0] = sum(v)

    ctx = DeviceContext(api="cpu")
    out = np.zeros(1)
    held: Any
    for held in ([1.0, 2.0], np.array([1.0, 2.0]), collections.deque([1.0, 2.0])):
        bound = write.bind(v=held)
        for first in (1.0, 5.0, 1.0):
            held[0] = first
            ctx.enqueue_function(bound, out, grid_dim=1, block_dim=1)
            ctx.enqueue_function(write, out, v=held, grid_dim=1, block_dim=1)
            ctx.synchronize()
            assert out[0] == first + 2.0


def test_a_helper_is_elaborated_for_each() -> None:
    @func
    def number(v: Any) -> Float32:
        return Float32(_number_of(v))

    @func
    def all_of() -> tuple[Float32, Float32, Float32, Float32]:
        held: list[Any] = [1]
        before = number(held)
        held[0] = 1.0
        return before, number(held), number(True), number(np.array([1], "int8"))

    assert all_of() == (2.5, 3.5, 1.5, 11.0)


def test_bound_kernels_are_equal_where_their_code_is() -> None:
    @kernel
    def nothing(*, v: Comptime[Any]) -> None:
        pass

    assert nothing.bind(v=[1]) == nothing.bind(v=[1]) != nothing.bind(v=[1.0])
    assert nothing.bind(v=1) is nothing.bind(v=1) is not nothing.bind(v=1.0)
    assert nothing.bind(v={nothing.bind(v=0.0)}) != nothing.bind(v={nothing.bind(v=-0.0)})
