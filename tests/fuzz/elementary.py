"""Functions whose results are near the model's, and the same in every way to run."""

from __future__ import annotations

from tests.fuzz.expressions import expression, vector
from tests.fuzz.kinds import FLOATS, Kind
from tests.fuzz.program import Argument
from tests.fuzz.scope import Scope
from tests.fuzz.values import numbers

__all__ = ["elementary", "nearly"]

ONE = """acos acosh asin asinh atan atanh cbrt cos cosh degrees erf erfc exp exp2 exp10 expm1 log log1p log2
log10 radians rsqrt sin sinh tan tanh""".split()
TWO = ["atan2", "hypot", "pow"]
ULPS = 4


def elementary(s: Scope, arguments: list[Argument], count: int) -> list[tuple[str, Kind]]:
    """An array for such results, which nothing reads."""
    if not s.chance(3):
        return []
    kind = s.pick([k for k in s.favourites if k.is_float] or FLOATS)
    arguments.append(Argument("oe", "pointer", kind.name, numbers(s, kind, count * 4), close=ULPS))
    return [("oe", kind)]


def nearly(s: Scope, written: list[tuple[str, Kind]]) -> list[str]:
    """What is written there: of numbers of all sizes, and of vectors."""
    lines: list[str] = []
    for name, kind in written:
        lines.append(
            f"    {name}[row * 4 + {s.number(0, 1)}] = {_called(s, _argument(s, kind), _argument(s, kind))}"
        )
        lanes = [vector(s, kind, 2, 1) for _ in range(2)]
        lines.append(f"    {name}.store(row * 4 + 2, {_called(s, *lanes)})")
    return lines


def _argument(s: Scope, kind: Kind) -> str:
    text = expression(s, kind, 2)
    return s.pick([text, f"math.fmod({text}, 7.0)", f"math.fmod({text}, 1.0)"])


def _called(s: Scope, first: str, second: str) -> str:
    if s.chance(5):
        return f"math.{s.pick(TWO)}({first}, {second})"
    if s.chance(8):
        return f"math.sincos({first})[{s.number(0, 1)}]"
    return f"math.{s.pick(ONE)}({first})"
