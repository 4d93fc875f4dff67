"""``weft inspect``: differences of two kernels, the passes one by one, remarks with their lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from weft import Comptime, Float32, Int, PerformanceWarning, Pointer, kernel, unroll
from weft.cli import main
from weft.compile import compile_info, elaborated
from weft.compiler.llvm.traced import Remark, remarks, traced
from weft.explorer.passes import own_steps
from weft.explorer.places import Line, Place
from weft.explorer.remarks import Told, _by_lines, _of_llvm, told  # pyright: ignore[reportPrivateUsage]
from weft.gpu import barrier, global_idx
from weft.layout import Layout, LayoutTensor
from weft.runtime.cuda.toolkit import find_tool

LINES = Path(__file__).read_text(encoding="utf-8").splitlines()
Capture = pytest.CaptureFixture[str]


@kernel
def added(x: Pointer[Float32], by: Float32):
    x[global_idx.x] = x[global_idx.x] + by


@kernel
def multiplied(x: Pointer[Float32], by: Float32):
    x[global_idx.x] = x[global_idx.x] * by


@kernel
def powered(x: Pointer[Float32], *, n: Comptime[int]):
    i = global_idx.x
    value = x[i]
    for _ in unroll(range(n - 1)):
        value = value * x[i]
    barrier()
    x[i + 1] = value


@kernel
def halved(x: Pointer[Float32]):
    value = x[global_idx.x]
    while value > 1.0:
        value = value * 0.5
    x[global_idx.x] = value


@kernel
def strided(image: LayoutTensor[Float32], height: Int, width: Int):
    row, column = global_idx.x, global_idx.y
    if row < height and column < width:
        image[row, column] *= 2.0


def line(text: str) -> int:
    return LINES.index(text) + 1


def shown(capsys: Capture, *words: str) -> str:
    assert main(["inspect", *words]) == 0
    return capsys.readouterr().out


def test_the_staged_python(capsys: Capture) -> None:
    """Which needs no compile-time parameters, as nothing runs yet; the words within are weft's own."""
    at = line("        value = value * 0.5")
    text = shown(capsys, f"{__file__}:halved", "--emit", "staged")
    assert re.search(rf"for \w+ in \w+\.while_\(.*\n +\w+\.loc = \({at}, 8\)\n +value = ", text)
    assert "unroll(" in shown(capsys, f"{__file__}:powered", "--emit", "staged")
    text = shown(capsys, f"{__file__}:added", f"--diff={__file__}:multiplied", "--emit", "staged")
    assert re.search(r"^\+.* \+ by", text, re.MULTILINE)


def test_a_layout_and_a_type_are_asked_for_in_turn(tmp_path: Path, capsys: Capture) -> None:
    program = tmp_path / "opened.py"
    program.write_text(
        "from typing import Any\nfrom weft import kernel\nfrom weft.layout import LayoutTensor\n\n\n"
        "@kernel\ndef cleared(x: LayoutTensor[Any]):\n    x[0] = 0\n"
    )
    words, layout = [f"{program}:cleared", "--target", "sm_90"], ["--layout", "x=8"]
    for more, hint in (([], "--layout x=480,640"), (layout, "--type x=Float32")):
        assert main(["inspect", *words, *more]) == 1
        assert capsys.readouterr().err.endswith(f"  = help: write {hint}, say\n")
    assert ".entry cleared" in shown(capsys, *words, *layout, "--type", "x=Float32")


def test_two_kernels(capsys: Capture) -> None:
    here = f"{__file__}:multiplied"
    text = shown(capsys, f"--diff={__file__}:added", here, "--target", "sm_90")
    assert f"--- {__file__}:added sm_90\n+++ {here} sm_90\n" in text
    assert re.search(r"^-\tadd(\.rn)?\.f32 ", text, re.MULTILINE)
    assert re.search(r"^\+\tmul(\.rn)?\.f32 ", text, re.MULTILINE)
    assert not re.search(r"^[-+]\t(ld|st)\.global", text, re.MULTILINE)  # which both have alike
    assert ".loc" not in text
    assert "\033" not in text  # which is for terminals
    if find_tool("ptxas") is not None:
        registers = [compile_info(k, target="sm_90").resources.registers for k in (added, multiplied)]
        assert re.search(rf"^registers +{registers[0]}  ->  {registers[1]}\b", text, re.MULTILINE)


def test_two_ways_of_one_kernel(capsys: Capture) -> None:
    word = f"{__file__}:powered"
    common = (word, "--target", "x86-64", "--emit", "ir")
    text = shown(capsys, *common, "--param", "n=3", "--diff=--param n=2")
    assert "--- " + word + " x86-64 param n=2" in text
    assert len(re.findall(r"^\+.*arith\.mulf", text, re.MULTILINE)) == 1
    assert not re.findall(r"^-.*arith\.mulf", text, re.MULTILINE)
    text = shown(capsys, word, "--param", "n=2", "--target", "sm_90", "--diff=--target sm_80")
    assert "-.target sm_80\n" in text
    assert "+.target sm_90\n" in text
    text = shown(capsys, f"{__file__}:added", "--target", "x86-64", "--diff=-O0")
    assert "x86-64 -O0\n" in text
    assert re.search(r"^-.*addss", text, re.MULTILINE)
    assert re.search(r"^\+.*addps", text, re.MULTILINE)


