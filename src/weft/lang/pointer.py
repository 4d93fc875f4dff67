"""Pointers: addresses of elements of one type, in one address space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I1, I64, AddressSpace, pointer
from weft.compiler.source.definition import MISSING
from weft.diagnostics import INDEX, OBJECT, VALUE, refuse
from weft.dtype import DType, DTypeLike, as_dtype
from weft.lang import arith
from weft.lang.elaboration import Elaboration, current
from weft.lang.elements import element_type, memory_type
from weft.lang.generic import written
from weft.lang.hints import kind_of
from weft.lang.number import Number, NumberLike, number_class, to_type, type_name
from weft.lang.places import Place, check_index, index_value, stepped
from weft.lang.spec import PointerSpec, Spec

if TYPE_CHECKING:
    from weft.lang import memory_types
    from weft.lang.scalars import Bool, Int

__all__ = ["AddressSpace", "Pointer", "pointer_at"]

T = TypeVar("T")
N = TypeVar("N")


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

    ``p - q`` counts the elements between two addresses, and ``p < q`` compares them.

    Indices and ``n`` count elements. A kernel's parameter ``Pointer[Float32]`` takes a buffer of Float32.
    No bound is checked.

    The elements of ``Pointer[S]`` for a ``@struct`` S lie as C lays out such a struct: ``p[i].x`` reads,
    ``p[i].x = v`` writes that field, ``p[i] = S(...)`` all; ``q = p[i]`` is a copy. ``Pointer(to=p[i].x)`` is
    the address of that field. ``Int(p)`` is the address as a number.

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

    __slots__ = ("__weft_count__", "dtype", "space", "value")
    __weft_element__: Any = staticmethod(element_type)
    if TYPE_CHECKING:  # a struct's field takes what a parameter takes

        def __get__(self, instance: object, owner: Any = None, /) -> Self: ...
        def __set__(self, instance: object, value: memory_types.Pointer[T], /) -> None: ...
    else:  # as Mojo's, which names an origin too, and a space

        def __class_getitem__(cls, item):
            if isinstance(item, tuple):
                hint = "write Pointer[Float32], say; where it points, weft finds out"
                refuse("annotation", "a Pointer's type names its elements alone", hint)
            return super().__class_getitem__(item)

    if TYPE_CHECKING:

        def __init__(self, *, to: T) -> None: ...

    else:

        def __init__(self, *given, **named):
            if given and hasattr(given[0], "__mro__"):
                refuse(
                    "annotation",
                    "a Pointer's type is written in brackets",
                    hint="write Pointer[Float32], say",
                )
            refuse(
                "address",
                "this is a value, which has no address",
                notes=(
                    "elements of memory and fields of them have one: Pointer(to=p[i].x)",
                    "an element that a tile at the edge may not have: tile.address(i), if i < tile.dim(0)",
                ),
                hint="put it into memory: stack_allocation(T, 1)",
            )

    def __weft_spec__(self) -> Spec:
        return PointerSpec(self.dtype, self.space)

    def __weft_leaves__(self) -> list[Value]:
        return [self.value]

    @property
    def element_type(self) -> type[T]:
        """What an element is: ``Float32``, a struct; ``x.element_type(0)`` makes one."""
        return written(self.dtype)

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
        return pointer_at(self._at(elements, current()), self.dtype, self.space)

    @overload
    def __sub__(self, elements: Pointer[T]) -> Int: ...

    @overload
    def __sub__(self, elements: NumberLike) -> Pointer[T]: ...

    def __sub__(self, elements: Any) -> Any:
        if not isinstance(elements, Pointer):
            moved: Any = self + -elements
            return moved
        b = current()
        first, other = self._addresses("-", cast("Pointer[Any]", elements))
        bytes_between = number_class(DType.int64).of(b.value("arith.subi", (first, other), I64))
        return cast("Any", bytes_between // self.dtype.itemsize)

    def _addresses(self, op: str, other: Pointer[Any]) -> tuple[Value, Value]:
        """This address and another's as numbers; of one type of elements, in one space."""
        if other.dtype is not self.dtype or other.space != self.space:
            mine, its = self.__weft_spec__().describe(), other.__weft_spec__().describe()
            where = (
                f" of AddressSpace.{self.address_space.name}",
                f" of AddressSpace.{other.address_space.name}",
            )
            where = where if other.space != self.space else ("", "")
            hint = "bring both to one type, by bitcast or address_space_cast"
            refuse("operand", f"`{op}` cannot combine {mine}{where[0]} and {its}{where[1]}", hint=hint)
        return self.__weft_address__(), other.__weft_address__()

    def _compare(self, op: str, predicate: str, other: object) -> Any:
        if not isinstance(other, Pointer):
            refuse(
                "operand",
                f"`{op}` cannot compare a Pointer with {kind_of(other)}",
                hint="compare elements, p[i] == q[i], or indices; a pointer is never None",
            )
        addresses = self._addresses(op, cast("Pointer[Any]", other))
        value = current().value("arith.cmpi", addresses, I1, {"predicate": predicate})
        return number_class(DType.bool).of(value)

    def __eq__(self, other: object) -> Any:
        return self._compare("==", "eq", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", "ne", other)

    def __lt__(self, other: Pointer[T]) -> Bool:
        return self._compare("<", "ult", other)

    def __le__(self, other: Pointer[T]) -> Bool:
        return self._compare("<=", "ule", other)

    def __gt__(self, other: Pointer[T]) -> Bool:
        return self._compare(">", "ugt", other)

    def __ge__(self, other: Pointer[T]) -> Bool:
        return self._compare(">=", "uge", other)

    __hash__: Any = object.__hash__

    def __weft_address__(self) -> Value:
        return current().value("llvm.ptrtoint", (self.value,), I64)

    def _at(self, index: object, b: Elaboration) -> Value:
        return stepped(b, self.value, index, self.dtype)

    def _plain(self, *given: object) -> None:
        """Refuse options of an access that only numbers have."""
        if any(given):
            shown = self.__weft_spec__().describe()
            refuse("element", f"an access of {shown} has no options", hint="write p[i]")

    def __weft_place__(self, index: object) -> Place:
        check_index(index, 1, self.__weft_count__)
        return Place(self._at(index, current()), self.dtype, self.space, self.dtype.alignment)

    def __array_function__(self, *_: object) -> object:
        return NotImplemented  # NumPy computes with arrays, not with memory of a device

    def __getitem__(self, index: NumberLike) -> T:
        return self.load(index)

    def __setitem__(self, index: NumberLike, value: T | NumberLike) -> None:
        if isinstance(value, Number) and value.lanes != 1 and self.dtype.is_number:
            refuse(
                "lanes",
                f"an element is one {type_name(self.dtype)}, not {type(value).__name__}",
                hint=f"write {OBJECT}.store({INDEX}, {VALUE}) for {value.lanes} elements, or take a lane",
            )
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
        if not self.dtype.is_number:
            self._plain(width != 1, alignment, invariant, volatile)
            return self.__weft_place__(index).load()
        check_index(index, width, self.__weft_count__)
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

    @overload
    def store(
        self,
        value: T | NumberLike,
        /,
        *,
        alignment: int = 0,
        volatile: bool = False,
        mask: Number | bool | None = None,
    ) -> None: ...

    @overload
    def store(
        self,
        index: NumberLike,
        value: T | NumberLike,
        *,
        alignment: int = 0,
        volatile: bool = False,
        mask: Number | bool | None = None,
    ) -> None: ...

    def store(
        self,
        index: Any,
        value: Any = MISSING,
        *,
        alignment: int = 0,
        volatile: bool = False,
        mask: Number | bool | None = None,
    ) -> None:
        """Write the lanes of ``value`` from ``index`` on; ``p.store(value)`` writes from ``p`` itself on.

        Args:
            index: where the first lane goes.
            value: a number of ``T``, or a ``SIMD`` of them.
            alignment: in bytes, what the address is a multiple of (default: an element's size).
            volatile: the access is made as written, never left out or merged with another.
            mask: a Bool of as many lanes: only those where it holds are written.
        """
        if value is MISSING:
            index, value = 0, index
        if alignment:
            _power_of_two("alignment", alignment)
        if mask is not None:
            from weft.lang.gathers import masked_store

            masked_store(self, index, value, mask, alignment=alignment, volatile=volatile)
            return
        b = current()
        lanes = value.lanes if isinstance(value, Number) else 1
        if not self.dtype.is_number:
            self._plain(alignment, volatile)
            self.__weft_place__(index).store(value)
            return
        check_index(index, lanes, self.__weft_count__)
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

    @staticmethod
    def from_address(address: NumberLike, to: type[N]) -> Pointer[N]:
        """The memory at an address, of elements of ``to``: a number type, a struct, ``Pointer[...]``."""
        b = current()
        value = b.value("llvm.inttoptr", (index_value(address, b),), pointer(AddressSpace.GLOBAL))
        return pointer_at(value, as_dtype(cast(Any, to)), AddressSpace.GLOBAL)

    @overload
    def bitcast(self, to: type[N]) -> Pointer[N]: ...

    @overload
    def bitcast(self, to: DTypeLike) -> Pointer[Any]: ...

    def bitcast(self, to: Any) -> Pointer[Any]:
        """The same address, of elements of another type: a number type, a struct, ``Pointer[...]``."""
        return pointer_at(self.value, as_dtype(to), self.space)

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
        value = b.value("llvm.addrspacecast", (self.value,), pointer(space))
        return pointer_at(value, self.dtype, space, self.__weft_count__)


def pointer_at(value: Value, dtype: DType, space: int, count: int | None = None) -> Pointer[Any]:
    """The pointer of these parts; ``count``: how many elements there are, where that is known."""
    made = cast("Pointer[Any]", object.__new__(Pointer))
    made.value, made.dtype, made.space, made.__weft_count__ = value, dtype, space, count
    return made
