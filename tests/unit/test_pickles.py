"""Kernels and functions in other processes: by name, and by source where nothing can be imported."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pytest

from weft import (
    CompileError,
    Comptime,
    Float32,
    InlineArray,
    Int,
    LaunchError,
    Pointer,
    func,
    kernel,
    struct,
    tile,
)
from weft.complex import ComplexFloat32
from weft.diagnostics import errors
from weft.dtype import DType
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.lang import number
from weft.lang.comptime import comptime_type
from weft.lang.number import number_class
from weft.lang.signature import MISSING
from weft.layout import LayoutTensor
from weft.linalg import Vector, cross, vec3

SOURCE = Path(__file__).parents[2] / "src"


T = TypeVar("T")


@struct
class Two(Generic[T]):
    one: T
    two: T


def make(by: float, table: Any) -> Any:
    def plain(n: int) -> int:
        return n + 1

    @func
    def times(x: Float32) -> Float32:
        return x * by

    @kernel
    def made(x: Pointer[Float32], n: Int, *, more: Comptime[int] = 1):
        if global_idx.x < n:
            x[global_idx.x] = times(x[global_idx.x]) + plain(more) + table[1]

    return made


def run(made: Any) -> list[float]:
    ctx = DeviceContext(api="cpu")
    x = np.arange(3, dtype=np.float32)
    ctx.enqueue_function(made, x, 3, over=3)
    ctx.synchronize()
    return x.tolist()


def python(tmp_path: Path, text: str) -> str:
    """What a program prints, which is a file or the text of ``python -c``."""
    place = dict(os.environ, PYTHONPATH=os.pathsep.join((str(SOURCE), str(tmp_path), *sys.path)))
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=place, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


MODULE = """
from weft import *
from weft.gpu import global_idx

@kernel
def add(x: Pointer[Float32], n: Int, *, by: Comptime[int] = 1):
    if global_idx.x < n:
        x[global_idx.x] += by

@struct
class Pair:
    a: Float32
    b: Float32

    def total(self) -> Float32:
        return self.a + self.b
"""

PROGRAM = """
import multiprocessing, sys
import numpy as np
from weft import *
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from kernels import add, Pair

SCALE = 2.5

@func
def helper(x: Float32) -> Float32:
    return Pair(x, x).total() * SCALE

@kernel
def scale(x: Pointer[Float32], n: Int):
    if global_idx.x < n:
        x[global_idx.x] = helper(x[global_idx.x])

def make(by):
    @kernel
    def inner(x: Pointer[Float32], n: Int):
        x[global_idx.x] *= by
    return inner

def run(made, is_add=False):
    import kernels
    ctx, x = DeviceContext(api="cpu"), np.arange(3, dtype=np.float32)
    ctx.enqueue_function(made, x, 3, over=3)
    ctx.synchronize()
    return x.tolist(), made.definition is (kernels.add if is_add else scale).definition

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(run, (scale,)))
        print(pool.apply(run, (make(10.0),)))
        print(pool.apply(run, (add, True)))
        print(pool.apply(run, (add.bind(by=5), True)))
        print(pool.apply(helper, (3.0,)))
"""


def test_by_name_it_is_the_same_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels_by_name.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    kernels: Any = importlib.import_module("kernels_by_name")
    add = kernels.add
    assert pickle.loads(pickle.dumps(add)) is add
    assert pickle.loads(pickle.dumps(kernels.Pair.total)) is kernels.Pair.total
    bound = pickle.loads(pickle.dumps(add.bind(by=3)))
    assert bound == add.bind(by=3)
    assert bound.definition is add.definition
    data = pickle.dumps(add)
    assert len(data) < 200
    monkeypatch.undo()
    del sys.modules["kernels_by_name"]
    with pytest.raises(CompileError) as caught:
        pickle.loads(data)
    text = str(caught.value)
    assert "kernels_by_name.add comes from another process, and is not here" in text
    assert "help: put kernels_by_name where this process imports from (sys.path, PYTHONPATH)" in text


def test_by_source_in_one_process() -> None:
    made = make(2.0, np.array([0.0, 10.0]))
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert again.definition is made.definition
    assert run(again) == [12.0, 14.0, 16.0]
    bound = pickle.loads(pickle.dumps(made.bind(more=4)))
    assert run(bound) == [15.0, 17.0, 19.0]
    assert copy.copy(made) is made
    assert copy.deepcopy([made])[0] is made


def test_a_tile_kernel_keeps_its_threads() -> None:
    @tile.tile_kernel(threads=64)
    def scaled(x: LayoutTensor[Float32], *, by: Comptime[float]):
        tile.store(x, 0, tile.load(x, 0, 128) * by)

    again = pickle.loads(pickle.dumps(scaled.bind(by=3.0)))
    ctx, x = DeviceContext(api="cpu"), np.arange(100, dtype=np.float32)
    ctx.enqueue_function(again, x, grid_dim=1)
    ctx.synchronize()
    assert again.threads == 64
    assert x.tolist() == [3.0 * n for n in range(100)]


def test_by_source_in_another_process(tmp_path: Path) -> None:
    """That process has neither the module nor the file."""
    made = make(2.0, (0.0, 10.0))
    (tmp_path / "made").write_bytes(pickle.dumps([made, made.bind(more=4), made]))
    text = """
