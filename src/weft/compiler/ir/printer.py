"""The IR as text: MLIR's generic syntax, so that MLIR's tools read it."""

from __future__ import annotations

import math
import struct

from weft.compiler.ir.core import Attribute, Function, Module, Op, Region, Value
from weft.compiler.ir.types import FloatType, IntType, Type, VectorType

__all__ = ["print_module"]


def print_module(module: Module, *, locations: bool = False) -> str:
    """The whole module; ``locations`` adds ``loc("file":line:column)`` to every operation."""
    printer = _Printer(locations)
    printer.module(module)
    return "\n".join(printer.lines) + "\n"


def _quoted(text: str) -> str:
    out = ['"']
    for byte in text.encode(errors="replace"):
        char = chr(byte)
        out.append(char if 32 <= byte < 127 and char not in '"\\' else f"\\{byte:02X}")
    return "".join(out) + '"'


def _number(value: bool | int | float, type: Type) -> str:
    scalar = type.scalar
    if isinstance(scalar, FloatType):
        number = float(value)
        if math.isfinite(number):
            text = repr(number)
            text = text if "." in text or "e" not in text else text.replace("e", ".0e")
        else:
            text = _float_bits(number, scalar.bits)
        return f"{text} : {scalar.mlir}" if not isinstance(type, VectorType) else text
    if scalar.bits == 1:
        return "true" if value else "false"
    return f"{int(value)} : {scalar.mlir}" if not isinstance(type, VectorType) else str(int(value))


def _float_bits(number: float, bits: int) -> str:
    if bits == 64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    (pattern,) = struct.unpack("<I", struct.pack("<f", number))
    return f"0x{pattern:08X}" if bits == 32 else f"0x{pattern >> 16:04X}"


def _attribute(value: Attribute) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Type):
        return value.mlir
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, tuple):
        if value and isinstance(value[0], float):
            return "[" + ", ".join(f"{v!r} : f64" for v in value) + "]"
        return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"
    return _number(value, _I64 if isinstance(value, int) else _F64)


_I64 = IntType("i64", "i64", 64)
_F64 = FloatType("f64", "double", 64)


class _Printer:
    def __init__(self, locations: bool) -> None:
        self.lines: list[str] = []
        self.locations = locations
        self.names: dict[Value, str] = {}
        self.file = ""

    def name(self, value: Value) -> str:
        found = self.names.get(value)
        if found is None:
            found = self.names[value] = f"%{len(self.names)}"
        return found

    def loc(self, line: int, column: int) -> str:
        return f" loc({_quoted(self.file)}:{line}:{column + 1})" if self.locations else ""

    def module(self, module: Module) -> None:
        head = f'"builtin.module"() <{{"sym_name" = {_quoted(module.name)}}}> ({{'
        self.lines.append(head)
        for g in module.globals:
            kind = "constant" if g.data is not None else "uninitialized"
            value = f', "value" = {_quoted(g.data.decode("latin-1"))}' if g.data is not None else ""
            self.lines.append(
                f'  "weft.global"() {{"sym_name" = {_quoted(g.name)}, "kind" = "{kind}", '
                f'"space" = {g.space} : i64, "elem_type" = {g.element.mlir}, "count" = {g.count} : i64, '
                f'"alignment" = {g.align} : i64{value}}} : () -> ()'
            )
        for function in module.functions:
            self.function(function)
        target = f' {{"weft.target" = {_quoted(module.target)}}}' if module.target else ""
        self.lines.append(f"}}){target} : () -> ()")

    def function(self, f: Function) -> None:
        self.names = {}
        self.file = f.file
        ins = ", ".join(a.type.mlir for a in f.args)
        outs = ", ".join(t.mlir for t in f.results)
        props = f'"sym_name" = {_quoted(f.name)}, "function_type" = ({ins}) -> ({outs})'
        self.lines.append(f'  "func.func"() <{{{props}}}> ({{')
        args = ", ".join(f"{self.name(a)}: {a.type.mlir}" for a in f.args)
        self.lines.append(f"  ^bb0({args}):" if args else "  ^bb0:")
        self.region(f.body, "    ")
        kind = '{"gpu.kernel"}' if f.kernel else "{}"
        self.lines.append(f"  }}) {kind} : () -> (){self.loc(f.line, 0)}")

    def region(self, region: Region, indent: str) -> None:
        for op in region.ops:
            self.op(op, indent)

    def op(self, op: Op, indent: str) -> None:
        results = ", ".join(self.name(r) for r in op.results)
        left = f"{results} = " if results else ""
        operands = ", ".join(self.name(v) for v in op.operands)
        attrs = self.attributes(op)
        kinds = ", ".join(v.type.mlir for v in op.operands)
        gives = ", ".join(r.type.mlir for r in op.results)
        gives = gives if len(op.results) == 1 else f"({gives})"
        tail = f"{attrs} : ({kinds}) -> {gives}{self.loc(op.loc[0], op.loc[1])}"
        head = f'{indent}{left}"{op.name}"({operands})'
        if not op.regions:
            self.lines.append(head + tail)
            return
        for n, region in enumerate(op.regions):
            self.lines.append(head + " ({" if n == 0 else indent + "}, {")
            if region.args:
                args = ", ".join(f"{self.name(a)}: {a.type.mlir}" for a in region.args)
                self.lines.append(f"{indent}^bb0({args}):")
            elif not region.ops:
                self.lines.append(f"{indent}^bb0:")
            self.region(region, indent + "  ")
        self.lines.append(f"{indent}}}){tail}")

    def attributes(self, op: Op) -> str:
        if not op.attrs:
            return ""
        if op.name == "arith.constant":
            kind = op.result.type
            text = _number(op.number_attr("value"), kind)
            return (
                f' <{{"value" = dense<{text}> : {kind.mlir}}}>'
                if isinstance(kind, VectorType)
                else f' <{{"value" = {text}}}>'
            )
        if op.name in ("arith.cmpi", "arith.cmpf"):
            return f' <{{"predicate" = {_predicate(op)} : i64}}>'
        if op.name in ("func.call", "func.constant", "llvm.call") and "callee" in op.attrs:
            return f' <{{"callee" = @{op.attrs["callee"]}}}>'
        if "fastmath" in op.attrs:
            return f' <{{"fastmath" = #arith.fastmath<{op.attrs["fastmath"]}>}}>'
        inner = ", ".join(f'"{k}" = {_attribute(v)}' for k, v in op.attrs.items())
        return f" {{{inner}}}"


_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_CMPF = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
)


def _predicate(op: Op) -> int:
    table = _CMPI if op.name == "arith.cmpi" else _CMPF
    return table.index(str(op.attrs["predicate"]))
