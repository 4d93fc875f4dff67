"""Functions of C: calls of them, and functions that they call."""

from __future__ import annotations

import functools
import os
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from weft.compiler.ir.core import Function, Value
from weft.compiler.ir.types import I32, I64, IntType, PointerType, pointer
from weft.compiler.source.definition import MISSING
from weft.diagnostics import VALUE, a_, refuse
from weft.dtype import DType
from weft.lang import arith
from weft.lang.decorators import Func
from weft.lang.elaboration import Elaboration, current
from weft.lang.elements import element_type, same_elements
from weft.lang.generic import substitute
from weft.lang.intrinsics import Effects, Feature, checked_effects, current_target
from weft.lang.number import Number, number_class, to_type
from weft.lang.pointer import AddressSpace
from weft.lang.signature import describe_annotation, parameters
from weft.lang.spec import Leaf, NumberSpec, PointerSpec, Spec, StaticSpec, spec_of
from weft.record import record

P = ParamSpec("P")
R = TypeVar("R")
_WORD = 32
"""Bits that an integer fills at least where C's functions pass it."""
_VARIADIC = frozenset(
    "printf fprintf sprintf snprintf dprintf scanf fscanf sscanf open fcntl ioctl syscall execl".split()
)


def _check_target(what: str) -> None:
    target = current_target()
    if not target.supports(Feature.C_FUNCTIONS):
        refuse(
            "c-function",
            f"{what}, and {target.name} has none of its functions",
            notes=("functions of C run on the CPU",),
            hint="call it on the host, or write a @func",
        )


def filled(value: Any) -> Any:
    """A number as C passes and returns it: integers fill 32 bits at least."""
    if not isinstance(value, Number) or value.lanes != 1 or value.dtype.is_float or value.dtype.bits >= _WORD:
        return value
    return number_class(DType.int32 if value.dtype.is_signed else DType.uint32)(value)


def _passed(value: Any, what: str) -> Value:
    """An argument as C's functions take it."""
    spec = spec_of(value)
    if isinstance(spec, (PointerSpec, FunctionSpec)):
        return value.__weft_leaves__()[0]
    if isinstance(spec, NumberSpec):
        if _is_plain(spec):
            number = cast("Number", filled(value))
            return to_type(number, number_class(number.dtype), current())
        hint = "convert it: Float32(...)" if spec.lanes == 1 else "pass a pointer to its lanes"
    elif isinstance(value, (bool, int, float)):
        hint = f"write what C's function takes: Int32({value!r}), say"
        refuse("c-function", f"{what} is the literal {value!r}, which has no type of C's", hint=hint)
    else:
        hint = "pass a pointer to it"
    refuse("c-function", f"{what} is {a_(spec.describe())}, which C's functions do not take", hint=hint)


def _is_plain(spec: Spec) -> bool:
    """Whether C has numbers like it."""
    return (
        isinstance(spec, NumberSpec)
        and spec.lanes == 1
        and not (spec.dtype.is_float and spec.dtype.bits < 32)
    )


def _result_spec(result: Any, of: str) -> Spec:
    from weft.lang.accept import Mismatch, spec_of_annotation

    if result is None:
        return StaticSpec(None)
    try:
        spec = spec_of_annotation(result)
    except Mismatch:
        spec = StaticSpec(result)
    if _is_plain(spec) or isinstance(spec, (PointerSpec, FunctionSpec)):
        return spec
    refuse(
        "c-function",
        f"{of} cannot return {a_(describe_annotation(result))}",
        hint="write a number type such as Int32, Pointer[...], FunctionPointer[...] or None",
    )


