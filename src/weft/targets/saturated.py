"""Numbers cut to 0 and 1 of which NVIDIA's assembler makes a saturation, though they are 1 of nan.

``max(min(x, 1), 0)`` is 1 where ``x`` is nan, and so is the same in comparisons; ``.SAT`` is 0. Of Float64,
which has none, ``min(max(x, 0), 1)`` is made, 0 as well. What is at most 1 is no nan, so that its bits say
whether it is above 0, as an integer's do; or a maximum that keeps nan is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ONE = {32: "0f3F800000", 64: "0d3FF0000000000000"}
_ONES, _ZERO = "0x3C00", "0x0000"
_MIN_HALF = re.compile(r"^\s*min\.f16\s+(%\w+), %\w+, (%\w+);", re.MULTILINE)
_HALF = re.compile(r"^\s*mov\.b16\s+(%\w+), (0x\w{4});", re.MULTILINE)
_FUNCTION = re.compile(r"(?<=^}\n)", re.MULTILINE)
_LABEL = re.compile(r"^\S+:", re.MULTILINE)


def _line(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"^(\s*){pattern};", re.MULTILINE)


class _Floats:
    """Instructions of floats of 32 or 64 bits."""

    def __init__(self, bits: int) -> None:
        self.one = _ONE[bits]
        self.min = _line(rf"min\.f{bits}\s+(%\w+), %\w+, {self.one}")
        self.below = _line(rf"setp\.(l[te]|g[te]u)\.f{bits}\s+(%p\d+), (%\w+), {self.one}")
        self.choice = _line(rf"selp\.f{bits}\s+(%\w+), ([^,;]+), ([^,;]+), (%p\d+)")
        zero, least = f"{self.one[:2]}{0:0{bits // 4}X}", f"{self.one[:2]}8{0:0{bits // 4 - 1}X}"
        cut = f"{{{{ .reg .b{bits} %weft; shr.s{bits} %weft, {{2}}, {bits - 1}; not.b{bits} %weft, %weft; "
        pick = f"setp.lt.s{bits} %weft, {{2}}, 0; selp.b{bits} {{1}}, {1 << (bits - 1):#x}, {{2}}, %weft;"
        self.instead = (
            (
                _line(rf"max\.f{bits}\s+(%\w+), (%\w+), {zero}"),
                f"{{0}}{cut}and.b{bits} {{1}}, {{2}}, %weft; }}}}",
            ),
            (
                _line(rf"max\.f{bits}\s+(%\w+), (%\w+), {least}"),
                f"{{0}}{{{{ .reg .pred %weft; {pick} }}}}",
            ),
            (
                _line(rf"setp\.gt\.f{bits}\s+(%\w+), (%\w+), (?:{zero}|{least})"),
                f"{{0}}{cut}and.b{bits} %weft, {{2}}, %weft; setp.ne.s{bits} {{1}}, %weft, 0; }}}}",
            ),
        )
        """What asks whether a number is above 0, and how its bits do. An integer's ``max.s32``, or a
        selection by a comparison of integers, is taken for the float's where a float's minimum follows."""

    def capped(self, text: str) -> Iterator[tuple[int, str]]:
        """Where registers are made whose numbers are at most 1, also of nan, and these."""
        for made in self.min.finditer(text):
            yield made.end(), made[2]
        tests = {test: (of, order) for _, order, test, of in self.below.findall(text)}
        for made in self.choice.finditer(text):
            of, order = tests.get(made[5], ("", ""))
            pair = (self.one, of) if order.endswith("u") else (of, self.one)
            if made.group(3, 4) == pair and _count(text, made[5]) == 1:
                yield made.end(), made[2]


_FLOATS = _Floats(32), _Floats(64)
_HALVES = _line(r"max\.f16\s+(%\w+), (%\w+), (%\w+)"), "{0}max.NaN.f16 {1}, {2}, {3};"
_INSTEAD = *(each for floats in _FLOATS for each in floats.instead), _HALVES


def _gives(register: str) -> re.Pattern[str]:
    return re.compile(rf"[a-z][\w.]*\s+(?:\{{[^}};]*)?{register}\s*[,}}]")


def _count(text: str, register: str) -> int:
    """How many instructions give a register its number."""
    return len(_gives(register).findall(text))


def _capped(text: str, halves: dict[str, str]) -> dict[str, list[int]]:
    """Where which registers are made whose numbers are at most 1."""
    found: dict[str, list[int]] = {}
    for floats in _FLOATS:
        for at, register in floats.capped(text):
            found.setdefault(register, []).append(at)
    for made in _MIN_HALF.finditer(text):
        if halves.get(made[2]) == _ONES:
            found.setdefault(made[1], []).append(made.end())
    return found


def _of_function(text: str) -> str:
    if not any(pattern.search(text) for pattern, _ in _INSTEAD):
        return text
    halves = dict(_HALF.findall(text))
    zeros = {to for to, bits in halves.items() if bits == _ZERO}
    capped = _capped(text, halves)
    once = {register for register in capped if _count(text, register) == 1}

    def is_capped(register: str, at: int) -> bool:
        """Whether it is so wherever it is read, or was made so before on the straight way there."""
        before = max((end for end in capped.get(register, ()) if end <= at), default=None)
        if register in once or before is None:
            return register in once
        return not (_LABEL.search(text, before, at) or _gives(register).search(text, before, at))

    found: list[tuple[int, int, str]] = []
    for pattern, instead in _INSTEAD:
        for old in pattern.finditer(text):
            asked = [register for register in old.groups()[2:] if register not in zeros]
            if asked and all(is_capped(register, old.start()) for register in asked):
                found.append((*old.span(), instead.format(*old.groups())))
    for begin, end, new in sorted(found, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def unsaturated(text: str) -> str:
    r"""PTX that means the same, of which no saturation is made that was not meant.

    >>> print(unsaturated("min.f32 %r2, %r1, 0f3F800000;\nmax.f32 %r3, %r2, 0f00000000;"))
    min.f32 %r2, %r1, 0f3F800000;
    { .reg .b32 %weft; shr.s32 %weft, %r2, 31; not.b32 %weft, %weft; and.b32 %r3, %r2, %weft; }
    """
    if not any(one in text for one in (*_ONE.values(), _ONES)):
        return text
    return "".join(map(_of_function, _FUNCTION.split(text)))
