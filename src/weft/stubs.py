"""Native launches: what joins the compiler's stub, the runtime's tables and a context's kernels.

A context's ``enqueue_function`` begins as the method in Python. After some launches the stub stands
before it and makes those that it has seen before; see ``emit/stub.py``.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from weft.arguments import OPTIONS
from weft.cache import cached
from weft.dtype import DType
from weft.foreign.arrays import ForeignArray
from weft.foreign.dlpack import CUDA, code_of
from weft.foreign.exchange import exchange_of, has_interface
from weft.foreign.read import reader_of
from weft.lang.signature import parameters
from weft.lang.spec import NumberSpec, PointerSpec, Spec, StaticSpec
from weft.layout.tensor import LayoutTensor
from weft.layout.tensor_spec import TensorSpec
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.cuda_attributes import launch_config
from weft.runtime.cuda_device import CudaDevice
from weft.runtime.cuda_errors import ELSEWHERE
from weft.runtime.cuda_module import CudaFunction
from weft.runtime.cuda_stream import CudaStream
from weft.runtime.dim import Dim
from weft.runtime.driver import DeviceInfo, Function, LaunchAttributes, Stream
from weft.runtime.native_launch import OFFSETS, Asks, Exchange, Known, Launcher, member_offset, supported
from weft.runtime.streams import DeviceStream

if TYPE_CHECKING:
    from weft.launch import DeviceContext

__all__ = ["AFTER", "Launched", "install", "stub_code"]

AFTER = 8
"""Launches by Python before the stub is made, which takes some milliseconds once per process."""
_FIXED = {int, float, bool, str, tuple, type(None), Dim, DType}
"""Types of values that stay what they are, so that the same object means the same launch."""
_NUMPY = {"int32": 4, "int64": 8}
"""NumPy's integers that the stub reads, and their bytes."""
_OBJECT = 16
"""Bytes of an object before its value."""
_OBJECTS = {"_Py_NoneStruct": id(None), "_Py_FalseStruct": id(False), "PyLong_Type": id(int)}
"""Objects of Python that the code compares with."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch that Python has made."""

    kernel: Callable[..., Any]
    specs: Mapping[str, Spec]
    function: Function
    grid: Dim
    block: Dim
    packed: bytes
    """The argument block."""
    shared: int
    stream: Stream
    repeatable: bool
    """Whether the types of the arguments and the extents alone have decided what was launched, and where."""
    apart: bool
    """Whether it was compiled for buffers that share no memory."""
    attributes: LaunchAttributes | None
    guest: bool
    """Whether the stream is that of other libraries' arrays."""


@functools.cache
def stub_code() -> tuple[int, object]:
    """The stub's address in this process, and what keeps it there."""
    from weft.emit.stub import ENTRY, stub_text

    type_offset = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
    text = stub_text(
        version=sys.version_info[:2],
        type_offset=type_offset,
        table_offset=member_offset(Launcher.__dict__["table"]),
        address_offset=OFFSETS["_address"],
        owner_offset=OFFSETS["_allocation"],
        elsewhere=ELSEWHERE,
    )
    return _load(text, ENTRY, _OBJECTS)


@functools.cache
def interface_code() -> tuple[int, object]:
    """The address of what reads a CUDA array interface, and what keeps it there."""
    from weft.emit.stub_interface import ENTRY, INTERFACE, NAMES

    names = {f"weft_name_{name}": sys.intern(name) for name in NAMES}
    symbols = {symbol: id(name) for symbol, name in names.items()}
    address, loaded = _load(INTERFACE, ENTRY, symbols | _OBJECTS)
    return address, (loaded, names)


def _load(text: str, entry: str, symbols: dict[str, int]) -> tuple[int, object]:
    """The address of a function in this process, and what keeps it there."""
    from weft.emit.llvm import emit, load_object
    from weft.targets import TARGETS

    target = TARGETS["native"]
    names = {line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("declare")}
    python = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in names
        if not name.startswith("llvm.")
    }
    code = cached(text, target, lambda: emit(text, target, "object", passes=False).data)
    loaded = load_object(code, entry, symbols | python)
    return loaded.address, loaded


