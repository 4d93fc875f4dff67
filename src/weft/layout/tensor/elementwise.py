"""Expressions over the elements of tensors: ``a + b``, ``exp(t)``, ``t *= 2``, sums along a mode."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from weft.diagnostics import a_, refuse
from weft.lang.elements import elements_of, numbers_of
from weft.lang.number import Number, NumberLike
from weft.lang.operators import ARITHMETIC, SIGNS, define_operators, function_of
from weft.lang.pointer import AddressSpace
from weft.layout.algebra.layout import Layout
from weft.layout.tensor.edge import whole_read, whole_write
from weft.layout.tensor.fragment import fragment
from weft.layout.tensor.in_place import InPlace
from weft.layout.tensor.loops import copy_all, depth_for, fill_all, nested

if TYPE_CHECKING:
    from weft.layout.tensor.tensor import LayoutTensor

T = TypeVar("T")
Operand = Any
"""A number, a vector of as many lanes, or a tensor whose extents are the same or 1."""
_MOST = 1024
"""Of how many elements expressions are written out; more fit in no thread's registers."""
_FEW = 16
"""So many a thread may well compute by itself, all of them."""
_of: Any = operator  # some of its functions have no types


class Elementwise(Generic[T]):
    """What is done with all elements of a tensor by one thread; LayoutTensor has it.

    Tensors in a thread's own memory (fragments: ``t.local()``, ``stack_allocation``) go with numbers and with
    each other in expressions: ``+ - * / // % **`` and functions of ``weft.math`` give a new fragment, in
    registers where all indices are known, with extents broadcast as NumPy does; ``t *= 2`` writes to ``t``
    itself. Extents are static, up to 1024 elements. What all threads share is not computed with as a whole.
    """

    __slots__ = ()

    def fill(self, value: T | NumberLike) -> LayoutTensor[T]:
        """Write ``value`` to every element; gives the tensor. In a kernel: by this thread alone."""
        tensor = _tensor(self)
        if tensor.in_kernel:
            fill_all(tensor, value)
        else:
            given = nested(value) if depth_for(tensor, value) > 1 else value
            tensor.numpy()[...] = elements_of(tensor.dtype, given)
        return tensor

    def copy_from(self, other: LayoutTensor[T]) -> None:
        """Write every element of ``other``, which has the same shape, to its place here.

        Where one of them is ``masked``, what exists in both.
        In a kernel, this thread alone copies; give each thread its part with ``distribute``, or let all
        threads copy together: ``copy_dram_to_sram`` and its kin.
        """
        tensor = _tensor(self)
        if tensor.in_kernel:
            copy_all(tensor, other)
        else:
            given = other.numpy()
            if other.dtype is not tensor.dtype:
                given = elements_of(tensor.dtype, numbers_of(other.dtype, given))
            tensor.numpy()[...] = given

    def copy_from_async(self, other: LayoutTensor[T]) -> None:
        """Begin to write every element of ``other`` to its place here: from the device's to shared memory.

        By this thread alone; as ``weft.layout.copy_dram_to_sram_async`` does by all. What ``other``, masked,
        has not becomes its default. ``async_copy_wait_all()`` of ``weft.gpu.memory`` waits for it.
        """
        from weft.layout.tensor.copies import check_space, copied

        check_space("copy_from_async", "the tensor", self, AddressSpace.SHARED)
        check_space("copy_from_async", "the source", other, AddressSpace.GLOBAL)
        copied(self, other, asynchronous=True)

    def local(self) -> LayoutTensor[T]:
        """A copy in memory of this thread's own, for expressions; of a masked part, with its default.

        Raises:
            CompileError: an extent is known at run time only, or there are more than 1024 elements.
        """
        tensor = _tensor(self)
        shape = _shape(tensor, own=False)
        return _fragment(shape, [whole_read(tensor, at) for at in _places(shape)])

    def map(self, function: Callable[[T], Any]) -> LayoutTensor[Any]:
        """What a function gives for each element, as a tensor of this thread's own.

        Example:
            >>> from weft import Float32, func
            >>> from weft.layout import LayoutTensor
            >>> import numpy as np
            >>> @func
            ... def positive(t: LayoutTensor[Float32]) -> Float32:
            ...     return t.local().map(lambda x: x if x > 0.0 else -x).sum()
            >>> positive(np.array([1, -2, 3], np.float32))
            6.0
        """
        return combined(function, self)

    def reduce(
        self, function: Callable[[Any, Any], Any], axis: int | None = None, keepdims: bool = False
    ) -> Any:
        """The elements combined by a function of two, in their order: all, or along a mode, which then goes.

        Args:
            function: of two elements: ``lambda a, b: a * b``.
            axis: the mode, from the end where below 0. By default all modes: the result is an element.
            keepdims: the mode stays, with extent 1, so that the result goes with the tensor in expressions.

        Raises:
            CompileError: an extent is known at run time only or 0, or there is no such mode.
        """
        tensor = _tensor(self)
        shape = _shape(tensor)
        if axis is None:
            return _folded(function, tensor, list(_places(shape)))
        if not -len(shape) <= axis < len(shape):
            refuse(
                "rank", f"axis={axis} is no mode of {tensor.layout}", f"its modes are 0 to {len(shape) - 1}"
            )
        axis %= len(shape)
        left = (*shape[:axis], *shape[axis + 1 :])
        along = [[(*at[:axis], n, *at[axis:]) for n in range(shape[axis])] for at in _places(left)]
        shape = (*shape[:axis], 1, *shape[axis + 1 :]) if keepdims else left
        return _fragment(shape, [_folded(function, tensor, places) for places in along])

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The sum of all elements, or along a mode, as ``reduce`` has it; in the elements' type."""
        return self.reduce(operator.add, axis, keepdims)

    def max(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The greatest element, or of each row along a mode; as ``weft.math.max`` has it."""
        from weft.math import max

        return self.reduce(max, axis, keepdims)

    def min(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The least element, or of each row along a mode; as ``weft.math.min`` has it."""
        from weft.math import min

        return self.reduce(min, axis, keepdims)

    def __weft_elements__(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """A function of numbers, some of which are tensors."""
        return combined(function, *operands)

    def __weft_augmented__(self, value: LayoutTensor[Any]) -> Any:
        """``t += x`` once ``t + x`` is known: it stays where it is."""
        tensor = _tensor(self)
        if value.layout.shape != tensor.layout.shape:
            found = f"{value.layout.shape} elements are not written to {tensor.layout.shape}"
            refuse("shape", found, "an operand's extents are those of the tensor that is changed, or 1")
        for at in _places(_shape(tensor)):
            whole_write(tensor, at, value[at])
        return self

    def __weft_in_place__(self) -> Any:
        """What ``t[i] += x`` changes where this is ``t[i]``, in memory of all threads."""
        return self if _is_own(self) else InPlace(self)

    def __neg__(self) -> LayoutTensor[T]:
        return combined(_of.neg, self)

    def __abs__(self) -> LayoutTensor[T]:
        return combined(_of.abs, self)

    if TYPE_CHECKING:

        def __add__(self, other: Operand) -> LayoutTensor[T]: ...
        def __sub__(self, other: Operand) -> LayoutTensor[T]: ...
        def __mul__(self, other: Operand) -> LayoutTensor[T]: ...
        def __truediv__(self, other: Operand) -> LayoutTensor[T]: ...
        def __floordiv__(self, other: Operand) -> LayoutTensor[T]: ...
        def __mod__(self, other: Operand) -> LayoutTensor[T]: ...
        def __pow__(self, other: Operand) -> LayoutTensor[T]: ...
        def __radd__(self, other: Operand) -> LayoutTensor[T]: ...
        def __rsub__(self, other: Operand) -> LayoutTensor[T]: ...
        def __rmul__(self, other: Operand) -> LayoutTensor[T]: ...
        def __rtruediv__(self, other: Operand) -> LayoutTensor[T]: ...
        def __rfloordiv__(self, other: Operand) -> LayoutTensor[T]: ...
        def __rmod__(self, other: Operand) -> LayoutTensor[T]: ...
        def __rpow__(self, other: Operand) -> LayoutTensor[T]: ...


def _operator(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    function, sign = function_of(name), SIGNS[name]
    if swapped:
        return lambda self, other: _binary(sign, function, other, self)
    return lambda self, other: _binary(sign, function, self, other)


define_operators(Elementwise, ARITHMETIC, _operator)


def _binary(sign: str, function: Callable[..., Any], left: Operand, right: Operand) -> Any:
    """What an operator gives; not of tensors in memory of all threads, which another class may know."""
    sides = (left, right)
    shared: list[Any] = [side for side in sides if isinstance(side, Elementwise) and not _is_own(side)]
    if not shared:
        return combined(function, left, right)
    if all(isinstance(side, (Elementwise, Number, int, float)) for side in sides):
        kinds = [a_("LayoutTensor" if isinstance(s, Elementwise) else type(s).__name__) for s in sides]
        refuse("operand", f"`{sign}` cannot combine {kinds[0]} with {kinds[1]}", hint=_own_part(shared[0]))
    return NotImplemented


def _own_part(tensor: Any) -> str:
    """How one thread computes with a tensor in memory of all."""
    layout: Layout = tensor.layout
    at = ", ".join(f"i{n}" if layout.rank > 3 else "ijk"[n] for n in range(layout.rank))
    own = f"t.tile[{', '.join('2' * layout.rank)}]({at}).local()"
    if layout.is_static_shape and prod(layout.static_shape) <= _FEW:
        own = "t.local()"
    return f"compute element by element, t[{at}], or with a copy of a thread's own: {own}"


def combined(function: Callable[..., Any], *operands: Any) -> Any:
    """The tensor of what a function gives for the operands' elements.

    Raises:
        CompileError: the extents differ and are not 1, or are not static.
    """
    shapes = [_shape(operand) for operand in operands if isinstance(operand, Elementwise)]
    rank = max(len(shape) for shape in shapes)
    wide = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    shape = tuple([next((n for n in along if n != 1), 1) for along in zip(*wide, strict=True)])
    if any(n not in (1, extent) for along in wide for n, extent in zip(along, shape, strict=True)):
        shown = " and ".join(" x ".join(map(str, s)) for s in shapes)
        refuse("shape", f"tensors of {shown} elements have no common shape", "extents are the same, or 1")
    values = [function(*[_element(operand, at) for operand in operands]) for at in _places(shape)]
    if values and isinstance(values[0], tuple):  # of sincos and its like
        return tuple([_fragment(shape, each) for each in zip(*values, strict=True)])
    return _fragment(shape, values)


def _tensor(tensor: Elementwise[T]) -> LayoutTensor[T]:
    return cast("LayoutTensor[T]", tensor)


def _is_own(tensor: Any) -> bool:
    return tensor.address_space == AddressSpace.LOCAL


def _shape(tensor: Any, *, own: bool = True) -> tuple[int, ...]:
    """The extents, of a masked tensor those of the whole.

    Raises:
        CompileError: the tensor is not this thread's own, has too many elements, or they are counted at
            run time.
    """
    if own and not _is_own(tensor):
        refuse(
            "operand",
            "an expression of a whole tensor is of a thread's own memory; here each thread would compute all "
            f"of a LayoutTensor in {tensor.address_space.name} memory",
            _own_part(tensor),
        )
    layout: Layout = tensor.layout
    if not layout.is_static_shape or prod(layout.static_shape) > _MOST:
        found = "is known at run time only" if not layout.is_static_shape else f"has {layout.size()} elements"
        refuse(
            "tensor-size",
            f"an expression of a whole tensor is written out element by element, and {layout} {found}",
            f"take a tile or a thread's part of at most {_MOST} elements, or loop over it",
        )
    return layout.static_shape


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, shape)))


def _element(operand: Any, at: tuple[int, ...]) -> Any:
    if not isinstance(operand, Elementwise):
        return operand
    tensor: LayoutTensor[Any] = cast(Any, operand)
    extents = tensor.layout.static_shape
    return tensor[
        tuple([0 if n == 1 else i for n, i in zip(extents, at[len(at) - len(extents) :], strict=True)])
    ]


def _folded(function: Callable[[Any, Any], Any], tensor: LayoutTensor[Any], places: Sequence[Any]) -> Any:
    if not places:
        refuse("tensor-size", f"{tensor.layout} has no elements to combine", "give it at least one")
    total = whole_read(tensor, places[0])
    for at in places[1:]:
        total = function(total, whole_read(tensor, at))
    return total


def _fragment(shape: tuple[int, ...], values: Sequence[Any]) -> LayoutTensor[Any]:
    """A tensor of this thread's own, of values row by row."""
    first: Any = values[0] if values else None
    if not isinstance(first, Number):
        refuse("element", f"{first!r} is no number of a kernel", "give a number of the elements' types")
    made = fragment(shape, first.dtype, first.lanes)
    for at, value in zip(_places(shape), values, strict=True):
        made[at] = value
    return made
