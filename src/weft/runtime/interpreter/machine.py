"""What the code of kernels calls, each by ``__name``: arithmetic with the machine's bits, and memory.

Integers are Python's with a sign, floats NumPy's, vectors tuples; ``compiler/interpreted`` writes the code.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from weft.abi import folds
from weft.abi.formats import rounded, wrap
from weft.abi.program import Form
from weft.diagnostics.parted import SourcePlace
from weft.dtype import DType

_TOP = 1 << 47
_FIRST = 1 << 12
_FLOATS: dict[str, DType] = {
    "f16": DType.float16,
    "bf16": DType.bfloat16,
    "f32": DType.float32,
    "f64": DType.float64,
}
_CLASSES: dict[str, type[Any]] = {
    "f16": np.float16,
    "bf16": np.float32,
    "f32": np.float32,
    "f64": np.float64,
}
_BITS: dict[str, type[Any]] = {"f16": np.int16, "f32": np.int32, "f64": np.int64}
_WIDTHS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "ptr": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
}


def _signed(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half & 2 * half - 1) - half


# -- threads ----------------------------------------------------------------------------------------
class At:
    """A place at which threads wait: a barrier, or a decision about one and what a thread decides."""

    __slots__ = ("barrier", "call", "group", "place", "share", "value")

    def __init__(
        self,
        group: str,
        place: SourcePlace,
        barrier: SourcePlace | None = None,
        value: Any = None,
        share: tuple[Any, ...] | None = None,
        call: tuple[Callable[..., Any], int] | None = None,
    ) -> None:
        self.group: str = group
        """Whose threads meet: those of the warp, the block, the cluster or the grid."""
        self.share: tuple[Any, ...] | None = share
        """Of a lane, what it hands to others, and the lane from which it takes; without, one bit of each."""
        self.call = call
        """What is made of all that the lanes hand over: native code, and what that calls."""
        self.place: SourcePlace = place
        self.barrier: SourcePlace = barrier or place
        self.value: Any = value

    @property
    def asked(self) -> object:
        """What all of them must have alike."""
        return self.place, self.value


# -- integers -------------------------------------------------------------------------------------
def divsi(a: int, b: int) -> int:
    """The quotient toward zero; nothing is promised of a division by zero."""
    if b == 0:
        return 0
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def remsi(a: int, b: int) -> int:
    """What the quotient toward zero leaves."""
    return a - divsi(a, b) * b if b else 0


def divui(a: int, b: int) -> int:
    """The quotient of numbers without sign."""
    return a // b if b else 0


def remui(a: int, b: int) -> int:
    """Its rest."""
    return a % b if b else 0


def range_(lower: int, upper: int, step: int) -> range:
    """Python's range; a step of 0 goes nowhere."""
    return range(lower, upper, step) if step else range(0)


# -- floats ---------------------------------------------------------------------------------------
def bf16(x: Any) -> Any:
    """A Float32, rounded to a bfloat16, as a Float32."""
    bits = int(np.float32(x).view(np.uint32))
    high = bits >> 16
    near = high | 0x40 if x != x else bits + 0x7FFF + (high & 1) >> 16
    return np.uint32(near << 16).view(np.float32)


def bits_of_bf16(x: Any) -> int:
    """The bits of a bfloat16."""
    return int(x.view(np.int32)) >> 16


def from_bits_bf16(bits: int) -> Any:
    """The bfloat16 of these bits."""
    return np.int32(bits << 16).view(np.float32)


def _to_bf16(x: Any) -> Any:
    return bf16(x) if type(x) is np.float32 else np.float32(wrap(DType.bfloat16, float(x)))


def _of(kind: str) -> Callable[[int], Any]:
    """An integer as a float, rounded once."""
    dtype, made = _FLOATS[kind], _CLASSES[kind]

    def convert(number: int) -> Any:
        return made(wrap(dtype, number))

    return convert


def signed(x: Any, bits: int) -> int:
    """A float cut to an integer with sign; what does not fit becomes the nearest that does."""
    return int(wrap(getattr(DType, f"int{bits}"), float(x)))


def unsigned(x: Any, bits: int) -> int:
    """Likewise to one without."""
    return int(wrap(getattr(DType, f"uint{bits}"), float(x)))