import pickle
import numpy as np
from weft.gpu.host import DeviceContext
one, bound, again = pickle.load(open("made", "rb"))
print(one is again, one.definition is bound.definition)
twice = pickle.load(open("made", "rb"))[0]
print(twice.definition is one.definition)
for each in (one, bound):
    ctx, x = DeviceContext(api="cpu"), np.arange(3, dtype=np.float32)
    ctx.enqueue_function(each, x, 3, over=3)
    ctx.synchronize()
    print(x.tolist())
"""
    expected = "True True\nTrue\n[12.0, 14.0, 16.0]\n[15.0, 17.0, 19.0]\n"
    assert python(tmp_path, text) == expected


def test_processes_that_are_spawned(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE, encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    place = dict(os.environ, PYTHONPATH=str(SOURCE))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=place)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "([0.0, 5.0, 10.0], True)",
        "([0.0, 10.0, 20.0], False)",
        "([1.0, 2.0, 3.0], True)",
        "([5.0, 6.0, 7.0], True)",
        "15.0",
    ]


def test_what_a_global_is_by_then(tmp_path: Path) -> None:
    """A program's own functions go by their source; each pickle has the values of its time."""
    text = """
import linecache, pickle, subprocess, sys
text = '''
from weft import *
by = 2.0
@func
def times(x: Float32) -> Float32:
    return x * by
'''
linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
exec(compile(text, "<cell 1>", "exec"))
first = pickle.dumps(times)
by = 7.0
second = pickle.dumps(times)
child = '''
import pickle, sys
for _ in range(2):
    for data in eval(sys.stdin.readline()):
        print(pickle.loads(data)(3.0))
'''
lines = repr([first, second]) + "\\\\n"
done = subprocess.run([sys.executable, "-c", child], input=lines * 2, capture_output=True, text=True)
print(done.stdout, done.stderr, times(3.0))
"""
    assert python(tmp_path, text.replace("\\\\n", "\\n")) == "6.0\n21.0\n6.0\n21.0\n  21.0\n"


def test_messages_quote_the_text_that_came_along(tmp_path: Path) -> None:
    data = pickle.dumps(make(2.0, (1.0,)))  # table[1] is not there
    (tmp_path / "made").write_bytes(data.replace(b"test_pickles.py", b"test_removed.py"))
    text = """
import pickle
from weft import CompileError
from weft.compile import compile_info
try:
    compile_info(pickle.load(open("made", "rb")))
except CompileError as error:
    print(error)
"""
    shown = python(tmp_path, text)
    assert "test_removed.py:" in shown
    assert "x[global_idx.x] = times(x[global_idx.x]) + plain(more) + table[1]" in shown


def vectors(by: Any, terms: Any) -> Any:
    @kernel
    def made(x: Pointer[vec3]):
        part: Any = Vector[Float32, Literal[5]](terms[1])
        x[global_idx.x] = cross(x[global_idx.x], by) * (part[4] + ComplexFloat32(2, 1).im)

    return made


def test_types_in_brackets_come_along(tmp_path: Path) -> None:
    by, terms = vec3(1, 2, 3), InlineArray[Int, 2](4, 5)
    (tmp_path / "made.pickle").write_bytes(pickle.dumps((vectors(by, terms), by, terms, Two[Float32])))
    program = """
import pickle, sys
import numpy as np
from weft.gpu.host import DeviceContext
from weft.linalg import vec3
kernel, by, terms, two = pickle.load(open("made.pickle", "rb"))
x, ctx = np.float32([[4, 5, 7]]), DeviceContext(api="cpu")
ctx.enqueue_function(kernel, x, over=1)
ctx.synchronize()
print(x.tolist(), type(by) is vec3, by, terms, two.__name__)
"""
    root = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    right = (6 * np.cross([4, 5, 7], [1, 2, 3])).astype(float).tolist()
    assert python(tmp_path, root + program) == f"{[right]} True {by} {terms} Two[Float32]\n"
    assert pickle.loads(pickle.dumps(Two[Float32])) is Two[Float32]


