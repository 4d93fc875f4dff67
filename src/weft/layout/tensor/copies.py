"""Copying a part of a tensor element by element, as the thread that has it does."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

from weft.diagnostics import refuse
from weft.gpu.memory import async_copy
from weft.lang.decorators import func
from weft.lang.hints import kind_of
from weft.lang.pointer import AddressSpace
from weft.lang.scalars import Int
from weft.layout.tensor.edge import absent, complete, whole_read, whole_write
from weft.layout.tensor.loops import UNROLLED, check_alike

_AT_ONCE = (16, 8, 4)
"""Bytes that one asynchronous copy may take."""


def copied(to: Any, source: Any, *, asynchronous: bool = False) -> None:
    """Write every element of ``source`` to its place in ``to``; what a masked one has not is its default.

    Whether all of a masked tile is there is asked once, so that the others are copied in whole vectors.

    Raises:
        CompileError: the shapes differ, or are not static.
    """
    check_alike(to, source)
    for tensor in (to, source):
        tensor.note_use()
    _by_edges(to, source, asynchronous)


def _by_edges(to: Any, source: Any, asynchronous: bool) -> None:
    here, there = (True if t.edges is None else complete(t.edges, t.layout) for t in (to, source))
    if here is True and there is True:
        _each(_whole(to), _whole(source), asynchronous)
    elif here is False or there is False:
        _each(to, source, asynchronous)
    else:
        both = there if here is True else here if there is True else here & there
        _either(both, to, source, asynchronous)


@func
def _either(both: Any, to: Any, source: Any, asynchronous: Any) -> None:
    if both:
        _each(_whole(to), _whole(source), asynchronous)
    else:
        _each(to, source, asynchronous)


def _whole(tensor: Any) -> Any:
    """A masked tensor of which all is there."""
    return tensor if tensor.edges is None else tensor.unmasked()


def _each(to: Any, source: Any, asynchronous: bool, first: tuple[Any, ...] = ()) -> None:
    """Copy what the first indices leave: few elements written out, more by a loop."""
    shape = to.layout.static_shape[len(first) :]
    if prod(shape) > UNROLLED:
        _along(to, source, asynchronous, first)
        return
    every = [(*first, *at) for at in itertools.product(*map(range, shape))]
    if asynchronous:
        every = [at for at in every if not _begun(to, source, at)]
    values = [whole_read(source, at) for at in every]
    for at, value in zip(every, values, strict=True):
        whole_write(to, at, value)


@func
def _along(to: Any, source: Any, asynchronous: Any, first: Any) -> None:
    for i in range(to.layout.static_shape[len(first)]):
        _each(to, source, asynchronous, _longer(first, i))


def _longer(first: tuple[Any, ...], index: Any) -> tuple[Any, ...]:
    return (*first, index)


def _begun(to: Any, source: Any, at: tuple[Any, ...]) -> bool:
    """Begin to copy one element by as few asynchronous copies as alignment allows; whether it can be."""
    if absent(source, at) or absent(to, at):
        return False
    src, src_at, src_aligned, held = _access(source, at)
    dst, dst_at, dst_aligned, kept = _access(to, at)
    itemsize = to.dtype.itemsize
    width = to.lanes * itemsize
    size = next((n for n in _AT_ONCE if width % n == src_aligned % n == dst_aligned % n == 0), 0)
    cut = held is not True
    if (
        not size
        or kept is not True
        or (cut and (source.default != 0 or size < width or not _runs_on(source)))
    ):
        return False
    count = None
    if cut:
        lanes = held.cast(Int).reduce_add() if to.lanes > 1 else held.cast(Int)
        count = lanes * itemsize
    for n in range(0, width, size):
        step = n // itemsize
        async_copy(src + (src_at + step), dst + (dst_at + step), size=size, src_size=count)
    return True


def _access(tensor: Any, at: tuple[Any, ...]) -> tuple[Any, Any, int, Any]:
    """Memory, offset, known alignment of an element, 1 where it lies apart, and which lanes are there."""
    offset, alignment = tensor.place_in(tensor.layout, at)
    pointer, offset, element, alignment, there = tensor.access(at, offset, tensor.element, alignment)
    if not tensor.dtype.is_number or not (element is None or element.contiguous):
        alignment = 1
    elif element is not None:
        alignment = max(alignment, element.alignment)
    return pointer, offset, alignment, there


def _runs_on(source: Any) -> bool:
    """Whether what is there of a vector are its first lanes."""
    return source.element is None or sum(size > 1 for size, _ in source.element.spread) <= 1


def check_space(name: str, what: str, tensor: Any, *spaces: AddressSpace) -> None:
    """Refuse a tensor in other memory than a copy is named after.

    Raises:
        CompileError: it lies elsewhere.
    """
    if not hasattr(tensor, "layout") or tensor.address_space not in spaces:
        found = tensor.address_space.name if hasattr(tensor, "layout") else kind_of(tensor)
        wanted = " or ".join(space.name for space in spaces)
        refuse(
            "address-space",
            f"{what} of {name}() is to be a tensor in {wanted} memory, not {found}",
            hint=f"the order is {name}(dst, src)",
        )