def test_colours_are_for_terminals(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.cli import difference

    monkeypatch.setattr(difference.sys.stdout, "isatty", lambda: True, raising=False)
    text = shown(capsys, f"--diff={__file__}:added", f"{__file__}:multiplied", "--target", "sm_90")
    assert "\033[31m-\tadd" in text
    assert "\033[32m+\tmul" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--diff="], "--diff has no words"),
        ([f"--diff={__file__}:added"], "both sides are the same"),
        (["--diff=--emit ir"], "has words that are for both"),
        (["--diff=-O0", "--emit", "object"], "is no text that can be compared"),
        ([f"--diff={__file__}"], "names no kernel"),
        (["--diff=-O0", "--emit", "pases"], "did you mean --emit passes"),
    ],
)
def test_what_cannot_be_compared(words: list[str], message: str, capsys: Capture) -> None:
    assert main(["inspect", f"{__file__}:added", "--target", "x86-64", *words]) == 1
    assert message in capsys.readouterr().err


def test_passes_one_by_one(capsys: Capture) -> None:
    text = shown(capsys, f"{__file__}:powered", "--param", "n=3", "--target", "x86-64", "--emit", "passes")
    titles = re.findall(r"^=== (.+?) on .*?(?:, ([\d.]+) ms)?$", text, re.MULTILINE)
    names = [name for name, _ in titles]
    assert names.index("thread loops") < names.index("SROAPass")
    assert any("Instruction Selection" in name for name in names)
    assert titles[names.index("thread loops")][1]
    assert re.search(r"=== the slowest of \d+ passes", text)
    assert "!dbg" not in re.sub(r"^[-+ ]*define.*$", "", text, flags=re.MULTILINE)


def test_differences_lead_from_what_is_given_to_what_comes_out() -> None:
    made = elaborated(powered, (), "sm_90", 0, {"n": 3})
    found = traced(made.llvm(), made.target)
    state: dict[str, list[str]] = {}
    for change in found.changes:
        assert state.get(change.function, change.before) == change.before
        state[change.function] = change.after
    last = "\n".join(state["kernel$powered"])
    optimised = str(made.emit("llvm-opt"))
    assert last.count("fmul") == optimised.count("fmul") == 2
    assert found.times
    assert all(took >= 0 for took in found.times.values())
    assert not own_steps(made)  # nothing ends threads, and threads are hardware


def test_remarks_of_loops_and_of_addresses() -> None:
    found = {
        each.place.line: each.text for each in told(elaborated(halved, (), "x86-64", 0, {})) if each.place
    }
    assert found[line("    while value > 1.0:")].startswith("not vectorised: ")
    at = Place(__file__, line("    x[global_idx.x] = x[global_idx.x] + by"))
    assert Told(at, "vectorised: loops here became vectors of 4") in told(
        elaborated(added, (), "x86-64", 0, {})
    )
    with pytest.warns(PerformanceWarning, match="uncoalesced"):
        (doubt,) = told(elaborated(strided, (Layout.row_major(480, 640),), "sm_90", 0, {}))
    assert doubt.place == Place(__file__, line("        image[row, column] *= 2.0"))
    assert doubt.text.startswith("uncoalesced: ")


def test_remarks_by_hand() -> None:
    said = [
        Remark("k.py", 3, "loop not vectorized: call instruction cannot be vectorized"),
        Remark("k.py", 3, "loop not vectorized: unsafe memory. Use #pragma clang loop distribute(enable)"),
        Remark("k.py", 4, "vectorized loop (vectorization width: 4, interleaved count: 1)"),
        Remark("k.py", 4, "vectorized loop (vectorization width: 8, interleaved count: 1)"),
        Remark("k.py", 1, "7 spills 1.0e+00 total spills cost 9 reloads 2.0e+00 total reloads cost"),
        Remark("k.py", 5, "List vectorization was possible but not beneficial"),
    ]
    found = {(each.place and each.place.line, each.text) for each in _of_llvm(said, {"k.py": "/tmp/k.py"})}
    assert found == {
        (3, "not vectorised: call instruction cannot be vectorized; unsafe memory"),
        (4, "vectorised: loops here became vectors of 8"),
        (1, "spilled: 7 stores and 9 loads of registers that did not suffice"),
    }
    at = (Place("/tmp/k.py", 3),)
    sass = [Line("STL [R1], R2 ;", at), Line("LDL R2, [R1] ;", at), Line("LDL R3, [R1] ;", at), Line("NOP ;")]
    (only,) = _by_lines(sass)
    assert only.text == "memory of a thread: 1 stores and 2 loads of this line go there"


def test_what_a_thread_keeps_in_memory(capsys: Capture) -> None:
    if find_tool("ptxas") is None or find_tool("nvdisasm") is None:
        pytest.skip("no ptxas and nvdisasm here")
    text = shown(capsys, f"{__file__}:powered", "--param", "n=3", "--target", "sm_90", "--emit", "remarks")
    assert text == "no remarks\n"


def test_llvm_that_fails_says_so() -> None:
    from weft import CompileError
    from weft.targets import find_target

    with pytest.raises(CompileError, match="LLVM does not show its passes"):
        remarks("define nonsense", find_target("sm_90"))
