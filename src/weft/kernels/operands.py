"""What an operation of ``weft.kernels`` is given, and gives: arrays of any library, wherever they lie.

An operation reads its arrays (``Operands``), makes its result beside them (``result``), launches its kernels
(``launch``) and gives the result as the caller's library has it (``give``)::

    op = Operands("softmax", x=x)
    source = op["x"].of("float")
    target = op.result(source.shape, source.dtype, out, same=[source])
    op.launch(kernel, grid, block, source, target, n)
    return op.give(target)

A kernel gets each array as a ``Pointer`` to its first element; ``shape`` and ``strides`` are the operation's
to hand over as far as the kernel needs them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from copy import copy
from functools import cached_property, lru_cache, partial
from math import inf
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, cast

from weft.calls.recording import Made, active, launch
from weft.diagnostics import LaunchError
from weft.dtype import DType, as_dtype
from weft.foreign.arrays import ForeignArray
from weft.foreign.read import Unreadable, array_of
from weft.kernels.places import Shape, is_reached, lie_apart, row_major
from weft.lang.above import above
from weft.lang.generic import written
from weft.lang.number import type_name
from weft.layout import Layout, LayoutTensor
from weft.runtime.buffers import Buffer
from weft.runtime.peers import other_owner
from weft.targets import Feature, find_target
from weft.tensor import Tensor, device_of

if TYPE_CHECKING:
    from weft.calls.recording import Make
    from weft.gpu.host import DeviceContext
    from weft.lang import Kernel

DTYPE_KINDS: dict[str, tuple[str, ...]] = {
    "float": ("float", "bfloat"),
    "integer": ("int", "uint"),
    "number": ("float", "bfloat", "int", "uint"),
    "number or bool": ("float", "bfloat", "int", "uint", "bool"),
}
"""Words for the types that an operation takes, and the kinds of ``DType`` that they mean."""
_PARTS = "pass its parts, as `x.real`, or a view as numbers with one more axis"


class Operand:
    """An array that an operation reads or writes."""

    __slots__ = (
        *("address", "array", "dtype", "given", "memory", "name", "operation", "shape", "strides", "turned"),
    )

    operation: str
    """The operation's name, for messages."""
    name: str
    """The parameter's."""
    given: Any
    """What the caller gave, or what the operation made."""
    memory: Any
    """What a launch takes for a ``Pointer`` to the first element."""
    array: ForeignArray | None
    """The memory where it is another library's."""
    address: int
    """Where the first element lies."""
    dtype: DType
    shape: Shape
    strides: Shape
    """How far neighbours along each axis lie apart, in elements; 0 or more."""
    turned: ForeignArray | None
    """What the caller gave where a stride of it is below 0: all else here is of a copy."""

    def __init__(self, operation: str, name: str, given: Any) -> None:
        self.operation, self.name, self.given, self.array, self.turned = operation, name, given, None, None
        if active.recording is not None:
            active.recording.read.append(given)
        view: Any = given.to_layout_tensor() if hasattr(given, "to_layout_tensor") else given
        if isinstance(view, LayoutTensor):
            self._set(cast("Any", view).storage, *self._places(cast("LayoutTensor[Any]", view)))
        elif isinstance(view, Buffer):
            buffer = cast("Buffer[Any]", view)
            self._set(buffer, (len(buffer),), (1,))
        else:
            found = view if isinstance(view, ForeignArray) else self._read(view)
            whole = found.is_row_major and found.owner is given  # then launches take less time
            self._set(found, found.shape, found.strides)
            moved = found.dtype.kind == "element" and found.dtype.itemsize in (1, 2, 4, 8, 16)
            if not whole or moved:  # structs of other libraries are moved by their bits
                dtype = self.halved().bits.dtype if moved else found.dtype
                self.memory = found.of(dtype, (found.nbytes // dtype.itemsize,), (1,))  # all that it spans
            else:
                dtype, self.memory = found.dtype, given
            if found.address % dtype.alignment and self.size:
                place = f"at an address that is no multiple of {dtype.alignment} bytes"
                self.refuse(
                    f"{found.describe()} {place}", "pass one that lies so, as copies do", "array-type"
                )

    def _set(self, memory: Any, shape: Shape, strides: Shape) -> None:
        self.memory, self.shape, self.strides = memory, shape, strides
        self.array = memory if isinstance(memory, ForeignArray) else None
        self.address, self.dtype = memory.address, memory.dtype

    def _places(self, view: LayoutTensor[Any]) -> tuple[Shape, Shape]:
        layout: Any = view.layout
        plain = view.element is None and not view.masked and view.swizzled is None
        if not plain or not all(isinstance(e, int) for e in (*layout.shape, *layout.stride)):
            self.refuse("a tensor that is vectorized, masked or of nested modes", "pass the tensor itself")
        return tuple(layout.shape), tuple(layout.stride)

    def _read(self, value: Any) -> ForeignArray:
        try:
            found = array_of(value)
            if min(found.strides, default=0) < 0:  # reversed: only NumPy and CuPy have such
                self.turned, found = found, array_of(value.copy())
        except Unreadable as wrong:
            self.refuse(wrong.found, wrong.hint, "array-type")
        return found

    def grouped(self, groups: int) -> Operand:
        """The same with its second axis in two: so many groups, and what each has."""
        made = copy(self)
        each = self.shape[1] // groups
        made.shape = self.shape[0], groups, each, *self.shape[2:]
        made.strides = self.strides[0], each * self.strides[1], *self.strides[1:]
        return made

    def tensor(self) -> LayoutTensor[Any]:
        """What a launch takes for a ``LayoutTensor``, whose extents and strides kernels learn at run time."""
        memory = self.memory if self.array is None else self.array  # which is falsy where it is empty
        return LayoutTensor[Any].of(memory, _dynamic(self.shape, self.strides), 1)

    def refuse(self, found: str, hint: str, code: str = "argument-type") -> NoReturn:
        """Refuse what the caller gave.

        Raises:
            LaunchError: always.
        """
        from inspect import signature

        from weft import kernels

        message = f"{self.operation}: {self.name} is {found}"
        names = [*signature(getattr(kernels, self.operation)).parameters]
        at = names.index(self.name) if self.name in names else 0
        raise LaunchError.here(code, message, hint, at=(self.name, at))

    def of(self, kinds: str | DType) -> Operand:
        """The operand, whose elements are of such a type: a word of ``DTYPE_KINDS``, or one type.

        Raises:
            LaunchError: they are not.
        """
        if isinstance(kinds, DType):
            if self.dtype != kinds:
                hint = f"convert it to {type_name(kinds)}, or pass another"
                self.refuse(f"of {type_name(self.dtype)}, not of {type_name(kinds)}", hint)
        elif self.dtype.kind not in DTYPE_KINDS[kinds]:
            whole = kinds == "integer" or self.dtype.kind == "bool"
            hint = f"convert it to {'Int64' if whole else 'Float32'}, say"
            hint = _PARTS if self.dtype.kind == "element" else hint
            self.refuse(f"of {type_name(self.dtype)}, which is no {kinds}", hint)
        return self

    def shaped(self, shape: Shape, why: str) -> Operand:
        """The operand, which has this shape; ``why`` says in a message whose it is.

        Raises:
            LaunchError: it has another.
        """
        if self.shape != shape:
            self.refuse(f"of shape {self.shape}, and {why} {shape}", f"pass one of shape {shape}")
        return self

    @property
    def kind(self) -> type[Any]:
        """The class of the elements: ``Float32``."""
        return written(self.dtype)

    @property
    def bits(self) -> type[Any]:
        """The class of integers that are as wide as the elements, by which these are moved.

        Raises:
            LaunchError: there is none.
        """
        if self.dtype.itemsize not in (1, 2, 4, 8):
            found = f"of {type_name(self.dtype)}, whose elements are of {self.dtype.itemsize} bytes"
            self.refuse(f"{found}, which it does not move", _PARTS)
        return written(as_dtype(f"uint{8 * self.dtype.itemsize}"))

    @property
    def size(self) -> int:
        """How many elements there are."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def is_whole(self) -> bool:
        """Whether the elements are one stretch in row-major order."""
        return self.size == 0 or all(
            extent == 1 or stride == step
            for extent, stride, step in zip(self.shape, self.strides, row_major(self.shape), strict=True)
        )

    @property
    def ends(self) -> int:
        """The address behind the last element."""
        far = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return self.address + (far + 1) * self.dtype.itemsize * (self.size > 0)

    def places(self, *, as_given: bool) -> tuple[int, list[tuple[int, int]]]:
        """Where the first element lies, and how many bytes apart how many lie along each axis.

        Of the caller's array ``as_given``, else of what kernels read and write.
        """
        lies = self if self.turned is None or not as_given else self.turned
        steps = [stride * self.dtype.itemsize for stride in lies.strides]
        return lies.address, [*zip(steps, self.shape, strict=True)]

    def seen(self, shape: Shape, strides: Shape) -> Operand:
        """The same memory, seen by another shape and other strides."""
        made = object.__new__(Operand)  # a third of what copy.copy() takes
        for name in Operand.__slots__:
            setattr(made, name, getattr(self, name))
        made.shape, made.strides = shape, strides
        return made

    def halved(self) -> Operand:
        """Elements of 16 bytes as two of 8 on one more axis, as which they are moved; others as they are."""
        if self.dtype.itemsize != 16:
            return self
        made = self.seen((*self.shape, 2), (*[2 * step for step in self.strides], 1))
        made.dtype = as_dtype("uint64")
        return made

    def lanes(self, *steps: int) -> int:
        """How many elements an access has that begins at the first or at multiples of ``steps`` from there.

        As many as are 16 bytes, or fewer where that would not be aligned.
        """
        lanes = 16 // self.dtype.itemsize
        while lanes > 1 and (
            self.address % (lanes * self.dtype.itemsize) or any(step % lanes for step in steps)
        ):
            lanes //= 2
        return max(1, lanes)


class Operands:
    """The arrays of a call of an operation, all on one device.

    Args:
        operation: its name, for messages.
        arrays: what the caller gave, by the names of the parameters; None for what was left out, which the
            first cannot be.

    Raises:
        LaunchError: one is no array, or they lie on several devices.
    """

    def __init__(self, operation: str, **arrays: Any) -> None:
        self.operation = operation
        (first, x), *others = arrays.items()
        self.first: Operand = Operand(operation, first, x)
        self.given: dict[str, Operand] = {first: self.first}
        self.given |= {name: Operand(operation, name, x) for name, x in others if x is not None}
        self.context: DeviceContext = _context_of(list(self.given.values()))
        self.waits: bool = self.context.info.shares_host and any(map(_is_foreign, self.given.values()))
        """Whether the caller may look at the result as soon as the call returns."""
        self.results: list[Operand] = []
        """Those that the caller gave."""

    def __getitem__(self, name: str) -> Operand:
        return self.given.get(name) or Operand(self.operation, name, None)  # which is refused

    def get(self, name: str) -> Operand | None:
        """An operand that may be left out."""
        return self.given.get(name)

    @cached_property
    def threads_are_loops(self) -> bool:
        """Whether a block's threads are a loop, so that one thread serves it best."""
        return find_target(self.context.target).threads == "loops"

    def result(
        self,
        shape: Shape,
        dtype: DType,
        out: Any = None,
        *,
        name: str = "out",
        same: Sequence[Operand | None] = (),
    ) -> Operand:
        """What the operation writes: ``out``, checked, or a new array of the first operand's library.

        Args:
            shape: its extents.
            dtype: the type of its elements.
            out: what the caller gave.
            name: the parameter's name.
            same: operands that may be this very array, as each element is read before it is written.

        Raises:
            LaunchError: ``out`` is read-only, of another shape, type or device, or has elements of another
                operand.
        """
        if out is None:
            return Operand(self.operation, name, self.new(shape, dtype))
        made = Operand(self.operation, name, out)
        if isinstance(out, Buffer) and made.size == _size(shape):
            made.shape, made.strides = shape, row_major(shape)
        made.of(dtype).shaped(shape, "the result's is")
        asked = made.array if made.turned is None else made.turned
        if asked is not None and asked.read_only:
            made.refuse(
                "an array that is read-only", "pass an array that may be written to", "array-readonly"
            )
        if made.size and not lie_apart(made.places(as_given=True)[1]):
            made.refuse("an array in which elements lie at the same place", "pass a copy", "array-strides")
        for other in (*self.given.values(), *self.results):
            alike = other in same and other.address == made.address and other.strides == made.strides
            if not alike and _meet(made, other, as_given=other in self.results):
                also = " in another order" if other in same else ""
                whose = "the other result" if other.name == name else other.name
                made.refuse(f"memory that {whose} has too{also}", "pass another array, or leave it out")
        self.given[name] = made
        self.results.append(made)
        context = _context_of([*self.given.values()])
        if context is not self.context:  # the result is the first of weft's own memory
            self.context.synchronize()
            self.context = context
        self.waits |= self.context.info.shares_host and _is_foreign(made)
        return made

    def new(self, shape: Shape, dtype: DType) -> Any:
        """An array of the first operand's library, on its device; its elements are undefined.

        A buffer is as long as the shape has elements. JAX's arrays are made of a ``Tensor`` by ``give``.
        """
        make = maker(self.first, shape, dtype)
        made = make(self.context)
        if active.recording is not None:
            active.recording.results.append(self._noted(make, made, shape, dtype))
        return made

    def scratch(self, size: int, dtype: DType) -> Operand:
        """Memory for what kernels hand to each other: so many elements, of the first operand's library."""
        make = maker(self.first, (size,), dtype)
        made = make(self.context)
        if active.recording is not None:
            active.recording.scratch.append(self._noted(make, made, (size,), dtype))
        return Operand(self.operation, "scratch", made)

    def _noted(self, make: Make, made: Any, shape: Shape, dtype: DType) -> Made:
        room = partial(maker, self.first, dtype=as_dtype("uint8"))
        return Made(
            room, make, made, Operand(self.operation, "out", made).address, _size(shape) * dtype.itemsize
        )

    def launch(self, kernel: Kernel[...], grid: Any, block: Any, /, *args: Any, **named: Any) -> None:
        """Launch a kernel: in the context, or on the stream of the library whose arrays alone it takes.

        With ``early=True`` it is one that begins with ``begin_early()`` (``weft.kernels.early``).
        """
        if named.pop("early", False) and find_target(self.context.target).supports(Feature.DEPENDENT_LAUNCH):
            named["pdl"] = True
        memory = [arg.memory if isinstance(arg, Operand) else arg for arg in args]
        launch(self.context, kernel, memory, {"grid_dim": grid, "block_dim": block, **named})

    def give(self, result: Operand) -> Any:
        """The result as the caller's library has it; of the host's arrays once it is there."""
        if self.waits:
            self.context.synchronize()
            if active.recording is not None:
                active.recording.waits = True
        for made in self.results:
            if made.turned is not None:
                made.given[...] = cast("Any", made.array).owner
        given: Any = result.given
        if _library(given) == "weft" and _library(self.first.given) == "jax":
            dtype: DType = given.dtype
            if self.context.info.shares_host and not dtype.in_numpy:  # which DLPack's form by NumPy has not
                jnp: Any = importlib.import_module("jax.numpy")
                return jnp.array(given.numpy().view(_numpy_type(dtype)))
            jax: Any = importlib.import_module("jax.dlpack")
            return jax.from_dlpack(given)
        return given

    def axis(self, axis: Any, operand: Operand | None = None, name: str = "axis") -> int:
        """An axis of the first operand, or of another, counted from the front.

        Raises:
            LaunchError: there is no such axis.
        """
        rank = len((operand or self.first).shape)
        try:
            found = index(axis)
        except TypeError:
            found = rank
        if isinstance(axis, bool) or not -rank <= found < rank:
            whose = (operand or self.first).name
            message = (
                f"{self.operation}: {name} is {axis!r}, and {whose} has {rank} ax{'e' if rank != 1 else 'i'}s"
            )
            hint = f"write a number from {-rank} to {rank - 1}" if rank else "pass an array that has an axis"
            raise LaunchError.here("argument-type", message, hint, at=(name, 1))
        return found % rank

    def axes(self, axes: Any, name: str = "axis") -> tuple[int, ...]:
        """One axis of the first operand or several, none twice, in the order given.

        Raises:
            LaunchError: there is no such axis, or one is there twice.
        """
        given = cast("Sequence[Any]", axes if isinstance(axes, (tuple, list, range)) else (axes,))
        found = tuple([self.axis(axis, name=name) for axis in given])
        if len({*found}) < len(found):
            message = f"{self.operation}: {name} is {axes!r}, which names an axis twice"
            raise LaunchError.here("argument-type", message, "name each axis once", at=(name, 1))
        return found


def _meet(one: Operand, other: Operand, *, as_given: bool) -> bool:
    """Whether some elements of two arrays have bytes in common."""
    if not one.size or not other.size:
        return False
    (here, mine), (there, others) = one.places(as_given=as_given), other.places(as_given=as_given)
    within = (1, one.dtype.itemsize), (-1, other.dtype.itemsize)
    return is_reached(there - here, [*mine, *((-step, extent) for step, extent in others), *within])


def maker(first: Operand, shape: Shape, dtype: DType) -> Make:
    """What makes arrays of an operand's library, on the device of a context."""
    like: Any = first.given
    if isinstance(like, Tensor) or _library(like) == "jax":

        def make_tensor(context: DeviceContext) -> Any:
            made = Tensor(dtype, shape, context)
            made.storage.lend(context)
            return made

        return make_tensor
    if isinstance(like, Buffer):
        return lambda context: context.enqueue_create_buffer(dtype, _size(shape))
    if isinstance(like, LayoutTensor):
        layout = Layout.row_major(shape)
        return lambda context: context.enqueue_create_buffer(dtype, _size(shape)).tensor(layout)
    library: Any = sys.modules.get(_library(like))
    if library is not None and library.__name__ == "torch":
        kind = getattr(library, dtype.name, None)
        if not isinstance(kind, library.dtype):
            message = f"PyTorch has no {dtype.name}, and an array of that is to be made"
            raise LaunchError.here("argument-type", message, "pass out=, a weft.Tensor say") from None
        return _torch_maker(library, like, shape, kind)
    if library is not None and library.__name__ == "cupy":

        def make_cupy(context: DeviceContext) -> Any:
            with library.cuda.Device(context.id):
                return library.empty(shape, dtype.name)

        return make_cupy
    import numpy as np

    same = dtype is first.dtype and isinstance(like, np.ndarray)
    kind = cast("Any", like).dtype if same else _numpy_type(dtype)
    return lambda context: np.empty(shape, kind)


def _numpy_type(dtype: DType) -> Any:
    """NumPy's type, or for the floats that it has not itself that of ``ml_dtypes``, which registers them."""
    import numpy as np

    if dtype.in_numpy:
        return dtype.numpy
    try:
        return np.dtype(dtype.name)
    except TypeError:
        message = f"NumPy has no {dtype.name}, and an array of that is to be made"
        hint = "import ml_dtypes, which adds it; or pass out=, a weft.Tensor say"
        raise LaunchError.here("argument-type", message, hint) from None


def _torch_maker(torch: Any, like: Any, shape: Shape, kind: Any) -> Make:
    empty, device, guards = torch.empty, like.device, getattr(torch._C, "_dynamo", None)
    # what code of torch.compile allocates by, on the current device: in a quarter of the time
    quick: Any = getattr(getattr(guards, "guards", None), "_empty_strided_cuda", None)
    if quick is None or not like.is_cuda:
        return lambda context: empty(shape, dtype=kind, device=device)
    current, index, strides = torch._C._cuda_getDevice, like.get_device(), row_major(shape)

    def make(context: DeviceContext) -> Any:
        if current() == index:
            return quick(shape, strides, kind)
        return empty(shape, dtype=kind, device=device)

    return make


@lru_cache(1024)
def _dynamic(shape: Shape, strides: Shape) -> Layout:
    layout: Any = Layout(shape, strides)
    return layout.dynamic()


def accumulator(dtype: DType) -> DType:
    """The type in which elements are added up: Float32 for shorter floats, 64 bits for integers."""
    if dtype.kind in DTYPE_KINDS["float"]:
        return dtype if dtype.bits >= 32 else as_dtype("float32")
    return as_dtype("uint64" if dtype.kind == "uint" else "int64")


def end_of(dtype: DType, sign: int) -> Any:
    """The greatest or the least number of a type."""
    if dtype.kind in DTYPE_KINDS["float"]:
        return sign * inf
    bits = dtype.bits - (dtype.kind == "int")
    if sign > 0:
        return 2**bits - 1
    return -(2**bits) if dtype.kind == "int" else 0


def _size(shape: Shape) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _is_foreign(operand: Operand) -> bool:
    return not isinstance(operand.given, (Buffer, LayoutTensor, Tensor))


def _library(given: Any) -> str:
    """The library of an array, by the name of its module."""
    for base in type(given).__mro__:
        root = base.__module__.partition(".")[0]
        if root in ("torch", "cupy", "numpy", "weft"):
            return root
        if root in ("jax", "jaxlib"):
            return "jax"
    return "numpy"


def _context_of(operands: Sequence[Operand]) -> DeviceContext:
    """Where an operation runs: in the context of weft's buffers, or of its tensors, or on the arrays' device.

    Raises:
        LaunchError: they lie on several devices.
    """
    places: dict[tuple[str, int], tuple[Operand, Any]] = {}
    owners: list[tuple[bool, Operand, Any]] = []
    for operand in operands:
        own: Any = operand.memory.user if operand.array is None else _context_at(operand.array)
        if operand.array is None:
            owners.append((operand.memory.passes_on, operand, own))
        places.setdefault((own.api, own.id), (operand, own))
    (here, (one, first)), *others = sorted(places.items(), key=lambda place: place[1][1].info.shares_host)
    if others:  # of host and device the host's is copied
        there, (other, _) = others[0]
        shown = f"{one.name} on {here[0]}:{here[1]} and {other.name} on {there[0]}:{there[1]}"
        message = f"{other.operation}: {shown}: an operation takes arrays of one device"
        hint = f"copy {other.name} to {here[0]}:{here[1]}, with its own library or weft.Tensor's to()"
        raise LaunchError.here("array-device", message, hint, at=(other.name, 0))
    bound = [(operand, own) for passes_on, operand, own in owners if not passes_on]
    context = bound[0][1] if bound else owners[0][2] if owners else first
    for operand, own in bound:
        if own is not context and not context.reaches(own):
            raise other_owner(context, own, f"argument `{operand.name}` of {operand.operation}")
    return context


def _context_at(array: ForeignArray) -> Any:
    """The context for another library's memory."""
    if array.api is None:
        return above().cpu()
    if array.device_id is None:
        array.misplaced(device_of(array.api, 0).context)  # which asks the driver
    return device_of(array.api, array.device_id or 0).context
