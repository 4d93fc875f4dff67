"""What NVIDIA's assembler makes wrong code of, in words that it makes right code of.

Each rule was found by random programs whose results were compared with NumPy's, with the assembler of CUDA
12.9 and that of driver 580, for sm_90. Machine code says what goes wrong:

- ``neg.s16`` and ``abs.s16`` of -32768 are taken for 32768 by what shifts, widens or compares them.
- The upper half of ``max.s16`` and its kin is taken for the answer where that is compared with an operand.
- ``neg.s32`` as an operand of two ``max.s32`` in a row (``VIMNMX3``) is lost, as in a shift and a sum
  (``LEA.HI``). It folds whatever else is minus one times a number.
- ``abs.s32`` and ``abs.s64`` of the least number, itself, is taken to be at least 0.
- A store of the low bits of what a float's instruction made converts the float to an integer first.
- ``add.s16x2`` of a constant, where one half of the answer is asked, adds nothing. Packed 16-bit integers,
  all of which LLVM makes from PTX 8.0 on, are written for each half.
- A loop that counts down while an unsigned number is below a limit, and so ends by passing zero, is unrolled
  as if it went on while the difference of both, taken for signed, is above 0: rounds too many, or no end.
- Of a Float32 that is a size, a square, an exponential, a sine or the like, or made of such, bounds are
  known, and a comparison with what lies beyond them is taken for certain, also of nan.
- ``neg.f32`` and ``neg.f64`` of what all threads know alike are taken for the integer's negation by integer
  instructions, where floats' need the number too: the sign of -0.0 is lost.
- ``selp.b64`` of two numbers by a comparison of their lower 32 bits is taken for the greater or lesser of
  those bits; the upper ones are any. Halves are selected one by one.
- A conversion of a float to 16 bits (``F2I.U16``) is compared as 32, also where a copy of it has kept what
  was in the upper half of its register.
- What is at most 1, of nan 1, and then at least 0 (``max(min(x, 1), 0)``) becomes ``.SAT``, also of Float16,
  or of Float64 ``min(max(x, 0), 1)``; both are 0 of nan: ``targets/saturated.py``.
- A ballot of all lanes over what all threads know alike, behind a division or a root, ends the assembler and
  the process with it where nobody reads the answer. Then a lane's own mask has a part in what it says.

One is mended elsewhere: a branch on two conditions over code of which nothing is left, as it only stores to
memory of the thread that nobody reads, becomes an exit on both where it should be on either. LLVM takes such
stores out before (``compiler/llvm/worker/backend.py``).
"""

from __future__ import annotations

import re
from functools import partial

from weft.targets.saturated import unsaturated

_WIDENED = "{{ .reg .b32 %weft<3>; cvt.{0}32.{0}16 %weft1, {{2}}; {1} cvt.u16.u32 {{1}}, %weft1; }}"
_SIZE = (
    "{{ .reg .b{0} %weft<2>; shr.s{0} %weft0, {{2}}, {1}; xor.b{0} %weft1, {{2}}, %weft0; "
    "sub.s{0} {{1}}, %weft1, %weft0; }}"
)
_INSTEAD = (
    {
        "neg.s16": _WIDENED.format("s", "neg.s32 %weft1, %weft1;"),
        "abs.s16": _WIDENED.format("s", "abs.s32 %weft1, %weft1;"),
        "neg.s32": "{ .reg .b32 %weft; add.s32 %weft, {2}, -1; not.b32 {1}, %weft; }",
        "abs.s32": _SIZE.format(32, 31),
        "abs.s64": _SIZE.format(64, 63),
    }
    | {
        f"{op}.{sign}16": _WIDENED.format(
            sign, f"cvt.{sign}32.{sign}16 %weft2, {{3}}; {op}.{sign}32 %weft1, %weft1, %weft2;"
        )
        for op in ("min", "max")
        for sign in "su"
    }
    | {
        f"cvt.rzi.{sign}16.{kind}": (
            f"{{ .reg .b32 %weft; cvt.rzi.{sign}32.{kind} %weft, {{2}}; cvt.u16.u32 {{1}}, %weft; }}"
        )
        for sign in "su"
        for kind in ("f16", "f32", "f64")
    }
)
"""Of an instruction: what to write; 1 is its result, 2 and 3 are its operands."""
_OPERATION = re.compile(
    rf"^(\s*)({'|'.join(map(re.escape, _INSTEAD))})\s+([^,;]+),\s*([^,;]+)(?:,\s*([^,;]+))?;", re.MULTILINE
)
_PACKED = re.compile(
    r"^(\s*)((?:add|min|max)\.[su]16)x2\s+(%\w+),\s*(%\w+),\s*(%\w+);",
    re.MULTILINE,
)
_HALVES = r"""\1{ .reg .b16 %half<4>; mov.b32 {%half0, %half1}, \4; mov.b32 {%half2, %half3}, \5;
\1\2 %half0, %half0, %half2;
\1\2 %half1, %half1, %half3;
\1mov.b32 \3, {%half0, %half1}; }"""
"""Two 16-bit integers as one; each is then an operation that may be one to mend."""
_STORE = re.compile(r"^(\s*)(st\.\S*b(8|16|32)\s+\[[^]]*\],\s*)(%r[sd]?\d+|\{[^}]*\});", re.MULTILINE)
_REGISTER = re.compile(r"%r([sd]?)\d+")
_BITS = {"s": 16, "": 32, "d": 64}

