"""A ``@struct`` as ctypes has it."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from weft.diagnostics import a_, refuse
from weft.dtype import DType
from weft.lang.elements import ElementType, element_type
from weft.lang.spec import PartsSpec
from weft.lang.structs import is_struct

_KINDS: dict[str, Any] = {"bool": ctypes.c_bool, "float32": ctypes.c_float, "float64": ctypes.c_double}


@functools.cache
def c_struct(struct: type[Any]) -> type[ctypes.Structure]:
    """The structure of ctypes that lies in memory as elements of ``Pointer[struct]`` do.

    Python fills and reads it, and a parameter ``Pointer[struct]`` takes it. Pointers, to functions too, are
    addresses in it (``ctypes.c_void_p``).

    Raises:
        CompileError: it is no struct, or ctypes has not what is in it: floats of 16 bits, wider alignment.

    Example:
        >>> from weft import Float64, Int32, struct
        >>> from weft.ffi import c_struct
        >>> @struct
        ... class Sample:
        ...     count: Int32
        ...     total: Float64
        >>> CSample = c_struct(Sample)
        >>> CSample.total.offset, CSample(count=4, total=10.0).total
        (8, 10.0)
    """
    if not is_struct(struct):
        refuse("element", f"{struct!r} is no @struct", hint="decorate the class with @struct")
    return _kind(element_type(struct))


def _kind(part: DType) -> Any:
    if not isinstance(part, ElementType):
        found = _KINDS.get(part.name) or getattr(ctypes, f"c_{part.name}", None)
        if found is None:
            refuse("element", f"ctypes has no {part.name}", hint="use NumPy's structured arrays")
        return found
    laid = part.laid
    if laid.items is not None:
        return _kind(laid.items[0]) * laid.items[1]
    if not isinstance(laid.spec, PartsSpec):
        return ctypes.c_void_p
    cls, fields = laid.spec.cls, [(name, _kind(inner)) for name, (_, inner) in laid.fields.items()]
    body: dict[str, Any] = {"_fields_": fields, "__module__": cls.__module__, "__doc__": cls.__doc__}
    if cls.__weft_pack__:
        body["_pack_"] = cls.__weft_pack__
    made = type(cls.__name__, (ctypes.Structure,), body)
    if ctypes.sizeof(made) != laid.size:
        message = f"ctypes has no structure like {a_(part.name)}, which is aligned further"
        refuse("element", message, hint="leave align= out, or use NumPy's structured arrays")
    return made
