"""Where an element of a tensor lies, how well aligned, and reading and writing it in a kernel."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import gcd
from typing import Any, NoReturn, cast

from weft.diagnostics import INDEX, OBJECT, refuse
from weft.diagnostics.hook import hush
from weft.lang.elaboration import note_index
from weft.lang.hints import kind_of
from weft.lang.number import Number, number_class, type_name
from weft.lang.pointer import Pointer
from weft.lang.promote import fits
from weft.lang.scalars import Int
from weft.layout.algebra.coordinates import crd2idx
from weft.layout.algebra.int_tuple import IntTuple, flatten, is_tuple, product
from weft.layout.algebra.layout import Layout
from weft.layout.algebra.swizzle import Swizzle
from weft.layout.algebra.values import Scalar, add, is_static, mul
from weft.record import record, replace


@record
class Swizzled:
    """How a tensor's offsets are permuted."""

    swizzle: Swizzle
    start: Scalar = 0
    """How many elements behind the start of the memory, from which the swizzle counts, the first one lies."""

    def __call__(self, offset: Scalar) -> Any:
        """Where the element at an offset lies, from the start of the memory."""
        return self.swizzle(add(self.start, offset))

    def moved(self, offset: Scalar) -> Swizzled:
        """That of the tensor that begins at an offset."""
        return Swizzled(self.swizzle, add(self.start, offset))