_FALLS = re.compile(r"^\s*add\.s(?:32|64)\s+(%r\w+), (%r\w+), -\d+;", re.MULTILINE)
_MOVE = re.compile(r"^\s*mov\.b(?:32|64)\s+(%r\w+), (%r\w+);", re.MULTILINE)
_BELOW = re.compile(
    r"^\s*setp\.(?:l[te]\.u(?:32|64)\s+%p\d+, (%r\w+),|g[te]\.u(?:32|64)\s+%p\d+, [^,;]+, (%r\w+);)",
    re.MULTILINE,
)
_FLOAT = re.compile(
    r"^\s*(abs|ex2\.approx|sin\.approx|cos\.approx|tanh\.approx|neg|mov|selp|min|max|add|sub|mul)"
    r"(?:\.ftz)?\.[fb]32\s+(%\w+), ([^;]+);",
    re.MULTILINE,
)
_BOUNDED = ("abs", "ex2.approx", "sin.approx", "cos.approx", "tanh.approx")
"""What is rounded to nearest by its name, as ``mul.rn``, is not looked into."""
_TEST = re.compile(
    r"^(\s*)setp\.([lg][te]u?|ne|equ)((?:\.ftz)?\.f32)\s+(%\w+), ([^,;]+), ([^,;]+);", re.MULTILINE
)
_NEGATED = re.compile(r"^(\s*)neg\.b?f(16|32|64)\s+(%\w+), (%\w+);", re.MULTILINE)
_OF_INTEGERS = re.compile(
    r"^\s*(?:(?!(?:ld|st|mov|selp)\.)\w+\.(?:\w+\.)*[sub](?:8|16|32|64)\s|mov\.b\d+\s+\{)([^;]+);",
    re.MULTILINE,
)
_LOWER = re.compile(r"^\s*(?:cvt\.u32\.u64\s+(%r\d+)|mov\.b64\s+\{(%r\d+), [^}]*\}), (%rd\d+);", re.MULTILINE)
_ORDER = re.compile(r"^\s*setp\.[lg][te]\.[su]32\s+(%p\d+), (%r\d+), (%r\d+);", re.MULTILINE)
_CHOICE = re.compile(r"^(\s*)selp\.b64\s+(%rd\d+), (%rd\d+), (%rd\d+), (%p\d+);", re.MULTILINE)
_CHOSEN = (
    "{0}{{ .reg .b32 %half<6>; mov.b64 {{%half0, %half1}}, {2}; mov.b64 {{%half2, %half3}}, {3}; "
    "selp.b32 %half4, %half0, %half2, {4}; selp.b32 %half5, %half1, %half3, {4}; "
    "mov.b64 {1}, {{%half4, %half5}}; }}"
)
_BALLOT = re.compile(r"^(\s*)(vote\.sync\.ballot\.b32\s+(%r\d+), )(%p\d+)(, -1;)", re.MULTILINE)
_VOTE = re.compile(
    r"^(\s*)(?:vote\.sync\.(any|all|uni)\.pred\s+(%p\d+), (%p\d+)|(elect)\.sync\s+(%r\d+|_)\|(%p\d+)), -1;",
    re.MULTILINE,
)
_SAID = {
    "any": "vote.sync.ballot.b32 %weft0, {1}, -1; setp.ne.b32 {0}, %weft0, 0;",
    "all": "not.pred %weft, {1}; vote.sync.ballot.b32 %weft0, %weft, -1; setp.eq.b32 {0}, %weft0, 0;",
    "uni": "not.pred %weft, {1}; vote.sync.ballot.b32 %weft0, {1}, -1; "
    "vote.sync.ballot.b32 %weft1, %weft, -1; min.u32 %weft0, %weft0, %weft1; setp.eq.b32 {0}, %weft0, 0;",
    "elect": "elect.sync {1}|%weft, -1; mov.u32 %weft1, %laneid; setp.eq.b32 {0}, {1}, %weft1;",
}
_HEAD = ".address_size 64\n"