def test_what_stays_in_its_process() -> None:
    ctx = DeviceContext(api="cpu")
    buffer = ctx.enqueue_create_buffer(Float32, 4)
    uses: list[tuple[Callable[[], object], str]] = [
        (lambda: pickle.dumps(ctx), "a DeviceContext stays in its process"),
        (lambda: pickle.dumps(buffer), "a DeviceBuffer stays in its process"),
        (lambda: pickle.dumps(ctx.compile_function(make(2.0, (0.0, 1.0)))), "a CompiledKernel stays in its"),
        (lambda: copy.copy(buffer), "a DeviceBuffer stays in its process"),
    ]
    for use, text in uses:
        with pytest.raises(LaunchError, match=text):
            use()


def test_a_function_without_source_is_refused() -> None:
    scope: dict[str, Any] = {"func": func, "Float32": Float32}
    exec("@func\ndef lost(x: Float32) -> Float32:\n    return x", scope)
    with pytest.raises(CompileError, match="the source of lost cannot be found"):
        pickle.dumps(scope["lost"])


@pytest.mark.parametrize("value", [DType.float32, number_class(DType.float32, 4), MISSING])
def test_what_is_one_object_stays_one(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) is value


def test_annotations_stay_what_they_say() -> None:
    assert comptime_type(pickle.loads(pickle.dumps(Comptime[int]))) is int
    with pytest.raises(AttributeError, match="has no attribute"):
        number.SIMD4


CELL = """
from weft import *
from weft.gpu import global_idx

@struct
class Pair:
    a: Float32

    def twice(self) -> Float32:
        return self.a * 2.0

@kernel
def cell(x: Pointer[Float32]):
    x[global_idx.x] = Pair(x[global_idx.x]).twice()
"""


def test_a_program_that_is_imported_again_keeps_its_own_classes(tmp_path: Path) -> None:
    """Cloudpickle sends the classes, which are not those of the program in the other process then."""
    text = """
import pickle
from weft import Float32, Pointer, kernel
from weft.compiler.source import pickled

@kernel
def k(x: Pointer[Float32]):
    x[0] = 1.0

by_cloudpickle = {"__name__": "joblib.externals.cloudpickle", "pickle": pickle}
exec("def dumps(value): return pickle.dumps(value)", by_cloudpickle)
for dumps in (pickle.dumps, by_cloudpickle["dumps"]):
    sent = dumps(k)
    pickled._given.clear()  # as in another process
    print(pickle.loads(sent).definition.function is k.definition.function)
"""
    program = tmp_path / "program.py"
    program.write_text(text, encoding="utf-8")
    assert subprocess.check_output([sys.executable, program], text=True).split() == ["True", "False"]


def test_what_a_structs_init_reads_is_pickled() -> None:
    """Cloudpickle sends the globals of functions that it sends, and `__init__` of a struct is one."""
    said = errors.elaborating
    assert pickle.loads(pickle.dumps(said)) is said


def test_cloudpickle_of_a_notebook(tmp_path: Path) -> None:
    """It sends the program's own classes too, structs among them."""
    pytest.importorskip("cloudpickle")
    text = f"""
import linecache, subprocess, sys
import cloudpickle
text = {CELL!r}
linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
exec(compile(text, "<cell 1>", "exec"))
from weft.gpu.host import DeviceContext
ctx = DeviceContext(api="cpu")  # in a global, which the kernel does not name
child = '''
import pickle, sys
import numpy as np
from weft.gpu.host import DeviceContext
made, ctx, x = pickle.load(sys.stdin.buffer), DeviceContext(api="cpu"), np.arange(3, dtype=np.float32)
ctx.enqueue_function(made, x, over=3)
ctx.synchronize()
print(x.tolist())
'''
print(subprocess.run([sys.executable, "-c", child], input=cloudpickle.dumps(cell), capture_output=True))
"""
    assert "stdout=b'[0.0, 2.0, 4.0]\\n'" in python(tmp_path, text).replace("\\\\n", "\\n")
