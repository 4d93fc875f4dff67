"""Tensors: a layout over memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import gcd
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar, cast, overload

from weft.diagnostics import refuse
from weft.diagnostics.instead import instead
from weft.dtype import DType
from weft.lang.accept import Accepted, Mismatch, array_hint, describe, element_dtype, wanted_element
from weft.lang.elaboration import note_index
from weft.lang.elements import elements_of, numbers_of
from weft.lang.generic import written
from weft.lang.number import NumberLike, number_class, type_name
from weft.lang.pointer import AddressSpace, Pointer
from weft.lang.scalars import Int
from weft.lang.spec import Spec, StaticSpec, leaves_of
from weft.layout.algebra.int_tuple import map_leaves, product
from weft.layout.algebra.layout import Layout, marked
from weft.layout.algebra.swizzle import ComposedLayout, Swizzle
from weft.layout.algebra.values import is_static
from weft.layout.tensor.access import Element, Swizzled, coordinate, index_parts, permuted, place, run_of
from weft.layout.tensor.compared import refuse_wholes
from weft.layout.tensor.edge import Edges, inside, read_inside, write_inside
from weft.layout.tensor.elementwise import Elementwise
from weft.layout.tensor.host import array, check_storage, host_memory, text
from weft.layout.tensor.instead import OF_TENSORS
from weft.layout.tensor.loops import depth_for, update_all
from weft.layout.tensor.origin import Origin, part_of
from weft.layout.tensor.parts import Parts
from weft.layout.tensor.slice import is_slice, sliced, taken_by
from weft.layout.tensor.spec import TensorSpec, run_time_leaves

if TYPE_CHECKING:
    import numpy.typing as npt

    from weft.lang import memory_types, scalars
    from weft.layout.tensor import element_or_part as parts  # pyright: ignore[reportMissingModuleSource]

T = TypeVar("T")
Index = NumberLike | tuple[NumberLike | tuple[NumberLike, ...], ...]
Part = NumberLike | slice | EllipsisType
Numbers = Iterable[NumberLike] | Iterable[Iterable[NumberLike]]
_ALIGNED = 16
"""Bytes to which kernels are specialised where a buffer's address allows; the widest access takes 16."""


