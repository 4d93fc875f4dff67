"""Numbers cut to 0 and 1 of which NVIDIA's assembler makes a saturation, though they are 1 of nan.

``max(min(x, 1), 0)`` is 1 where ``x`` is nan, and so is the same in comparisons; ``.SAT`` is 0. What is at
most 1 is no nan, so that its bits say whether it is above 0, as an integer's do; or a maximum that keeps nan
is the same.
"""

from __future__ import annotations

import re

_ONE, _ONES, _ZERO = "0f3F800000", "0x3C00", "0x0000"
_MIN = re.compile(rf"^\s*min\.f32\s+(%\w+), %\w+, {_ONE};", re.MULTILINE)
_MIN_HALF = re.compile(r"^\s*min\.f16\s+(%\w+), %\w+, (%\w+);", re.MULTILINE)
_HALF = re.compile(r"^\s*mov\.b16\s+(%\w+), (0x\w{4});", re.MULTILINE)
_BELOW = re.compile(rf"^\s*setp\.(l[te]|g[te]u)\.f32\s+(%p\d+), (%\w+), {_ONE};", re.MULTILINE)
_CHOICE = re.compile(r"^\s*selp\.f32\s+(%\w+), ([^,;]+), ([^,;]+), (%p\d+);", re.MULTILINE)
_CUT = "shr.s32 %weft, {2}, 31; not.b32 %weft, %weft; and.b32"
_INSTEAD = tuple(
    (re.compile(rf"^(\s*){pattern};", re.MULTILINE), text)
    for pattern, text in (
        (
            r"max\.f32\s+(%\w+), (%\w+), 0f00000000",
            f"{{0}}{{{{ .reg .b32 %weft; {_CUT} {{1}}, {{2}}, %weft; }}}}",
        ),
        (
            r"max\.f32\s+(%\w+), (%\w+), 0f80000000",
            "{0}{{ .reg .pred %weft; setp.lt.s32 %weft, {2}, 0; selp.b32 {1}, 0x80000000, {2}, %weft; }}",
        ),
        (
            r"setp\.gt\.f32\s+(%\w+), (%\w+), 0f[08]0000000",
            f"{{0}}{{{{ .reg .b32 %weft; {_CUT} %weft, {{2}}, %weft; setp.ne.s32 {{1}}, %weft, 0; }}}}",
        ),
        (r"max\.f16\s+(%\w+), (%\w+), (%\w+)", "{0}max.NaN.f16 {1}, {2}, {3};"),
    )
)
"""What asks whether a number is above 0, and how its bits do. An integer's ``max.s32``, or a selection by a
comparison of integers, is taken for the float's where a float's minimum follows."""
_FUNCTION = re.compile(r"(?<=^}\n)", re.MULTILINE)


def _is_given_once(text: str, register: str) -> bool:
    """Whether one instruction alone gives a register its number."""
    given = rf"[a-z][\w.]*\s+(?:\{{[^}};]*)?{register}\s*[,}}]"
    return len(re.findall(given, text)) == 1


def _capped(text: str) -> set[str]:
    """The registers whose numbers are at most 1, also where they are made of nan."""
    halves = dict(_HALF.findall(text))
    found = {*_MIN.findall(text), *(to for to, most in _MIN_HALF.findall(text) if halves.get(most) == _ONES)}
    tests = {test: (of, order) for order, test, of in _BELOW.findall(text)}
    for to, yes, no, test in _CHOICE.findall(text):
        of, order = tests.get(test, ("", ""))
        if (yes, no) == ((_ONE, of) if order.endswith("u") else (of, _ONE)) and _is_given_once(text, test):
            found.add(to)
    return {register for register in found if _is_given_once(text, register)}


def _of_function(text: str) -> str:
    capped = _capped(text) if any(pattern.search(text) for pattern, _ in _INSTEAD) else set[str]()
    zeros = {to for to, bits in _HALF.findall(text) if bits == _ZERO} if capped else set[str]()

    def written(found: re.Match[str], instead: str) -> str:
        return (
            instead.format(*found.groups()) if {found[3], *found.groups()[3:]} <= capped | zeros else found[0]
        )

    for pattern, instead in _INSTEAD if capped else ():
        text = pattern.sub(lambda found, instead=instead: written(found, instead), text)
    return text


def unsaturated(text: str) -> str:
    r"""PTX that means the same, of which no saturation is made that was not meant.

    >>> print(unsaturated("min.f32 %r2, %r1, 0f3F800000;\nmax.f32 %r3, %r2, 0f00000000;"))
    min.f32 %r2, %r1, 0f3F800000;
    { .reg .b32 %weft; shr.s32 %weft, %r2, 31; not.b32 %weft, %weft; and.b32 %r3, %r2, %weft; }
    """
    if _ONE not in text and _ONES not in text:
        return text
    return "".join(map(_of_function, _FUNCTION.split(text)))
