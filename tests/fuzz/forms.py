"""Forms of expressions as text with holes, for what needs no more than its operands.

``{T}`` is an expression of the type that is wanted, ``{T?}`` one or a literal; ``{any}``, ``{int}``,
``{float}`` and ``{Int32}`` are of some type, or that one. ``{T*4}`` is a vector, ``{mask*4}`` lanes of Bool,
``{0:7}`` a number up to 7. ``$T`` is the type's name; ``N`` is the number of lanes, ``H`` half, ``D`` double;
``$p`` is a pointer to ``$S`` elements of the type.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.fuzz.kinds import BOOL, FLOATS, INTEGERS, KINDS, Kind
from tests.fuzz.leaves import COMPARISONS
from tests.fuzz.scope import Memory, Scope

__all__ = ["CONDITIONS", "SCALARS", "STORES", "VECTORS", "form"]

SCALARS = {
    "all": """({any}).saturating_cast($T)
({any}).saturating_cast($T)
math.clamp({T}, {T?}, {T?})
math.min({T}, {T?})
math.max({T?}, {T}, {T})
{T*4}.reduce(lambda a, b: a - b)
{T*8}.reduce(lambda a, b: a + b, 2)[{0:1}]
{T*4}.split()[{0:1}].reduce_add()""",
    "int": """bit.pop_count({T})
bit.count_leading_zeros({T})
bit.count_trailing_zeros({T})
bit.bit_width({T})
bit.byte_swap({T})
bit.bit_reverse({T})
bit.next_power_of_two({T})
bit.prev_power_of_two({T})
bit.rotate_bits_left({T}, {T?})
bit.rotate_bits_right({T}, {T?})
bit.funnel_shift_left({T}, {T}, {T?})
bit.funnel_shift_right({T}, {T}, {T?})
math.ceildiv({T}, {T?})
math.align_up({T}, {T?})
math.align_down({T}, {T?})
math.gcd({T}, {T})""",
    "float": """math.fmod({T}, {T?})
math.remainder({T}, {T})
math.nextafter({T}, {T})
math.frexp({T})[0]
math.modf({T})[{0:1}]""",
    "Int64": """Int64(len(range({Int64} & 7, {Int64} & 15, {0:2} + 1)))
Int64(len(range({Int64} & 15)[{Int64} & 7:]))
Int64(range({Int64} & 7, ({Int64} & 7) + 8)[{0:1} - 1])
Int64(sum(range({Int64} & 15)[{Int64} & 7:{Int64} & 15:{0:1} + 1]))
Int64(max(range(({Int64} & 7) + 1)[::-1]))
random.randint({Int64}, {Int64}, -({Int64} & 255), {Int64} & 65535)
random.randint({Int64}, {Int64}, {Int64} & 15, {Int64} & 15)""",
    "UInt32": """bit.byte_permute({UInt32}, {UInt32}, {UInt32})
random.philox4x32({Int64}, {Int64}, {Int64})[{0:3}]
random.Random({Int64}, {Int64}).step()[{0:3}]""",
    "Float32": """random.rand({Int64}, {Int64})
