"""Which intrinsic or inline assembly of a module LLVM does not take, and what it would take instead.

Asked after LLVM has failed on the module: each is tried in a small module of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from weft.compiler.ir.constants import constant
from weft.compiler.ir.core import Function, Module, Op, Value
from weft.compiler.ir.types import AddressSpace, VectorType, pointer
from weft.compiler.llvm import emit as llvm
from weft.compiler.llvm.constants import number_text
from weft.compiler.llvm.lower import LOWER
from weft.compiler.llvm.lowering import Lowering
from weft.diagnostics import CompileError, Location
from weft.diagnostics.wrote import statement_place
from weft.targets import Target

_SUSPECTS = ("llvm.call_intrinsic", "llvm.inline_asm")
_TRIALS = 300
"""So many other forms of an intrinsic are tried before nothing is said of what is allowed."""
_NAMES = {
    "i1": "Bool",
    "i8": "Int8",
    "i16": "Int16",
    "i32": "Int32",
    "i64": "Int64",
    "half": "Float16",
    "bfloat": "BFloat16",
    "float": "Float32",
    "double": "Float64",
    "ptr": "Pointer",
}
"""What the language calls LLVM's types."""

_Form = tuple[tuple[str, ...], tuple[str, ...]]
"""The types of the results and of the arguments."""


def blamed(module: Module, target: Target) -> CompileError | None:
    """The error of the first call in the module that LLVM takes in no module; none where it takes all."""
    seen: set[str] = set()
    for function in module.functions:
        for op in function.body.walk():
            if op.name in _SUSPECTS and (text := _alone(op, target)) not in seen:
                seen.add(text)
                reason = llvm.check(text, target, "asm" if target.format == "ptx" else "object")
                if reason is not None:
                    about = _intrinsic if op.name == "llvm.call_intrinsic" else _assembly
                    return about(op, target, reason, _place(op, function))
    return None


def _alone(op: Op, target: Target) -> str:
    """A module with nothing but this operation, on arguments of its function and on its constants."""
    lw = Lowering(LOWER, Module("check", target.name), target, debug=False)
    parameters: list[str] = []
    for n, v in enumerate(op.operands):
        written = _constant_text(v)
        lw.names[v] = written or f"%p{n}"
        if written is None:
            parameters.append(f"{lw.type(v.type)} %p{n}")
    LOWER[op.name](lw, op)
    for n, result in enumerate(op.results):
        place = f"{lw.type(pointer(AddressSpace.GENERIC))} %out{n}"
        parameters.append(place)
        lw.put(f"store {lw.typed(result)}, {place}")
    return _text(target, [*lw.declared.values()], parameters, lw.out)


def _text(target: Target, declared: list[str], parameters: list[str], body: list[str]) -> str:
    head = [f'target triple = "{target.triple}"'] if target.triple else []
    cpu = "" if target.cpu == "native" else f' "target-cpu"="{target.cpu}"'
    start = f"define void @weft$check({', '.join(parameters)}){cpu} {{"
    return "\n".join([*head, *declared, start, *body, "  ret void", "}", ""])


def _constant_text(v: Value) -> str | None:
    known = constant(v)
    return None if known is None or isinstance(v.type, VectorType) else number_text(known, v.type)


def _place(op: Op, function: Function) -> Location:
    return statement_place(op.loc[2].file if len(op.loc) == 4 else function.file, *op.loc[:2])


def _intrinsic(op: Op, target: Target, reason: str, place: Location) -> CompileError:
    name = str(op.attrs["intrin"])
    form = _form(op, target)
    first, *rest = [line for line in reason.splitlines() if line.strip()] or [""]
    found = (f"LLVM: {first.strip()}",)
    if "unknown intrinsic" in reason:
        hint = "take its name from LLVM's reference, with the suffix for its types: llvm.ctpop.i32"
        return CompileError.at(
            "intrinsic", f"LLVM has no intrinsic {name}", place, notes=found, hints=(hint,)
        )
    if "Cannot select" in reason or "annot be selected" in reason:
        hint = "ask before: `if current_target().supports(...):` compiles one side only"
        return CompileError.at("intrinsic", f"{target.name} has no {name}", place, notes=found, hints=(hint,))
    if "immarg" in reason:
        at = next((n + 1 for n in range(len(op.operands)) if any(f"%p{n}" in line for line in rest[:1])), 0)
        which = f"argument {at}" if at else "an argument"
        hint = "write a number, converted: Int32(0), say; or take it from a Comptime parameter"
        message = f"{which} of {name} is known at run time only, and LLVM wants it in the instruction"
        return CompileError.at("intrinsic", message, place, notes=found, hints=(hint,))
    message = f"there is no {name} of this form: found {_written(*form)}"
    allowed = _allowed(name, form, target)
    notes = found if allowed is None else (*found, f"allowed is {_written(*allowed)}")
    hint = "correct the name's types, the result and the arguments; literals are converted first: Int32(1)"
    return CompileError.at("intrinsic", message, place, notes=notes, hints=(hint,))


