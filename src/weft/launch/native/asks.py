"""What the native stub has to ask of a call's arguments, so that it makes the launch that Python has made."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from enum import Enum
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from weft.abi.artifact import KernelInfo
from weft.dtype import DType
from weft.foreign.dlpack import code_of
from weft.foreign.exchange import Exchange, exchange_of, has_buffer, has_interface
from weft.foreign.read import reader_of
from weft.lang.accept import is_open
from weft.lang.decorators import Func, Kernel
from weft.lang.generic import variables_of
from weft.lang.host_closures import HostClosureSpec
from weft.lang.number import Number
from weft.lang.signature import Parameter, parameters
from weft.lang.spec import NumberSpec, PartsSpec, PointerSpec, Spec, StaticSpec, machine_leaves
from weft.lang.structs import is_struct
from weft.launch.arguments import OPTIONS
from weft.launch.large import is_large, small_grid
from weft.launch.native.code import native_code
from weft.launch.native.objects import offset, offsets, words
from weft.launch.native.tables import ARGUMENTS, AS_DOUBLE, AS_SINGLE, MOST_SLOTS, STAYS, Ask
from weft.layout import Layout
from weft.layout.tensor.spec import TensorSpec
from weft.layout.tensor.tensor import LayoutTensor
from weft.layout.tma_async import TileSpec
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.dim import Dim
from weft.runtime.driver import DeviceInfo
from weft.runtime.streams import DeviceStream

if TYPE_CHECKING:
    from weft.launch.context import Launched

_FIXED = {int, float, bool, str, bytes, type(None), Dim, DType, Func, Kernel, FunctionType}
"""Types of values that stay what they are, so that the same object means the same launch."""
_NUMPY = ("int32", "int64")
"""NumPy's integers that the stub takes."""


class _Never:
    """A type that nothing has."""


