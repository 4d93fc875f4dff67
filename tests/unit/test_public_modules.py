"""What public modules show, and what they say of names that they have not."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import weft.kernels
from weft import Float32, LaunchError
from weft.gpu.host import DeviceContext

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*(DOCS / "reference").glob("*.md"), DOCS / "math.md"]
NAMED = re.findall(r"^::: (weft[\w.]*)$", "\n".join(p.read_text("utf-8") for p in PAGES), re.M)


def modules() -> list[ModuleType]:
    """The modules that the reference shows; the classes there are of one of these."""
    found: list[ModuleType] = []
    for name in NAMED:
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            continue
    return [
        m
        for m in found
        if not m.__name__.startswith(("weft.build", "weft.explorer", "weft.targets", "weft.torch."))
    ]


MODULES = modules()
PUBLIC = {m.__name__ for m in MODULES}


def test_the_reference_was_read() -> None:
    assert {"weft", "weft.gpu.warp", "weft.kernels", "weft.config"} <= PUBLIC


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_completion_shows_what_users_import(module: ModuleType) -> None:
    shown = [name for name in dir(module) if not re.fullmatch(r"__\w+__", name)]
    below = {name for name in shown if f"{module.__name__}.{name}" in PUBLIC}
    assert set(shown) - below == {n for n in vars(module)["__all__"] if not n.startswith("__")}
    assert all(getattr(module, name) is not None for name in shown)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_a_name_that_is_not_there(module: ModuleType) -> None:
    asked = "nobody_has_such_a_name"
    with pytest.raises(LaunchError, match=f"{module.__name__} has no `{asked}`") as caught:
        getattr(module, asked)
    [found] = caught.value.diagnostics
    assert found.hints
    assert isinstance(caught.value, AttributeError)
    assert getattr(module, asked, None) is None
    with pytest.raises(ImportError, match=f"has no `{asked}`"):
        exec(compile(f"from {module.__name__} import {asked}", __file__, "exec"))


@pytest.mark.parametrize(
    ("asked", "where"), [("compile_info", "weft.compile"), ("assert_almost_equal", "weft.testing")]
)
def test_a_name_of_another_module(asked: str, where: str) -> None:
    with pytest.raises(ImportError, match=f"import it: from {where} import {asked}"):
        exec(compile(f"from weft import {asked}", __file__, "exec"))


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("gather", "take_along_axis(x, indices, axis), or take(x, indices, axis)"),
        ("scatter_add", "put_along_axis(x, indices, values, axis, add=True), or put"),
        ("permute", "transpose(x, axes)"),
        ("radix_sort", "sort(x), or sort_by_key(keys, values)"),
        ("median", "sort(x, axis), and take the middle of each row"),
        ("dot", "matmul(a, b)"),
        ("flash_attention", "attention, from weft.kernels"),
    ],
)
def test_what_others_call_a_ready_kernel(asked: str, written: str) -> None:
    with pytest.raises(LaunchError) as caught:
        getattr(weft.kernels, asked)
    assert caught.value.diagnostics[0].hints == (f"write {written}",)


def test_what_others_call_ready_kernels_is_there() -> None:
    written, there = vars(weft.kernels)["_CALLED"], set(weft.kernels.__all__)
    assert not set(written) & there
    for words in written.values():
        called = re.findall(r"(\w+)\(", words) or re.findall(r"\w+", words)
        assert set(called) - {"or"} <= there


def test_rooms_are_there_without_an_import_of_their_own() -> None:
    program = f"import sys, weft; print([n for n in {sorted(PUBLIC)} if eval(n).__name__ != n])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_completion_shows_what_the_reference_shows() -> None:
    page = (DOCS / "reference" / "gpu.host.md").read_text("utf-8")
    [left_out] = re.findall(r"\^\(([\w|]+)\)\$", page)
    with DeviceContext(api="cpu") as ctx:
        buffer, host = ctx.enqueue_create_buffer(Float32, 2), ctx.enqueue_create_host_buffer(Float32, 2)
        stream = ctx.create_stream()
        for held in (ctx, buffer, host, stream, stream.record_event()):
            assert {"close", "done"} & {*dir(held)}
            assert not {*left_out.split("|")} & {*dir(held)}