def _assembly(op: Op, target: Target, reason: str, place: Location) -> CompileError:
    results, arguments = _form(op, target)
    what = f"the results are {_listed(results) or 'none'}, the arguments {_listed(arguments) or 'none'}"
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    said = next((line for line in lines if "error:" in line or "ERROR:" in line), lines[0] if lines else "")
    said = said.rpartition("error:")[2].rpartition("ERROR:")[2].strip()
    message = f"LLVM does not take this assembly: {said}"
    constraints = str(op.attrs["constraints"])
    hint = "constraints name one place for each result (=r), then one for each argument, then what is changed"
    return CompileError.at(
        "assembly", message, place, notes=(f"the constraints are {constraints!r}; {what}",), hints=(hint,)
    )


def _form(op: Op, target: Target) -> _Form:
    lw = Lowering(LOWER, Module("check", target.name), target, debug=False)
    return tuple(lw.type(r.type) for r in op.results), tuple(lw.type(v.type) for v in op.operands)


def _listed(types: tuple[str, ...]) -> str:
    return ", ".join(map(_named, types))


def _written(results: tuple[str, ...], arguments: tuple[str, ...]) -> str:
    gives = _listed(results) if len(results) == 1 else f"({_listed(results)})" if results else "None"
    return f"({_listed(arguments)}) -> {gives}"


def _named(type: str) -> str:
    if type.startswith("<"):
        lanes, _, element = type.strip("<>").partition(" x ")
        return f"SIMD[{_named(element)}, {lanes}]"
    return _NAMES.get(type.partition(" ")[0], type)


def _allowed(name: str, form: _Form, target: Target) -> _Form | None:
    """A form of the intrinsic near to this one."""
    for results, arguments in itertools.islice(_near(form), _TRIALS):
        gives = results[0] if len(results) == 1 else "{" + ", ".join(results) + "}" if results else "void"
        declared = f"declare {gives} @{name}({', '.join(arguments)})"
        call = f"call {gives} @{name}({', '.join(f'{t} {_some(t)}' for t in arguments)})"
        text = _text(target, [declared], [], [f"  %r = {call}" if results else f"  {call}"])
        reason = llvm.check(text, target, "check")
        if reason is None:
            return results, arguments
        if "unknown intrinsic" in reason or "LLVM ERROR" in reason or "Assertion" in reason:
            return None
    return None


def _some(type: str) -> str:
    """A constant of a type, for an argument that may have to be one."""
    return (
        "null"
        if type.startswith("ptr")
        else "zeroinitializer"
        if type.startswith("<")
        else {"i1": "false", "half": "0xH0000", "bfloat": "0xR0000", "float": "0.0", "double": "0.0"}.get(
            type, "0"
        )
    )


def _near(form: _Form) -> Iterator[_Form]:
    """Forms that differ in the result, in one argument, in how many there are; then in both."""
    results, arguments = form
    every = [
        *dict.fromkeys([*results, *arguments, "i32", "i64", "float", "double", "i1", "ptr"]),
        "i16",
        "i8",
        "half",
    ]
    others: list[tuple[str, ...]] = [(t,) for t in every]
    others += [(), *((t, "i1") for t in every), *((t, t) for t in every)]
    near: list[tuple[str, ...]] = [
        (*arguments[:n], t, *arguments[n + 1 :]) for n in range(len(arguments)) for t in every
    ]
    near += [(t,) * len(arguments) for t in every]
    near += [(*arguments, *(t,) * n) for n in (1, 2, 3) for t in every]
    near += [arguments[:n] for n in range(len(arguments))]
    yield from ((other, arguments) for other in others)
    yield from ((results, other) for other in near)
    yield from (((t,), (t,) * n) for t in every for n in (len(arguments), len(arguments) + 1))
    yield from ((one, other) for other in near for one in others)