def _passes_zero(text: str) -> bool:
    """Whether a number that a loop lets fall is tested for being below an unsigned limit."""
    falling = _FALLS.findall(text)
    if not falling:
        return False
    tested = {register for pair in _BELOW.findall(text) for register in pair if register}
    falling = [(made, of) for made, of in falling if made in tested]
    moves = set(_MOVE.findall(text)) if falling else set[tuple[str, str]]()
    return any(made == of or (of, made) in moves for made, of in falling)


def _bounded(text: str) -> set[str]:
    """The registers of Float32 whose numbers the assembler knows bounds of."""
    made = [(op, to, set(given.split(", "))) for op, to, given in _FLOAT.findall(text)]
    bounded = {to for op, to, given in made if op in _BOUNDED or (op == "mul" and len(given) == 1)}
    constants = {to for op, to, given in made if op == "mov" and not any(g.startswith("%") for g in given)}
    before = 0
    while before < len(bounded):
        before = len(bounded)
        for op, to, given in made:
            numbers = {g for g in given if g.startswith("%")} - constants
            if numbers & bounded and (op not in ("add", "sub", "mul") or numbers <= bounded):
                bounded.add(to)
    return bounded


def _ordered(bounded: set[str], found: re.Match[str]) -> str:
    """A test with one for nan beside it, where the assembler may know the answer of all other numbers."""
    space, test, kind, answer, *numbers = found.groups()
    if not bounded.intersection(numbers):
        return found[0]
    nan, joined = ("nan", "or") if test.endswith("u") else ("num", "and")
    asked = [n for n in numbers if not n.startswith("0f")]
    return (
        f"{space}{{ .reg .pred %weft; setp.{nan}{kind} %weft, {asked[0]}, {asked[-1]}; "
        f"setp.{test}.{joined}{kind} {answer}, {numbers[0]}, {numbers[1]}, %weft; }}"
    )


def _flipped(text: str) -> str:
    """Text in which a float that is negated for an instruction of integers has its sign bit flipped."""
    if "neg." not in text:
        return text
    read = {register for found in _OF_INTEGERS.findall(text) for register in re.findall(r"%\w+", found)}

    def flip(found: re.Match[str]) -> str:
        space, bits, to, of = found.groups()
        return f"{space}xor.b{bits} {to}, {of}, {-(1 << int(bits) - 1)};" if to in read else found[0]

    return _NEGATED.sub(flip, text)


def _chosen(text: str) -> str:
    """Text in which 64 bits are not selected at once by which of their lower halves is greater."""
    if "selp.b64" not in text:
        return text
    whole: dict[str, set[str]] = {}
    for one, other, of in _LOWER.findall(text):
        whole.setdefault(one or other, set()).add(of)
    orders = [(p, whole.get(a, set()), whole.get(b, set())) for p, a, b in _ORDER.findall(text)]

    def halves(found: re.Match[str]) -> str:
        _, _, one, other, chosen_by = found.groups()
        alike = any(
            p == chosen_by and ((one in a and other in b) or (other in a and one in b)) for p, a, b in orders
        )
        return _CHOSEN.format(*found.groups()) if alike else found[0]

    return _CHOICE.sub(halves, text)


