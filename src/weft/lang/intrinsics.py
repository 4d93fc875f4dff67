"""The two doors to the machine: LLVM intrinsics and inline assembly; and the target, to choose by."""

from __future__ import annotations

from typing import Any, cast

from weft.ir.builder import current
from weft.ir.core import Value
from weft.ir.types import Type
from weft.lang.errors import refuse
from weft.lang.number import Number
from weft.lang.spec import NumberSpec, Spec, build_each, leaves_of
from weft.targets import Feature, Target

__all__ = ["Feature", "current_target", "inline_asm", "llvm_intrinsic"]


def current_target() -> Target:
    """The target compiled for: ask it ``supports(feature)``, never for its name.

    Example:
        >>> from weft import Int32, Pointer, kernel
        >>> from weft.compile import compile_info
        >>> @kernel
        ... def lanes(out: Pointer[Int32]):
        ...     out[0] = 32 if current_target().supports(Feature.NVVM) else 1  # one of them is compiled
        >>> "32 : i32" in str(compile_info(lanes, target="sm_90", emission_kind="ir"))
        True
    """
    return current().target


def _specs(result: Any) -> list[Spec]:
    if result is None:
        return []
    if isinstance(result, tuple):
        return [_spec(c) for c in cast("tuple[Any, ...]", result)]
    return [_spec(result)]


def _spec(cls: type[Number] | Spec) -> Spec:
    return NumberSpec(cls.dtype, cls.lanes) if isinstance(cls, type) else cls


def _results(values: tuple[Value, ...], specs: list[Spec]) -> Any:
    built = build_each(specs, values)
    return None if not built else built[0] if len(built) == 1 else tuple(built)


def llvm_intrinsic(name: str, result: Any, *args: Any, pure: bool = False) -> Any:
    """Call an LLVM intrinsic.

    Args:
        name: its full name with type suffixes, e.g. ``llvm.nvvm.read.ptx.sreg.tid.x``.
        result: the class of the result, a tuple of classes, or None.
        args: numbers and pointers; literals must be converted first (``Int32(1)``).
        pure: whether it only computes; then equal calls may be merged and unused ones dropped.

    Returns:
        a number of the class, a tuple of them, or None.

    Raises:
        CompileError: only another machine than the target has it.

    Example:
        >>> from weft import Int32, func
        >>> @func
        ... def bits_set(x: Int32) -> Int32:
        ...     return llvm_intrinsic("llvm.ctpop.i32", Int32, x, pure=True)
        >>> bits_set(255)
        8
    """
    b = current()
    if not b.target.has_intrinsic(name):
        refuse(
            "intrinsic",
            f"{b.target.name} has no {name}",
            hint="ask before: `if current_target().supports(...):` compiles one side only",
        )
    specs = _specs(result)
    types: tuple[Type, ...] = tuple(leaf.type for s in specs for leaf in s.leaves())
    operands = tuple(v for a in args for v in leaves_of(a))
    return _results(
        b.emit("llvm.call_intrinsic", operands, types, {"intrin": name, "pure": pure}).results, specs
    )


def inline_asm(text: str, result: Any, *args: Any, constraints: str, side_effects: bool = True) -> Any:
    """Inline assembly of the target.

    Args:
        text: the instructions; ``$0``, ``$1`` ... are the results, then the arguments.
        result: the class of the result, a tuple of classes, or None.
        args: numbers and pointers; literals must be converted first (``Int32(1)``).
        constraints: where results and arguments are, in LLVM's words, separated by commas: on NVIDIA
            ``=r`` for a result of 32 bits, ``r`` for such an argument, ``l`` for 64 bits, ``f`` for Float32.
        side_effects: whether it does more than compute; if not, equal calls may be merged and unused
            ones dropped.

    Returns:
        a number of the class, a tuple of them, or None.

    Example:
        >>> from weft import Pointer, UInt32, kernel
        >>> from weft.compile import compile_info
        >>> @kernel
        ... def clock(out: Pointer[UInt32]):
        ...     out[0] = inline_asm("mov.u32 $0, %clock;", UInt32, constraints="=r")
        >>> "%clock;" in str(compile_info(clock, target="sm_90"))
        True
    """
    b = current()
    specs = _specs(result)
    types: tuple[Type, ...] = tuple(leaf.type for s in specs for leaf in s.leaves())
    operands = tuple(v for a in args for v in leaves_of(a))
    attrs = {"asm_string": text, "constraints": constraints, "has_side_effects": side_effects}
    return _results(b.emit("llvm.inline_asm", operands, types, attrs).results, specs)