class Asks:
    """The entries of a site under way; each method is for the next argument, or for what it has somewhere."""

    def __init__(self) -> None:
        self.keep: list[object] = []
        self.entries: list[list[int]] = []
        """As ``tables.Entry`` has them."""
        self.form: list[object] = []
        """What the entries ask, where they only point at it: equal for two sites that ask the same."""
        self._way: list[list[int]] = []
        """The entries that lead from an argument to what is asked."""
        self._fields = 0
        """How many of them lead to a struct's field, of which there may be more."""
        self.known = True
        """Whether all offsets are known."""

    def _lead(self, kind: Ask, value: object, a: int, b: int = 0) -> None:
        """On to another object, or on with this one where it has the word b."""
        self.keep.append(type(value))
        self._way.append([kind, id(type(value)), 0, a, b, 0, 0])
        self.known: bool = self.known and a >= 0

    def _end(
        self,
        kind: Ask,
        what: type,
        words: Sequence[int],
        slot: int,
        seen: object = None,
        means: object = None,
    ) -> None:
        """Ask it of an object of the type ``what``, unless that is ``seen``, whose value the block has.

        None says that it was not seen, where what is asked is not whether it is None.
        """
        self.keep += what, seen
        same = 0 if seen is None and kind is not Ask.IDENTITY else id(seen)
        stays = STAYS * bool(self._fields)
        self.entries += [*map(list, self._way), [kind | stays, id(what), same, *words, ARGUMENTS + slot]]
        self.form += [*map(tuple, self._way), (kind, id(what), means or words, slot)]
        del self._way[self._fields :]

    @contextlib.contextmanager
    def field(self, value: object, name: str) -> Generator[None]:
        """For ``with``: what is asked is of the value that a field of a struct has, or of fields of that."""
        self.keep.append(sys.intern(name))
        self._lead(Ask.FIELD, value, id(self.keep[-1]))
        self._fields += 1
        yield
        self._fields -= 1
        self._way.pop()

    def end(self) -> None:
        """What follows is for the next argument."""
        self.entries[-1][0] &= STAYS - 1

    def identity(self, value: object) -> None:
        """The same object again."""
        self._end(Ask.IDENTITY, _Never, (0, 0, 0), 0, value, id(value))

    def member(self, value: object, name: str) -> None:
        """An object of this type with the same member; what follows is still for it."""
        self.keep.append(getattr(value, name))
        self._lead(Ask.WORD, value, offset(type(value), name), id(self.keep[-1]))

    def inside(self, value: object, name: str) -> None:
        """An object of this type; what follows is for its member."""
        self._lead(Ask.PART, value, offset(type(value), name))

    def buffer(self, value: DeviceBuffer[Any], slot: int, alignment: int = 1) -> bool:
        """Any open buffer of this type, of the same context and element type; False where this one has none.

        Closed buffers have none, and those whose every use is noted.
        """
        key, address = value.key, getattr(value, "_address")  # noqa: B009  (the very object)
        self.keep += key, address
        asked = id(key), id(address), alignment - 1
        self._end(Ask.BUFFER, type(value), asked, slot, means=asked[::2])
        return key is not None

    def array(
        self,
        value: object,
        exchange: Exchange,
        element: tuple[int, int],
        slot: int,
        *,
        layout: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
        alignment: int = 1,
    ) -> None:
        """Any array of this type on the same device, of an element type (DLPack's code, bits).

        It has this shape and these strides, or is contiguous in row-major order.
        """
        for name in exchange.refuses:
            self.keep.append(name)
            self._lead(Ask.DENIES, value, id(name))
        code, bits = element
        rank, sizes = (-1, ()) if layout is None else (len(layout[0]), (*layout[0], *layout[1]))
        given = exchange.device, code | bits << 8 | 1 << 16, rank, bits // 8, exchange.stream, *sizes
        expected = words((exchange.read, *given))
        self.keep.append(expected)
        asked = 0, ctypes.addressof(expected), alignment - 1
        self._end(Ask.ARRAY, type(value), asked, slot, means=(exchange.read, alignment, *given))

    def integer(self, low: int, high: int, slot: int, like: object = None, way: int = 0) -> None:
        """Any integer of a type in a range; an int unless it is like another, whose value was launched."""
        self._end(Ask.INTEGER, int if like is None else type(like), (low, high, way), slot, like)

    def floating(self, bits: int, given: type, slot: int, like: object = None) -> None:
        """Any number of a type for a float of that many bits; of ints those that it holds."""
        way, dtype = (AS_SINGLE, DType.float32) if bits == 32 else (AS_DOUBLE, DType.float64)
        if given is int:
            self.integer(-dtype.greatest, dtype.greatest, slot, like, way)
        else:
            self._end(Ask.FLOAT, given, (0, 0, way), slot, like)

    def ints(
        self, like: int | tuple[int, ...], ranges: Sequence[tuple[int, int]], slots: Iterable[int]
    ) -> None:
        """Any int, or ints in a tuple of this type and length, which is not 0, each in its range."""
        if not isinstance(like, tuple):
            self.integer(*ranges[0], next(iter(slots)), like)
            return
        length, *places = offsets().tuple
        for n, (value, bounds, slot) in enumerate(zip(like, ranges, slots, strict=False)):
            if n == 0 or self._fields:
                self._lead(Ask.WORD, like, length, len(like))
            self._lead(Ask.PART, like, places[n])
            self.integer(*bounds, slot, value)
            self.entries[-1][0] |= STAYS
        if not self._fields:
            self.end()

    def equal(self, value: int | tuple[int, ...]) -> bool:
        """The same int, or ints in a tuple of this type, again; False where the stub has no room for them."""
        ints = value if isinstance(value, tuple) else (value,)
        if not 0 < len(ints) < len(offsets().tuple) or any(abs(each) >> 63 for each in ints):
            return False
        self.ints(value, [(each, each) for each in ints], [MOST_SLOTS] * len(ints))
        return True


