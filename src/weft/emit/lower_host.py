"""Lowering of what a kernel tells its host: print and assert.

Where the driver offers ``vprintf`` (CUDA), values travel in a struct beside a C format. Elsewhere
they are stored in 8-byte slots and the runtime is called, which formats with Python.
"""

from __future__ import annotations

from weft.artifact import PrintSite
from weft.dtype import DType
from weft.emit.lowering import Lowering, LoweringTable
from weft.ir.core import Op, Value
from weft.ir.types import FloatType

__all__ = ["LOWER"]


def c_format(site: PrintSite) -> str:
    """The C format of a print, for values widened as C's varargs are."""
    out: list[str] = []
    for piece in site.pieces:
        if isinstance(piece, str):
            out.append(piece.replace("%", "%%"))
            continue
        dtype, spec = piece if isinstance(piece, tuple) else (piece, "")
        out.append("%" + _directive(dtype, spec))
    return "".join(out)


def _directive(dtype: DType, spec: str) -> str:
    if dtype.is_float:
        return spec if spec else "g"
    if dtype.kind == "bool":
        return "s"
    if spec and spec[-1] in "xXo":
        return f"{spec[:-1]}ll{spec[-1]}"
    width = spec.rstrip("d")
    return width + ("lld" if dtype.is_signed else "llu")


def _widened(lw: Lowering, v: Value, dtype: DType) -> tuple[str, str]:
    """A value as an 8-byte one, and its LLVM type."""
    ref = lw.ref(v)
    if isinstance(v.type, FloatType):
        if v.type.bits == 64:
            return ref, "double"
        name = lw.new()
        lw.put(f"{name} = fpext {lw.typed(v)} to double")
        return name, "double"
    if v.type.bits == 64:
        return ref, "i64"
    name = lw.new()
    lw.put(f"{name} = {'sext' if dtype.is_signed else 'zext'} {lw.typed(v)} to i64")
    return name, "i64"


def _dtypes(site: PrintSite) -> list[DType]:
    return [p[0] if isinstance(p, tuple) else p for p in site.pieces if not isinstance(p, str)]


def _host_print(lw: Lowering, op: Op) -> None:
    number = op.int_attr("site")
    state, *values = op.operands
    block = _packed(lw, values, lw.prints[number])
    lw.declare("weft_print", "void", "i64, i32, ptr")
    lw.put(f"call void @weft_print({lw.typed(state)}, i32 {number}, ptr {block})")


def _packed(lw: Lowering, values: list[Value], site: PrintSite) -> str:
    """The values in 8-byte slots; floats keep their own bits in the low end."""
    if not values:
        return "null"
    block = lw.scratch(len(values))
    for n, v in enumerate(values):
        at = lw.new()
        lw.put(f"{at} = getelementptr inbounds i64, ptr {block}, i64 {n}")
        if isinstance(v.type, FloatType):
            lw.put(f"store {lw.typed(v)}, ptr {at}, align 8")
        else:
            ref, _ = _widened(lw, v, _dtypes(site)[n])
            lw.put(f"store i64 {ref}, ptr {at}, align 8")
    return block


def _print(lw: Lowering, op: Op) -> None:
    site = lw.prints[op.int_attr("site")]
    lw.declare("vprintf", "i32", "ptr, ptr")
    text = lw.string(c_format(site).encode())
    block = "null"
    if op.operands:
        block = lw.scratch(len(op.operands))
        for n, (v, dtype) in enumerate(zip(op.operands, _dtypes(site), strict=True)):
            at = lw.new()
            lw.put(f"{at} = getelementptr inbounds i64, ptr {block}, i64 {n}")
            if dtype.kind == "bool":
                name = lw.new()
                yes, no = lw.string(b"True"), lw.string(b"False")
                lw.put(f"{name} = select i1 {lw.ref(v)}, ptr {yes}, ptr {no}")
                lw.put(f"store ptr {name}, ptr {at}, align 8")
            else:
                ref, kind = _widened(lw, v, dtype)
                lw.put(f"store {kind} {ref}, ptr {at}, align 8")
    status = lw.new()
    lw.put(f"{status} = call i32 @vprintf(ptr {text}, ptr {block})")


def _assert(lw: Lowering, op: Op) -> None:
    number = op.int_attr("site")
    site = lw.asserts[number]
    fails, end = lw.new_label("fails"), lw.new_label("holds")
    lw.put(f"br i1 {lw.ref(op.operands[0])}, label %{end}, label %{fails}")
    lw.start(fails)
    lw.declare("__assertfail", "void", "ptr, ptr, i32, ptr, i64")
    message, file = lw.string(site.message.encode()), lw.string(site.file.encode())
    name = lw.string(lw.module.name.encode())
    lw.put(f"call void @__assertfail(ptr {message}, ptr {file}, i32 {site.line}, ptr {name}, i64 1)")
    lw.put("unreachable")
    lw.start(end)


def _host_assert(lw: Lowering, op: Op) -> None:
    condition, state, *ids = op.operands
    fails, end = lw.new_label("fails"), lw.new_label("holds")
    block = lw.scratch(3)
    lw.put(f"br i1 {lw.ref(condition)}, label %{end}, label %{fails}")
    lw.start(fails)
    for n, v in enumerate(ids):
        at, narrow = lw.new(), lw.new()
        lw.put(f"{narrow} = trunc {lw.typed(v)} to i32")
        lw.put(f"{at} = getelementptr inbounds i32, ptr {block}, i64 {n}")
        lw.put(f"store i32 {narrow}, ptr {at}, align 4")
    half = lw.new()
    lw.put(f"{half} = getelementptr inbounds i32, ptr {block}, i64 3")
    lw.declare("weft_assert", "void", "i64, i32, ptr, ptr")
    lw.put(f"call void @weft_assert({lw.typed(state)}, i32 {op.attrs['site']}, ptr {block}, ptr {half})")
    thread = next((loop for loop in reversed(lw.loops) if loop.thread), None)
    if thread is not None:  # the thread ends here; in a helper the helper returns zeros
        lw.jump(thread.latch)
    else:
        lw.leave_function()
    lw.start(end)


LOWER: LoweringTable = {
    "weft.print": _print,
    "weft.assert": _assert,
    "weft.host_print": _host_print,
    "weft.host_assert": _host_assert,
}
