"""Text with run-time numbers: what is printed is what Python would print, all else is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import pytest

from weft import Bool, CompileError, Float16, Float32, InlineArray, Int, func, struct


@struct
class Pair:
    x: Float32
    n: Int


@func
def printed(a: Int, x: Float32) -> Any:
    text = f"{a}:{x:.2f}" + "!"
    print("<" + text, f"[{text}]", str(a), repr(x), format(x, ".1f"), sep="|")
    print("{} {:.1f} {n}".format(a, x, n=a), ", ".join([str(a), "b", f"{x}"]))  # noqa: UP032
    print(f"{(a, 1)!r} {a=} {x:>{8}.2f}", f"{Pair(x, a)}")
    _ = a > 2 and bool(print("more than 2"))
    return str(3) == "3", "x".join(["a", "b"]), format(7, "03d"), f"{3}" == "3"


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(3, 2.5) == (True, "axb", "007", True)
    wanted = (
        "<3:2.50!|[3:2.50!]|3|2.5|2.5\n3 2.5 3 3, b, 2.5\n(3, 1) a=3     2.50 Pair(x=2.5, n=3)\nmore than 2\n"
    )
    assert capsys.readouterr().out == wanted


@func
def in_columns(a: Int, x: Float32, flag: Bool):
    text = str(a)
    print(f"{flag!r:>7}|{flag!s:<7}|{a!r:6}|{a!s:.1}|{x!a:8}|{(a, x)!s:>14}|{[a, x]!r:^14}|{text:>5}|")
    print("|", end=None, flush=True)
    print("{!r:>6}|{:>6}|{b!s:<7}|{c[1]:03}|".format(a, x, b=flag, c=(x, a)))  # noqa: UP032
    print(hex(a), bin(a), oct(-a), chr(a + 64), hex(255), sep=None)


def test_texts_of_numbers_are_padded_as_texts(capsys: pytest.CaptureFixture[str]) -> None:
    in_columns(3, 2.5, True)
    found = capsys.readouterr().out
    a, x, flag, text = 3, 2.5, True, "3"
    print(f"{flag!r:>7}|{flag!s:<7}|{a!r:6}|{a!s:.1}|{x!a:8}|{(a, x)!s:>14}|{[a, x]!r:^14}|{text:>5}|")
    print("|", "{!r:>6}|{:>6}|{b!s:<7}|{c[1]:03}|".format(a, x, b=flag, c=(x, a)), sep="\n")  # noqa: UP032
    print(hex(a), bin(a), oct(-a), chr(a + 64), hex(255))
    assert found == capsys.readouterr().out


@func
def by_precision(x: Float32, h: Float16, n: Int):
    print(f"{x:.9}|{x:-3.15}|{h:.17}|{h:>9}|{x:.<20}|{n:c}|")


def test_a_precision_is_of_the_number_itself(capsys: pytest.CaptureFixture[str]) -> None:
    by_precision(10150624256.0, 0.333251953125, 65)
    x, h = 10150624256.0, 0.333251953125
    assert capsys.readouterr().out == f"{x:.9}|{x:-3.15}|{h:.17}|   0.3333|{1.0150624e10:.<20}|A|\n"
    by_precision(1.0, 0.5, -1)  # no character has that number
    assert capsys.readouterr().out.endswith("|-1|\n")


@func
def of_run_time_width(a: Int, x: Float32):
    print(f"{x:{a}}")


@func
def to_a_file(a: Int):
    print(a, file=sys.stderr)


def test_widths_of_run_time_and_files_are_refused() -> None:
    with pytest.raises(CompileError, match="a width or precision that exists only at run time"):
        of_run_time_width(3, 2.5)
    with pytest.raises(CompileError, match="a kernel prints to the host's standard output"):
        to_a_file(3)


class Named(NamedTuple):
    x: Float32
    n: Int


@dataclass
class Plain:
    x: Float32
    n: Int
    key: int = field(default=0, repr=False)


@struct
class Row:
    pair: Pair
    v: InlineArray[Int, 2]


class Color(Enum):
    RED = 1
    BLUE = 2


@func
def printed_whole(a: Int, x: Float32):
    print(Named(x, a), Plain(x, a), f"{Plain(x, a)}", {"a": a, "b": [x, None]}, [Named(x, a)])
    print(Row(Pair(x, a), InlineArray[Int, 2](a, 4)), InlineArray[Int, 2](a, 4))


def test_values_of_several_parts_are_printed_as_python_does(capsys: pytest.CaptureFixture[str]) -> None:
    printed_whole(3, 2.5)
    found = capsys.readouterr().out
    named, plain = Named(2.5, 3), Plain(2.5, 3)
    print(named, plain, f"{plain}", {"a": 3, "b": [2.5, None]}, [named])
    array = "InlineArray[Int, 2](3, 4)"
    print(f"Row(pair=Pair(x=2.5, n=3), v={array})", array)
    assert found == capsys.readouterr().out


@func
def chosen(a: Int) -> None:
    color = Color.RED if a > 1 else Color.BLUE
    print(f"{color}")


def test_what_has_no_text_is_refused_in_one() -> None:
    with pytest.raises(CompileError, match="cannot print a Color from a kernel"):
        chosen(2)


USES: dict[str, Callable[[Any], Any]] = {
    "equal": lambda t: t == "2",
    "unequal": lambda t: "2" != t,
    "order": lambda t: t < "3",
    "length": lambda t: len(t),
    "item": lambda t: t[0],
    "slice": lambda t: t[:1],
    "method": lambda t: t.upper(),
    "repeated": lambda t: t * 2,
    "number added": lambda t: t + 1,
    "iteration": lambda t: [c for c in t],
    "key": lambda t: {t: 1},
    "looked up": lambda t: {"2": 1}[t],
    "number": lambda t: int(t),
    "condition": lambda t: 1 if t else 2,
    "inside": lambda t: "1" in t,
    "among": lambda t: t in ("1", "2"),
}


CHOSEN: list[Callable[[Any], Any]] = []


def applied(text: Any) -> Any:
    """Ordinary Python, which runs at compile time."""
    return CHOSEN[0](text)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", ["f-string", "str", "format", "join"])
def test_what_else_is_done_with_it_is_refused(use: str, made: str) -> None:
    makers: dict[str, Any] = {"f-string": by_f_string, "str": by_str, "format": by_format, "join": by_join}
    CHOSEN[:] = [USES[use]]
    with pytest.raises(CompileError, match="holds numbers that exist only at run time"):
        makers[made](2)


@func
def by_f_string(a: Int) -> Any:
    return applied(f"{a}")


@func
def by_str(a: Int) -> Any:
    return applied(str(a))


@func
def by_format(a: Int) -> Any:
    return applied("{}".format(a))  # noqa: UP032


@func
def by_join(a: Int) -> Any:
    return applied(", ".join([str(a), "x"]))