def ask_all(
    info: DeviceInfo, args: Sequence[Any], named: Mapping[str, Any], made: Launched
) -> tuple[Asks, Exchange | None] | None:
    """What the stub must ask of a call's arguments, and how it reads arrays; None where it cannot."""
    slots: dict[str, int] = {}
    total = 0
    for p in parameters(made.kernel):
        slots[p.name] = total
        total += len(machine_leaves(made.specs[p.name]))
    decide = _deciding(parameters(made.kernel))
    asks = Asks()
    exchange: Exchange | None = None
    positional = list(zip(slots, args[1:], strict=False))
    given = {*dict(positional), *(name for name in named if name not in OPTIONS)}
    bound = getattr(args[0], "kernel", args[0]).bound
    for p in parameters(made.kernel):
        if p.name not in given and not p.variable and not _stays(bound.get(p.name, p.default)):
            return None  # what the call does not show may be closed or changed by the next time
    for n, (name, value) in enumerate([*positional, *named.items()]):
        if n < len(positional) or name not in OPTIONS:
            spec = made.specs[name]
            if name in decide and isinstance(value, float):  # an int would be of another type
                return None
            if made.guest and isinstance(spec, (PointerSpec, TensorSpec)) and not _is_ours(value):
                found = _ask_array(asks, spec, value, slots[name], info)
                if found is None or exchange not in (None, found):
                    return None
                exchange = found
            elif not _ask(asks, spec, value, slots[name]):
                return None
            else:
                asks.end()
        elif name == "block_dim" and _by_extent(made.launch.function.kernel):
            if not _ask_the_same(asks, value):
                return None
        elif name in ("grid_dim", "block_dim") and made.launch.attributes is None and _is_int(value):
            most, axis = info.max_grid_dim, 0
            if name == "block_dim":
                most, axis, rank = info.max_block_dim, 3, made.launch.function.kernel.block_rank or 3
                most = [*most[:rank], 1, 1]
            elif isinstance(value, int) and not is_large(info, (value, *made.launch.block)):
                most = [small_grid(info, made.launch.block, most[0]), *most[1:]]
            asks.ints(value, [(1, each) for each in most], range(axis - ARGUMENTS, axis))
        elif name == "stream" and isinstance(value, DeviceStream):
            asks.identity(value)
        elif not _ask_the_same(asks, value):
            return None
    return (asks, exchange) if asks.known else None


def _is_ours(value: Any) -> bool:
    """Whether memory is weft's, beside other libraries' arrays."""
    kind = cast("type[Any]", type(value))
    return kind in (DeviceBuffer, LayoutTensor) or hasattr(kind, "__weft_view__")


def _by_extent(kernel: KernelInfo) -> bool:
    """Whether a kernel's code is for some of the blocks alone, by their extent along x."""
    return kernel.strip > 0 or "warps" in kernel.uses


def _deciding(params: Sequence[Parameter]) -> set[str]:
    """The parameters whose values alone say which number they are: 1 another than 1.0."""
    memory = {name for p in params if not is_open(p.annotation) for name in variables_of(p.annotation)}
    taking = [p for p in params if is_open(p.annotation) and not p.variable]
    return {p.name for p in taking if memory.isdisjoint(variables_of(p.annotation))}


def _is_int(value: Any) -> bool:
    """Whether a value is an int, or a tuple of ints of any kind."""
    if isinstance(value, tuple):
        return all(type(each) is int for each in cast("tuple[Any, ...]", value))
    return type(value) is int


def _ask_the_same(asks: Asks, value: Any) -> bool:
    """Ask for the same value again, of what is no int the same object; whether that can be asked."""
    if _is_int(value) and asks.equal(value):
        return True
    if not _stays(value):
        return False
    asks.identity(value)
    return True


def _stays(value: Any) -> bool:
    """Whether a value stays what it is."""
    kind = cast("type[Any]", type(value))
    if kind is tuple:
        return all(map(_stays, value))
    return kind in _FIXED or isinstance(value, (type, Enum)) or (kind is Layout and value.is_static)


def _ask_array(
    asks: Asks, spec: PointerSpec | TensorSpec, value: Any, slot: int, info: DeviceInfo
) -> Exchange | None:
    """Add what the stub must ask of another library's array; how it reads that, None where it cannot."""
    read = reader_of(value)
    if read is None or len(spec.leaves()) != 1:
        return None
    array = read(value)
    exchange = exchange_of(value, array, info)
    if info.shares_host and has_buffer(value, array):
        exchange = Exchange(native_code().buffer, 0, 0)
    elif exchange is None and has_interface(value, array):  # an array like CuPy's
        device, reader = info.dlpack | (array.device_id or 0) << 32, native_code().interface
        exchange = Exchange(reader, 0, device, stream=array.stream or 0)
    if exchange is not None:
        tensor, element = isinstance(spec, TensorSpec), code_of(array.dtype)
        layout = (array.shape, array.strides) if tensor else None
        alignment = spec.alignment if isinstance(spec, TensorSpec) else array.dtype.itemsize
        asks.array(value, exchange, element, slot, layout=layout, alignment=alignment)
    return exchange


