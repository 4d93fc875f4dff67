"""Wrong programs and what weft says to them, side by side in Markdown: ``cases``, and the pages of the codes.

A case is a heading, a ``python`` block and the ``text`` that its error prints. The program finds the
names of ``PRELUDE`` defined, and lies in a file of its own. Where it defines kernels and runs through,
each kernel is compiled for the CPU and for sm_90, and both must say the same. On a page of ``weft explain`` a
case has no heading, and its program is complete: it imports what it uses, and fails by itself. Warnings, of
which tests make errors, are cases too.
``pytest --update-golden`` writes what is said now; read the difference before you commit it.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import CompileError, Float32, Int, Kernel, Pointer, WeftError, kernel
from weft.compile import compile_info
from weft.diagnostics import hook, is_internal
from weft.diagnostics.explain import GROUPS, pages
from weft.diagnostics.rendering import render
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang.elaboration import maybe_current

PRELUDE = """\
import numpy as np
from weft import *
from weft.compile import compile_info
from weft.gpu import barrier, block_dim, block_idx, global_idx, grid_dim, thread_idx
from weft.gpu.host import DeviceContext, Dim
from weft.layout import Layout, LayoutTensor
from weft.memory import AddressSpace, dynamic_shared_memory, stack_allocation
from weft.atomic import Atomic
import weft
import weft.math
ctx = DeviceContext(api="cpu")
floats = ctx.enqueue_create_buffer(Float32, 32)
ints = ctx.enqueue_create_buffer(Int32, 32)
"""
TARGETS = ("native", "sm_90")
_BLOCK = r"```python\n(?P<program>(?:(?!```).*\n)*)```\n"
_TEXT = r"\n```text\n(?P<text>(?:(?!```).*\n)*)```\n"
_CASE = re.compile(rf"^## (?P<name>.+)\n\n{_BLOCK}(?:{_TEXT})?", re.M)
_ON_PAGE = re.compile(rf"^{_BLOCK}{_TEXT}", re.M)


@dataclass(frozen=True)
class Case:
    name: str
    program: str
    expected: str
    end: int
    """Where the program's block ends in the file, and the text begins."""
    last: int
    complete: bool


def cases(file: Path) -> list[Case]:
    """The cases of a Markdown file, in order."""
    text = file.read_text(encoding="utf-8")
    if file.parent.name == "cases":
        found = [(m["name"], m) for m in _CASE.finditer(text)]
    else:
        found = [(str(number), m) for number, m in enumerate(_ON_PAGE.finditer(text), 1)]
    complete = file.parent.name != "cases"
    return [
        Case(name, m["program"], m["text"] or "", m.end("program") + 4, m.end(), complete)
        for name, m in found
    ]


def update(file: Path, name: str, printed: str) -> None:
    """Write what a program prints now into the file."""
    text = file.read_text(encoding="utf-8")
    case = next(c for c in cases(file) if c.name == name)
    text = f"{text[: case.end]}\n```text\n{printed}```\n{text[case.last :]}"
    file.write_text(text, encoding="utf-8", newline="\n")


def prelude() -> dict[str, Any]:
    """Names that every wrong program finds defined."""
    module = types.ModuleType("program")
    sys.modules["program"] = module  # dataclasses look their module up
    names = vars(module)
    exec(PRELUDE, names)
    exported: list[str] = vars(weft)["__all__"]
    names.update({n: getattr(weft, n) for n in exported})
    return names


def run(case: Case, file: Path) -> Iterator[WeftError]:
    """The errors of a program: its own, or those of its kernels for each target."""
    file.write_text(case.program, encoding="utf-8")
    linecache.checkcache(str(file))
    names = prelude()
    known = set(names)
    if case.complete:
        names.clear()
        names.update(__name__="program", __file__=str(file))
    try:
        exec(compile(case.program, str(file), "exec", dont_inherit=True), names)
    except WeftError as error:
        yield error
        return
    if case.complete:
        return
    kernels = [v for n, v in names.items() if isinstance(v, Kernel) and n not in known]
    for target in TARGETS:
        for made in kernels:
            try:
                compile_info(made, target=target, emission_kind="llvm")
            except WeftError as error:
                yield error
                break