random.Random(seed={Int64}, subsequence={Int64}, offset={Int64}).step_uniform()[{0:3}]""",
    "Int32": "math.frexp({float})[1]",
}
CONDITIONS = {
    "all": """{mask*4}.any()
{mask*2}.all()
(~{mask*8}).any()
{mask*4}[{0:3}]
bit.is_power_of_two({int})
math.isnan({float})
math.isinf({float})
math.isfinite({float})"""
}
VECTORS = {
    "all": """SIMD[$T, $N]({T,})
{T*H}.join({T*H})
{T*H}.interleave({T*H})
{T*D}.split()[{0:1}]
{T*D}.deinterleave()[{0:1}]
{T*D}[{0:1}::2]
{T*D}[$N:]
{T*D}[:-$N]
{T*N}[::-1]
{T*N}.reversed()
{T*N}.rotate_left({0:9})
{T*N}.rotate_right({0:9})
{T*N}.shift_left({0:2})
{T*N}.shift_right({0:2})
{T*D}.slice($N, offset={0:2})
{T*N}.insert({0:1} * $H, {T*H})
{mask*N}.select({T*N}, {T?})
{mask*N}.select({T*N}, {T*N})
({any*N}).saturating_cast($T)
math.min({T*N}, {T?})
math.max({T*N}, {T*N})
math.clamp({T*N}, {T?}, {T*N})
$p.load($S - 1, width=$N, mask=iota(Int, $N, {0:3}) < 1, default={T?})
$p.load($S - 2, width=$N, mask=iota(Int, $N) < {0:2}, default={T*N})
$p.load({0:1} * $H, width=$N, mask={mask*N})
$p.gather({Int64*N} & ($S - 1))
$p.gather({UInt8*N} & 1, mask={mask*N}, default={T?})
($p + {0:1}).strided_load(($S - 2) // ($N - 1), width=$N)
($p + ($S - 1)).strided_load(-(($S - 1) // ($N - 1)), width=$N)""",
    "int": """iota($T, $N, {T}, {T?})
bit.pop_count({T*N})
bit.count_leading_zeros({T*N})
bit.bit_reverse({T*N})
bit.rotate_bits_left({T*N}, {T*N})
({T*N} << {T*N})
({T*N} >> {T?})
math.ceildiv({T*N}, {T?})""",
    "float": """math.floor({T*N})
math.fmod({T*N}, {T?})
math.sqrt({T*N})
math.modf({T*N})[{0:1}]
math.fma({T*N}, {T*N}, {T?})""",
}
STORES = {
    "all": """$p.store($S - 1, {T*N}, mask=iota(Int, $N, {0:3}) < 1)
$p.store({0:1} * $H, {T*N}, mask={mask*N})
$p.store({0:1}, {T?}, mask={condition})
$p.scatter({Int64*N} & ($S - 1), {T*N})
$p.scatter({UInt8*N} & 1, {T?}, mask={mask*N})
($p + {0:1}).strided_store({T*N}, ($S - 2) // ($N - 1))"""
}
Operand = Callable[[Kind, int, bool], str]
"""What makes an expression of a kind, of so many lanes, perhaps a literal."""


def form(s: Scope, forms: dict[str, str], kind: Kind, operand: Operand, lanes: int = 2) -> str:
    """One of the forms for a kind; empty where what it needs is not there."""
    family = "float" if kind.is_float else "int"
    named = "\n".join(forms[name] for name in ("all", family, kind.name) if name in forms)
    lines = named.splitlines()
    of_memory = [line for line in lines if "$p" in line]
    if of_memory and s.chance(3) and _held(s, "", kind, lanes):
        lines = of_memory
    return _filled(s, s.pick(lines), kind, operand, lanes)


def _held(s: Scope, text: str, kind: Kind, lanes: int) -> list[Memory]:
    """The memory that a form may name."""
    found = [m for m in s.memories if m.kind is kind and m.loads and m.size > lanes]
    return [m for m in found if m.writable] if re.search(r"store\(|scatter\(", text) else found


def _filled(s: Scope, text: str, kind: Kind, operand: Operand, lanes: int) -> str:
    """The text with operands in its holes; empty where there is no memory for it."""
    counts = {"N": lanes, "H": lanes // 2, "D": 2 * lanes}
    if "*H" in text and lanes < 4:
        return ""
    if "$p" in text:
        found = _held(s, text, kind, lanes)
        if not found:
            return ""
        m = s.pick(found)
        text = text.replace("$p", m.loads).replace("$S", str(m.size))
    text = text.replace("$T", kind.name)
    for name, count in counts.items():
        text = text.replace(f"${name}", str(count))

    def of(name: str, count: int, literals: bool) -> str:
        some = {"T": [kind], "any": [s.kind()], "int": INTEGERS, "float": FLOATS}
        return operand(s.pick(some[name] if name in some else [KINDS[name]]), count, literals)

    def hole(found: re.Match[str]) -> str:
        name, _, count = found[1].partition("*")
        size = counts.get(count) or int(count or 1)
        if ":" in name:
            low, _, high = name.partition(":")
            return str(s.number(int(low), int(high)))
        if name == "mask":
            compared = s.kind()
            sides = operand(compared, size, False), operand(compared, size if s.chance(2) else 1, True)
            return f"({sides[0]} {s.pick(COMPARISONS)} {sides[1]})"
        if name == "condition":
            return operand(BOOL, 1, False)
        if name.endswith(","):
            return ", ".join(of(name[:-1], 1, True) for _ in range(lanes))
        return of(name.rstrip("?"), size, name.endswith("?"))

    return re.sub(r"\{([^{}]+)\}", hole, text)