def minnum(x: Any, y: Any) -> Any:
    """The smaller; where one is nan, the other."""
    return type(x)(folds.minimum(x, y))


def maxnum(x: Any, y: Any) -> Any:
    """The larger; where one is nan, the other."""
    return type(x)(folds.maximum(x, y))


_DTYPES: dict[type[Any], DType] = {
    np.float16: DType.float16,
    np.float32: DType.float32,
    np.float64: DType.float64,
}


def _to_odd(total: float, a: float, b: float) -> float:
    """A sum as it was rounded, or its neighbour, if neither is ``a + b``: that whose last digit is odd.

    Rounded once more, to no more than 51 digits, it is what the exact sum would be: S. Boldo, G. Melquiond:
    Emulation of FMA and correctly rounded sums (2008). What was lost is D. Knuth's.
    """
    part = total - a
    lost = (a - (total - part)) + (b - part)
    if lost == 0.0 or int(np.float64(total).view(np.int64)) & 1:
        return total
    return math.nextafter(total, math.copysign(math.inf, lost))


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once."""
    made: type[Any] = a.__class__
    if made is not np.float64:
        product, addend = float(a) * float(b), float(c)  # exact, of halves as many digits
        total = product + addend
        if math.isfinite(total):
            return made(_to_odd(total, product, addend))
    exact = folds.fma(float(a), float(b), float(c))
    return made(rounded(_DTYPES[made], exact)) if isinstance(exact, Fraction) else made(exact)


def _as_bits(held: type[Any], made: type[Any]) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """From a float to its bits, and back."""

    def bits_of(x: Any) -> int:
        return int(x.view(held))

    def from_bits(bits: int) -> Any:
        return held(bits).view(made)

    return bits_of, from_bits


# -- bits -----------------------------------------------------------------------------------------
def _raw(kind: str, value: Any) -> int:
    """The bits of a scalar."""
    if kind == "bf16":
        return bits_of_bf16(value) & 0xFFFF
    if kind in _BITS:
        return int(value.view(_BITS[kind])) & (1 << _WIDTHS[kind]) - 1
    return int(value) & (1 << _WIDTHS[kind]) - 1


def _scalar(kind: str, bits: int) -> Any:
    if kind == "i1":
        return bits & 1 != 0
    if kind == "ptr":
        return bits
    number = _signed(bits, _WIDTHS[kind])
    if kind == "bf16":
        return from_bits_bf16(number)
    return _BITS[kind](number).view(_CLASSES[kind]) if kind in _BITS else number


def joined(value: Any, kind: str, lanes: int) -> int:
    """The bits of all lanes."""
    if lanes == 1:
        return _raw(kind, value)
    return sum([_raw(kind, lane) << n * _WIDTHS[kind] for n, lane in enumerate(value)])


def parted(bits: int, kind: str, lanes: int) -> Any:
    """The lanes of such bits."""
    size = _WIDTHS[kind]
    found = tuple([_scalar(kind, bits >> n * size & (1 << size) - 1) for n in range(lanes)])
    return found if lanes > 1 else found[0]


def cast(value: Any, kind: str, lanes: int, to: str, count: int) -> Any:
    """The same bits as other lanes."""
    return parted(joined(value, kind, lanes), to, count)


def put(vector: tuple[Any, ...], position: int, value: Any) -> tuple[Any, ...]:
    """A vector with another lane."""
    return *vector[:position], value, *vector[position + 1 :]


# -- memory ---------------------------------------------------------------------------------------
class _Everywhere:
    """All memory as an array of NumPy's."""

    def __init__(self, kind: type[Any]) -> None:
        size = np.dtype(kind).itemsize
        self.__array_interface__ = {
            "data": (_FIRST, False),
            "shape": ((_TOP - _FIRST) // size,),
            "typestr": np.dtype(kind).str,
            "version": 3,
        }


def _memory() -> dict[str, Any]:
    whole = {"i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64}
    made: dict[str, Any] = {
        kind: (cell * (_TOP // ctypes.sizeof(cell))).from_address(0)
        for kind, cell in (*whole.items(), ("ptr", ctypes.c_uint64))
    }
    for kind in _BITS:
        made[kind] = np.asarray(_Everywhere(_CLASSES[kind]))
    return made


def nbytes(kind: str, lanes: int = 1) -> int:
    """How long a value is in memory; flags take a bit each."""
    return -(-_WIDTHS[kind] * lanes // 8)


def load(kind: str, address: int, lanes: int = 1) -> Any:
    """What lies at any address."""
    return parted(int.from_bytes(ctypes.string_at(address, nbytes(kind, lanes)), "little"), kind, lanes)


def store(kind: str, address: int, value: Any, lanes: int = 1) -> None:
    """Write to any address."""
    size = nbytes(kind, lanes)
    ctypes.memmove(address, joined(value, kind, lanes).to_bytes(size, "little"), size)


_NATIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def native(address: int, given: Form, found: Form) -> Callable[..., Any]:
    """Native code that takes values of these types, and gives of those, as a function of Python's."""
    entry = _NATIVE(address)
    sizes = [sum(nbytes(*form) for form in forms) for forms in (given, found)]

    def call(*values: Any) -> Any:
        taken, made = (ctypes.create_string_buffer(max(1, size)) for size in sizes)
        at = ctypes.addressof(taken)
        for value, (kind, lanes) in zip(values, given, strict=True):
            store(kind, at, value, lanes)
            at += nbytes(kind, lanes)
        entry(ctypes.addressof(taken), ctypes.addressof(made))
        results, at = list[Any](), ctypes.addressof(made)
        for kind, lanes in found:
            results.append(load(kind, at, lanes))
            at += nbytes(kind, lanes)
        return results[0] if len(results) == 1 else results

    return call


def take(nbytes: int, alignment: int) -> tuple[object, int]:
    """Memory that lives as long as the first that is given, and its address."""
    held = bytearray(nbytes + alignment)
    view = (ctypes.c_char * len(held)).from_buffer(held)
    return view, -(-ctypes.addressof(view) // alignment) * alignment


def unreachable() -> None:
    """Code that no thread comes to."""
    raise RuntimeError("a kernel has reached code that weft took for unreachable: please report it")


def constant(kind: str, value: float, lanes: int) -> Any:
    """A number as code has it."""
    made = (
        _CLASSES[kind](wrap(_FLOATS[kind], value))
        if kind in _FLOATS
        else bool(value)
        if kind == "i1"
        else value
    )
    return made if lanes == 1 else (made,) * lanes


def argument(kind: str, data: bytes) -> Any:
    """A kernel's argument of its 8 bytes."""
    bits = int.from_bytes(data, "little")
    return bits & 0xFF != 0 if kind == "i1" else _scalar(kind, bits & (1 << _WIDTHS[kind]) - 1)


def words() -> dict[str, Any]:
    """All names, as code has them."""
    from weft.runtime.interpreter import debugging, views

    named: dict[str, Any] = {
        function.__name__.rstrip("_"): function
        for function in (
            *(divsi, remsi, divui, remui, range_, bf16, bits_of_bf16, from_bits_bf16, signed, unsigned),
            *(minnum, maxnum, fma, cast, put, load, store, take, unreachable),
        )
    }
    named |= {
        "minimumnum": minnum,
        "maximumnum": maxnum,
        "fmod": np.fmod,
        "sqrt": np.sqrt,
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "roundeven": np.rint,
        "fabs": np.fabs,
        "copysign": np.copysign,
        "to_bf16": _to_bf16,
        "at": At,
        "hook": debugging.hook,
        "pointer": views.Elements,
        "parts": views.Parts,
        "columns": views.Columns,
        "array": views.array,
        "values": views.Values,
        "opaque": views.Opaque,
    }
    for kind, made in _CLASSES.items():
        named[f"{kind}_of"] = _of(kind)
        named[f"{kind}_0"] = made(0)
        named.setdefault(f"to_{kind}", made)
    for kind, held in _BITS.items():
        named[f"bits_of_{kind}"], named[f"from_bits_{kind}"] = _as_bits(held, _CLASSES[kind])
    named |= {f"mem_{kind}": array for kind, array in _memory().items()}
    return {f"__{name}": value for name, value in named.items()}