def text_of(error: WeftError, file: Path) -> str:
    """What the error prints, without what differs from machine to machine."""
    processor = DeviceContext(api="cpu").name
    if all(d.code in WARNINGS for d in error.diagnostics):  # of which the tests make errors
        shown = "\n\n".join(render(d, kind="warning") for d in error.diagnostics)
    else:
        shown = str(error)
    return shown.replace(str(file), file.name).replace(processor, "This processor") + "\n"


def problems_of(error: WeftError, file: Path) -> list[str]:
    """What every message must be, and this one is not."""
    found: list[str] = []
    text = str(error)
    if "\x1b" in text:
        found.append("colours in str(error)")
    if maybe_current() is not None:
        found.append("a builder was left behind")
    for d in error.diagnostics:
        if d.location is None:
            found.append(f"{d.code}: no place")
        elif is_internal(d.location.file):
            found.append(f"{d.code}: a place within weft: {d.location}")
        elif d.location.end_column is None:
            found.append(f"{d.code}: no exact place")
        if not d.hints and d.code not in _WITHOUT_HINT:
            found.append(f"{d.code}: nothing says what to write instead")
        if not re.fullmatch(r"[a-z]+(-[a-z]+)*", d.code):
            found.append(f"{d.code}: not a slug")
        if len(d.message) > 160:
            found.append(f"{d.code}: a long message ({len(d.message)})")
        for word in (
            "\ue000",
            "__weft",
            "NoneType",
            "NotImplemented",
            "<class",
            "object at 0x",
            "builtin_function",
        ):
            if word in text:
                found.append(f"{d.code}: says {word}")
    frames = re.findall(r'File "([^"]+)"', "\n".join(hook.formatted(error)))
    found += [f"a frame of weft: {f}" for f in frames if is_internal(f)]
    return found


_WITHOUT_HINT = frozenset({"compile-time-error", "device-assert", "queued-work"})


@kernel
def _right(x: Pointer[Float32], n: Int) -> None:
    if global_idx.x < n:
        x[global_idx.x] *= 2.0


def compiles_again() -> bool:
    """Whether a right kernel still compiles, to the same code as ever."""
    try:
        return "store float" in str(compile_info(_right, target="sm_90", emission_kind="llvm"))
    except CompileError:
        return False


FILES = sorted((Path(__file__).parent / "cases").glob("*.md"))
WARNINGS = frozenset(page.code for page in pages("warnings"))
PAGES = sorted(Path(page.path) for group in GROUPS for page in pages(group))
CASES = [
    pytest.param(file, case, id=f"{file.stem}: {case.name}")
    for file in (*FILES, *PAGES)
    for case in cases(file)
]


def as_here(text: str) -> str:
    """The text without what differs between Pythons: the cases are written for 3.11.

    Later ones place some expressions otherwise (f-strings, comprehensions), and add guesses of their own.
    """
    if sys.version_info < (3, 12):
        return text
    text = re.sub(r"(program\.py:\d+):\d+", r"\1", text)
    text = re.sub(r"(?m)^( *\|) [ ^-].*$", r"\1", text)
    if sys.version_info >= (3, 13):  # where a `with` is called at its first line alone
        text = re.sub(r"(?m)^ *(\d+ )?\|.*\n", "", text)
    text = re.sub(r"\. Did you mean '\w+'\?", "", text)
    return re.sub(r"\d+ more calls", "more calls", text)


@pytest.mark.parametrize(("source", "case"), CASES)
def test_message(source: Path, case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    file = tmp_path / "program.py"
    errors = list(run(case, file))
    assert errors, "the program is not refused"
    texts = [text_of(error, file) for error in errors]
    if len(errors) == len(TARGETS):
        assert texts[0] == texts[1], "the targets differ"
    if request.config.getoption("--update-golden"):
        update(source, case.name, texts[0])
    else:
        assert as_here(texts[0]) == as_here(case.expected)
    assert [p for error in errors for p in problems_of(error, file)] == []
    assert compiles_again()


def test_names_of_cases_are_unique() -> None:
    for file in FILES:
        names = [case.name for case in cases(file)]
        assert len(names) == len(set(names))
        assert len(names) == file.read_text(encoding="utf-8").count("\n## ")