def install(context: DeviceContext) -> Launcher | None:
    """What launches natively for a context; None where nothing can."""
    device, stream = context.device, context.stream
    if not (isinstance(device, CudaDevice) and isinstance(stream, CudaStream) and supported()):
        return None
    reference = weakref.ref(context)
    primary = device.primary

    def slow(*args: Any, **named: Any) -> None:
        names = launcher.names()
        context = reference()
        assert context is not None
        made = context.enqueue_by_python(*args, **named)
        own = all(_is_own(context, value) for value in (*args[1:], *named.values()))
        if own and made.repeatable and (names or ()) == tuple(named):
            _learn(context.info, launcher, names, args, named, made)

    def failed(status: int) -> None:
        raise primary.status_error("cuLaunchKernel", status)

    launcher = Launcher(stub_code(), primary.launch_addresses(), slow, failed, int(stream.handle))
    stream.add_launcher(launcher)
    return launcher


def _is_own(context: DeviceContext, value: Any) -> bool:
    """Whether an argument is no buffer of a peer, whose memory Python keeps while a kernel uses it."""
    storage = getattr(value, "storage", value)
    return not isinstance(storage, DeviceBuffer) or storage.context is context


def _learn(
    info: DeviceInfo,
    launcher: Launcher,
    names: tuple[str, ...] | None,
    args: Sequence[Any],
    named: Mapping[str, Any],
    made: Launched,
) -> None:
    asked = _ask_all(info, args, named, made)
    if asked is None:
        return
    asks, exchange = asked
    function, stream = made.function, made.stream
    assert isinstance(function, CudaFunction)
    assert isinstance(stream, CudaStream)
    handles = (int(function.handle), int(stream.handle))
    config = None
    if made.attributes is not None:
        place = made.grid, made.block, made.shared
        config = launch_config(function.primary, function, stream.handle, *place, made.attributes)
    launcher.learn(
        Known(
            args[0],
            names,
            len(args),
            asks,
            made.packed,
            handles,
            (*made.grid, *made.block),
            made.shared,
            function,
            made.apart,
            exchange,
            config,
        )
    )
    stream.add_launcher(launcher)


def _ask_all(
    info: DeviceInfo, args: Sequence[Any], named: Mapping[str, Any], made: Launched
) -> tuple[Asks, Exchange | None] | None:
    """What the stub must ask of a call's arguments, and how it reads arrays; None where it cannot."""
    slots: dict[str, int] = {}
    total = 0
    for p in parameters(made.kernel):
        slots[p.name] = total
        total += len(made.specs[p.name].leaves())
    asks = Asks()
    exchange: Exchange | None = None
    positional = list(zip(slots, args[1:], strict=False))
    given = {*dict(positional), *(name for name in named if name not in OPTIONS)}
    if any(leaf.pointer for name in slots if name not in given for leaf in made.specs[name].leaves()):
        return None  # memory that the call does not show: it may be closed by the next time
    for n, (name, value) in enumerate([*positional, *named.items()]):
        if n < len(positional) or name not in OPTIONS:
            spec = made.specs[name]
            if made.guest and isinstance(spec, (PointerSpec, TensorSpec)):
                found = _ask_array(asks, spec, value, slots[name])
                if found is None or exchange not in (None, found):
                    return None
                exchange = found
            elif not _ask(asks, spec, value, slots[name]):
                return None
        elif name in ("grid_dim", "block_dim") and made.attributes is None and _is_int(value):
            most, axis = (info.max_grid_dim, 0) if name == "grid_dim" else (info.max_block_dim, 3)
            if isinstance(value, tuple):
                extents = cast("tuple[int, ...]", value)
                asks.dimensions(type(extents), [(1, most[n]) for n in range(len(extents))], axis)
            else:
                asks.dimension(1, most[0], axis)
        elif name == "stream" and isinstance(value, DeviceStream):
            asks.identity(value)
        elif not _ask_the_same(asks, value):
            return None
    return asks, exchange


def _is_int(value: Any) -> bool:
    """Whether a value is an int, or a tuple of ints of any kind."""
    if isinstance(value, tuple):
        return all(type(each) is int for each in cast("tuple[Any, ...]", value))
    return type(value) is int


