"""The IR as text: MLIR's generic syntax, so that MLIR's tools read it, and tests (``mlir_text``)."""

from __future__ import annotations

import math
import re

from weft.abi.formats import bits_of
from weft.compiler.ir.core import Attribute, Function, Global, Loc, Module, Op, Region, Value
from weft.compiler.ir.ops import FUNCTION
from weft.compiler.ir.types import I64, FloatType, Type, VectorType
from weft.dtype import DType

FLOATS = {"f16": DType.float16, "bf16": DType.bfloat16, "f32": DType.float32, "f64": DType.float64}
_PROPERTIES = frozenset({"arith", "math", "func"})
"""MLIR's own dialects that we keep to, whose attributes stand in ``<{ }>``."""


def print_module(module: Module, *, locations: bool = False) -> str:
    """The whole module; ``locations`` adds ``loc("file":line:column)`` to every operation."""
    printer = _Printer(locations)
    printer.module(module)
    return "\n".join(printer.lines) + "\n"


def quoted(text: str | bytes) -> str:
    """A string as MLIR's text has it."""
    out = ['"']
    for byte in text.encode(errors="surrogateescape") if isinstance(text, str) else text:
        char = chr(byte)
        out.append(char if 32 <= byte < 127 and char not in '"\\' else f"\\{byte:02X}")
    return "".join(out) + '"'


def _symbol(name: str) -> str:
    return f"@{name}" if re.fullmatch(r"[A-Za-z_][\w$.]*", name, re.ASCII) else f"@{quoted(name)}"


def _number(value: bool | int | float, type: Type) -> str:
    scalar = type.scalar
    if isinstance(scalar, FloatType):
        number = float(value)
        if math.isfinite(number):
            text = repr(number)
            text = text if "." in text or "e" not in text else text.replace("e", ".0e")
        else:
            text = f"0x{bits_of(FLOATS[scalar.mlir], number):0{scalar.bits // 4}X}"
    elif scalar.bits == 1:
        text = "true" if value else "false"
    else:
        text = str(int(value))
    if isinstance(type, VectorType):
        return f"dense<{text}> : {type.mlir}"
    return text if scalar.bits == 1 else f"{text} : {scalar.mlir}"


def _plain(value: Attribute) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Type):
        return value.mlir
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"
    return _number(value, I64)


def _attribute(op: Op, name: str, value: Attribute) -> str:
    sort = op.spec.attributes.written.get(name, "")
    if sort == "symbol":
        return _symbol(str(value))
    if sort == "number":
        return _number(op.number_attr(name), op.result.type)
    numbered = op.spec.attributes.numbered.get(name)
    if numbered is not None:
        return f"{numbered.index(str(value))} : i64"
    return f"{sort.partition('<')[0]}<{value}>" if sort.startswith("#") else _plain(value)


class _Printer:
    def __init__(self, locations: bool) -> None:
        self.lines: list[str] = []
        self.locations = locations
        self.names: dict[Value, str] = {}
        self.used: set[str] = set()
        self.file = ""
        self.mentioned: dict[str, Function] = {}

    def name(self, value: Value) -> str:
        found = self.names.get(value)
        if found is None:
            found = re.sub(r"[^\w$.]", "_", value.name, flags=re.ASCII) or str(len(self.names))
            while found in self.used:
                found += f"_{len(self.names)}"
            self.used.add(found)
            self.names[value] = found = f"%{found}"
        return found

    def loc(self, loc: Loc) -> str:
        return f" loc({self.place(loc)})" if self.locations else ""

    def place(self, loc: Loc) -> str:
        at = f"{loc[0]}:{loc[1] + 1}"
        if len(loc) == 2:
            return f"{quoted(self.file)}:{at}"
        callee = self.mentioned[loc[2].name] = loc[2]
        return f"callsite({quoted(callee.name)}({quoted(callee.file)}:{at}) at {self.place(loc[3])})"

    def module(self, module: Module) -> None:
        self.lines.append(f'"builtin.module"() <{{"sym_name" = {quoted(module.name)}}}> ({{')
        for g in module.globals:
            self.memory(g)
        for function in module.functions:
            self.function(function)
        here = {f.name for f in module.functions}
        for gone in [f for name, f in self.mentioned.items() if name not in here]:  # put into its callers
            self.names, self.used = {}, set()
            self.head(gone, ', "sym_visibility" = "private"')
            self.arguments(gone)
            self.foot(gone)
        target = f' {{"weft.target" = {quoted(module.target)}}}' if module.target else ""
        self.lines.append(f"}}){target} : () -> ()")

    def memory(self, g: Global) -> None:
        kind = "constant" if g.data is not None else "scratch" if g.scratch else "uninitialized"
        kind = "external" if g.external else kind
        value = f', "value" = {quoted(g.data)}' if g.data is not None else ""
        self.lines.append(
            f'  "weft.global"() {{"sym_name" = {quoted(g.name)}, "kind" = "{kind}", '
            f'"space" = {g.space} : i64, "elem_type" = {g.element.mlir}, "count" = {g.count} : i64, '
            f'"alignment" = {g.align} : i64{value}}} : () -> ()'
        )

    def function(self, f: Function) -> None:
        self.names, self.used = {}, set()
        self.file = f.file
        self.head(f)
        self.arguments(f)
        self.region(f.body, "    ")
        self.foot(f)

    def arguments(self, f: Function) -> None:
        args = ", ".join(f"{self.name(a)}: {a.type.mlir}" for a in f.args)
        self.lines.append(f"  ^bb0({args}):" if args else "  ^bb0:")

    def head(self, f: Function, more: str = "") -> None:
        ins = ", ".join(a.type.mlir for a in f.args)
        outs = ", ".join(t.mlir for t in f.results)
        props = f'"sym_name" = {quoted(f.name)}, "function_type" = ({ins}) -> ({outs}){more}'
        self.lines.append(f'  "func.func"() <{{{props}}}> ({{')

    def foot(self, f: Function) -> None:
        told: list[str] = []
        for name in FUNCTION.written:
            value: Attribute | frozenset[int] = getattr(f, name.rpartition(".")[2])
            if value and (self.locations or name != "weft.source_name"):
                value = tuple(sorted(value)) if isinstance(value, frozenset) else value
                told.append(f'"{name}"' if value is True else f'"{name}" = {_plain(value)}')
        self.file = f.file
        self.lines.append(f"  }}) {{{', '.join(told)}}} : () -> (){self.loc((f.line, 0))}")

    def region(self, region: Region, indent: str) -> None:
        for op in region.ops:
            self.op(op, indent)

    def op(self, op: Op, indent: str) -> None:
        results = ", ".join(self.name(r) for r in op.results)
        left = f"{results} = " if results else ""
        operands = ", ".join(self.name(v) for v in op.operands)
        kinds = ", ".join(v.type.mlir for v in op.operands)
        gives = ", ".join(r.type.mlir for r in op.results)
        gives = gives if len(op.results) == 1 else f"({gives})"
        before, behind = self.attributes(op)
        tail = f"{behind} : ({kinds}) -> {gives}{self.loc(op.loc)}"
        head = f'{indent}{left}"{op.name}"({operands}){before}'
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

    def attributes(self, op: Op) -> tuple[str, str]:
        """What stands before the regions, and what behind."""
        if not op.attrs:
            return "", ""
        inner = ", ".join([f'"{k}" = {_attribute(op, k, v)}' for k, v in op.attrs.items()])
        return (f" <{{{inner}}}>", "") if op.name.partition(".")[0] in _PROPERTIES else ("", f" {{{inner}}}")