def _call(operands: tuple[Value, ...], result: Spec, name: str = "", effects: str = "all") -> Any:
    """Emit the call; of ``result`` what C returns."""
    b, attrs = current(), {"effects": effects} | ({"callee": name} if name else {})
    leaves = result.leaves()
    if not leaves:
        b.emit("llvm.call", operands, (), attrs)
        return None
    kind = leaves[0].type
    narrow = isinstance(kind, IntType) and kind.bits < _WORD
    value = b.emit("llvm.call", operands, (I32 if narrow else kind,), attrs).result
    if narrow:
        assert isinstance(result, NumberSpec)
        byte = DType.uint8 if result.dtype is DType.bool else result.dtype
        value = arith.cast(b, value, DType.int32, byte)
        if byte is not result.dtype:
            value = arith.cast(b, value, byte, DType.bool)
    return result.build([value])


class _Callee(Generic[R]):
    """``external_call["name", R]``."""

    __slots__ = ("name", "result")

    def __init__(self, name: str, result: Any) -> None:
        self.name: str = name
        self.result: Any = result

    def __call__(self, *args: Any, effects: Effects = "all") -> R:
        """Call the function; ``effects`` says what it does beside returning, as for ``llvm_intrinsic``."""
        name = self.name
        _check_target(f"external_call calls a function of the process, `{name}`")
        result = _result_spec(self.result, name)
        operands = tuple([_passed(value, f"argument {n} of {name}") for n, value in enumerate(args, 1)])
        if not _is_there(name) and current_target().cpu == "native":
            refuse(
                "c-function",
                f"there is no function `{name}` in this process",
                hint="load its library before: ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)",
            )
        return _call(operands, result, name, checked_effects(effects))


class _ExternalCall:
    """Calls of C's functions; see ``weft.ffi.external_call``."""

    @overload
    def __getitem__(self, item: tuple[str, None]) -> _Callee[None]: ...

    @overload
    def __getitem__(self, item: tuple[str, type[R]]) -> _Callee[R]: ...

    def __getitem__(self, item: tuple[str, Any]) -> _Callee[Any]:
        if not isinstance(item, tuple) or len(item) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
            refuse(
                "c-function",
                "external_call[...] has a name and what the function returns",
                hint='write external_call["hypot", Float64](x, y), with None where nothing is returned',
            )
        name, result = item
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():  # pyright: ignore[reportUnnecessaryIsInstance]
            refuse(
                "c-function", f"{name!r} is no name of a function of C", hint='write it in quotes: "hypot"'
            )
        if name in _VARIADIC:
            refuse(
                "c-function",
                f"{name} takes arguments of any number, which external_call cannot pass",
                hint="write print(...)" if "printf" in name else "call one that takes as many as it says",
            )
        return _Callee(name, result)


external_call: _ExternalCall = _ExternalCall()
"""``external_call["hypot", Float64](x, y)`` calls a function of C by its name; see ``weft.ffi``."""


def _is_there(name: str) -> bool:
    """Whether the process has a function of that name, as far as can be asked."""
    if os.name != "posix":
        return True
    import ctypes

    return hasattr(ctypes.CDLL(None), name)


@record
class FunctionSpec:
    """A pointer to a function of C that takes these and returns that. It travels as an address."""

    parameters: tuple[Spec, ...]
    result: Spec

    def leaves(self) -> list[Leaf]:
        """The machine values that complete it, in order."""
        return [Leaf("", I64, DType.uint64)]

    def build(self, leaves: Any) -> Any:
        """The value, from its leaves."""
        made: FunctionPointer[..., Any] = FunctionPointer(leaves[0], self)
        return made

    def describe(self) -> str:
        """How a message names it."""
        given = ", ".join([spec.describe() for spec in self.parameters])
        result = self.result.describe() if self.result.leaves() else "None"
        return f"FunctionPointer[[{given}], {result}]"