@record
class Element:
    """What a vectorised tensor's elements are: lanes laid out in memory."""

    layout: Layout
    """Where the lanes lie, from the first, in elements."""
    alignment: int = 0
    """To how many bytes each vector is promised to be aligned; 0 where nobody promised."""
    spread: tuple[tuple[int, int], ...] = ()
    """How many lanes lie along each mode of the tensor, and how many lanes later the next of these comes."""
    swizzled: Swizzled | None = None
    """Of a vector whose lanes a swizzle may part."""

    @property
    def lanes(self) -> int:
        """How many lanes a vector has."""
        return int(self.layout.size())

    @staticmethod
    def spread_of(sizes: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """``spread`` where so many lanes lie along each mode, the first mode's running fastest."""
        every = accumulate(sizes, operator.mul, initial=1)
        return tuple(zip(sizes, every, strict=False))

    @property
    def contiguous(self) -> bool:
        """Whether the lanes follow each other in memory."""
        stride = self.layout.stride
        return self.swizzled is None and not is_tuple(stride) and is_static(stride) and stride == 1

    def at(self, offset: Any, lane: int) -> Any:
        """Where a lane lies, given where the first does."""
        place = add(offset, self.layout(lane))
        return place if self.swizzled is None else self.swizzled(place)


def run_of(layout: Layout, first: Any, lanes: int, alignment: int, *, noted: bool) -> Element | None:
    """``lanes`` elements along the last mode, from an index on; None for one.

    ``noted``: it may be asked whether they are there.
    """
    last, stride = list(modes(layout))[-1]
    if lanes == 1:
        return None
    if isinstance(last, tuple):
        refuse("vectorize", f"the last mode of {layout} is nested", "load its elements one by one")
    at = coordinate(first)
    if is_static(at) and is_static(last) and at + lanes > last:
        refuse("bounds", f"{lanes} elements from {at} on reach past the last mode, which has {last}")
    if noted and not is_static(at):
        note_index(at, last, lanes)
    spread = Element.spread_of([1] * (layout.rank - 1) + [lanes])
    return Element(Layout(lanes, stride), alignment, spread)


def count(number: int, noun: str) -> str:
    """``1 index``, ``2 indices``: a number and its noun."""
    plural = {"index": "indices"}.get(noun, noun + "s")
    return f"{number} {noun if number == 1 else plural}"


def index_parts(index: Any) -> tuple[Any, ...]:
    """What stands in brackets, one for each mode."""
    return cast("tuple[Any, ...]", index) if type(index) is tuple else (index,)


def coordinate(part: Any) -> Any:
    """One index: an int where it is known, else an Int of 64 bits; tuples (of nested modes) part by part.

    Raises:
        CompileError: it is no integer.
    """
    if isinstance(part, Number):
        if not part.dtype.is_integer or part.lanes != 1:
            refuse("index", f"an index must be an integer, not {type(part).__name__}", "convert it: Int(...)")
        if isinstance(part.value, int):
            return part.value
        return part if type(part) is Int else Int(part)
    if isinstance(part, tuple):
        return tuple([coordinate(p) for p in part])  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(part, bool):
        try:
            return operator.index(part)
        except TypeError:
            pass
    hint = "write an integer, or a slice"
    if callable(part):
        hint = "call it: write the parentheses"
    elif hasattr(part, "x") and hasattr(part, "y"):
        hint = f"write {INDEX}.x, or one number for each mode"
    refuse("index", f"an index must be an integer, not {kind_of(part)}", hint)


def modes(layout: Layout) -> Iterator[tuple[IntTuple, IntTuple]]:
    """Extent and stride of each mode."""
    if is_tuple(layout.shape) and is_tuple(layout.stride):
        return zip(layout.shape, layout.stride, strict=True)
    return iter(((layout.shape, layout.stride),))


def step_alignment(alignment: int, itemsize: int, stride: IntTuple) -> int:
    """What is left of an alignment in bytes after any number of steps of ``stride`` elements."""
    for step in flatten(stride):
        alignment = gcd(alignment, itemsize * (step if is_static(step) else 1))
    return alignment


def place(
    layout: Layout,
    parts: Sequence[Any],
    alignment: int,
    itemsize: int,
    *,
    host: bool = False,
    masked: bool = False,
) -> tuple[Any, int]:
    """The offset of a coordinate in elements, and its alignment in bytes given that of the first element.

    An index outside of a ``masked`` tensor is no fault: what is not there is left out.

    Raises:
        CompileError: the number of indices is not the rank, or an index known now is outside.
        IndexError: the latter, on the host.
    """
    if len(parts) != layout.rank:
        refuse_rank(layout, len(parts))
    offset: Scalar = 0
    for mode, (part, (extent, stride)) in enumerate(zip(parts, modes(layout), strict=True)):
        at = part if type(part) is int else coordinate(part)
        if is_static(at):
            check_inside(at, at + 1, product(extent), mode, host=host)
        elif not host and not masked:
            note_index(at, product(extent))
        piece = (
            mul(at, stride) if not is_tuple(stride) and not is_tuple(extent) else crd2idx(at, extent, stride)
        )
        if is_static(piece):
            alignment = gcd(alignment, piece * itemsize)
        else:
            alignment = step_alignment(alignment, itemsize, stride)
        offset = add(offset, piece)
    return offset, alignment


def check_inside(start: int, stop: int, extent: Scalar, mode: int, *, host: bool = False) -> None:
    """Refuse what reaches outside of a mode, as far as is known now."""
    if start >= 0 and not (is_static(extent) and stop > extent):
        return
    reach = f"index {start}" if stop == start + 1 else f"the range {start}:{stop}"
    if start == stop < 0:
        reach = f"the bound {stop} of a slice"
    bound = f"counts from 0 to {extent - 1}" if is_static(extent) else "counts from 0"
    message = f"{reach} is outside mode {mode}, which {bound}"
    if host:
        raise hush(IndexError(message))
    hint = "guard the access, or correct the index"
    if start < 0:
        hint = f"nothing counts from the end: write {OBJECT}.dim({mode}) - {-start} for that"
    refuse("bounds", message, hint)


def permuted(
    swizzled: Swizzled, offset: Any, element: Element | None, alignment: int, itemsize: int
) -> tuple[Any, Element | None, int]:
    """An access as ``place`` has it, in swizzled memory: a vector within what stays together is one."""
    block = 1 << swizzled.swizzle.base if swizzled.swizzle.bits else 0
    if element is not None:
        alignment = max(alignment, element.alignment)
        width = element.lanes * itemsize
        if block and (element.lanes > block or not element.contiguous or alignment % width):
            return offset, replace(element, swizzled=swizzled), itemsize
    return swizzled(offset), element, gcd(alignment, block * itemsize)


def read(pointer: Pointer[Any], offset: Any, element: Element | None, alignment: int) -> Any:
    """The element at an offset: a number, or the lanes of a vector."""
    if element is None:
        return pointer.load(offset)
    alignment = max(element.alignment, alignment)
    if element.contiguous:
        return pointer.load(offset, width=element.lanes, alignment=alignment)
    lanes: Any = number_class(pointer.dtype, element.lanes)(pointer.load(element.at(offset, 0)))
    for lane in range(1, element.lanes):
        lanes = lanes.insert(lane, pointer.load(element.at(offset, lane)))
    return lanes


def write(pointer: Pointer[Any], offset: Any, element: Element | None, alignment: int, value: Any) -> None:
    """Write the element at an offset; a number fills all lanes of a vector."""
    if element is None:
        if isinstance(value, Number) and value.lanes != 1:
            refuse(
                "lanes",
                f"an element is one {type_name(pointer.dtype)}, not {type(value).__name__}",
                "use .store(i, ..., value=v), or .vectorize[...]()",
            )
        pointer.store(offset, value)
        return
    lanes = element.lanes
    if not isinstance(value, Number):
        wide = number_class(pointer.dtype, lanes)
        fits(value, wide)
        value = wide(value)
    elif value.lanes == 1:
        value = number_class(value.dtype, lanes)(value)
    elif value.lanes != lanes:
        refuse("lanes", f"an element has {lanes} lanes, the value has {value.lanes}")
    if element.contiguous:
        pointer.store(offset, value, alignment=max(element.alignment, alignment))
        return
    for lane in range(lanes):
        pointer.store(element.at(offset, lane), value[lane])


def refuse_rank(layout: Layout, given: int) -> NoReturn:
    """Refuse so many indices.

    Raises:
        CompileError: always.
    """
    shape = ", ".join("mnklij"[:given])
    more = f"; for {given} modes pass buffer.tensor(Layout.row_major({shape})), or array.reshape({shape})"
    refuse(
        "rank",
        f"the tensor has rank {layout.rank} (layout {layout}), but {count(given, 'index')} "
        f"{'was' if given == 1 else 'were'} given",
        f"give one index for each mode, t[{', '.join('ijklmn'[: layout.rank])}]; `:` takes a whole mode"
        + more * (layout.rank == 1),
    )
