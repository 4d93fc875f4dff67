"""Locations, the text of diagnostics, and the exceptions that carry them."""

from __future__ import annotations

import ast
import copy
import linecache
from pathlib import Path

import pytest

from weft.diagnostics import (
    CompileError,
    DeviceError,
    Diagnostic,
    Label,
    LaunchError,
    Location,
    WeftError,
    caller_location,
    frame_location,
    nearest,
    render,
    render_all,
)
from weft.diagnostics.syntax import parsed

SOURCE = """\
@kernel
def scale(x):
    acc = 0.0
    for i in range(3):
\tüber = '漢字' + acc
    y = call(
        1,

        2)
"""


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> str:
    name = "scale.py"
    entry = (len(SOURCE), None, SOURCE.splitlines(keepends=True), name)
    monkeypatch.setitem(linecache.cache, name, entry)
    return name


def test_one_label(file: str) -> None:
    diagnostic = Diagnostic("weak-literal", "a literal", (Label(Location(file, 3, 10, 3, 13), "here"),))
    assert render(diagnostic) == (
        "error[weak-literal]: a literal\n --> scale.py:3:11\n  |\n3 |     acc = 0.0\n  |           ^^^ here"
    )


def test_all_parts(file: str) -> None:
    diagnostic = Diagnostic(
        "type-change",
        "acc is Float32 before the loop, Int in it",
        (
            Label(Location(file, 5, 1, 5, 18, inlined_at=Location(file, 9, inlined_at=Location("m.py", 2)))),
            Label(Location(file, 3, 4, 3, 13), "Float32 here"),
            Label(Location(file, 5, 8, 5, 12), "wide"),
        ),
        notes=("types stay\nas they are",),
        hints=("write acc + Float32(x)",),
    )
    assert render(diagnostic) == (
        "error[type-change]: acc is Float32 before the loop, Int in it\n"
        " --> scale.py:5:2\n"
        "  |\n"
        "3 |     acc = 0.0\n"
        "  |     --------- Float32 here\n"
        "4 |     for i in range(3):\n"
        "5 |     über = '漢字' + acc\n"
        "  |     ^^^^^^^^^^^^^^^^^^^\n"
        "  |            ------ wide\n"
        "  |\n"
        "  = note: called from scale.py:9\n"
        "  = note: called from m.py:2\n"
        "  = note: types stay\n"
        "          as they are\n"
        "  = help: write acc + Float32(x)"
    )


def test_lines_apart_and_several_files(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "other.py", (5, None, ["n = 1\n"], "other.py"))
    diagnostic = Diagnostic(
        "x",
        "m",
        (
            Label(Location(file, 6, 4, 6, 5), "this"),
            Label(Location(file, 1)),
            Label(Location("other.py", 1, 0, 1, 1), "that"),
            Label(Location("gone.py", 7, 0), "and a file that is gone"),
        ),
    )
    assert render(diagnostic) == (
        "error[x]: m\n"
        " --> scale.py:6:5\n"
        "  |\n"
        "1 | @kernel\n"
        "  | -------\n"
        "...\n"
        "6 |     y = call(\n"
        "  |     ^ this\n"
        " ::: other.py:1:1\n"
        "  |\n"
        "1 | n = 1\n"
        "  | - that\n"
        " ::: gone.py:7:1\n"
        "  = line 7: and a file that is gone"
    )


def test_span_over_lines(file: str) -> None:
    diagnostic = Diagnostic("x", "m", (Label(Location(file, 6, 8, 9, 10), "call"),))
    assert render(diagnostic).splitlines()[2:] == [
        "  |",
        "6 |     y = call(",
        "  |         ^^^^^",
        "7 |         1,",
        "  |         ^^",
        "8 |",
        "9 |         2)",
        "  |         ^^ call",
    ]


def test_long_span_marks_its_first_line(file: str) -> None:
    diagnostic = Diagnostic("x", "m", (Label(Location(file, 2, 0, 9, 10), "all of it"),))
    assert render(diagnostic).splitlines()[3:] == ["2 | def scale(x):", "  | ^^^^^^^^^^^^^ all of it"]