class FunctionPointer(Generic[P, R]):
    """A pointer to a function of C, as a value: it can be called, stored, passed on and taken as a parameter.

    ``FunctionPointer[[Pointer[Int32], Int], Bool]`` is the type of such that take a pointer and an Int.
    ``function_pointer(f)`` makes one of a ``@func``; from Python a parameter takes a function of ctypes,
    which is to live for as long as it may be called.

    Example:
        >>> import ctypes
        >>> from weft import Float64, func
        >>> @func
        ... def twice(f: FunctionPointer[[Float64], Float64], x: Float64) -> Float64:
        ...     return f(f(x))
        >>> twice(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x + 0.25), 1.0)
        1.5
    """

    __slots__ = ("spec", "value")
    __weft_element__: Any = staticmethod(element_type)

    def __init__(self, value: Value, spec: FunctionSpec) -> None:
        self.value: Value = value
        self.spec: FunctionSpec = spec

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload  # Python's numbers stand for weft's
    def __call__(self, *args: Any) -> R: ...

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        """Call the function; each argument becomes what its parameter is, where that loses nothing."""
        _check_target("a FunctionPointer is called on the CPU")
        spec, name = self.spec, self.spec.describe()
        if kwargs or len(args) != len(spec.parameters):
            wanted = len(spec.parameters)
            hint = f"give it {wanted} argument{'s' * (wanted != 1)}, by position"
            refuse("argument-count", f"{len(args) + len(kwargs)} arguments for a {name}", hint=hint)
        b = current()
        operands = [
            _given(b, n, value, to)
            for n, (value, to) in enumerate(zip(args, spec.parameters, strict=True), 1)
        ]
        callee = b.value("llvm.inttoptr", (self.value,), pointer(AddressSpace.GENERIC))
        return _call((callee, *operands), spec.result)

    def __weft_spec__(self) -> Spec:
        return self.spec

    def __weft_leaves__(self) -> list[Value]:
        return [self.value]

    def __weft_address__(self) -> Value:
        return self.value

    @classmethod
    def __weft_spec_of_annotation__(cls, args: tuple[Any, ...], given: Any) -> Spec:
        from weft.lang.accept import Mismatch

        if len(args) != 2 or not isinstance(args[0], (list, tuple)):
            hint = "write FunctionPointer[[Float64, Float64], Float64], say"
            raise Mismatch(
                "a FunctionPointer without parameters and result", "both", hint, "says not what it takes"
            )
        return _spec(tuple(cast("Any", args[0])), args[1])

    @classmethod
    def __weft_accept__(cls, args: tuple[Any, ...], value: Any) -> tuple[Spec, list[Any]]:
        from weft.lang.accept import Mismatch

        spec = cast("FunctionSpec", cls.__weft_spec_of_annotation__(args, MISSING))
        if not any(
            base.__module__ == "_ctypes" and base.__name__ == "CFuncPtr" for base in type(value).__mro__
        ):
            hint = "pass a function of ctypes; a @func becomes one in compiled code, by function_pointer(f)"
            raise Mismatch(a_(type(value).__name__), a_(spec.describe()), hint)
        import ctypes

        sizes = [spec_size(each) for each in spec.parameters]
        given = getattr(value, "argtypes", None)
        if given is not None and [ctypes.sizeof(each) for each in given] != sizes:
            names = ", ".join([each.__name__ for each in given])
            raise Mismatch(f"a function of ({names})", a_(spec.describe()), "declare both alike")
        return spec, [ctypes.cast(value, ctypes.c_void_p).value or 0]


def spec_size(spec: Spec) -> int:
    """Bytes of a value that C's functions take."""
    return spec.dtype.itemsize if isinstance(spec, NumberSpec) else 8


@functools.cache
def _spec(given: tuple[Any, ...], result: Any) -> FunctionSpec:
    what = "a FunctionPointer"
    specs = tuple([_result_spec(each, what) for each in given])
    return FunctionSpec(
        specs, StaticSpec(None) if result in (None, type(None)) else _result_spec(result, what)
    )


