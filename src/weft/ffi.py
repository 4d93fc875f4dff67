"""Functions and data of C, from code that runs on the CPU.

>>> from weft import Float64, func
>>> @func
... def distance(x: Float64, y: Float64) -> Float64:
...     return external_call["hypot", Float64](x, y)
>>> distance(3.0, 4.0)
5.0
"""

from typing import TYPE_CHECKING

from weft.diagnostics.modules import present
from weft.lang.c_structs import c_struct
from weft.lang.external import external_call, function_pointer

if TYPE_CHECKING:
    from weft.lang.memory_types import FunctionPointer
else:
    from weft.lang.external import FunctionPointer

__all__ = ["FunctionPointer", "c_struct", "external_call", "function_pointer"]


present(globals())
