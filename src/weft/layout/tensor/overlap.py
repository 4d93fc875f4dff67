"""Whether two tensors may share memory, and in which order their elements can then be copied.

All is asked before a copy begins, at compile time as far as it is known there. A source may be read where the
copy has written already unless elements are taken in an order that reads each before it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import inf
from typing import Any

from weft.dtype import DType
from weft.lang.number import number_class
from weft.lang.places import bytes_from_first, first_of, of_other_memory
from weft.lang.pointer import Pointer
from weft.layout.algebra.int_tuple import flatten, is_tuple
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.values import add, is_static, least, most, mul, sub
from weft.layout.tensor.access import modes


def may_overlap(to: Any, source: Any) -> bool:
    """Whether nothing that is known now tells that two tensors lie in memory of different origin."""
    if not all(issubclass(type(t.storage), Pointer) for t in (to, source)):
        return False
    one, other = to.storage, source.storage
    return one.space == other.space and not of_other_memory(one.value, other.value)


def same_origin(to: Any, source: Any) -> bool:
    """Whether it is known that steps have led to both tensors from one address."""
    return first_of(to.storage.value) is first_of(source.storage.value)


def apart(to: Any, source: Any) -> Any:
    """Whether the one tensor ends before the other begins, or there is nothing to copy: a bool or a Bool."""
    size = to.storage.dtype.itemsize, source.storage.dtype.itemsize
    (low, high), (first, last) = _reach(to), _reach(source)
    between = _bytes_between(to, source)
    first, last = (add(mul(n, size[1]), between) for n in (first, last))
    low, high = (mul(n, size[0]) for n in (low, high))
    ends = either(_less(sub(high, -size[0]), add(first, 1)), _less(sub(last, -size[1]), add(low, 1)))
    return reduce(either, [_same(extent, 0) for extent in to.shape], ends)


def alike(to: Any, source: Any) -> Any:
    """Whether both take the same steps, each over all that those of later modes reach: a bool or a Bool.

    Then elements follow each other as their addresses do, so that one of the two directions reads each before
    it is written.
    """
    mine, its = list(_steps(to)), list(_steps(source))
    flat = not any(is_tuple(extent) for extent, _ in modes(to.layout))
    if not flat or len(mine) != len(its) or to.storage.dtype is not source.storage.dtype:
        return False
    if (to.swizzled is None) != (source.swizzled is None):
        return False
    permuted = to.swizzled is not None  # then elements have no order, unless they stay where they are
    if permuted and not _stays(to, source):
        return False
    held: Any = True
    inner: Any = 0
    for n, ((extent, step), (_, other)) in reversed(list(enumerate(zip(mine, its, strict=True)))):
        held = both(held, _same(step, other))
        if n < to.rank and not permuted:
            held = both(held, _less(sub(inner, 1), step))
        inner = add(inner, mul(sub(extent, 1), step))
    return held


def by_stride(to: Any, source: Any) -> tuple[Any, Any]:
    """Both with their modes in the order of the strides of ``to``, the greatest first, as far as is known."""
    strides: list[Any] = [stride for _, stride in modes(to.layout)]
    order = sorted(range(to.rank), key=lambda n: -strides[n] if is_static(strides[n]) else -inf)
    if order == list(range(to.rank)) or any(map(is_tuple, strides)):
        return to, source
    return to.transpose(*order), source.transpose(*order)


def is_behind(to: Any, source: Any) -> Any:
    """Whether the first element of ``to`` lies behind that of ``source``."""
    return _bytes_between(to, source) < 0


def both(one: Any, other: Any) -> Any:
    """Whether two things hold, of which each is known now or not."""
    if isinstance(one, bool):
        return other if one else False
    return (one if other else False) if isinstance(other, bool) else one & other


def either(one: Any, other: Any) -> Any:
    """Whether one of two things holds, of which each is known now or not."""
    if isinstance(one, bool):
        return True if one else other
    return (True if other else one) if isinstance(other, bool) else one | other


def distance(to: Any, source: Any) -> Any:
    """How many elements ``to`` begins behind ``source``."""
    return -(_bytes_between(to, source) // to.storage.dtype.itemsize)


def _stays(to: Any, source: Any) -> bool:
    """Whether two swizzled tensors are known to begin at one place."""
    one, other = to.swizzled, source.swizzled
    begin = one.start is other.start or (is_static(one.start) and is_static(other.start) and one == other)
    return begin and one.swizzle == other.swizzle and to.storage.value is source.storage.value


def _bytes_between(to: Any, source: Any) -> Any:
    """How far behind the first element of ``to`` that of ``source`` lies."""
    if same_origin(to, source):
        start, end = (bytes_from_first(t.storage.value) for t in (to, source))
        if start is not None and end is not None:
            return end - start
    return _address(source) - _address(to)


def _address(tensor: Any) -> Any:
    return number_class(DType.int64).of(tensor.storage.__weft_address__())


def _same(a: Any, b: Any) -> Any:
    if a is b or (is_static(a) and is_static(b)):
        return a is b or a == b
    return _value(a) is _value(b) or a == b


def _value(number: Any) -> Any:
    return number if is_static(number) else number.value


def _less(a: Any, b: Any) -> Any:
    return a < b


def _steps(tensor: Any) -> Iterator[tuple[Any, Any]]:
    """Extent and stride of each mode, of what exists; then those of an element's lanes."""
    for extent, (whole, stride) in zip(tensor.shape, modes(tensor.layout), strict=True):
        if is_tuple(stride):
            yield from zip(flatten(whole), flatten(stride), strict=True)
        else:
            yield extent, stride
    if tensor.element is not None:
        lanes: Layout = tensor.element.layout
        yield from zip(flatten(lanes.shape), flatten(lanes.stride), strict=True)


def _reach(tensor: Any) -> tuple[Any, Any]:
    """The lowest and the highest place that an element has, in elements from the first."""
    low: Any = 0
    high: Any = 0
    for extent, stride in _steps(tensor):
        far = mul(sub(extent, 1), stride)
        if is_static(stride):
            low, high = (low, add(high, far)) if stride >= 0 else (add(low, far), high)
        else:
            low, high = add(low, least(far, 0)), add(high, most(far, 0))
    if tensor.swizzled is None:
        return low, high
    swizzle, start = tensor.swizzled.swizzle, tensor.swizzled.start
    block = 1 << (swizzle.base + swizzle.bits + abs(swizzle.shift))  # within which elements change places
    low, high = add(start, low), add(start, high)
    return low // block * block, (high // block + 1) * block - 1
