"""A second front end: definitions that a parser makes of another language's text compile and run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import CellType
from typing import Any

import numpy as np
import pytest

from weft import CompileError, Float32, Func, Int, Kernel, LaunchError, Pointer, func, kernel
from weft.compiler.source.definition import Definition, Parameter, Scope
from weft.diagnostics.wrote import PARSERS
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang.signature import describe_parameters

OPERATORS = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult}
TYPES: dict[str, Any] = {"f32": Float32, "int": Int, "memory": Pointer[Float32]}


class Toy:
    """Polish notation, one statement a line, blocks by indentation: ``put y i + * a @ x i 1.5``."""

    def __init__(self, text: str) -> None:
        numbered = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        self.lines = [(n, len(line) - len(line.lstrip()), line) for n, line in numbered]

    def read(self, line: int, text: str, at: int) -> tuple[str, dict[str, Any], int]:
        start = at + len(text[at:]) - len(text[at:].lstrip())
        end = start + len(text[start:].split()[0])
        place: dict[str, Any] = {
            "lineno": line,
            "col_offset": start,
            "end_lineno": line,
            "end_col_offset": end,
        }
        return text[start:end], place, end

    def value(self, line: int, text: str, at: int) -> tuple[ast.expr, int]:
        word, place, at = self.read(line, text, at)
        if word in ("<", "@", "call", *OPERATORS):
            left, at = self.value(line, text, at)
            right, at = self.value(line, text, at)
            place["end_col_offset"] = at
            if word == "<":
                return ast.Compare(left, [ast.Lt()], [right], **place), at
            if word == "@":
                return ast.Subscript(left, right, ast.Load(), **place), at
            if word == "call":
                return ast.Call(left, [right], [], **place), at
            return ast.BinOp(left, OPERATORS[word](), right, **place), at
        if word == "thread":
            index = ast.Name("global_idx", ast.Load(), **place)
            return ast.Attribute(index, "x", ast.Load(), **place), at
        known = ast.Name(word, ast.Load()) if word.isidentifier() else ast.Constant(ast.literal_eval(word))
        return type(known)(**{f: getattr(known, f) for f in known._fields}, **place), at

    def block(self, depth: int) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        while self.lines and self.lines[0][1] == depth:
            out.append(self.statement(*self.lines.pop(0)))
        return out

    def statement(self, line: int, depth: int, text: str) -> ast.stmt:
        word, place, at = self.read(line, text, 0)
        place["end_col_offset"] = len(text)
        if word == "let":
            name, at_name, at = self.read(line, text, at)
            target = ast.Name(name, ast.Store(), **at_name)
            return ast.Assign([target], self.value(line, text, at)[0], **place)
        first, at = self.value(line, text, at)
        if word == "give":
            return ast.Return(first, **place)
        if word == "when":
            return ast.If(first, self.block(depth + 2), [], **place)
        index, at = self.value(line, text, at)
        item = ast.Subscript(first, index, ast.Store(), **{**place, "col_offset": place["col_offset"] + 4})
        return ast.Assign([item], self.value(line, text, at)[0], **place)

    def function(self) -> ast.FunctionDef:
        line, _, text = self.lines.pop(0)
        _, place, at = self.read(line, text, 0)
        words: list[tuple[str, dict[str, Any]]] = []
        while text[at:].strip():
            word, at_word, at = self.read(line, text, at)
            words.append((word, at_word))
        named = [ast.arg(word.partition(":")[0], None, **at_word) for word, at_word in words[1:]]
        arguments = ast.arguments([], named, None, [], [], None, [])
        return ast.FunctionDef(words[0][0], arguments, self.block(2), [], None, **place)


def parse(text: str) -> ast.Module:
    """The syntax of a file, for diagnostics."""
    return ast.Module([Toy(text).function()], [])


def define(file: Path, names: dict[str, Any], cells: dict[str, CellType] | None = None) -> Definition:
    text = file.read_text()
    typed = [word.partition(":") for word in text.split("\n")[0].split()[2:]]
    parameters = [Parameter(name, TYPES[kind]) for name, _, kind in typed]
    return Definition(Toy(text).function(), str(file), Scope(names, cells or {}), parameters)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    PARSERS[".toy"] = parse
    yield tmp_path / "sample.toy"
    del PARSERS[".toy"]


AXPY = """kernel axpy x:memory y:memory n:int a:f32
  let i thread
  when < i n
    let t * a @ x i
    put y i + t * bias call twice @ y i
