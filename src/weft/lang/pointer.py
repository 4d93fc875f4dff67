"""Pointers: addresses of elements of one type, in one address space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I64, AddressSpace, Type, of_dtype, pointer
from weft.diagnostics import INDEX, OBJECT, refuse
from weft.dtype import DType, DTypeLike, as_dtype
from weft.lang import arith
from weft.lang.elaboration import Elaboration, current
from weft.lang.elements import element_of, load_element, moved, placed, store_element
from weft.lang.hints import kind_of
from weft.lang.number import Number, NumberLike, number_class, to_type, value_of
from weft.lang.python_number import python_number
from weft.lang.spec import PointerSpec, Spec

if TYPE_CHECKING:
    from weft.lang.decorators import MemoryLike

__all__ = ["AddressSpace", "Pointer", "index_value", "memory_type"]

T = TypeVar("T")
N = TypeVar("N")


def memory_type(dtype: DType, lanes: int = 1) -> Type:
    """The type of elements in memory: Bool takes a byte there."""
    if dtype.kind == "bool":
        return of_dtype(DType.uint8, lanes)
    return of_dtype(dtype, lanes)


_LEAST, _GREATEST = DType.int64.least, DType.int64.greatest


def index_value(index: object, b: Elaboration) -> Value:
    """An index as a 64-bit IR value."""
    if isinstance(index, int):
        if not _LEAST <= index <= _GREATEST:
            refuse("literal", f"the index {index} does not fit Int", hint="count elements", part=index)
        return b.constant(index, I64)
    if isinstance(index, Number) and index.dtype.is_integer and index.lanes == 1:
        value = value_of(index, b)
        if value.type is I64:
            return value
        return arith.cast(b, value, index.dtype, DType.int64)
    if (known := python_number(index)) is not index:
        return index_value(known, b)
    found = INDEX if hasattr(index, "x") and hasattr(index, "y") else kind_of(index)
    refuse("index", f"an index must be an integer, not {found}", hint=_hint(index), part=INDEX)


def _hint(index: object) -> str:
    if isinstance(index, Number):
        if index.lanes > 1:
            return "index lane by lane, or load neighbours: p.load(i, width=4)"
        return f"convert it: Int({INDEX})" if index.dtype.is_float else "write 1 if it holds and 0 if not"
    if isinstance(index, float):
        return f"write {int(index)}" if index == index else "write an integer"
    if isinstance(index, slice):
        return f"a pointer knows no ends: loop, or load neighbours by {OBJECT}.load(i, width=4)"
    if isinstance(index, tuple):
        return "a pointer has one index: write row * width + column, or take a LayoutTensor"
    if hasattr(index, "x") and hasattr(index, "y"):
        return f"write {INDEX}.x"
    return "write an integer"


def _power_of_two(what: str, value: object) -> None:
    if isinstance(value, Number):
        value = int(value)
    if not isinstance(value, int) or value < 1 or value & (value - 1):
        refuse(
            "alignment" if what == "alignment" else "simd",
            f"{what}={value!r} is not a power of two",
            hint=f"write {what}=4, say",
        )


class Pointer(Generic[T]):
    """The address of elements of ``T``; ``p[i]`` reads, ``p[i] = x`` writes, ``p + n`` moves.

    Indices and ``n`` count elements. A kernel's parameter ``Pointer[Float32]`` takes a buffer of Float32.
    No bound is checked.

    The elements of ``Pointer[S]`` for a ``@struct`` S lie as C lays out such a struct: ``p[i].x`` reads,
    ``p[i].x = v`` writes that field, ``p[i] = S(...)`` all. ``Int(p)`` is the address.

    Example:
        >>> from weft import Float32, Int, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> from weft.gpu.host import DeviceContext
        >>> @kernel
        ... def sums_of_four(x: Pointer[Float32], out: Pointer[Float32]):
        ...     row = x + 4 * global_idx.x
        ...     out[global_idx.x] = row.load(width=4).reduce_add()
        >>> ctx = DeviceContext(api="cpu")
        >>> x, out = ctx.enqueue_create_buffer(Float32, 8), ctx.enqueue_create_buffer(Float32, 2)
        >>> with x.map_to_host() as host:
        ...     host[:] = range(8)
        >>> ctx.enqueue_function(sums_of_four, x, out, grid_dim=1, block_dim=2)
        >>> with out.map_to_host() as host:
        ...     print(host)
        HostBuffer([6.0, 22.0])
    """

    __slots__ = ("_count", "dtype", "element", "space", "value")
    __weft_in_memory__ = True
    if TYPE_CHECKING:  # a struct's field takes what a parameter takes

        def __get__(self, instance: object, owner: Any = None, /) -> Self: ...
        def __set__(self, instance: object, value: Pointer[T] | MemoryLike, /) -> None: ...

    def __init__(
        self,
        value: Value,
        dtype: DTypeLike,
        space: int = AddressSpace.GENERIC,
        *,
        count: int | None = None,
        element: Any = None,
    ) -> None:
        self.value = value
        self.dtype = as_dtype(dtype)
        self.space = space
        self.element = element  # the annotation of what is no number: a struct, a pointer, a function
        self._count = count  # how many elements there are from here on, where that is known

    def __weft_spec__(self) -> Spec:
        return PointerSpec(self.dtype, self.space, self.element)

    def __weft_leaves__(self) -> list[Value]:
        return [self.value]

    @property
    def address_space(self) -> AddressSpace:
        """Where the memory lies."""
        return AddressSpace(self.space)

    __iter__ = None  # else Python would try p[0], p[1], ... without end

    def __repr__(self) -> str:
        return f"<{self.__weft_spec__().describe()} at run time>"

    def __add__(self, elements: NumberLike) -> Pointer[T]:
        if isinstance(elements, Pointer):
            hint = "move a pointer by a number of elements, or add the elements: p[i] + q[i]"
            refuse("operand", "`+` cannot combine a Pointer with a Pointer", hint=hint)
        b = current()
        return Pointer(self._at(elements, b), self.dtype, self.space, element=self.element)

    def __sub__(self, elements: NumberLike) -> Pointer[T]:
        if isinstance(elements, Pointer):
            hint = "compute with their indices instead"
            refuse("operand", "`-` cannot combine a Pointer with a Pointer", hint=hint)
        return self + (-elements)

    def __eq__(self, other: object) -> Any:
        refuse(
            "operand",
            f"`==` cannot compare a Pointer with {kind_of(other)}",
            hint="compare elements, p[i] == q[i], or indices; a pointer is never None",
        )

    __hash__ = object.__hash__

    def __weft_address__(self) -> Value:
        return current().value("llvm.ptrtoint", (self.value,), I64)

    def _at(self, index: object, b: Elaboration) -> Value:
        at, size = index_value(index, b), 1 if self.element is None else placed(self.element).size
        if size != 1:
            at = b.value("arith.muli", (at, b.constant(size, I64)), I64)
        attrs = {"elem_type": memory_type(self.dtype)}
        return b.value("llvm.getelementptr", (self.value, at), self.value.type, attrs)

    def _plain(self, what: str, *given: object) -> None:
        """Refuse options of an access that only numbers have."""
        if any(given):
            refuse(
                "element", f"{what} of {self.__weft_spec__().describe()} has no options", hint="write p[i]"
            )

    def _check(self, index: object, lanes: int) -> None:
        """Refuse an index known at compile time that lies outside of memory of a known size."""
        first = index.value if isinstance(index, Number) else python_number(index)
        if self._count is None or not isinstance(first, int) or 0 <= first <= self._count - lanes:
            return
        reach = f"index {first} is" if lanes == 1 else f"{lanes} elements from index {first} on are"
        hint = f"use an index from 0 to {self._count - lanes}" if lanes <= self._count else "take fewer lanes"
        refuse(
            "bounds",
            f"{reach} outside of this memory, which has {self._count} elements",
            hint=f"{hint}, or guard the access by a condition known at compile time",
        )

    def __getitem__(self, index: NumberLike) -> T:
        return self.load(index)

    def __setitem__(self, index: NumberLike, value: T | NumberLike) -> None:
        self.store(index, value)

    def load(
        self,
        index: NumberLike = 0,
        *,
        width: int = 1,
        alignment: int = 0,
        invariant: bool = False,
        volatile: bool = False,
        mask: Number | bool | None = None,
        default: T | NumberLike = 0,
    ) -> T:
        """``width`` elements from ``index`` on, as ``SIMD[T, width]``.

        Args:
            index: the first of them.
            width: how many: a power of two, known at compile time.
            alignment: in bytes, what the address is a multiple of (default: an element's size). Say
                the true one to get wide accesses: 16 for four Float32 from a multiple of four on.
            invariant: promises that the memory does not change while the kernel runs.
            volatile: the access is made as written, never left out or merged with another.
            mask: a Bool of as many lanes: memory is read only where it holds. A vector access where all
                lanes hold, else one for each.
            default: what the other lanes are.

        Example:
            >>> import numpy as np
            >>> from weft import Float32, Int, Pointer, func, iota
            >>> @func
            ... def sum_from(x: Pointer[Float32], start: Int, n: Int) -> Float32:
            ...     return x.load(start, width=4, mask=iota(Int, 4, start) < n).reduce_add()
            >>> sum_from(np.arange(6, dtype=np.float32), 4, 6)  # 4 + 5, and nothing behind them
            9.0
        """
        if width != 1:
            _power_of_two("width", width)
        if alignment:
            _power_of_two("alignment", alignment)
        if mask is not None:
            from weft.lang.gathers import masked_load

            options = {"alignment": alignment, "invariant": invariant, "volatile": volatile}
            return masked_load(self, index, width, mask, default, **options)
        b = current()
        self._check(index, width)
        if self.element is not None:
            self._plain("an access", width != 1, alignment, invariant, volatile)
            return load_element(b, self._at(index, b), placed(self.element))
        kind = memory_type(self.dtype, width)
        attrs = {
            "alignment": alignment or self.dtype.itemsize,
            "invariant": invariant,
            "volatile": volatile,
        }
        value = b.value("llvm.load", (self._at(index, b),), kind, attrs)
        if self.dtype.kind == "bool":
            value = arith.cast(b, value, DType.uint8, DType.bool)
        return number_class(self.dtype, width).of(value)  # pyright: ignore[reportReturnType]

    def store(
        self,
        index: NumberLike,
        value: T | NumberLike,
        *,
        alignment: int = 0,
        volatile: bool = False,
        mask: Number | bool | None = None,
    ) -> None:
        """Write the lanes of ``value`` from ``index`` on.

        Args:
            index: where the first lane goes.
            value: a number of ``T``, or a ``SIMD`` of them.
            alignment: in bytes, what the address is a multiple of (default: an element's size).
            volatile: the access is made as written, never left out or merged with another.
            mask: a Bool of as many lanes: only those where it holds are written.
        """
        if alignment:
            _power_of_two("alignment", alignment)
        if mask is not None:
            from weft.lang.gathers import masked_store

            masked_store(self, index, value, mask, alignment=alignment, volatile=volatile)
            return
        b = current()
        lanes = value.lanes if isinstance(value, Number) else 1
        self._check(index, lanes)
        if self.element is not None:
            self._plain("an access", alignment, volatile)
            store_element(b, self._at(index, b), placed(self.element), value)
            return
        data = to_type(value, number_class(self.dtype, lanes), b)
        if self.dtype.kind == "bool":
            data = arith.cast(b, data, DType.bool, DType.uint8)
        attrs = {"alignment": alignment or self.dtype.itemsize, "volatile": volatile}
        b.emit("llvm.store", (self._at(index, b), data), (), attrs)

    def gather(self, offsets: NumberLike, *, mask: Number | bool = True, default: T | NumberLike = 0) -> T:
        """``p[offsets[n]]`` in lane ``n``, read only where the mask holds; the other lanes are ``default``.

        Example:
            >>> import numpy as np
            >>> from weft import SIMD, Float32, Int, Pointer, func
            >>> @func
            ... def some(x: Pointer[Float32], at: SIMD[Int, 4]) -> SIMD[Float32, 4]:
            ...     return x.gather(at, mask=at >= 0, default=-1)
            >>> some(np.arange(10, 20, dtype=np.float32), (7, 0, -1, 7))
            (17.0, 10.0, -1.0, 17.0)
        """
        from weft.lang.gathers import gather

        return gather(self, offsets, mask, default)

    def scatter(self, offsets: NumberLike, value: T | NumberLike, *, mask: Number | bool = True) -> None:
        """``p[offsets[n]] = value[n]`` for each lane where the mask holds; of equal offsets, the last."""
        from weft.lang.gathers import scatter

        scatter(self, offsets, value, mask)

    def strided_load(self, stride: NumberLike, *, width: int) -> T:
        """``p[0], p[stride], p[2 * stride], ...`` as ``SIMD[T, width]``."""
        from weft.lang.gathers import steps

        return self.gather(steps(stride, width))

    def strided_store(self, value: T | NumberLike, stride: NumberLike) -> None:
        """Write the lanes of ``value`` to ``p[0], p[stride], p[2 * stride], ...``."""
        from weft.lang.gathers import steps

        self.scatter(steps(stride, value.lanes if isinstance(value, Number) else 1), value)

    def __weft_put__(self, index: NumberLike, path: tuple[str, ...], value: object) -> None:
        """``p[index].a.b = value``: that field alone is written."""
        b, at, part = current(), self._at(index, current()), placed(self.element)
        for name in path:
            offset, part = part.field(name)
            at = moved(b, at, offset)
        store_element(b, at, part, value)

    @staticmethod
    def from_address(address: NumberLike, to: type[N]) -> Pointer[N]:
        """The memory at an address, of elements of ``to``: a number type, a struct, ``Pointer[...]``."""
        b = current()
        dtype, element = element_of(to)
        value = b.value("llvm.inttoptr", (index_value(address, b),), pointer(AddressSpace.GLOBAL))
        return Pointer(value, dtype, AddressSpace.GLOBAL, element=element)

    @overload
    def bitcast(self, to: type[N]) -> Pointer[N]: ...

    @overload
    def bitcast(self, to: DTypeLike) -> Pointer[Any]: ...

    def bitcast(self, to: Any) -> Pointer[Any]:
        """The same address, of elements of another type: a number type, a struct, ``Pointer[...]``."""
        dtype, element = element_of(to)
        return Pointer(self.value, dtype, self.space, element=element)

    def address_space_cast(self, space: AddressSpace) -> Pointer[T]:
        """The same memory addressed through another space (generic, mostly); not checked."""
        if space == self.space:
            return self
        if space not in list(AddressSpace):
            known = ", ".join(f"AddressSpace.{s.name}" for s in AddressSpace)
            refuse("address-space", f"there is no address space {space!r}", hint=f"write one of {known}")
        b = current()
        if space not in b.target.spaces:
            refuse("address-space", f"{b.target.name} has no memory of AddressSpace.{space.name}")
        return Pointer(
            b.value("llvm.addrspacecast", (self.value,), pointer(space)),
            self.dtype,
            space,
            element=self.element,
        )
