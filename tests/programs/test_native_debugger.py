"""Code for debuggers of native code: gdb and lldb stop at the user's lines and show what variables hold."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from weft import BFloat16, Bool, Comptime, Float32, Pointer, UInt8, config, func, kernel, struct
from weft.compiler.frontend.options import CompileOptions
from weft.compiler.pipeline import elaborate_kernel
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.lang.accept import spec_of_annotation
from weft.lang.spec import Spec, StaticSpec
from weft.memory import AddressSpace, stack_allocation

PROGRAM = """\
import numpy as np

from weft import Float32, Int, Pointer, UInt8, func, kernel, struct
from weft.gpu import barrier, global_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import LayoutTensor
from weft.memory import AddressSpace, stack_allocation


@struct
class Pair:
    a: Float32
    n: UInt8


@func
def scaled(v: Float32, pair: Pair) -> Float32:
    w = v * pair.a
    return w + pair.n


@kernel
def smooth(x: Pointer[Float32], t: LayoutTensor[Float32], pair: Pair, n: Int):
    i = global_idx.x
    s = stack_allocation(Float32, 8, address_space=AddressSpace.SHARED)
    own = thread_idx.x
    s[own] = scaled(x[i], pair)
    barrier()
    total = Float32(0)
    for j in range(n):
        total += s[j]
    x[i] = total + t[1, 2]


