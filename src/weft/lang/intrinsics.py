"""The doors to the machine: functions of floats, LLVM intrinsics, assembly; the target, to choose by."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from weft.compiler.ir.core import Value
from weft.compiler.ir.types import Type
from weft.diagnostics import a_, refuse
from weft.lang.elaboration import current
from weft.lang.fold import fold_function
from weft.lang.number import Number, value_of
from weft.lang.spec import NumberSpec, Spec, build_each, leaves_of
from weft.targets import Feature, Target

__all__ = ["Effects", "Feature", "current_target", "function", "inline_asm", "llvm_intrinsic"]


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


def _spec(cls: Any) -> Spec:
    found: str = getattr(cls, "__name__", None) or repr(cls)
    if hasattr(cls, "leaves"):
        return cls
    if isinstance(cls, type) and issubclass(cls, Number) and hasattr(cls, "dtype"):
        return NumberSpec(cls.dtype, cls.lanes)
    refuse(
        "intrinsic",
        f"{found} is no class of a result",
        hint="write Int32, say, SIMD[Float32, 4], a tuple of such, or None",
    )


def _operands(args: tuple[Any, ...]) -> tuple[Value, ...]:
    """The arguments as the machine takes them."""
    for n, argument in enumerate(args, 1):
        if not leaves_of(argument):
            refuse(
                "intrinsic",
                f"argument {n} is {a_(type(argument).__name__)}, which has no type of the machine",
                hint=f"convert it: Int32({argument!r}), say",
            )
    return tuple(v for a in args for v in leaves_of(a))


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        refuse("intrinsic", f"{what} is a str, not {a_(type(value).__name__)}", hint="write it in quotes")
    if "\0" in value:
        refuse("intrinsic", f"{what} holds a character NUL", hint="leave it out")
    return value


def _results(values: tuple[Value, ...], specs: list[Spec]) -> Any:
    built = build_each(specs, values)
    return None if not built else built[0] if len(built) == 1 else tuple(built)


Effects = Literal["none", "read", "write", "block", "all"]
"""What code that the compiler does not look into does, each of them more than the one before.

``none``: it only computes, so that equal calls may be merged and unused ones dropped. ``read``: it reads
memory that its arguments point to. ``write``: it writes there, or hands the pointers on. ``block``: it orders
memory between the threads of a block, as a barrier does. ``all``: or between any, of other blocks and
kernels, other devices and the host.
"""


def checked_effects(effects: str) -> str:
    """One of the words for effects."""
    known = get_args(Effects)
    if effects not in known:
        hint = f"write one of {', '.join(known)}"
        refuse("intrinsic", f"effects={effects!r} says nothing", hint=hint)
    return effects


def llvm_intrinsic(name: str, result: Any, *args: Any, effects: Effects = "all") -> Any:
    """Call an LLVM intrinsic.

    Args:
        name: its full name with type suffixes, e.g. ``llvm.nvvm.read.ptx.sreg.tid.x``.
        result: the class of the result, a tuple of classes, or None.
        args: numbers and pointers; literals must be converted first (``Int32(1)``).
        effects: what it does beside giving a result; the compiler believes it.

    Returns:
        a number of the class, a tuple of them, or None.

    Raises:
        CompileError: only another machine than the target has it, LLVM has none of this form (which is seen
            when the kernel is compiled to machine code), or ``effects`` is none of its words.

    Example:
        >>> from weft import Int32, func
        >>> @func
        ... def bits_set(x: Int32) -> Int32:
        ...     return llvm_intrinsic("llvm.ctpop.i32", Int32, x, effects="none")
        >>> bits_set(255)
        8
    """
    b = current()
    stem, _, rest = _text("the name of an intrinsic", name).partition(".")
    if (
        stem != "llvm"
        or not rest
        or not name.replace(".", "").replace("_", "").isalnum()
        or not name.isascii()
    ):
        refuse(
            "intrinsic",
            f"{name!r} is no name of an intrinsic",
            hint='write it as LLVM does, with the suffix for its types: "llvm.ctpop.i32"',
        )
    if not b.target.has_intrinsic(name):
        refuse(
            "intrinsic",
            f"{b.target.name} has no {name}",
            hint="ask before: `if current_target().supports(...):` compiles one side only",
        )
    specs = _specs(result)
    types: tuple[Type, ...] = tuple(leaf.type for s in specs for leaf in s.leaves())
    operands = _operands(args)
    attrs = {"intrin": name, "effects": checked_effects(effects)}
    return _results(b.emit("llvm.call_intrinsic", operands, types, attrs).results, specs)


def function(name: str, x: Number, *others: Number) -> Any:
    """One of the IR's functions of floats, such as ``math.fma``, of numbers of one type."""
    args = (x, *others)
    if not any(isinstance(a.value, Value) for a in args):
        return type(x)(fold_function(name, x.dtype, *[a.value for a in args]))
    b = current()
    values = tuple([value_of(a, b) for a in args])
    return type(x).of(b.value(name, values, values[0].type))


def inline_asm(text: str, result: Any, *args: Any, constraints: str, effects: Effects = "all") -> Any:
    """Inline assembly of the target.

    Args:
        text: the instructions; ``$0``, ``$1`` ... are the results, then the arguments.
        result: the class of the result, a tuple of classes, or None.
        args: numbers and pointers; literals must be converted first (``Int32(1)``).
        constraints: where results and arguments are, in LLVM's words, separated by commas: on NVIDIA
            ``=r`` for a result of 32 bits, ``r`` for such an argument, ``l`` for 64 bits, ``f`` for Float32.
        effects: what it does beside giving a result; the compiler believes it. All but ``none`` keeps its
            place among accesses to memory (LLVM's ``~{memory}``).

    Returns:
        a number of the class, a tuple of them, or None.

    Raises:
        CompileError: the text names a place that the constraints do not have, or a register is of another
            width than what it holds. What LLVM takes is seen when the kernel is compiled to machine code.

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
    operands = _operands(args)
    from weft.lang.assembly import check_operands

    check_operands(
        _text("assembly", text), _text("a constraint", constraints), types, operands, b.target.registers_bits
    )
    if effects != "none" and "~{memory}" not in constraints.split(","):
        constraints = ",".join([*filter(None, [constraints]), "~{memory}"])
    attrs = {"asm_string": text, "constraints": constraints, "effects": checked_effects(effects)}
    return _results(b.emit("llvm.inline_asm", operands, types, attrs).results, specs)
