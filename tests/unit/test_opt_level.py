"""Levels of optimisation, and the forms that ``compile_function`` shows."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from weft import CompileError, Comptime, Float32, Int, LaunchError, Pointer, config, kernel
from weft.cli import main
from weft.compile import compile_info, elaborated
from weft.compiler.cache import key_of
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext
from weft.runtime.cuda.toolkit import find_tool

LEVELS = (0, 1, 2, 3)


@kernel
def scale(x: Pointer[Float32], n: Int, by: Float32):
    i = global_idx.x
    if i < n:
        x[i] = x[i] * by + 1.0


@kernel
def shifted(x: Pointer[Float32], *, by: Comptime[int]):
    x[global_idx.x] += by


def ran(ctx: DeviceContext, made: Any) -> list[float]:
    host = ctx.enqueue_create_host_buffer(Float32, 20)
    host[:] = range(20)
    buffer = ctx.enqueue_create_buffer(Float32, 20)
    ctx.enqueue_copy(dst=buffer, src=host)
    for _ in range(2):  # the second may be native
        ctx.enqueue_function(made, buffer, 20, 3.0, grid_dim=1, block_dim=32)
    ctx.enqueue_copy(dst=host, src=buffer)
    ctx.synchronize()
    return list(host)


TWICE = [(3.0 * v + 1.0) * 3.0 + 1.0 for v in range(20)]


def test_no_optimisation_leaves_code_as_it_stands() -> None:
    as_it_stands, optimised = (str(compile_info(scale, target="x86-64", opt_level=n)) for n in (0, 2))
    assert "mulss" in as_it_stands
    assert "mulps" not in as_it_stands
    assert "mulps" in optimised
    assert str(compile_info(scale, target="x86-64")) == optimised
    lines = [str(compile_info(scale, target="sm_90", opt_level=n)).count(";") for n in (0, 1)]
    assert lines[0] > lines[1]


def test_the_assembler_of_a_gpu_is_told_too() -> None:
    if find_tool("ptxas") is None or find_tool("nvdisasm") is None:
        pytest.skip("no ptxas and nvdisasm here")
    sass = [compile_info(scale, target="sm_90", emission_kind="sass", opt_level=n) for n in (0, 1, None)]
    lengths = [len(re.findall(r"/\*[0-9a-f]{4}\*/", str(each))) for each in sass]
    assert lengths[0] > 1.5 * lengths[1]
    assert compile_info(scale, target="sm_90").resources.registers > 0


@pytest.mark.parametrize("level", LEVELS)
def test_results_are_the_same(level: int, any_context: DeviceContext) -> None:
    ctx = any_context
    there = DeviceContext(api=ctx.api, opt_level=level)
    assert ran(there, scale) == TWICE
    assert ran(ctx, ctx.compile_function(scale, opt_level=level)) == TWICE
    with config.scope(opt_level=level):
        assert ran(DeviceContext(api=ctx.api), scale) == TWICE


def test_the_cache_tells_levels_apart() -> None:
    keys = [key_of(elaborated(scale, (), "sm_90", 0, {}, opt_level=n)) for n in (None, *LEVELS)]
    assert len(set(keys)) == 5
    assert keys[0] == key_of(elaborated(scale, (), "sm_90", 0, {}))


def test_what_is_no_level() -> None:
    for wrong in (4, -1, True, "2", 1.0):
        level: Any = wrong
        for attempt in (
            lambda level=level: compile_info(scale, target="sm_90", opt_level=level),
            lambda level=level: DeviceContext(api="cpu", opt_level=level),
            lambda level=level: DeviceContext(api="cpu").compile_function(scale, opt_level=level),
        ):
            with pytest.raises(CompileError, match=r"no level of optimisation, which is 0, 1, 2 or 3"):
                attempt()


def test_levels_by_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    word = f"{__file__}:scale"
    texts: list[str] = []
    for level in ("-O0", "-O2"):
        assert main(["inspect", word, "--target", "x86-64", level]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == str(compile_info(scale, target="x86-64", opt_level=0))
    assert texts[1] == str(compile_info(scale, target="x86-64"))
    with pytest.raises(SystemExit):
        main(["inspect", word, "-O7"])
    monkeypatch.setenv("WEFT_OPT_LEVEL", "5")
    with pytest.raises(CompileError, match="WEFT_OPT_LEVEL=5 is no level"):
        config.settings()
    monkeypatch.setenv("WEFT_OPT_LEVEL", "")
    program = tmp_path / "program.py"
    program.write_text("from weft import config\nprint(config.settings().opt_level)\n")
    assert main(["run", "-O1", str(program)]) == 0
    assert capsys.readouterr().out == "1\n"
    assert os.environ["WEFT_OPT_LEVEL"] == "1"


def test_forms_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ctx = DeviceContext(api="cpu")
    ctx.compile_function(scale, dump_llvm=True)
    assert re.search(r"^define .*scale", capsys.readouterr().out, re.MULTILINE)
    given, made = tmp_path / "scale.s", tmp_path / "other.ll"
    ctx.compile_function(scale, dump_asm=given, dump_llvm=lambda: str(made))
    assert "mulps" in given.read_text()
    assert "define " in made.read_text()
    ctx.compile_function(scale, dump_asm=str(given), opt_level=0)
    assert "mulps" not in given.read_text()
    ctx.compile_function(shifted, by=2, dump_asm=given)
    assert capsys.readouterr() == ("", "")


def test_forms_that_cannot_be_shown(tmp_path: Path) -> None:
    ctx = DeviceContext(api="cpu")
    wrong: Any = 3
    nowhere: Any = lambda: None  # noqa: E731
    with pytest.raises(CompileError, match="dump_asm is an int, not True, a path or a function"):
        ctx.compile_function(scale, dump_asm=wrong)
    with pytest.raises(CompileError, match="dump_llvm gives a NoneType, not a path"):
        ctx.compile_function(scale, dump_llvm=nowhere)
    with pytest.raises(CompileError, match=r"cannot write .*: No such file"):
        ctx.compile_function(scale, dump_asm=tmp_path / "nowhere" / "scale.s")
    with pytest.raises(CompileError, match="dump_asm: shifted is compiled at its first launch"):
        ctx.compile_function(shifted, dump_asm=True)
    with pytest.raises(LaunchError, match="shifted has no parameter `dump_sass`"):
        ctx.compile_function(shifted, dump_sass=True)
