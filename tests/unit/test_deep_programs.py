"""Programs that are long or deep, and end: chains of branches, nesting, terms, recursion at compile time."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from weft import CompileError, Comptime, Int, func
from weft.compile import compile_info
from weft.compiler.frontend.room import has_room, with_room

HEAD = "from weft import *\n\n@func\ndef f(x: Int, y: Int) -> Int:\n"
_numbers = itertools.count()


def load(folder: Path, text: str) -> Any:
    path = folder / f"deep_{next(_numbers)}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_python(module: Any, count: int) -> None:
    """The function gives what Python gives."""
    for x in (-1, 0, count // 2, count - 1, count):
        assert module.f(x, 3) == module.f.function(x, 3)


def chain(count: int) -> list[str]:
    lines = ["    r = 0"]
    for k in range(count):
        lines += [f"    {'elif' if k else 'if'} x == {k}:", f"        r = y * {k % 7}"]
        lines += ["        s = r + 1", "        r += s"] if k % 3 else []
    return [*lines, "    else:", "        r = -1", "    return r"]


def nest(count: int) -> list[str]:
    """``if`` in ``if``, with a loop that is left on the way, and a return at the bottom."""
    lines = ["    r, last = 0, 5"]
    for k in range(count):
        pad = "    " + " " * k
        if k % 8 == 7:
            lines.append(f"{pad}for i{k} in range(2):")
        else:
            lines.append(f"{pad}if x > {k}:")
        lines.append(f"{pad} r += {k} + y")
        if k % 8 == 2:
            lines.append(f"{pad} last = r")
    pad = "    " + " " * count
    lines += [f"{pad}if r > {count * count}:", f"{pad} return r - last"]
    for k in reversed(range(count)):
        pad = "    " + " " * k
        if k % 8 == 7:
            lines += [f"{pad} if r > {10 * k}:", f"{pad}  break", f"{pad} continue"]
    return [*lines, "    return r * 10 + last"]


@pytest.mark.parametrize("count", [21, 25, 150])
def test_a_chain_of_branches(tmp_path: Path, count: int) -> None:
    as_python(load(tmp_path, HEAD + "\n".join(chain(count)) + "\n"), count)


@pytest.mark.parametrize("count", [13, 21, 80])
def test_nested_branches(tmp_path: Path, count: int) -> None:
    as_python(load(tmp_path, HEAD + "\n".join(nest(count)) + "\n"), count)


@pytest.mark.parametrize(
    "terms",
    [
        " or ".join(f"x == {k}" for k in range(2000)),
        " and ".join(f"x != {k}" for k in range(2000)),
        " or ".join(f"x // ({k} - x)" if k % 2 else f"x == {k}" for k in range(300)),
        " + ".join(f"x * {k}" for k in range(1500)),
        "".join(f"(x + {k} if y == {k} else " for k in range(60)) + "y" + ")" * 60,
    ],
    ids=["or", "and", "division", "sum", "conditional"],
)
def test_many_terms(tmp_path: Path, terms: str) -> None:
    module = load(tmp_path, HEAD.replace(" -> Int", "") + f"    return {terms}\n")
    for x in (-1, 0, 1777, 2000):
        if not ("//" in terms and 0 <= x < 300):  # Python raises there
            assert module.f(x, 3) == module.f.function(x, 3)


def test_a_gpu_takes_it_too(tmp_path: Path) -> None:
    text = HEAD.replace("@func", "@kernel").replace(
        "x: Int, y: Int) -> Int", "p: Pointer[Int], x: Int, y: Int)"
    )
    body = [*chain(300)[:-1], "    p[0] = r"]
    module = load(tmp_path, text + "\n".join(body) + "\n")
    assert ".entry" in str(compile_info(module.f, target="sm_90"))


def test_an_error_in_the_depth_has_its_place(tmp_path: Path) -> None:
    lines = nest(40)
    lines.insert(70, " " * (len(lines[70]) - len(lines[70].lstrip())) + "unset += x")
    module = load(tmp_path, HEAD + "\n".join(lines) + "\n")
    with pytest.raises(CompileError, match="`unset` may be undefined here") as caught:
        module.f(1, 2)
    text = str(caught.value)
    assert "unset += x" in text
    assert "__weft" not in text


def plain(n: int, x: Any) -> Any:
    return x if n == 0 else plain(n - 1, x) + 1


@func
def by_python(x: Int) -> Int:
    return plain(1500, x)


@func
def by_parameter(x: Int, *, n: Comptime[int]) -> Int:
    if n == 0:
        return x
    return by_parameter(x, n=n - 1) + 1


@func
def forever(x: Int, *, n: Comptime[int]) -> Int:
    return forever(x, n=n + 1) + 1


def test_a_recursion_at_compile_time_that_ends() -> None:
    limit = sys.getrecursionlimit()
    assert (by_python(7), by_parameter(7, n=300)) == (1507, 307)
    assert (sys.getrecursionlimit(), has_room()) == (limit, False)


def test_a_recursion_at_compile_time_without_end() -> None:
    with pytest.raises(
        CompileError, match="forever calls itself 1000 times at compile time and comes to no end"
    ):
        forever(1, n=0)


def down(n: int) -> bool:
    return has_room() if n == 0 else down(n - 1)


def test_work_gets_room_where_it_does_not_fit() -> None:
    assert (with_room(lambda: down(10)), with_room(lambda: down(20_000))) == (False, True)
    with pytest.raises(RecursionError):
        with_room(lambda: down(10_000_000))
    with pytest.raises(ValueError, match="deep"):
        with_room(lambda: deep_failure(20_000))
    assert not has_room()


def deep_failure(n: int) -> None:
    if n == 0:
        raise ValueError("deep")
    deep_failure(n - 1)


def test_nonlocal_below_deep_loops(tmp_path: Path) -> None:
    count = 15
    lines = ["    total = x", "    def step(k: Int):", "        nonlocal total"]
    lines += [f"{'    ' * (k + 2)}for i{k} in range({1 + (k == 3)}):" for k in range(count)]
    lines += [f"{'    ' * (count + 2)}total += k + i3"]
    lines += [f"{'    ' * (count + 2)}if total > 7: return total", "        return -1"]
    lines += ["    return step(y) * 100 + total"]
    as_python(load(tmp_path, HEAD + "\n".join(lines) + "\n"), 10)
