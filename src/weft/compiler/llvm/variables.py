"""Variables for debuggers of native code: each has a home in memory, where each statement writes it.

So it is there whatever the code does with it, and of the thread that runs: behind a barrier the threads go on
one by one. Only code that is not optimised has them.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from weft.compiler.ir.core import Op, Value
from weft.compiler.ir.types import BF16, I1

if TYPE_CHECKING:
    from weft.compiler.llvm.debug import DebugInfo
    from weft.compiler.llvm.lowering import Lowering

_ENCODINGS = {"b": "boolean", "i": "signed", "u": "unsigned", "f": "float"}


class _Home:
    """Where a variable lies: what is stored at which offsets, and how large it is so far."""

    def __init__(self, debug: DebugInfo, leaves: Iterator[Value]) -> None:
        self.debug = debug
        self.leaves = leaves
        self.stores: list[tuple[int, Value | str]] = []
        self.size = 0

    def of(self, form: Any) -> str | None:
        """The type of a value of such a form (``frontend/stepping.py``); None of what is not shown."""
        kind, *rest = form
        if kind == "static":
            return self.static(rest[0])
        if kind == "number":
            return self.number(*rest)
        if kind == "pointer":
            return self.pointer(self.element(rest[0]))
        if kind == "maybe":
            return self.parts("", ["there", "value"], *rest)
        if kind == "parts":
            return self.parts(*rest)
        if kind == "columns":
            return self.of(*rest)
        if kind == "array":
            return self.tensor(*rest)
        for _ in range(rest[1]):
            next(self.leaves)
        return None

    def put(self, what: Value | str, size: int) -> None:
        """Something of so many bytes, where it is aligned."""
        at = -(-self.size // size) * size
        self.stores.append((at, what))
        self.size = at + size

    def element(self, dtype: str | list[Any]) -> str:
        """The type of a number in memory; of what is none, bytes."""
        dtype = dtype if isinstance(dtype, str) else str(dtype[0])
        name, bits = dtype.rstrip("0123456789"), int("".join(filter(str.isdigit, dtype)) or 8)
        known = name in ("bool", "int", "uint", "float", "bfloat")
        name = "uint" if name == "bfloat" else name  # debuggers know its bits alone
        encoding = _ENCODINGS[name[0]] if known else "unsigned_char"
        bits = bits if known else 8
        return self.debug.once(f'!DIBasicType(name: "{dtype}", size: {bits}, encoding: DW_ATE_{encoding})')

    def number(self, dtype: str, lanes: int) -> str:
        """A number, or a vector of numbers."""
        leaf = next(self.leaves)
        kind = self.element("float32" if leaf.type.scalar is BF16 else dtype)
        if lanes == 1:
            self.put(leaf, 1 if leaf.type is I1 else 4 if leaf.type is BF16 else leaf.type.bits // 8)
            return kind
        width = 8 if leaf.type.scalar is I1 else 32 if leaf.type.scalar is BF16 else leaf.type.scalar.bits
        size = 1 << (lanes * width // 8 - 1).bit_length()
        self.put(leaf, size)
        return self.several(kind, [lanes], size * 8, ", flags: DIFlagVector")

    def several(self, kind: str, counts: list[int], bits: int, tail: str = "") -> str:
        """An array's type."""
        ranges = [self.debug.once(f"!DISubrange(count: {n})") for n in counts]
        elements = self.debug.once(f"!{{{', '.join(ranges)}}}")
        return self.debug.once(
            f"!DICompositeType(tag: DW_TAG_array_type, baseType: {kind}, size: {bits}{tail}, "
            f"elements: {elements})"
        )

    def pointer(self, to: str) -> str:
        """An address."""
        self.put(next(self.leaves), 8)
        return self.debug.once(f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {to}, size: 64)")

    def tensor(self, dtype: str | list[Any], shape: list[Any], stride: list[Any], *odd: Any) -> str:
        """A tensor: the address of an array where its rows lie one behind the other, else of its elements."""
        kind = self.element(dtype)
        _, lanes, edges = odd or ((), (), ())
        sides = [*shape, *stride, *chain(*(lanes or ())), *[edge[0] for edge in edges or () if edge]]
        rows = [*accumulate(reversed([*map(_known, shape[1:])]), int.__mul__, initial=1)][::-1]
        if None not in sides and not odd and stride == rows:
            kind = self.several(kind, shape, 0)
        found = self.pointer(kind)
        for _ in range(sides.count(None)):
            next(self.leaves)
        return found

    def parts(self, name: str, names: list[str], parts: list[Any]) -> str | None:
        """A struct; a tuple's parts are called _0, _1 and so on."""
        self.size = -(-self.size // 16) * 16
        first, members = self.size, list[str]()
        for n, part in enumerate(parts):
            before = len(self.stores)
            kind = self.of(part)
            if kind is None or len(self.stores) == before:
                continue
            label = names[n] if n < len(names) else f"_{n}"
            members.append(
                f'!DIDerivedType(tag: DW_TAG_member, name: "{label}", baseType: {kind}, '
                f"offset: {(self.stores[before][0] - first) * 8})"
            )
        if not members:
            return None
        called = name or "tuple"
        elements = self.debug.once(f"!{{{', '.join([self.debug.once(member) for member in members])}}}")
        return self.debug.once(
            f'!DICompositeType(tag: DW_TAG_structure_type, name: "{called}", '
            f"size: {(self.size - first) * 8}, elements: {elements})"
        )

    def static(self, text: str) -> str | None:
        """A number that is known at compile time."""
        try:
            value: object = ast.literal_eval(text)
        except ValueError:
            return None
        if isinstance(value, bool):
            self.put(f"i8 {int(value)}", 1)
            return self.element("bool")
        if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
            self.put(f"i64 {value}", 8)
            return self.element("int64")
        if isinstance(value, float):
            (bits,) = struct.unpack("<Q", struct.pack("<d", value))
            self.put(f"double 0x{bits:016X}", 8)
            return self.element("float64")
        return None


def _known(n: int | None) -> int:
    return 1 if n is None else n


def named(lw: Lowering, op: Op) -> None:
    """A variable's value, to its home."""
    debug = lw.debug
    if debug is None or not debug.variables:
        return
    import json  # here, since most code is not for debuggers

    home = _Home(debug, iter(op.operands))
    kind = home.of(json.loads(str(op.attrs["shown"])))
    if kind is None or not home.stores:
        return
    key = variable, place = debug.variable(str(op.attrs["name"]), kind, op.loc)
    if key not in lw.homes:
        address = lw.homes[key] = lw.new()
        lw.out[1:1] = [
            f"  {address} = alloca [{home.size} x i8], align 64",
            f"    #dbg_declare(ptr {address}, {variable}, !DIExpression(), {place})",
        ]
    for offset, what in home.stores:
        at = lw.new()
        lw.put(f"{at} = getelementptr i8, ptr {lw.homes[key]}, i64 {offset}")
        lw.put(f"store {what if isinstance(what, str) else _plain(lw, what)}, ptr {at}, align 1")


def statement(lw: Lowering, op: Op) -> None:
    """The line of what follows, up to the next statement: passes move operations, and a line is to have one
    beginning, behind the variables that are written there.
    """
    if lw.debug is not None and lw.debug.variables:
        lw.dbg = lw.debug.location(op.loc)
        lw.put('call void asm sideeffect "nop", ""()')


def _plain(lw: Lowering, value: Value) -> str:
    """A value as debuggers know it: flags are bytes, bfloat16s are floats."""
    made, t = lw.typed(value), value.type
    if t.scalar is not I1 and t.scalar is not BF16:
        return made
    cast, to = ("zext", "i8") if t.scalar is I1 else ("fpext", "float")
    to, name = to if t.lanes == 1 else f"<{t.lanes} x {to}>", lw.new()
    lw.put(f"{name} = {cast} {made} to {to}")
    return f"{to} {name}"


LOWER = {"weft.named": named, "weft.statement": statement}