"""


@func
def twice(x: Float32) -> Float32:
    return x * 2.0


def names(**more: Any) -> dict[str, Any]:
    return {"global_idx": global_idx, "twice": twice, **more}


def launch(k: Kernel[...], n: int = 100, a: Any = 3.0) -> tuple[Any, Any, Any]:
    ctx = DeviceContext(api="cpu")
    x, y = np.arange(n, dtype=np.float32), np.linspace(-1, 1, n, dtype=np.float32)
    before = y.copy()
    ctx.enqueue_function(k, x, y, n - 10, a, grid_dim=4, block_dim=32)
    ctx.synchronize()
    return x, before, y


def test_a_kernel_of_other_text_runs(file: Path) -> None:
    file.write_text(AXPY)
    k: Kernel[...] = Kernel(define(file, names(bias=0.5)), {})
    x, before, y = launch(k)
    np.testing.assert_array_equal(y[:90], np.float32(3) * x[:90] + np.float32(0.5) * (before[:90] * 2))
    np.testing.assert_array_equal(y[90:], before[90:])
    shown = "(x: Pointer[Float32], y: Pointer[Float32], n: Int, a: Float32)"
    assert describe_parameters(k.definition) == shown


def test_what_it_reads_counts(file: Path) -> None:
    """A global that is rebound, and a captured variable, make another variant of the kernel."""
    file.write_text(AXPY.replace("bias", "captured"))
    cell = CellType(0.5)
    scope = names()
    k: Kernel[...] = Kernel(define(file, scope, {"captured": cell}), {})
    for value in (0.5, 2.0):
        cell.cell_contents = value
        x, before, y = launch(k)
        np.testing.assert_array_equal(y[:90], np.float32(3) * x[:90] + np.float32(value) * (before[:90] * 2))
    scope["twice"] = func(negative)
    x, before, y = launch(k)
    np.testing.assert_array_equal(y[:90], np.float32(3) * x[:90] - np.float32(2) * before[:90])


def negative(x: Float32) -> Float32:
    return -x


def test_a_function_of_other_text_is_called_from_python_and_kernels(file: Path) -> None:
    file.write_text("func poly x:f32 y:f32\n  let t * x y\n  give + t * t 0.25\n")
    poly: Func[..., Any] = Func(define(file, names()), {})
    assert poly(2.0, 4.0) == 8 + 8 * 0.25

    @kernel
    def k(x: Pointer[Float32], y: Pointer[Float32], n: Int, a: Float32):
        i = global_idx.x
        if i < n:
            y[i] = poly(x[i], a)

    x, _, y = launch(k)
    t = x[:90] * np.float32(3)
    np.testing.assert_array_equal(y[:90], t + t * np.float32(0.25))


WRONG = """\
error[operand]: `*` cannot combine a Float32 with a Pointer
 --> {file}:4:11
  |
4 |     let t * a x
  |           ^^^^^
  |
  = help: read an element, as in p[i], or move a pointer by p + n"""
UNKNOWN = """\
error[unknown-name]: `thrice` is not defined
 --> {file}:5:29
  |
5 |     put y i + t * bias call thrice @ y i
  |                             ^^^^^^
  |
  = help: did you mean `twice`?"""


@pytest.mark.parametrize(("old", "new", "said"), [("@ x i\n", "x\n", WRONG), ("twice", "thrice", UNKNOWN)])
def test_messages_point_into_the_text(old: str, new: str, said: str, file: Path) -> None:
    file.write_text(AXPY.replace(old, new))
    k: Kernel[...] = Kernel(define(file, names(bias=0.5)), {})
    with pytest.raises(CompileError) as raised:
        launch(k)
    assert str(raised.value) == said.format(file=file)


def test_a_wrong_argument(file: Path) -> None:
    file.write_text(AXPY)
    k: Kernel[...] = Kernel(define(file, names(bias=0.5)), {})
    with pytest.raises(LaunchError, match="argument `a` of axpy takes"):
        launch(k, a="text")
