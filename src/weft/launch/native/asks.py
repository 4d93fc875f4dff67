"""What the native stub has to ask of a call's arguments, so that it makes the launch that Python has made."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from types import FunctionType
from typing import Any, cast

from weft.compiler.source.definition import Definition
from weft.dtype import DType
from weft.foreign.arrays import ForeignArray
from weft.foreign.dlpack import code_of
from weft.foreign.exchange import exchange_of, has_interface
from weft.foreign.read import reader_of
from weft.lang.accept import is_open
from weft.lang.decorators import Func, Kernel
from weft.lang.generic import variables_of
from weft.lang.number import Number
from weft.lang.reads import Reads
from weft.lang.signature import Parameter, parameters
from weft.lang.spec import NumberSpec, PointerSpec, Spec, StaticSpec, machine_leaves
from weft.lang.structs import StructSpec
from weft.launch.arguments import OPTIONS
from weft.launch.native.code import interface_code
from weft.layout import Layout
from weft.layout.tensor.spec import TensorSpec
from weft.layout.tensor.tensor import LayoutTensor
from weft.record import record
from weft.runtime.buffers import DeviceBuffer
from weft.runtime.dim import Dim
from weft.runtime.driver import DeviceInfo, Launch, Stream
from weft.runtime.streams import DeviceStream
from weft.runtime.stub_entries import Asks, Exchange

__all__ = ["Launched", "ask_all"]

_FIXED = {int, float, bool, str, bytes, type(None), Dim, DType, Func, Kernel, FunctionType}
"""Types of values that stay what they are, so that the same object means the same launch."""
_NUMPY = {"int32": 4, "int64": 8}
"""NumPy's integers that the stub reads, and their bytes."""
_OBJECT = 16
"""Bytes of an object before its value."""


@record
class Launched:
    """A launch that Python has made."""

    kernel: Definition
    specs: Mapping[str, Spec]
    launch: Launch
    stream: Stream
    repeatable: bool
    """Whether the types of the arguments and the extents alone have decided what was launched, and where."""
    apart: bool
    """Whether it was compiled for buffers that share no memory."""
    guest: bool
    """Whether the stream is that of other libraries' arrays."""
    reads: Reads
    """What the compiled code read of the program."""


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
            if made.guest and isinstance(spec, (PointerSpec, TensorSpec)):
                found = _ask_array(asks, spec, value, slots[name], info)
                if found is None or exchange not in (None, found):
                    return None
                exchange = found
            elif not _ask(asks, spec, value, slots[name]):
                return None
            else:
                asks.end()
        elif name in ("grid_dim", "block_dim") and made.launch.attributes is None and _is_int(value):
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
    exchange = exchange_of(value, array, info) or _exchange_by_interface(value, array, info)
    if exchange is None:
        return None
    if isinstance(spec, TensorSpec):
        layout, alignment = (array.shape, array.strides), spec.alignment
    else:
        layout, alignment = None, array.dtype.itemsize
    asks.array(value, exchange, code_of(array.dtype), slot, layout=layout, alignment=alignment)
    return exchange


def _exchange_by_interface(value: Any, array: ForeignArray, info: DeviceInfo) -> Exchange | None:
    """How the stub reads arrays like CuPy's, on the device and stream of this one."""
    if not has_interface(value, array):
        return None
    assert array.device_id is not None
    return Exchange(interface_code()[0], 0, info.dlpack | array.device_id << 32, stream=array.stream or 0)


def _ask(asks: Asks, spec: Spec, value: Any, slot: int) -> bool:
    """Add what the stub must ask of an argument, or of what a struct has in its fields; whether it can."""
    if not isinstance(spec, StructSpec):
        with asks.value():
            return _ask_value(asks, spec, value, slot)
    if type(value) is not spec.cls or not spec.leaves():
        return False
    for name, inner in spec.fields:
        with asks.field(value, name):
            if not _ask(asks, inner, getattr(value, name), slot):
                return False
        slot += len(machine_leaves(inner))
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
    for name in ("layout", "element"):
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
    return dtype.least, min(dtype.greatest, DType.int64.greatest)