def test_without_source_or_place() -> None:
    place = Location("<string>", 3, 2)
    assert render(Diagnostic("x", "m", (Label(place, "this"),), hints=("h",))) == (
        "error[x]: m\n --> <string>:3:3\n  = this\n  = help: h"
    )
    assert render(Diagnostic("x", "m\nmore", notes=("n",))) == "error[x]: m\nmore\n  = note: n"


def test_endless_call_chain_is_cut(file: str) -> None:
    place = Location(file, 3)
    for line in range(20):
        place = Location(file, 3, inlined_at=Location(file, line + 1, inlined_at=place.inlined_at))
    notes = [line for line in render(Diagnostic("x", "m", (Label(place),))).splitlines() if "note" in line]
    assert len(notes) == 9
    assert notes[0] == "  = note: called from scale.py:20"
    assert notes[4] == "  = note: ... 12 more calls ..."
    assert notes[-1] == "  = note: called from scale.py:1"


def test_colour_adds_escapes_only(file: str) -> None:
    diagnostic = Diagnostic("x", "m", (Label(Location(file, 3), "this"),), ("n",), ("h",))
    coloured = render(diagnostic, colour=True)
    assert "\033[1;31m^^^^^^^^^ this\033[0m" in coloured
    plain = coloured
    for style in ("1;31", "1;34", "1;36", "1", "0"):
        plain = plain.replace(f"\033[{style}m", "")
    assert plain == render(diagnostic)


def test_many_are_counted() -> None:
    one, two = Diagnostic("a", "first"), Diagnostic("b", "second")
    assert render_all([one]) == "error[a]: first"
    assert render_all([one, two]) == "error[a]: first\n\nerror[b]: second\n\n2 errors"
    assert str(CompileError([one, two])) == render_all([one, two])


def test_error_tree() -> None:
    assert {CompileError, LaunchError, DeviceError} == set(WeftError.__subclasses__())
    error = LaunchError.at("block-too-large", "1025 threads", None, hints=["use 1024"])
    assert isinstance(error, LaunchError)
    assert str(error) == "error[block-too-large]: 1025 threads\n  = help: use 1024"
    assert copy.copy(error).diagnostics == error.diagnostics
    assert CompileError(error.diagnostics[0]).diagnostics == error.diagnostics


def test_caller_location_is_the_exact_expression() -> None:
    größe, place = 1, caller_location()
    assert größe == 1
    assert place is not None
    line = linecache.getline(place.file, place.line)
    assert Path(place.file) == Path(__file__)
    assert place.end_line == place.line
    assert line[place.column : place.end_column] == "caller_location()"
    assert str(place) == f"{place.file}:{place.line}:{place.column + 1}"


def test_frame_location_of_a_traceback() -> None:
    zero = 0
    with pytest.raises(ZeroDivisionError) as caught:
        print(1 + 7 // zero)
    place = frame_location(caught.tb)
    line = linecache.getline(place.file, place.line)
    assert line[place.column : place.end_column] == "7 // zero"


def test_pseudo_files_of_weft_are_not_the_caller() -> None:
    namespace: dict[str, object] = {"caller_location": caller_location}
    exec(compile("place = caller_location()", "<weft staged>", "exec"), namespace)
    place = namespace["place"]
    assert isinstance(place, Location)
    assert Path(place.file) == Path(__file__)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("thread_id", "thread_idx"), ("float32", "Float32"), ("qqq", None)],
)
def test_nearest(name: str, expected: str | None) -> None:
    assert nearest(name, ["thread_idx", "block_idx", "Float32"]) == expected


def test_a_syntax_tree_is_read_again_where_threads_have_met() -> None:
    def parse(text: str) -> ast.Module:
        texts.append(text)
        if len(texts) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=18, after=72)")
        return ast.parse(text)

    texts: list[str] = []
    assert ast.unparse(parsed("x=1", parse)) == "x = 1"
    assert texts == ["x=1"] * 3
    with pytest.raises(SyntaxError):
        parsed("x=", ast.parse)
