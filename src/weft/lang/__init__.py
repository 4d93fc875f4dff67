"""What a kernel's author imports: types, decorators, compile-time parameters; and the doors to the machine.

Programs take the types and decorators from ``weft``. A library that needs an instruction which weft has
no name for calls ``llvm_intrinsic`` or ``inline_asm`` and chooses by ``current_target().supports(...)``.
"""

from typing import TYPE_CHECKING

from weft.diagnostics.modules import present
from weft.lang import scalars
from weft.lang.accept import Accepted, Mismatch
from weft.lang.arith import contraction, fast_math, no_contraction
from weft.lang.comptime import Comptime, constrained, unroll
from weft.lang.decorators import Func, Kernel, func, kernel
from weft.lang.inline_array import InlineArray
from weft.lang.intrinsics import current_target, inline_asm, llvm_intrinsic
from weft.lang.lanes import iota
from weft.lang.pointer import AddressSpace
from weft.lang.scalars import *
from weft.lang.structs import struct

if TYPE_CHECKING:
    from weft.lang.memory_types import Pointer
else:
    from weft.lang.pointer import Pointer

__all__ = [
    "Accepted",
    "AddressSpace",
    "Comptime",
    "Func",
    "InlineArray",
    "Kernel",
    "Mismatch",
    "Pointer",
    "constrained",
    "contraction",
    "current_target",
    "fast_math",
    "func",
    "inline_asm",
    "iota",
    "kernel",
    "llvm_intrinsic",
    "no_contraction",
    "struct",
    "unroll",
]
__all__ += scalars.__all__


present(globals())
