"""What each operation that computes is in Python.

Integers are Python's, the numbers with sign that their bits are; flags are bools, addresses integers without
sign. Floats are NumPy's scalars, which compute as the machine does; a bfloat16 is the Float32 of its value. A
vector is a tuple. Names that begin with two underscores are the machine's (``runtime/interpreter``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.ir.core import Op
from weft.compiler.ir.ops import FUNCTIONS
from weft.compiler.ir.types import BF16, F16, F32, F64, I1, FloatType, IntType, PointerType, Type

Texts = Sequence[str]
"""How each operand is written."""

SCALARS: dict[Type, str] = {F16: "f16", BF16: "bf16", F32: "f32", F64: "f64"}


def kind_of(t: Type) -> str:
    """The machine's name of a scalar type: ``i32``, ``f16``, ``ptr``."""
    return "ptr" if isinstance(t, PointerType) else SCALARS.get(t) or f"i{t.bits}"


def unsigned(text: str, bits: int) -> str:
    """An integer as the number without sign that its bits are."""
    return f"({text} & {(1 << bits) - 1:#x})"


def cut(text: str, t: Type) -> str:
    """An integer of Python's, its lowest bits as the type holds them."""
    if t is I1:
        return f"(({text}) & 1 != 0)"
    half = 1 << t.bits - 1
    return f"((({text}) + {half:#x} & {2 * half - 1:#x}) - {half:#x})"


def rounded(text: str, t: Type) -> str:
    """What a float's operation gives, where that is wider than the type."""
    return f"__bf16({text})" if t is BF16 else text


_SIMPLE = {"addi": "+", "subi": "-", "muli": "*"}
_BITWISE = {"andi": "&", "ori": "|", "xori": "^"}
_FLOAT = {"addf": "+", "subf": "-", "mulf": "*", "divf": "/"}
_SIGNED = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
_ORDERED = {
    "oeq": "{a} == {b}",
    "ogt": "{a} > {b}",
    "oge": "{a} >= {b}",
    "olt": "{a} < {b}",
    "ole": "{a} <= {b}",
    "one": "{a} < {b} or {a} > {b}",
    "ord": "{a} == {a} and {b} == {b}",
    "false": "False",
}
_OPPOSITE = {"une": "oeq", "ule": "ogt", "ult": "oge", "uge": "olt", "ugt": "ole", "ueq": "one", "uno": "ord"}


def _binary(name: str, t: Type, a: str, b: str) -> str | None:
    """An operation on two numbers of a type; None where it is another operation."""
    bits = t.bits
    if name in _SIMPLE:
        return cut(f"{a} {_SIMPLE[name]} {b}", t)
    if name in _BITWISE:
        return f"({a} {_BITWISE[name]} {b})"
    if name in _FLOAT:
        return rounded(f"({a} {_FLOAT[name]} {b})", t)
    if name == "remf":
        return rounded(f"__fmod({a}, {b})", t)
    if name in ("divsi", "remsi"):
        return cut(f"__{name}({a}, {b})", t)
    if name in ("divui", "remui"):
        return cut(f"__{name}({unsigned(a, bits)}, {unsigned(b, bits)})", t)
    if name == "shli":
        return cut(f"{a} << ({b} & {bits - 1})", t)
    if name == "shrsi":
        return f"({a} >> ({b} & {bits - 1}))"
    if name == "shrui":
        return cut(f"{unsigned(a, bits)} >> ({b} & {bits - 1})", t)
    return None


def _compared(op: Op, t: Type, a: str, b: str) -> str:
    predicate = str(op.attrs["predicate"])
    if op.name == "arith.cmpi":
        if predicate in _UNSIGNED:
            return f"({unsigned(a, t.bits)} {_UNSIGNED[predicate]} {unsigned(b, t.bits)})"
        if t is I1 and predicate not in ("eq", "ne"):  # of one bit, set is -1
            return f"(-{a} {_SIGNED[predicate]} -{b})"
        return f"({a} {_SIGNED[predicate]} {b})"
    opposite = _OPPOSITE.get(predicate)
    if opposite is not None:
        return f"(not ({_ORDERED[opposite].format(a=a, b=b)}))"
    return f"bool({_ORDERED[predicate].format(a=a, b=b)})"


def _cast(name: str, source: Type, to: Type, a: str) -> str:
    flag = source is I1
    if name in ("extsi", "extui"):
        if flag:
            return f"int({a})" if name == "extui" else f"-int({a})"
        return a if name == "extsi" else cut(unsigned(a, source.bits), to)
    if name == "trunci":
        return cut(a, to)
    if name in ("extf", "truncf"):
        return f"__to_{kind_of(to)}({a})"
    if name in ("sitofp", "uitofp"):
        number = f"int({a})" if flag else a if name == "sitofp" else unsigned(a, source.bits)
        return f"__{kind_of(to)}_of({f'-{number}' if flag and name == 'sitofp' else number})"
    sign = "signed" if "fptosi" in name else "unsigned"
    found = f"__{sign}({a}, {to.bits})"
    return found if sign == "signed" else cut(found, to)