def _read(text: str, found: re.Match[str], answer: str) -> bool:
    """Whether a function does anything with a register besides giving it a number in one place."""
    begin, end = text.rfind("\n{", 0, found.start()), text.find("\n}", found.start())
    return len(re.findall(rf"{answer}\b", text[begin + 1 : end if end >= 0 else None])) > 1


def _vote(text: str, found: re.Match[str]) -> str:
    """What lanes say together, by way of a register. One that nobody reads stays too: see ``_ballot``."""
    space, word, answer, says, elect, lane, elected = found.groups()
    if elect:
        word, answer, says = elect, elected, "%weft0" if lane == "_" else lane
    if not _read(text, found, answer):
        return found[0]
    return f"{space}{{ .reg .b32 %weft<2>; .reg .pred %weft; {_SAID[word].format(answer, says)} }}"


def _ballot(text: str, found: re.Match[str]) -> str:
    """A ballot whose answer nobody reads, over what is known for certain by each lane alone."""
    space, vote, answer, says, rest = found.groups()
    if _read(text, found, answer):
        return found[0]
    return (
        f"{space}{{ .reg .b32 %weft0; .reg .pred %weft1; mov.u32 %weft0, %lanemask_eq; "
        f"setp.ne.and.b32 %weft1, %weft0, 0, {says}; {vote}%weft1{rest} }}"
    )


def _operation(found: re.Match[str]) -> str:
    text = _INSTEAD[found[2]]
    for number in (1, 2, 3):
        text = text.replace(f"{{{number}}}", (found[number + 2] or "").strip())
    return found[1] + text


def _store(found: re.Match[str]) -> str:
    moves: dict[str, str] = {}
    for register in _REGISTER.finditer(found[4]):
        bits = _BITS[register[1]]
        if bits > int(found[3]):
            name = f"%weft{len(moves)}"
            moves.setdefault(register[0], f".reg .b{bits} {name}; mov.b{bits} {name}, {register[0]};")
    if not moves:
        return found[0]
    names = {register: f"%weft{n}" for n, register in enumerate(moves)}
    stored = _REGISTER.sub(lambda register: names.get(register[0], register[0]), found[4])
    return f"{found[1]}{{ {' '.join(moves.values())} {found[2]}{stored}; }}"


def mended(text: str) -> str:
    r"""PTX that means the same and that the assembler makes right code of.

    >>> print(mended("neg.s32 %r1, %r2;"))
    { .reg .b32 %weft; add.s32 %weft, %r2, -1; not.b32 %r1, %weft; }
    >>> print(mended("st.global.b16 [%rd1], %r2;"))
    { .reg .b32 %weft0; mov.b32 %weft0, %r2; st.global.b16 [%rd1], %weft0; }
    >>> print(mended("abs.f32 %r1, %r2;\nsetp.ge.f32 %p1, %r1, 0f00000000;"))
    abs.f32 %r1, %r2;
    { .reg .pred %weft; setp.num.f32 %weft, %r1, %r1; setp.ge.and.f32 %p1, %r1, 0f00000000, %weft; }
    >>> print(mended("neg.f32 %r1, %r2;\nsetp.lt.s32 %p1, %r1, 0;"))
    xor.b32 %r1, %r2, -2147483648;
    setp.lt.s32 %p1, %r1, 0;
    >>> mended("vote.sync.ballot.b32 %r1, %p1, -1;").count("%lanemask_eq")
    1
    >>> mended("vote.sync.ballot.b32 %r1, %p1, -1;\nst.global.b32 [%rd1], %r1;").count("%lanemask_eq")
    0
    """
    text = unsaturated(text)
    if "vote.sync" in text or "elect.sync" in text:
        text = _VOTE.sub(partial(_vote, text), text)
    if "ballot" in text:
        text = _BALLOT.sub(partial(_ballot, text), text)
    if _passes_zero(text):
        text = text.replace(_HEAD, _HEAD + '.pragma "nounroll";\n', 1)
    if _TEST.search(text) and (bounded := _bounded(text)):
        text = _TEST.sub(partial(_ordered, bounded), text)
    text = _chosen(_flipped(text))
    if "16x2" in text:
        text = _PACKED.sub(_HALVES, text)
    if any(operation in text for operation in _INSTEAD):
        text = _OPERATION.sub(_operation, text)
    return _STORE.sub(_store, text)