def _given(b: Elaboration, n: int, value: Any, to: Spec) -> Value:
    """An argument of a call through a pointer."""
    if isinstance(to, NumberSpec):
        cls = number_class(to.dtype)
        return _passed(cls.of(to_type(value, cls, b)), "")
    found = spec_of(value)
    if found != to and not same_elements(found, to):
        message = f"argument {n} is {a_(found.describe())}, not {a_(to.describe())}"
        refuse("argument-type", message, hint=f"pass {a_(to.describe())}")
    return value.__weft_leaves__()[0]


def function_pointer(function: Func[P, R]) -> FunctionPointer[P, R]:
    """A pointer to a ``@func``, as C calls it.

    Raises:
        CompileError: a parameter has no annotation or is none that C has; the function prints, asserts or
            asks for its thread, which C does not know of; or the target is no CPU.

    Example:
        >>> import numpy as np
        >>> from weft import Int, Int32, Pointer, UInt64, func
        >>> from weft.ffi import external_call
        >>> @func
        ... def compare(a: Pointer[Int32], b: Pointer[Int32]) -> Int32:
        ...     return Int32(-1) if a[0] < b[0] else Int32(a[0] > b[0])
        >>> @func
        ... def sort(values: Pointer[Int32], n: Int):
        ...     external_call["qsort", None](values, UInt64(n), UInt64(4), function_pointer(compare))
        >>> values = np.array([3, 1, 2], np.int32)
        >>> sort(values, 3)
        >>> values
        array([1, 2, 3], dtype=int32)
    """
    if not isinstance(function, Func):  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse(
            "c-function",
            f"`{VALUE}` is {a_(type(function).__name__)}, not a @func",
            hint="decorate it with @func",
            part=VALUE,
        )
    _check_target("function_pointer makes what functions of the process call")
    b, order = current(), callback_order(function)
    b.elaborator.note_use("function_pointer")
    value, result = b.elaborator.callback(function, order)
    return FunctionPointer(value, FunctionSpec(tuple([spec for _, spec in order]), result))


def callback_order(function: Func[..., Any]) -> list[tuple[str, Spec]]:
    """The parameters of a function that C calls, with what they are.

    Raises:
        CompileError: one is none that C has.
    """
    name = function.__name__
    order: list[tuple[str, Spec]] = []
    given = parameters(function.definition)
    for p in given:
        if p.variable and p.name not in function.bound:
            message = f"nothing says what `{p.name}` of {name} is where C calls it"
            refuse("c-function", message, hint=f"give it: {name}[Float32], say")
    for p in given:
        if p.name in function.bound and (p.variable or p.comptime):
            continue
        if p.name in function.bound or p.comptime or p.annotation is MISSING:
            refuse(
                "c-function",
                f"`{p.name}` of {name} is {'known at compile time' if p.comptime else 'of no type'}, "
                "so C cannot give it",
                hint="annotate it with a number type or Pointer[...]",
            )
        annotation = substitute(p.annotation, function.bound)
        order.append((p.name, _result_spec(annotation, f"C for `{p.name}` of {name}")))
    return order


def check_result(name: str, result: Spec) -> None:
    """Refuse what a function returns that C calls, unless C has it."""
    if result.leaves() and not _is_plain(result) and not isinstance(result, (PointerSpec, FunctionSpec)):
        refuse(
            "c-function",
            f"{name} returns {a_(result.describe())}, which C cannot take",
            hint="return a number",
        )


def check_callback(name: str, function: Function) -> None:
    """Refuse what C's functions cannot call, since they call it in no thread of a launch."""
    for op in function.body.walk():
        if op.name.startswith("gpu."):
            does = "waits for other threads" if op.name == "gpu.barrier" else "asks which thread runs it"
        elif op.name in ("weft.print", "weft.assert"):
            does = f"has {a_(op.name.removeprefix('weft.'))}"
        elif (
            op.name == "llvm.mlir.addressof"
            and cast("PointerType", op.result.type).space == AddressSpace.SHARED
        ):
            does = "has shared memory"
        else:
            continue
        message = f"{name} {does}, and C calls it in no thread of a launch"
        refuse("c-function", message, hint="return what there is to say, or write it to memory")