def _function(op: Op, t: Type, given: Texts) -> str:
    return rounded(f"__{FUNCTIONS[op.name]}({', '.join(given)})", t)


def _lane(op: Op, given: Texts) -> str:
    """The operation on scalars, or on one lane of vectors."""
    name, t = op.name, op.operands[0].type.scalar
    to = op.result.type.scalar
    stem = name.partition(".")[2]
    if name in FUNCTIONS:
        return _function(op, to, given)
    if name in ("arith.cmpi", "arith.cmpf"):
        return _compared(op, t, *given)
    if name == "arith.select":
        return f"({given[1]} if {given[0]} else {given[2]})"
    if name == "arith.negf":
        return f"(-{given[0]})"
    if len(given) == 2:
        found = _binary(stem, t, *given)
        assert found is not None, name
        return found
    return _cast(name if name.startswith("llvm.") else stem, t, to, given[0])


def _bits(op: Op, given: Texts) -> str:
    """The same bits as another type."""
    source, to = op.operands[0].type, op.result.type
    if source is to:
        return given[0]
    of, into = (f"{kind_of(t.scalar)!r}, {t.lanes}" for t in (source, to))
    if source.lanes == to.lanes == 1 and isinstance(source, (IntType, FloatType)):
        if isinstance(source, IntType) and isinstance(to, IntType):
            return given[0]
        if isinstance(source, FloatType) == isinstance(to, FloatType):
            return f"__cast({given[0]}, {of}, {into})"
        which = source if isinstance(source, FloatType) else to
        way = "bits_of" if isinstance(source, FloatType) else "from_bits"
        return f"__{way}_{kind_of(which)}({given[0]})"
    return f"__cast({given[0]}, {of}, {into})"


def _splat(op: Op, given: Texts) -> str:
    return f"({given[0]},) * {op.result.type.lanes}"


def _extract(op: Op, given: Texts) -> str:
    return f"{given[0]}[{given[1]} % {op.operands[0].type.lanes}]"


def _insert(op: Op, given: Texts) -> str:
    value, into, position = given
    return f"__put({into}, {position} % {op.result.type.lanes}, {value})"


def _shuffle(op: Op, given: Texts) -> str:
    mask, lanes = op.attrs["mask"], op.operands[0].type.lanes
    assert isinstance(mask, tuple)
    picked = [f"{given[m // lanes]}[{m % lanes}]" for m in mask]
    return f"({', '.join(picked)},)"


def _address(op: Op, given: Texts) -> str:
    t = op.type_attr("elem_type")
    base, index = given
    size = stride(t)
    return f"({base} + {index})" if size == 1 else f"({base} + {index} * {size})"


def stride(t: Type) -> int:
    """Bytes from one element to the next in memory."""
    if t.lanes == 1:
        return max(1, t.bits // 8)
    size = -(-t.bits // 8)
    return 1 << (size - 1).bit_length()


def _same(op: Op, given: Texts) -> str:
    return given[0]


def _number(op: Op, given: Texts) -> str:
    return f"__t.{op.name.removeprefix('gpu.')}_{op.attrs['dimension']}"


_WHOLE: dict[str, Callable[[Op, Texts], str]] = {
    "arith.bitcast": _bits,
    "vector.splat": _splat,
    "vector.extractelement": _extract,
    "vector.insertelement": _insert,
    "vector.shuffle": _shuffle,
    "llvm.getelementptr": _address,
    "llvm.addrspacecast": _same,
    "llvm.inttoptr": lambda op, given: unsigned(given[0], 64),
    "llvm.ptrtoint": lambda op, given: cut(given[0], op.result.type),
    "llvm.mlir.addressof": lambda op, given: f"__t.memory[{op.attrs['global_name']!r}]",
    "gpu.thread_count": lambda op, given: "__t.count",
    "gpu.thread_number": lambda op, given: "__t.number",
    "gpu.lane_id": lambda op, given: "__t.lane",
    "gpu.subgroup_id": lambda op, given: "__t.warp",
    "gpu.shared_stride": lambda op, given: "__t.shared_stride",
    "gpu.dynamic_shared_memory": lambda op, given: "__t.dynamic_shared",
    **dict.fromkeys(
        [f"gpu.{n}" for n in ("thread_id", "block_id", "block_dim", "grid_dim", "cluster_dim", "over")],
        _number,
    ),
}
"""Those whose vectors are not done lane by lane."""


def expression(op: Op, given: Texts) -> str | None:
    """What an operation without effects gives; None where it is none of these."""
    whole = _WHOLE.get(op.name)
    if whole is not None:
        return whole(op, given)
    if not op.spec.pure or op.name == "func.constant":
        return None
    lanes = op.result.type.lanes
    if lanes == 1:
        return _lane(op, given)
    wide = [v.type.lanes > 1 for v in op.operands]
    each = [
        _lane(op, [f"{text}[{n}]" if many else text for text, many in zip(given, wide, strict=True)])
        for n in range(lanes)
    ]
    return f"({', '.join(each)},)"