ctx = DeviceContext(api="cpu")
a, b = np.arange(16, dtype=np.float32), np.arange(12, dtype=np.float32).reshape(4, 3)
ctx.enqueue_function(smooth, a, b, Pair(2.5, 200), 8, grid_dim=2, block_dim=8)
ctx.synchronize()
print(a[0], a[15])
"""
COMMANDS = """\
set breakpoint pending on
set confirm off
break program.py:18 if v == 11
break program.py:31 if i == 13 && j == 3
run
print v
print pair
up
print i
continue
backtrace 1
print own
print total
print s[3]
print *t
delete
continue
"""


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb here")
@pytest.mark.parametrize("given", ["", ", debug=True"])
def test_gdb_stops_at_lines_and_shows_values(tmp_path: Path, given: str) -> None:
    program = PROGRAM.replace('api="cpu"', f'api="cpu"{given}')
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    (tmp_path / "commands").write_text(COMMANDS, encoding="utf-8")
    command = ["gdb", "-q", "-nx", "-batch", "-x", "commands", "--args", sys.executable, "program.py"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "WEFT_DEBUG": "0" if given else "1"},
        timeout=120,
        check=False,
    )
    found = done.stdout.partition("hit Breakpoint 1")[2].replace(f"{tmp_path}/", "")
    if "ptrace" in done.stderr:
        pytest.skip("gdb may run nothing here")
    found = re.sub(r"(?m)^\[.*\n|^\n|^.*hit Breakpoint [\d.]+|0x[0-9a-f]+ in |( \(.*\))? at |,", " ", found)
    rows = [2.5 * n + 200 for n in range(8, 16)]
    expected = f"""
        scaled program.py:18
        18	    w = v * pair.a
        $1 = 11
        $2 = {{a = 2.5, n = 200 '\\310'}}
        #1 smooth program.py:27
        27	    s[own] = scaled(x[i], pair)
        $3 = 11
        smooth program.py:31
        31	        total += s[j]
        #0 smooth program.py:31
        $4 = 5
        $5 = {rows[0] + rows[1] + rows[2]:g}
        $6 = {rows[3]:g}
        $7 = {{{{0, 1, 2}}, {{3, 4, 5}}, {{6, 7, 8}}, {{9, 10, 11}}}}
        {sum(rows) - 8 * 20 + 5} {sum(rows) + 5}
        """
    assert found.split() == expected.replace(",", " ").split(), done.stdout + done.stderr


FOR_LLDB = """\
settings set plugin.jit-loader.gdb.enable on
breakpoint set --file program.py --line 18 --condition "v == 11"
breakpoint set --file program.py --line 31 --condition "i == 13 && j == 3"
process launch
frame variable v pair.a
up
frame variable i
continue
frame variable own total s[3]
frame variable *t
breakpoint delete --force
continue
"""


@pytest.mark.skipif(shutil.which("lldb") is None, reason="no lldb here")
def test_lldb_stops_at_lines_and_shows_values(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "commands").write_text(FOR_LLDB, encoding="utf-8")
    python = os.path.realpath(sys.executable)  # which lldb runs in any case
    done = subprocess.run(
        ["lldb", "--batch", "--no-lldbinit", "-s", "commands", "--", python, "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "WEFT_DEBUG": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
        check=False,
    )
    if "ptrace" in done.stderr or "personality" in done.stderr:
        pytest.skip("lldb may run nothing here")
    rows = [2.5 * n + 200 for n in range(8, 16)]
    stops = re.findall(r"`(\w+) at (program.py:\d+)", done.stdout)
    assert stops == [("scaled", "program.py:18"), ("smooth", "program.py:27"), ("smooth", "program.py:31")]
    shown = re.findall(r"^\(\w+\) (.+ = .+)$", done.stdout, re.MULTILINE)
    assert shown == [
        "v = 11",
        "pair.a = 2.5",
        "i = 11",
        "own = 5",
        f"total = {rows[0] + rows[1] + rows[2]:g}",
        f"s[3] = {rows[3]:g}",
    ]
    assert "[0] = 9, [1] = 10, [2] = 11" in done.stdout
    assert f"{sum(rows) - 8 * 20 + 5} {sum(rows) + 5}\n" in done.stdout


@struct
class Both:
    a: BFloat16
    holds: Bool


@func
def inner(v: Float32, both: Both) -> Float32:
    half = v / 2
    return half


@kernel
def outer(x: Pointer[Float32], n: UInt8, *, k: Comptime[int]):
    own = thread_idx.x
    s = stack_allocation(Float32, 8, address_space=AddressSpace.SHARED)
    s[own] = inner(x[global_idx.x], Both(BFloat16(1), own > 2))
    barrier()
    lanes = s.load(0, width=4)
    total = lanes.reduce_add() + k
    while own > 6:
        total += n
        own -= 1
    x[global_idx.x] = total + s[7 - thread_idx.x] + block_idx.x


def test_code_for_debuggers_names_lines_types_and_variables() -> None:
    specs: dict[str, Spec] = {
        "x": spec_of_annotation(Pointer[Float32]),
        "n": spec_of_annotation(UInt8),
        "k": StaticSpec(3),
    }
    made = elaborate_kernel(outer, specs, "native", CompileOptions(debug=True))
    text = made.llvm()
    nodes = dict(re.findall(r"^(!\d+) = (.*)$", text, re.MULTILINE))
    declared = re.findall(r"#dbg_declare\(ptr %\w+, (!\d+), !DIExpression\(\), !\d+\)", text)
    kinds: dict[str, str] = {}
    for node in map(nodes.__getitem__, declared):
        found = re.fullmatch(
            r'!DILocalVariable\(name: "(\w+)", scope: (!\d+), file: !\d+, type: (!\d+)\)', node
        )
        assert found is not None, node
        name, scope, kind = found.groups()
        [within] = re.findall(r'name: "(\w+)"', nodes[scope])
        kinds[f"{within}.{name}"] = nodes[kind]
    assert {*kinds} == {
        *(f"outer.{name}" for name in ("x", "n", "k", "own", "s", "lanes", "total")),
        *(f"inner.{name}" for name in ("v", "both", "half")),
    }
    assert kinds["outer.n"] == '!DIBasicType(name: "uint8", size: 8, encoding: DW_ATE_unsigned)'
    assert "DW_TAG_pointer_type" in kinds["outer.x"]
    assert "DIFlagVector" in kinds["outer.lanes"]
    members = re.findall(r"!\d+", nodes[kinds["inner.both"].split("elements: ")[1].rstrip(")")])
    assert [nodes[m].split("name: ")[1].split(",")[0] for m in members] == ['"a"', '"holds"']
    lines = {int(n) for n in re.findall(r"!DILocation\(line: (\d+)", text)}
    assert {*range(outer.definition.line + 2, outer.definition.line + 12)} <= lines
    code = made.emit("object")
    assert isinstance(code, bytes)
    assert all(name in code for name in (b".debug_info", b".debug_line", b".debug_abbrev"))


def test_code_for_debuggers_does_the_same() -> None:
    results: list[bytes] = []
    for debug in (False, True):
        with config.scope(debug=debug):
            ctx = DeviceContext(api="cpu")
            x = np.random.default_rng(3).random(16, np.float32)
            ctx.enqueue_function(outer, x, 200, grid_dim=2, block_dim=8, k=3)
            ctx.synchronize()
            results.append(x.tobytes())
    assert results[0] == results[1]
