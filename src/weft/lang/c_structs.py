"""A ``@struct`` as ctypes has it."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from weft.diagnostics import a_, refuse
from weft.dtype import DType
from weft.lang.elements import ElementType, element_type
from weft.lang.structs import StructSpec, is_struct

_FLOATS: dict[str, Any] = {"bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double}


@functools.cache
def c_struct(struct: type[Any]) -> type[ctypes.Structure]:
    """The structure of ctypes that lies in memory as elements of ``Pointer[struct]`` do.

    Pointers, to functions too, are addresses in it (``ctypes.c_void_p``). What ctypes has no type for, such
    as Float16, is there by its bits.

    Example:
        >>> import ctypes
        >>> from weft import Float64, Int32, Pointer, func, struct
        >>> @struct
        ... class Sample:
        ...     count: Int32
        ...     total: Float64
        >>> @func
        ... def mean(sample: Pointer[Sample]) -> Float64:
        ...     return sample[0].total / Float64(sample[0].count)
        >>> mean(c_struct(Sample)(count=4, total=10.0))
        2.5
    """
    if not is_struct(struct):
        refuse("element", f"{struct!r} is no @struct", hint="decorate the class with @struct")
    return _kind(element_type(struct))


def _kind(part: DType) -> Any:
    if not isinstance(part, ElementType):
        unsigned = "" if part.is_integer and part.is_signed else "u"
        return _FLOATS.get(part.name) or getattr(ctypes, f"c_{unsigned}int{part.bits}")
    laid = part.laid
    if laid.items is not None:
        return _kind(laid.items[0]) * laid.items[1]
    if not isinstance(laid.spec, StructSpec):
        return ctypes.c_void_p
    body: dict[str, Any] = {"_fields_": [(name, _kind(inner)) for name, (_, inner) in laid.fields.items()]}
    if pack := laid.spec.cls.__weft_pack__:
        body["_pack_"] = pack
    made = type(laid.spec.cls.__name__, (ctypes.Structure,), body)
    if ctypes.sizeof(made) != laid.size:
        message = f"ctypes has no structure like {a_(part.name)}, which is aligned further"
        refuse("element", message, hint="leave align= out, or use NumPy's structured arrays")
    return made
