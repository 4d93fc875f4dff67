"""Element types: the machine numbers that weft computes with.

A ``DType`` names a number format. The value classes of the language (``Float32``, ``Int`` ...)
carry theirs as ``.dtype``, so every host function that takes an element type takes either:

>>> from weft.dtype import DType, as_dtype
>>> DType.float32.itemsize, DType.float32.kind
(4, 'float')
>>> as_dtype("int32") is DType.int32
True

So do the element types of NumPy and PyTorch: ``np.float32``, ``array.dtype``, ``torch.bfloat16``.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from weft.diagnostics import nearest, refuse
from weft.diagnostics.modules import present
from weft.record import record

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DType", "DTypeLike", "HasDType", "as_dtype", "dtype_hint", "unaliased"]

Kind = Literal["bool", "int", "uint", "float", "bfloat", "float8", "element"]
"""What a format is; ``element``: no number, but what else memory holds (``weft.lang.elements``)."""

_DIGITS = {"float8_e4m3fn": 4, "float8_e5m2": 3, "float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Binary digits of a float."""


@record(eq=False)
class DType:
    """One number format: its name as NumPy spells it, its kind, its width in bits. There is one of each."""

    name: str
    kind: Kind
    bits: int

    bool: ClassVar[DType]
    int8: ClassVar[DType]
    int16: ClassVar[DType]
    int32: ClassVar[DType]
    int64: ClassVar[DType]
    uint8: ClassVar[DType]
    uint16: ClassVar[DType]
    uint32: ClassVar[DType]
    uint64: ClassVar[DType]
    float8_e4m3fn: ClassVar[DType]
    float8_e5m2: ClassVar[DType]
    float16: ClassVar[DType]
    bfloat16: ClassVar[DType]
    float32: ClassVar[DType]
    float64: ClassVar[DType]
    index: ClassVar[DType]

    def __eq__(self, other: object) -> bool:
        """Whether another type is meant by the other side, however it is spelt, as NumPy has it."""
        if isinstance(other, (DType, type(None))):
            return self is other
        other = unaliased(other)
        if not isinstance(other, (str, type)) and dtype_elsewhere(other) is None:
            return NotImplemented
        return self is _spelt(other)

    if TYPE_CHECKING:

        def __hash__(self) -> int: ...
    else:
        __hash__ = object.__hash__  # without a call of Python's

    def __call__(self, *value: Any) -> Any:
        """A number of this format: in a kernel ``x.dtype(0)`` is a zero of what ``x`` holds."""
        return made_by[self.name](*value)

    @property
    def itemsize(self) -> int:
        """Bytes that one element takes in memory."""
        return max(1, self.bits // 8)

    @property
    def alignment(self) -> int:
        """What addresses of elements are multiples of, in bytes."""
        return self.itemsize

    @property
    def in_numpy(self) -> bool:
        """Whether NumPy has the format itself."""
        return self.kind not in ("bfloat", "float8")

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type of such elements; of a format that it has not, the bits.

        >>> DType.float16.numpy, DType.bfloat16.numpy, DType.float8_e5m2.numpy
        (dtype('float16'), dtype('uint16'), dtype('uint8'))
        """
        import numpy as np

        name = self.name if self.in_numpy else f"uint{self.bits}"
        return np.dtype(name)

    @property
    def is_number(self) -> bool:
        """Whether elements are numbers, not structs, say."""
        return self.kind != "element"

    def taken(self, value: object) -> object:
        """A value as NumPy takes it for an element; several values in a list, each so."""
        return value

    @property
    def is_float(self) -> bool:
        """Whether the format is a floating-point one (bfloat16 and those of 8 bits included)."""
        return self.kind in ("float", "bfloat", "float8")

    @property
    def is_signed(self) -> bool:
        """Whether the format is a signed integer."""
        return self.kind == "int"

    @property
    def is_integer(self) -> bool:
        """Whether the format is an integer (bool is not)."""
        return self.kind in ("int", "uint")

    @property
    def least(self) -> int:
        """The least integer that the type holds, of a float type with all that are greater; of Bool, 0.

        >>> DType.int8.least, DType.int8.greatest, DType.uint8.greatest, DType.float32.greatest
        (-128, 127, 255, 16777216)
        """
        if self.is_float:
            return -self.greatest
        return -(1 << self.bits - 1) if self.is_signed else 0

    @property
    def greatest(self) -> int:
        """The greatest integer that the type holds, of a float type with all that are less; of Bool, 1."""
        if self.is_float:
            return 1 << _DIGITS[self.name]
        return (1 << self.bits - self.is_signed) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)  # there is one of each

    def __repr__(self) -> str:
        return f"DType.{self.name}"

    def __str__(self) -> str:
        return self.name


@runtime_checkable
class HasDType(Protocol):
    """Anything that carries an element type: ``Float32`` and its kin, buffers, tensors."""

    @property
    def dtype(self) -> DType:
        """The element type."""
        ...


if TYPE_CHECKING:
    import numpy as np

    class Alias(Protocol):
        """What Python 3.12's ``type Row = Pointer[Float32]`` makes."""

        @property
        def __value__(self) -> Any: ...

    DTypeLike = DType | HasDType | type[HasDType] | str | type[np.generic] | np.dtype[Any] | Alias
else:
    DTypeLike = DType | HasDType | type[HasDType] | str

_FORMATS: tuple[tuple[str, Kind, int], ...] = (
    ("bool", "bool", 1),
    *((f"int{n}", "int", n) for n in (8, 16, 32, 64)),
    *((f"uint{n}", "uint", n) for n in (8, 16, 32, 64)),
    ("float8_e4m3fn", "float8", 8),
    ("float8_e5m2", "float8", 8),
    ("float16", "float", 16),
    ("bfloat16", "bfloat", 16),
    ("float32", "float", 32),
    ("float64", "float", 64),
)
_ALL: dict[str, DType] = {}
for _name, _kind, _bits in _FORMATS:
    _ALL[_name] = DType(_name, _kind, _bits)
    setattr(DType, _name, _ALL[_name])
DType.index = DType.int64

_of_numpy: dict[Any, DType] = {}
made_by: dict[str, Any] = {}
"""The class of the numbers of each format, which the language enters."""


def unaliased(like: Any) -> Any:
    """What a name of ``type Row = Pointer[Float32]`` stands for, from Python 3.12 on; all else as it is."""
    while type(like).__name__ == "TypeAliasType":
        like = like.__value__
    origin: Any = getattr(like, "__origin__", None)
    if type(origin).__name__ != "TypeAliasType":
        return like
    args: tuple[Any, ...] = like.__args__
    return unaliased(origin.__value__[args[0] if len(args) == 1 else args])


def as_dtype(like: DTypeLike) -> DType:
    """The ``DType`` meant by a DType, a class as ``Float32`` or a struct, a name, another library's type.

    Raises:
        TypeError: the argument names no element type.
    """
    if isinstance(like, DType):
        return like
    if isinstance(like, str):
        found = _ALL.get(like)
        if found is not None:
            return found
    else:
        like = unaliased(like)
        element_of = getattr(getattr(like, "__origin__", like), "__weft_element__", None)
        if element_of is not None:
            return element_of(like)
        found = getattr(like, "dtype", None)
        if isinstance(found, DType):
            return found
        found = dtype_elsewhere(like)
        if found is not None:
            return found
    error = TypeError(f"{_shown(like)} is not an element type")
    error.meant = like  # pyright: ignore[reportAttributeAccessIssue]
    raise error


def _spelt(like: Any) -> DType | None:
    """The ``DType`` that is meant by one of these, or by a text of NumPy's; of vectors there is none."""
    if any(like is plain for plain in (bool, int, float)):
        message = f"an element type is never Python's {like.__name__}, which has no width"
        refuse("operand", message, hint="compare with one of weft's: DType.float32, say")
    if getattr(like, "lanes", 1) != 1:
        return None
    try:
        return as_dtype(like)
    except TypeError:
        numpy = sys.modules.get("numpy")
        if not isinstance(like, str) or numpy is None:
            return None
    try:
        return dtype_elsewhere(numpy.dtype(like))
    except TypeError:
        return None


def dtype_elsewhere(like: object) -> DType | None:
    """The ``DType`` that ``np.float32``, an ``np.dtype`` or ``torch.float32`` means; None of all else."""
    kind: type[Any] = type(like)
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return _ALL.get(str(like).removeprefix("torch."))
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(like, type) and issubclass(like, numpy.generic) and like in numpy.sctypeDict.values():
        like = numpy.dtype(like)  # of np.floating and its kin there is none
    if not isinstance(like, numpy.dtype):
        return None
    dtype: Any = like
    found = _of_numpy.get(dtype)
    if found is None and dtype.isnative:
        found = _ALL.get(dtype.name)  # which NumPy puts together, in 10 us
        if found is not None:
            _of_numpy[dtype] = found
    return found


def _shown(like: object) -> str:
    if not isinstance(like, type):
        return repr(like)
    return like.__name__ if like.__module__ == "builtins" else f"{like.__module__}.{like.__name__}"


def no_struct(like: object) -> str:
    """What to do with a class that has fields and is no struct, where elements are meant; or nothing."""
    if not isinstance(like, type) or not getattr(like, "__annotations__", None):
        return ""
    if hasattr(like, "_fields"):
        return f"declare {like.__name__} by @struct in place of NamedTuple"
    instead = " in place of @dataclass" if hasattr(like, "__dataclass_fields__") else ""
    return f"decorate the class {like.__name__} with @struct{instead}"


def dtype_hint(like: object) -> str:
    """What to write instead of something that is no element type."""
    if found := no_struct(like) or _no_number(like):
        return found
    names = {"float": "float32", "int": "int64", "bool_": "bool"}
    name = _shown(like).strip("'\"").rsplit(".", 1)[-1]
    near = names.get(name) or _numpys(like) or nearest(name, _ALL, 0.6 if isinstance(like, str) else 0.8)
    if near is None:
        return f"write one of {', '.join(_ALL)}, or its class"
    spelt = {"uint": "UInt", "bfloat": "BFloat"}
    kind = near.rstrip("0123456789")
    return f"write {spelt.get(kind, kind.capitalize())}{near.removeprefix(kind)}, or {near!r}"


def _no_number(like: object) -> str:
    """What to write for types that hold something else than a number; or nothing."""
    kind: Any = getattr(like, "__origin__", like)
    if kind is tuple or isinstance(like, tuple) or getattr(like, "names", None):  # of NumPy's records
        return "declare a @struct with these fields"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "write Int32, say, and give it the value of a member: member.value"
    if "complex" in _shown(like):
        return "write ComplexFloat32 or ComplexFloat64, from weft.complex"
    if getattr(type(like), "__weft_element__", None) is not None:
        return f"give the class: {type(like).__name__}"
    return ""


def _numpys(like: object) -> str | None:
    """The name of what NumPy takes this for: ``"f4"``, a type of ctypes."""
    numpy = sys.modules.get("numpy")
    try:
        name = None if numpy is None or like is None else numpy.dtype(like).name
    except (TypeError, ValueError, SyntaxError):  # it reads texts as lists of formats
        return None
    return name if name in _ALL else None


present(globals())