def _ask_the_same(asks: Asks, value: Any) -> bool:
    """Ask for the same value again, of what is no int the same object; whether that can be asked."""
    if _is_int(value) and asks.equal(value):
        return True
    if not _is_fixed(value):
        return False
    asks.identity(value)
    return True


def _is_fixed(value: Any) -> bool:
    """Whether a value stays what it is."""
    kind = cast("type[Any]", type(value))
    return kind in _FIXED and (kind is not tuple or all(map(_is_fixed, value)))


def _ask_array(asks: Asks, spec: PointerSpec | TensorSpec, value: Any, slot: int) -> Exchange | None:
    """Add what the stub must ask of another library's array; how it reads that, None where it cannot."""
    read = reader_of(value)
    if read is None or len(spec.leaves()) != 1:
        return None
    array = read(value)
    exchange = exchange_of(value, array) or _exchange_by_interface(value, array)
    if exchange is None:
        return None
    if isinstance(spec, TensorSpec):
        layout, alignment = (array.shape, array.strides), spec.alignment
    else:
        layout, alignment = None, array.dtype.itemsize
    asks.array(value, exchange, code_of(array.dtype), slot, layout=layout, alignment=alignment)
    return exchange


def _exchange_by_interface(value: Any, array: ForeignArray) -> Exchange | None:
    """How the stub reads arrays like CuPy's, on the device and stream of this one."""
    if not has_interface(value, array):
        return None
    assert array.device_id is not None
    return Exchange(interface_code()[0], 0, CUDA | array.device_id << 32, stream=array.stream or 0)


def _ask(asks: Asks, spec: Spec, value: Any, slot: int) -> bool:
    """Add what the stub must ask of an argument; whether it can."""
    kind = cast("type[Any]", type(value))
    if isinstance(spec, StaticSpec):
        return _ask_the_same(asks, value)
    if isinstance(spec, PointerSpec) and kind is DeviceBuffer:
        asks.buffer(value, slot)
        return True
    if isinstance(spec, TensorSpec):
        return _ask_tensor(asks, spec, value, slot)
    return isinstance(spec, NumberSpec) and spec.lanes == 1 and _ask_number(asks, spec.dtype, value, slot)


def _ask_tensor(asks: Asks, spec: TensorSpec, value: Any, slot: int) -> bool:
    kind = cast("type[Any]", type(value))
    whole = kind is not LayoutTensor and "_view" in getattr(kind, "__slots__", ())
    view: Any = getattr(value, "_view") if whole else value  # noqa: B009 - a Tensor's, which imports this
    storage: Any = getattr(view, "storage", None)
    if not isinstance(storage, DeviceBuffer):
        return False
    buffer = cast("DeviceBuffer[Any]", storage)
    if buffer.key is None:  # each use is noted, or it was closed
        return False
    if whole:
        asks.inside(value, "_view")
    for name in ("layout", "element"):
        asks.member(view, name)
    asks.inside(view, "storage")
    asks.buffer(buffer, slot, spec.alignment)
    return True


def _ask_number(asks: Asks, dtype: DType, value: Any, slot: int) -> bool:
    kind = cast("type[Any]", type(value))
    of_numpy = kind.__name__ if kind.__module__ == "numpy" else ""
    size = _NUMPY.get(of_numpy)
    if dtype.is_integer and kind is int:
        asks.integer(*_range(dtype), slot)
    elif dtype.is_integer and size is not None and _has_value_behind(value, size):
        asks.scalar(kind, size, *_range(dtype), slot)
    elif dtype in (DType.float32, DType.float64) and (kind in (int, float) or of_numpy == dtype.name):
        asks.floating(dtype.bits, kind, slot)
    elif kind is bool:
        asks.identity(value)
    else:
        return False
    return True


def _has_value_behind(value: Any, size: int) -> bool:
    """Whether a NumPy integer has its value where NumPy's ABI says."""
    found = ctypes.string_at(id(value) + _OBJECT, size)
    return int.from_bytes(found, sys.byteorder, signed=True) == int(value)


def _range(dtype: DType) -> tuple[int, int]:
    """What an integer type holds, as far as the stub's 64 signed bits go."""
    if dtype.is_signed:
        return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1
    return 0, (1 << min(dtype.bits, 63)) - 1
