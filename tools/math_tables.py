"""Derives the polynomials and constants of ``weft.math`` and writes ``src/weft/math/tables.py``.

python tools/math_tables.py            # writes the tables, prints the error of each polynomial
python tools/math_tables.py EXP SIN    # prints these only, writes nothing
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from minimax import Function, minimax, mp, round_to

OUTPUT = Path(__file__).parent.parent / "src" / "weft" / "math" / "tables.py"


@dataclass(frozen=True)
class Fit:
    """One polynomial: what it approximates, where, under which weight, with how many coefficients.

    ``function`` and ``weight`` are mpmath functions; the largest ``|weight * (function - polynomial)|`` on
    ``[low, high]`` is made small. ``high`` and ``terms`` (the number of coefficients; 0 makes no table) are
    given for Float32 and for Float64.
    """

    name: str
    meaning: str
    function: Function
    weight: Function
    low: Any
    high: tuple[Any, Any]
    terms: tuple[int, int]


def tail(function: Function, *known: Any) -> Function:
    """``(function(x) - known[0] - known[1] x - ...) / x**len(known)``: what is left behind leading terms."""
    return lambda x: (function(x) - mp.fsum(k * x**i for i, k in enumerate(known))) / x ** len(known)


def odd(function: Function) -> Function:
    """``function(sqrt(z)) / sqrt(z)``: an odd function as one of the square of its argument."""
    return lambda z: function(mp.sqrt(z)) / mp.sqrt(z)


def both(value: Any) -> tuple[Any, Any]:
    """The same for Float32 and Float64, a little more so that the ends are inside."""
    return (value * mp.mpf("1.0001"),) * 2


def exp2(r: Any) -> Any:
    return mp.mpf(2) ** r


def log_ratio(z: Any) -> Any:
    """``log((1 + s) / (1 - s)) / s`` of ``s**2``."""
    return 2 * odd(mp.atanh)(z)


def erfc_scaled(centre: Any) -> Function:
    """``erfc(a) exp(a^2) (1 + 2a)`` of ``(a - centre) / (a + centre)``: between 1 and 1.27 for all a >= 0."""

    def function(t: Any) -> Any:
        a = centre * (1 + t) / (1 - t)
        return mp.exp(a * a) * mp.erfc(a) * (1 + 2 * a)

    return function


def erfc_fit(centre: int, high: float, terms: tuple[int, int]) -> Fit:
    """The one of erfc; Float32 and Float64 differ in their centre."""
    scaled = erfc_scaled(mp.mpf(centre))
    end = (mp.mpf(high) - centre) / (mp.mpf(high) + centre)
    text = f"erfc(a) exp(a^2) (1 + 2a) - 1, of (a - {centre}) / (a + {centre}), a up to {high}"
    return Fit("ERFC", text, lambda t: scaled(t) - 1, lambda t: 1 / scaled(t), mp.mpf(-1), (end, end), terms)


def neg_log_erfc(a: Any) -> Any:
    return -mp.log(mp.erfc(1 + a))


HALF_LN2 = both(mp.log(2) / 2)
HALF = both(mp.mpf(1) / 2)
FOURTH = both(mp.mpf(1) / 4)
PI_4 = both((mp.pi / 4) ** 2)
PI_8 = both(mp.tan(mp.pi / 8) ** 2)
RATIO = both(((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2)
ROOT = mp.sqrt(mp.mpf(1) / 2) - 1, both(mp.sqrt(2) - 1)
THIRD2 = mp.mpf(2) / 3

FITS = [
    Fit("EXP", "(exp(r) - 1 - r) / r^2", tail(mp.exp, 1, 1), lambda r: r, -HALF_LN2[0], HALF_LN2, (6, 11)),
    Fit("EXP2", "(2^r - 1) / r", tail(exp2, 1), lambda r: r / exp2(r), -HALF[0], HALF, (6, 11)),
    Fit("LOG", "(log(1 + f) - f) / f^2", tail(mp.log1p, 0, 1), lambda f: f * f / mp.log1p(f), *ROOT, (9, 0)),
    Fit(
        "LOG_S",
        "(log((1 + s) / (1 - s)) / s - 2) / s^2, of s^2",
        tail(log_ratio, 2),
        lambda z: z,
        0,
        RATIO,
        (0, 7),
    ),
    Fit(
        "LOG_S5",
        "(log((1 + s) / (1 - s)) / s - 2 - 2/3 s^2) / s^4, of s^2",
        tail(log_ratio, 2, THIRD2),
        lambda z: z * z,
        0,
        RATIO,
        (3, 8),
    ),
    Fit("SIN", "(sin(r) / r - 1) / r^2, of r^2", tail(odd(mp.sin), 1), lambda z: z, 0, PI_4, (3, 6)),
    Fit(
        "CBRT",
        "cbrt(r), a first guess, 1 < r < 8",
        mp.cbrt,
        lambda r: 1 / mp.cbrt(r),
        mp.mpf(1),
        (8, 8),
        (4, 4),
    ),
    Fit(
        "COS",
        "(cos(r) - 1 + r^2 / 2) / r^4, of r^2",
        tail(lambda z: mp.cos(mp.sqrt(z)), 1, -0.5),
        lambda z: z * z,
        0,
        PI_4,
        (3, 6),
    ),
    Fit(
        "TAN",
        "(tan(r) / r - 1) / r^2, of r^2",
        tail(odd(mp.tan), 1),
        lambda z: z / odd(mp.tan)(z),
        0,
        PI_4,
        (7, 15),
    ),
    Fit("ASIN", "(asin(r) / r - 1) / r^2, of r^2", tail(odd(mp.asin), 1), lambda z: z, 0, FOURTH, (5, 13)),
    Fit("ATAN", "(atan(r) / r - 1) / r^2, of r^2", tail(odd(mp.atan), 1), lambda z: z, 0, PI_8, (5, 11)),
    Fit(
        "SINH",
        "(sinh(r) / r - 1) / r^2, of r^2, |r| < 1",
        tail(odd(mp.sinh), 1),
        lambda z: z,
        0,
        both(mp.mpf(1)),
        (4, 8),
    ),
    Fit(
        "TANH",
        "(tanh(r) / r - 1) / r^2, of r^2, |r| < 0.55",
        tail(odd(mp.tanh), 1),
        lambda z: z,
        0,
        both(mp.mpf("0.3025")),
        (5, 11),
    ),
    Fit(
        "ERF",
        "erf(r) / r - 1, of r^2, |r| < 1",
        lambda z: odd(mp.erf)(z) - 1,
        lambda z: 1 / odd(mp.erf)(z),
        0,
        both(mp.mpf(1)),
        (7, 12),
    ),
    Fit(
        "ERF_TAIL",
        "-log(erfc(1 + a)), 1 + a up to 3.92 and 5.93",
        neg_log_erfc,
        lambda a: mp.erfc(1 + a),
        0,
        (mp.mpf("2.92"), mp.mpf("4.93")),
        (7, 19),
    ),
    erfc_fit(2, 10.1, (11, 0)),
    erfc_fit(4, 27.5, (0, 23)),
]


def parts(value: Any, count: int, bits: int, short: bool = False) -> list[float]:
    """``value`` as the sum of ``count`` numbers of the format, each the nearest to what is left.

    A short first part leaves room for the bits of an exponent, so that their product is exact.
    """
    out: list[float] = []
    if short:
        keep = 16 if bits == 32 else 42
        out.append(float(mp.nint(value * 2**keep) / 2**keep))
    while len(out) < count:
        out.append(round_to(value - mp.fsum(out), bits))
    return out


CONSTANTS: list[tuple[str, str, Any, int, bool]] = [
    ("LN2", "log(2) in two parts, the first short", mp.log(2), 2, True),
    ("LOG10_2", "log(2) / log(10) in two parts, the first short", mp.log(2) / mp.log(10), 2, True),
    ("LOG2E", "1 / log(2) in two parts", 1 / mp.log(2), 2, False),
    ("LOG2_10", "log(10) / log(2) in two parts", mp.log(10) / mp.log(2), 2, False),
    ("LOG10E", "1 / log(10) in two parts", 1 / mp.log(10), 2, False),
    ("TWO_THIRDS", "2 / 3 in two parts", THIRD2, 2, False),
    ("PI_2", "pi / 2 in three parts", mp.pi / 2, 3, False),
    ("INV_PI_2", "2 / pi", 2 / mp.pi, 1, False),
]
WORDS = [(32, 17 - 23, 4), (64, 30 - 52, 19)]
"""For each format: the least exponent of the last bit of a large angle, and the words needed."""


def show(name: str, tables: dict[int, tuple[str, list[Any]]]) -> str:
    """The tables of one quantity, by bits of the format, as Python source."""
    lines = [f"{name} = {{"]
    for bits, (_, values) in sorted(tables.items()):
        listed = ", ".join(map(str, values)) + ("," if len(values) == 1 else "")
        head = f"    {bits}: ("
        lines += wrap(f"{listed}),", 110, initial_indent=head, subsequent_indent=" " * len(head))
    meanings = dict.fromkeys(meaning for _, (meaning, _) in sorted(tables.items()))
    about = ";\n".join(meanings)
    return "\n".join([*lines, "}", f'"""{about}."""', ""])


def main(wanted: list[str]) -> None:
    """Fits all, or the named ones; writes the module only if all are wanted."""
    found: dict[str, dict[int, tuple[str, list[Any]]]] = {}
    for name, meaning, value, count, short in CONSTANTS:
        found[name] = {bits: (meaning, parts(value, count, bits, short)) for bits in (32, 64)}
    for bits, lowest, count in WORDS:
        with mp.workprec(1600):
            whole = int(mp.floor(mp.ldexp(2 / mp.pi, 64 * count + lowest - 2)))
        words = [f"0x{whole >> (64 * (count - 1 - i)) & (1 << 64) - 1:016X}" for i in range(count)]
        text = f"64 bits a word: those of 2 / pi * 2**{lowest - 2} behind the point"
        found.setdefault("INV_PI_2_WORDS", {})[bits] = text, words
    for spec in FITS:
        for index, bits in enumerate((32, 64)):
            if not spec.terms[index] or (wanted and spec.name not in wanted):
                continue
            low, high = mp.mpf(spec.low), mp.mpf(spec.high[index])
            values, error = minimax(spec.function, spec.weight, low, high, spec.terms[index], bits)
            found.setdefault(spec.name, {})[bits] = spec.meaning, values
            size = float(mp.log(error, 2))
            print(f"{spec.name:10} F{bits} {len(values):2} coefficients, error 2^{size:.1f}", flush=True)
    if wanted:
        print("\n".join(show(name, found[name]) for name in wanted))
    else:
        head = "Numbers behind weft.math by bits, lowest power first, as tools/math_tables.py makes them."
        head = f'"""{head}"""\n# fmt: off\n'
        shown = [show(name, found[name]) for name in sorted(found)]
        OUTPUT.write_text("\n".join([head, *shown]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