@instead(OF_TENSORS)
class LayoutTensor(Elementwise[T], Parts[T]):
    """Elements of ``T`` in memory, found through a layout.

    On the host it views a buffer: ``buffer.tensor(Layout.row_major(h, w))``. As a kernel's parameter
    (``image: LayoutTensor[Float32]``) it takes memory and layout from its argument. A static layout is
    compiled in; of a ``.dynamic()`` one, extents and strides come at run time and one compiled kernel
    serves all sizes. In kernels, nothing that is known only at run time is checked, save in checked mode.

    Args:
        storage: a buffer, or in a kernel a Pointer to the first element.
        layout: where each element lies, in elements from the first; of a ``ComposedLayout`` the swizzle
            permutes where elements of this tensor and of its parts lie.
        alignment: in a kernel, to how many bytes the first element is promised to be aligned: 16 for vectors
            of 16 bytes. By default to its own size. Memory that weft gives brings its own.

    Raises:
        CompileError: the layout reaches outside of the buffer.

    >>> from weft import Float32, kernel
    >>> from weft.gpu import global_idx
    >>> from weft.gpu.host import DeviceContext
    >>> from weft.layout import Layout, LayoutTensor
    >>> @kernel
    ... def double(t: LayoutTensor[Float32]):
    ...     t[global_idx.y, global_idx.x] *= 2.0
    >>> ctx = DeviceContext(api="cpu")
    >>> buffer = ctx.enqueue_create_buffer(Float32, 6)
    >>> buffer.enqueue_fill(1.25)
    >>> ctx.enqueue_function(double, buffer.tensor(Layout.row_major(2, 3)), grid_dim=1, block_dim=(3, 2))
    >>> with buffer.map_to_host() as host:
    ...     print(host.tensor(Layout.row_major(6)))
    2.5 2.5 2.5 2.5 2.5 2.5
    """

    __slots__ = (
        "_accepted",
        "alignment",
        "default",
        "edges",
        "element",
        "layout",
        "origin",
        "storage",
        "swizzled",
        "taken",
    )
    if TYPE_CHECKING:  # a struct's field takes what a parameter takes

        def __get__(self, instance: object, owner: Any = None, /) -> Self: ...
        def __set__(self, instance: object, value: memory_types.LayoutTensor[T], /) -> None: ...

    if not TYPE_CHECKING:  # as Mojo's, which names layout and origin too

        def __class_getitem__(cls, item):
            if isinstance(item, tuple):
                hint = "write LayoutTensor[Float32], say; the argument brings its layout, and "
                hint += "stack_allocation(Float32, layout), from weft.memory, makes one"
                refuse("annotation", "a LayoutTensor's type names its elements alone", hint)
            return super().__class_getitem__(item)

    storage: Any
    """A buffer on the host, a Pointer in a kernel."""
    layout: Layout
    """Where the elements lie."""
    element: Element | None
    """What the elements of a vectorized tensor are."""
    alignment: int
    """To how many bytes the first element is known to be aligned."""
    edges: Edges | None
    """Of a tile that may reach past the edge, where its modes end (see ``masked``); else None."""
    default: int | float
    """What is read where such a tile has no element."""
    swizzled: Swizzled | None
    """How a swizzle permutes offsets; ``layout`` says where elements would lie without it."""
    origin: Origin | None
    """In a kernel, which part of which other tensor it is, where indices have named it."""
    taken: tuple[tuple[Any, Any], ...]
    """Of a part: by which indices it was taken, of how many; who uses what lies outside is told of."""

    def __init__(self, storage: Any, layout: Layout | ComposedLayout, *, alignment: int = 0) -> None:
        self.element, self.edges, self.default, self._accepted = None, None, 0, None
        self.swizzled, self.origin, self.taken = None, None, ()
        whole = layout
        if isinstance(layout, ComposedLayout):
            if not isinstance(storage, Pointer) and not is_static(layout.offset):
                refuse("tensor-layout", f"{layout!r} begins where is known at run time", "give an int")
            self.swizzled = Swizzled(layout.swizzle, coordinate(layout.offset))
            layout = layout.layout
        if not isinstance(layout, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
            refuse("tensor-layout", f"{layout!r} is no layout of a buffer", "write Layout.row_major(...)")
        self.storage, self.layout, self.alignment = storage, layout, 1
        pointer = self._pointer
        if pointer is not None:
            itemsize = pointer.dtype.itemsize
            self.alignment = alignment or itemsize
            if self.swizzled is not None:  # of where it would lie without the swizzle, as of all alignments
                start = self.swizzled.start
                self.alignment = gcd(self.alignment, itemsize * (start if is_static(start) else 1))
            if not layout.is_static or layout.runtime_shape or layout.runtime_stride:
                shape, stride = (map_leaves(coordinate, side) for side in (layout.shape, layout.stride))
                self.layout = Layout(shape, stride)
        else:
            check_storage(storage, layout, whole)

    @classmethod
    def of(
        cls,
        storage: Any,
        layout: Layout,
        alignment: int,
        element: Element | None = None,
        edges: Edges | None = None,
        default: float = 0,
        swizzled: Swizzled | None = None,
    ) -> LayoutTensor[T]:
        """The tensor of these parts, unchecked."""
        made: LayoutTensor[T] = object.__new__(cls)
        made.edges, made.default, made.swizzled = edges, default, swizzled
        made.storage, made.layout, made.alignment, made.element = storage, layout, alignment, element
        made._accepted, made.origin, made.taken = None, None, ()
        return made

    # -- the compiler's side --------------------------------------------------------------------
    def __weft_spec__(self) -> Spec:
        pointer = self._pointer
        if pointer is None:
            return StaticSpec(self)
        return self._spec(pointer.space, self.alignment)

    def _spec(self, space: int, alignment: int) -> TensorSpec:
        element = self.element
        vector = (None, 0, ())
        if element is not None:
            vector = element.layout.key(), element.alignment, element.spread
        edges = None
        if self.edges is not None:
            known = [e and (e.limit if is_static(e.limit) else None, e.step) for e in self.edges]
            edges = tuple(known)
        facts = self.dtype, space, alignment, self.layout.key()
        found = self.swizzled
        swizzle = found and (found.swizzle, found.start if is_static(found.start) else None)
        return TensorSpec(LayoutTensor, *facts, *vector, edges, self.default, swizzle)

    def __weft_leaves__(self) -> list[Any]:
        if self._pointer is None:
            return []
        values = run_time_leaves(self.layout)
        if self.element is not None:
            values += run_time_leaves(self.element.layout)
        values += [edge.limit for edge in self.edges or () if edge and not is_static(edge.limit)]
        if self.swizzled is not None and not is_static(self.swizzled.start):
            values.append(self.swizzled.start)
        return [leaf for part in [self._pointer, *values] for leaf in leaves_of(part)]

    def __weft_carried__(self) -> LayoutTensor[T]:
        """As a variable that control flow assigns holds it: another value may be aligned otherwise."""
        pointer, swizzled = self._pointer, self.swizzled
        if pointer is None or (self.alignment == pointer.dtype.itemsize and swizzled is None):
            return self
        if swizzled is not None:
            swizzled = Swizzled(swizzled.swizzle, Int(cast("Any", swizzled.start)))
        parts = self.element, self.edges, self.default, swizzled
        return self.of(pointer, self.layout, pointer.dtype.itemsize, *parts)

    @classmethod
    def __weft_accept__(cls, args: tuple[Any, ...], value: Any) -> Accepted:
        wanted = wanted_element(args, "LayoutTensor")
        allowed = "a LayoutTensor" if wanted is None else f"a LayoutTensor of {type_name(wanted)}"
        convert = getattr(value, "to_layout_tensor", None)
        if not isinstance(value, LayoutTensor) and convert is not None:
            value = convert()
        if not isinstance(value, LayoutTensor):
            name = "Float32" if wanted is None else type_name(wanted)
            hint = (
                "view it through a layout: buffer.tensor(Layout.row_major(...))"
                if hasattr(value, "tensor")
                else array_hint(value, wanted) or f"create one: Tensor({name}, (m, n), ctx)"
            )
            raise Mismatch(describe(value), allowed, hint)
        tensor = cast("LayoutTensor[Any]", value)
        if wanted is not None and tensor.dtype is not wanted:
            found = type_name(tensor.dtype)
            raise Mismatch(f"a LayoutTensor of {found}", allowed, f"annotate LayoutTensor[{found}]")
        if tensor._accepted is None:
            storage, layout = tensor.storage, tensor.layout
            alignment = _ALIGNED if storage.address % _ALIGNED == 0 else tensor.dtype.itemsize
            if tensor.element is None and tensor.edges is None and tensor.swizzled is None:
                marks = layout.runtime_shape, layout.runtime_stride
                spec, values = _of_plain(tensor.dtype, alignment, layout.shape, layout.stride, *marks)
            else:
                if tensor.swizzled is not None:
                    alignment = gcd(alignment, cast("int", tensor.swizzled.start) * tensor.dtype.itemsize)
                spec, values = tensor._spec(AddressSpace.GLOBAL, alignment), layout.arguments()
            tensor._accepted = spec, [storage, *values]
        return tensor._accepted

    @classmethod
    def __weft_spec_of_annotation__(cls, args: tuple[Any, ...], given: Any) -> Spec:
        layout = getattr(given, "layout", given)
        if not isinstance(layout, Layout):
            raise Mismatch(
                "no layout", "a LayoutTensor or its Layout", "say which, e.g. Layout.row_major(480, 640)"
            )
        dtype = element_dtype(args) or getattr(given, "dtype", None)
        if not isinstance(dtype, DType):
            raise Mismatch("no element type", "LayoutTensor[T]", "write e.g. LayoutTensor[Float32]")
        return TensorSpec(LayoutTensor, dtype, AddressSpace.GLOBAL, _ALIGNED, layout.key())

    # -- facts ----------------------------------------------------------------------------------
    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.storage.dtype

    @property
    def element_type(self) -> type[T]:
        """What an element is: ``Float32``, a struct; of a vectorized tensor ``SIMD[Float32, 4]``."""
        vector: Any = number_class(self.dtype, self.lanes) if self.dtype.is_number else None
        return written(self.dtype) if self.element is None else vector

    @property
    def rank(self) -> int:
        """The number of modes, and so of indices."""
        return self.layout.rank

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents, one for each mode: ints where static, Int where they come at run time.

        Those of a tile at the edge count what exists of it; ``t.layout.shape`` is the whole tile's.
        """
        return tuple([self.dim(mode) for mode in range(self.rank)])

    def dim(self, mode: int) -> Any:
        """The extent of one mode; of a tile at the edge, how much of it exists."""
        extent = product(self.layout[mode].shape)
        edge = self.edges[mode] if self.edges else None
        return edge.count(extent) if edge else extent

    def size(self) -> Any:
        """The number of elements (of a vectorized tensor: of vectors)."""
        return product(self.shape)

    @property
    def masked(self) -> bool:
        """Whether it is a tile of which less may exist than ``layout`` says, or a part of such a tile.

        ``dim``, ``shape`` and ``size`` then count what exists, 0 for a tile that lies outside, and a vector
        of which a part exists. All accesses keep to that: what does not exist is read as ``default``,
        and not written. ``address`` is not checked.
        """
        return self.edges is not None

    @property
    def lanes(self) -> int:
        """How many lanes an element has: 1, unless the tensor is vectorized."""
        return 1 if self.element is None else self.element.lanes

    @property
    def ptr(self) -> Pointer[T]:
        """The address of the first element; in kernels only."""
        pointer = self._pointer
        if pointer is None:
            refuse(
                "tensor-host",
                "the elements of this tensor are not addressed here: it views a buffer of the host program",
                "pass the tensor to the kernel as an argument",
            )
        return pointer if self.swizzled is None else pointer + self.swizzled(0)

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle that permutes where elements lie, of memory with a ``ComposedLayout``; else None."""
        return self.swizzled and self.swizzled.swizzle

    @property
    def in_kernel(self) -> bool:
        """Whether it is memory that a kernel addresses, not a buffer of the host program."""
        return self._pointer is not None

    @property
    def _pointer(self) -> Pointer[T] | None:
        """The address of the first element, of swizzled memory its start; None on the host."""
        storage = self.storage
        return cast("Pointer[T]", storage) if isinstance(storage, Pointer) else None

    @property
    def address_space(self) -> AddressSpace:
        """Where the memory lies."""
        return self.ptr.address_space

    def __repr__(self) -> str:
        where = "at run time" if self._pointer is not None else f"over {self.storage!r}"
        where = f"masked, {where}" if self.masked else where
        where = f"{self.swizzle}, {where}" if self.swizzle else where
        return f"<LayoutTensor of {self.dtype}, layout {self.layout}, {where}>"

    def __str__(self) -> str:
        if self._pointer is not None or not hasattr(self.storage, "numpy"):
            return repr(self)
        return text(self.__getitem__, self.layout.static_shape)

    # -- elements -------------------------------------------------------------------------------
    def place_in(self, layout: Layout, index: Iterable[Any]) -> tuple[Any, int]:
        """Offset and alignment of a coordinate in ``layout``, from this tensor's first element."""
        host = self._pointer is None
        masked = self.edges is not None or layout is not self.layout  # a tile or a slice may be past the edge
        if layout is self.layout:
            self.note_use()
        return place(layout, tuple(index), self.alignment, self.dtype.itemsize, host=host, masked=masked)

    def moved(
        self,
        offset: Any,
        alignment: int,
        layout: Layout,
        edges: Edges | None = None,
        element: Element | None = None,
        default: float | None = None,
    ) -> LayoutTensor[T]:
        """The tensor whose first element lies ``offset`` elements further on."""
        storage, swizzled = self.storage, self.swizzled
        if swizzled is not None:
            swizzled = swizzled.moved(offset)
        elif not (is_static(offset) and offset == 0):
            if is_static(offset) and self._pointer is None:
                storage = storage.sub_buffer(offset, len(storage) - offset)
            else:
                storage = self.ptr + offset
        default = self.default if default is None else default
        made = self.of(storage, layout, alignment, element or self.element, edges, default, swizzled)
        made.taken = self.taken
        return made

    def note_use(self) -> None:
        """Note that elements of this part are used, where it is to be checked that it exists."""
        for index, extent in self.taken:
            note_index(index, extent)

    def access(
        self, index: Sequence[Any], offset: Any, element: Element | None, alignment: int
    ) -> tuple[Pointer[Any], Any, Element | None, int, Any]:
        """What ``read_inside`` and ``write_inside`` ask of the access at an index."""
        there = True if self.edges is None else inside(self.edges, self.layout, index, element)
        if self.swizzled is None:
            return self.ptr, offset, element, alignment, there
        found = permuted(self.swizzled, offset, element, alignment, self.dtype.itemsize)
        return self.storage, *found, there

    def __weft_loop__(self) -> tuple[Any, Callable[[Any], Any]]:
        return self.dim(0), self.__getitem__

    def __array_function__(self, *_: object) -> object:
        return NotImplemented  # NumPy computes with arrays, not with memory of a device

    def __iter__(self) -> Iterator[Any]:
        """The elements of one mode; of several the parts along the first: of a matrix its rows.

        ``for`` over it is a loop of the device in a kernel, and ``enumerate``, ``zip`` and ``reversed`` keep
        it one.

        Example:
            >>> import numpy as np
            >>> from weft import Float32, func
            >>> from weft.layout import LayoutTensor
            >>> @func
            ... def greatest_sum(t: LayoutTensor[Float32]) -> Float32:
            ...     best = -1.0
            ...     for row in t:
            ...         total = 0.0
            ...         for x in row:
            ...             total += x
            ...         best = max(best, total)
            ...     return best
            >>> greatest_sum(np.arange(6, dtype=np.float32).reshape(2, 3))
            12.0
        """
        length, at = self.__weft_loop__()
        return map(at, range(length))

    def __len__(self) -> int:
        """The extent of the first mode, as NumPy has it; in a kernel an Int, where it comes at run time."""
        return self.dim(0)

    def __reversed__(self) -> Iterator[Any]:
        """The same from the last to the first."""
        length, at = self.__weft_loop__()
        return map(at, reversed(range(length)))

    @overload
    def __getitem__(self: LayoutTensor[Never], index: Index) -> Any: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Bool], index: Index) -> parts.Bool: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Int8], index: Index) -> parts.Int8: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Int16], index: Index) -> parts.Int16: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Int32], index: Index) -> parts.Int32: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Int], index: Index) -> parts.Int: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.UInt8], index: Index) -> parts.UInt8: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.UInt16], index: Index) -> parts.UInt16: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.UInt32], index: Index) -> parts.UInt32: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.UInt], index: Index) -> parts.UInt: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Float8_e4m3fn], index: Index) -> parts.Float8_e4m3fn: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Float8_e5m2], index: Index) -> parts.Float8_e5m2: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Float16], index: Index) -> parts.Float16: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.BFloat16], index: Index) -> parts.BFloat16: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Float32], index: Index) -> parts.Float32: ...
    @overload
    def __getitem__(self: LayoutTensor[scalars.Float64], index: Index) -> parts.Float64: ...
    @overload
    def __getitem__(self, index: Index) -> T: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __getitem__(self, index: Part | tuple[Part, ...]) -> LayoutTensor[T]: ...
    def __getitem__(self, index: Any) -> Any:
        """An element, or the part (no copy) that slices or fewer indices name: ``m[i]`` is a row."""
        parts = index_parts(index)
        if is_slice(parts) or len(parts) < self.rank:
            return self._part(self._whole(parts))
        offset, alignment = self.place_in(self.layout, parts)
        if self._pointer is not None or not is_static(offset):
            return read_inside(*self.access(parts, offset, self.element, alignment), self.default)
        if self.element is not None:
            return numbers_of(self.dtype, self.numpy()[parts])
        place = offset if self.swizzled is None else self.swizzled(offset)
        return host_memory(self.storage, "reading an element")[place]

    def __setitem__(
        self,
        index: Index | Part | tuple[Part, ...],
        value: T | Elementwise[Any] | memory_types.LayoutTensor[Any] | Numbers,
    ) -> None:
        """Write an element; to a slice, copy a tensor or fill it with a number; to ``m[i]``, copy a row.

        A tensor is broadcast as NumPy does, and copied as if its elements were read before one is written.
        So is a vector, a list or a tuple of numbers, and a matrix by its rows.
        """
        parts = index_parts(index)
        several = isinstance(value, LayoutTensor) or (self.rank > 1 and depth_for(self, value) > 0)
        if is_slice(parts) or (0 < len(parts) < self.rank and several):
            part = self._part(self._whole(parts))
            if isinstance(value, LayoutTensor) and part.in_kernel:
                update_all(part, None, value)
            elif isinstance(value, LayoutTensor):
                part.copy_from(cast("LayoutTensor[T]", value))
            else:
                part.fill(cast("Any", value))
            return
        offset, alignment = self.place_in(self.layout, parts)
        if self._pointer is not None or not is_static(offset):
            write_inside(*self.access(parts, offset, self.element, alignment), value)
        elif self.element is not None:
            self.numpy()[parts] = elements_of(self.dtype, cast("Any", value))
        else:
            place = offset if self.swizzled is None else self.swizzled(offset)
            host_memory(self.storage, "writing an element")[place] = value

    def __weft_place__(self, index: Any) -> Any:
        """The place of an element in memory; None where it is none, but a vector or a part, say."""
        parts = index_parts(index)
        if self._pointer is None or self.element is not None or self.masked or is_slice(parts):
            return None
        if len(parts) < self.rank:
            return None
        offset, _ = self.place_in(self.layout, parts)
        return self.storage.__weft_place__(offset if self.swizzled is None else self.swizzled(offset))

    def _whole(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """An index with all that it leaves out, as NumPy's."""
        return parts if len(parts) >= self.rank or any(p is ... for p in parts) else (*parts, ...)

    def _part(self, parts: tuple[Any, ...]) -> LayoutTensor[T]:
        host = self._pointer is None
        kept, start, origin, edges, element = sliced(self.layout, self.edges, self.element, parts, host=host)
        made = self.moved(*self.place_in(origin, start), kept, edges, element)
        made.origin = part_of(self, parts)
        made.taken += taken_by(self.layout, self.edges, parts)
        return made

    def _run(self, index: tuple[Any, ...], width: int, alignment: int) -> tuple[Any, Element | None, int]:
        """Offset, element and alignment of ``width`` elements along the last mode."""
        if self.element is not None:
            refuse("vectorize", "the tensor is vectorized: its elements are vectors", "index it: t[i, j]")
        offset, known = self.place_in(self.layout, index)
        noted = self.in_kernel and self.edges is None
        return offset, run_of(self.layout, index[-1], width, alignment, noted=noted), known

    def load(self, *index: NumberLike, width: int = 1, alignment: int = 0) -> T:
        """``width`` elements along the last mode, from the indices on, as ``SIMD[T, width]``.

        Args:
            index: one for each mode.
            width: a power of two; at compile time.
            alignment: in bytes, what the address is a multiple of (default: what weft can prove).
        """
        offset, element, known = self._run(index, width, alignment)
        return read_inside(*self.access(index, offset, element, known), self.default)

    def store(self, *index: NumberLike, value: T | NumberLike, alignment: int = 0) -> None:
        """Write the lanes of ``value`` to as many elements along the last mode, from the indices on."""
        lanes = getattr(value, "lanes", 1)
        offset, element, known = self._run(index, lanes, alignment)
        write_inside(*self.access(index, offset, element, known), value)

    def address(self, *index: NumberLike) -> Pointer[T]:
        """The address of an element, as atomics take it."""
        offset, _ = self.place_in(self.layout, index)
        return self.ptr + offset if self.swizzled is None else self.storage + self.swizzled(offset)

    def numpy(self) -> npt.NDArray[Any]:
        """The elements as a NumPy array over the same memory; on the host, of a host buffer."""
        if self.masked:
            refuse("layout", f"{self!r} has no array", "take a tile that divides its modes")
        if self.swizzled is not None:
            refuse("layout", f"{self!r} has no array", "read its elements one by one: t[i, j]")
        return array(self.storage, self.layout, self.element)


refuse_wholes(LayoutTensor)


@lru_cache(1024)
def _of_plain(dtype: DType, alignment: int, *sides: Any) -> tuple[TensorSpec, tuple[int, ...]]:
    """What kernels know of a plain tensor of the host, and what they are passed beside its memory."""
    layout = marked(*sides)
    return TensorSpec(LayoutTensor, dtype, AddressSpace.GLOBAL, alignment, layout.key()), layout.arguments()