def _ask(asks: Asks, spec: Spec, value: Any, slot: int) -> bool:
    """Add what the stub must ask of an argument, or of what a struct has in its fields; whether it can."""
    if isinstance(spec, HostClosureSpec):
        return not spec.leaves() and _ask_the_same(asks, value)
    if isinstance(spec, TileSpec):
        return _ask_tiles(asks, spec, value, slot)
    if isinstance(spec, PartsSpec) and type(value) is tuple:
        return _ask_tuple(asks, spec, value, slot)
    if not isinstance(spec, PartsSpec):
        return _ask_value(asks, spec, value, slot)
    if not is_struct(spec.cls) or type(value) is not spec.cls or not spec.leaves():
        return False
    for name, inner in zip(spec.names(), spec.items, strict=True):
        with asks.field(value, name):
            if not _ask(asks, inner, getattr(value, name), slot):
                return False
        slot += len(machine_leaves(inner))
    return True


def _ask_tiles(asks: Asks, spec: TileSpec, value: Any, slot: int) -> bool:
    """Add what the stub must ask of tiles: what they are, their tensor, and their descriptor."""
    descriptor: Any = value.descriptor
    for name in ("box", "swizzle"):
        with asks.field(value, name):
            if not _ask_the_same(asks, getattr(value, name)):
                return False
    with asks.field(value, "tensor"):
        if not _ask_tensor(asks, spec.tensor, value.tensor, slot):
            return False
    with asks.field(value, "descriptor"):
        return isinstance(descriptor, DeviceBuffer) and asks.buffer(
            cast("DeviceBuffer[Any]", descriptor), slot + len(machine_leaves(spec.tensor))
        )


def _ask_tuple(asks: Asks, spec: PartsSpec, value: Any, slot: int) -> bool:
    """Add what the stub must ask of a tuple: of ints whose types are known, or one of nothing."""
    kinds = [item.dtype for item in spec.items if isinstance(item, NumberSpec) and item.lanes == 1]
    whole = len(kinds) == len(value) and all(kind.is_integer and kind.kind != "bool" for kind in kinds)
    if not kinds or not whole or not _is_int(value):
        return not spec.leaves() and _ask_the_same(asks, value)
    ranges = [(kind.least, min(kind.greatest, DType.int64.greatest)) for kind in kinds]
    asks.ints(value, ranges, range(slot, slot + len(kinds)))
    return True


def _ask_value(asks: Asks, spec: Spec, value: Any, slot: int) -> bool:
    kind = cast("type[Any]", type(value))
    if isinstance(spec, StaticSpec):
        return _ask_the_same(asks, value)
    if isinstance(spec, PointerSpec):
        return kind is DeviceBuffer and asks.buffer(value, slot)
    if isinstance(spec, TensorSpec):
        return _ask_tensor(asks, spec, value, slot)
    return isinstance(spec, NumberSpec) and spec.lanes == 1 and _ask_number(asks, spec.dtype, value, slot)


def _ask_tensor(asks: Asks, spec: TensorSpec, value: Any, slot: int) -> bool:
    kind = cast("type[Any]", type(value))
    member: str | None = vars(kind).get("__weft_view__")  # where a Tensor has what kernels see
    view = value if member is None else getattr(value, member)
    if type(view) is not LayoutTensor:
        return False
    tensor, storage = cast("LayoutTensor[Any]", view), cast("Any", view).storage
    if not isinstance(storage, DeviceBuffer):
        return False
    if member is not None:
        asks.inside(value, member)
    for name in ("layout", "element", "swizzled"):
        asks.member(tensor, name)
    asks.inside(tensor, "storage")
    return asks.buffer(cast("DeviceBuffer[Any]", storage), slot, spec.alignment)


def _ask_number(asks: Asks, dtype: DType, value: Any, slot: int) -> bool:
    if isinstance(value, Number):
        if value.dtype is not dtype or value.lanes != 1:
            return False
        asks.inside(value, "value")
        value = value.value
    kind = cast("type[Any]", type(value))
    of_numpy = kind.__name__ if kind.__module__ == "numpy" else ""
    if dtype.is_integer and (kind is int or of_numpy in _NUMPY):
        asks.integer(dtype.least, min(dtype.greatest, DType.int64.greatest), slot, value)
    elif dtype in (DType.float32, DType.float64) and (kind in (int, float) or of_numpy == dtype.name):
        asks.floating(dtype.bits, kind, slot, value)
    elif kind is bool:
        asks.identity(value)
    else:
        return False
    return True
