"""What LLVM must compute though nobody uses it, so that a benchmark measures it."""

from __future__ import annotations

from typing import Any

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import I1, I8, I16, I32, AddressSpace, FloatType, PointerType, pointer
from weft.lang.elaboration import Elaboration, maybe_current
from weft.lang.intrinsics import inline_asm
from weft.lang.spec import leaves_of


def keep(value: Any) -> None:
    """Have LLVM compute a value that is used for nothing else, as a benchmark needs it.

    In a kernel or ``@func``, assembly without an instruction takes the value from a register of the GPU; on
    a CPU it is written to the stack. It is also a ``clobber_memory``. Constants and literals
    are known and not computed. Python drops nothing, so on the host this does nothing.

    Args:
        value: a number, a ``SIMD``, a pointer, or a struct or tuple of them.

    Example:
        >>> from weft import Float32, kernel
        >>> from weft.compile import compile_info
        >>> from weft.math import sqrt
        >>> @kernel
        ... def kept(x: Float32):
        ...     keep(sqrt(x))
        >>> @kernel
        ... def lost(x: Float32):
        ...     _ = sqrt(x)
        >>> ["sqrt" in str(compile_info(k, target="sm_90")) for k in (kept, lost)]
        [True, False]
    """
    b = maybe_current()
    if b is not None:
        for leaf in leaves_of(value):
            _keep(b, leaf)
        clobber_memory()


def clobber_memory() -> None:
    """Have LLVM take it that all memory may be read and written here.

    What was written before is in memory then, so that a benchmark's writes are not merged with later ones,
    and what is read after it is read anew. It orders nothing between threads, which is what
    ``weft.gpu.barrier`` and fences do, and nothing on the host.

    Example:
        >>> from weft import Int32, Pointer, kernel
        >>> from weft.compile import compile_info
        >>> @kernel
        ... def twice(out: Pointer[Int32]):
        ...     out[0] = 1
        ...     clobber_memory()
        ...     out[0] = 2
        >>> str(compile_info(twice, target="sm_90")).count("st.global")
        2
    """
    if maybe_current() is not None:
        inline_asm("", None, constraints="")


def _keep(b: Elaboration, value: Value) -> None:
    letters = b.target.registers
    if value.type.lanes > 1 and letters:  # registers of single numbers
        for n in range(value.type.lanes):
            at = b.constant(n, I32)
            _keep(b, b.value("vector.extractelement", (value, at), value.type.scalar))
        return
    if isinstance(value.type, FloatType) and value.type.bits == 16 and letters:
        value = b.value("arith.bitcast", (value,), I16)
    if value.type.bits < 32 and (letters or value.type is I1):
        value = b.value("arith.extui", (value,), I32 if letters else I8)
    if letters:
        letter = letters["i64" if isinstance(value.type, PointerType) else value.type.llvm]
        b.emit("llvm.inline_asm", (value,), (), {"asm_string": "", "constraints": letter, "effects": "all"})
        return
    place = {"elem_type": value.type, "count": 1, "alignment": 16}
    slot = b.prologue("llvm.alloca", pointer(AddressSpace.LOCAL), place)
    b.emit("llvm.store", (slot, value), (), {"alignment": 1, "volatile": True})
