"""A thread's way through a kernel: the lines that it takes are Python's, with the values of Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft import BFloat16, DeviceError, Float32, Int, Pointer, UInt8, func, kernel
from weft.cli import main
from weft.explorer import explore, follow
from weft.gpu import barrier, block_idx, thread_idx
from weft.gpu.host import DeviceContext
from weft.layout import Layout, LayoutTensor

PROGRAM = """
import sys
import numpy as np
from weft import Float32, Int, Pointer, func, kernel
from weft.gpu import global_idx
from weft.gpu.host import DeviceContext

@func
def scaled(x: Float32) -> Float32:
    y = x * 2
    return y

@kernel
def odd(a: Pointer[Float32], n: Int):
    i = global_idx.x
    total = 0.0
    for k in range(n):
        if (i + k) % 2 == 1:
            total += scaled(a[i])
        else:
            total -= 1.0
    a[i] = total

if __name__ == "__main__":
    a = np.arange(32, dtype=np.float32)
    DeviceContext().enqueue_function(odd, a, int(sys.argv[1]), grid_dim=4, block_dim=8)
    DeviceContext().enqueue_function(odd, a, 9, grid_dim=1, block_dim=8)
    print("ran", sys.argv[1:])
"""
FIRST = PROGRAM.splitlines().index("def odd(a: Pointer[Float32], n: Int):") + 2


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def as_python(i: int, n: int) -> list[tuple[int, dict[str, str]]]:
    """The lines that a thread of ``odd`` takes, and what they give, as Python itself tells."""
    text = PROGRAM.partition("if __name__")[0].replace("@kernel", "").replace("@func", "")
    text = text.replace("i = global_idx.x", f"i = {i}")
    names: dict[str, Any] = {}
    exec(compile(text, "by Python", "exec"), names)
    taken: list[tuple[int, dict[str, str]]] = []
    known: dict[Any, dict[str, str]] = {}
    last: dict[Any, dict[str, str]] = {}

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename != "by Python":
            return None
        if event in ("line", "return"):
            now = {name: repr(v) for name, v in frame.f_locals.items() if name != "a"}
            own = known.setdefault(frame, now)
            if frame in last:
                last[frame].update({name: v for name, v in now.items() if own.get(name) != v})
            known[frame] = now
            if event == "line":
                taken.append((frame.f_lineno, {}))
                last[frame] = taken[-1][1]
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        names["odd"]([float(x) for x in range(32)], n)
    finally:
        sys.settrace(before)
    return taken


def ways_of_page(page: Path) -> dict[str, Any]:
    found = re.search(
        r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])["kernels"]["odd"]["ways"]


def test_lines_and_values_are_those_of_python(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = program.with_suffix(".html")
    words = ["explore", f"{program}:odd", "--target", "sm_80", "--follow", "-o", str(page), "--", "3"]
    assert main(words) == 0
    out, err = capfd.readouterr()
    assert out == f"wrote {page}\n"
    assert err == "ran ['3']\n"
    found = ways_of_page(page)
    assert (found["grid"], found["block"]) == ([4, 1, 1], [8, 1, 1])
    assert [(w["block"][0], w["thread"][0]) for w in found["ways"]] == [
        (b, t) for b in (0, 3) for t in range(8)
    ]
    for way in found["ways"]:
        taken = [(line, gives) for _, line, _, _, _, gives, _ in way["steps"]]
        assert taken == as_python(8 * way["block"][0] + way["thread"][0], 3)


def test_one_thread(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = program.with_suffix(".html")
    words = [
        "explore",
        f"{program}:odd",
        "--target",
        "sm_80",
        "-o",
        str(page),
        "--block",
        "2",
        "--thread",
        "5",
    ]
    assert main([*words, "--", "1"]) == 0
    [way] = ways_of_page(page)["ways"]
    assert (way["block"], way["thread"]) == ([2, 0, 0], [5, 0, 0])
    notes = [note for step in way["steps"] for note in step[6]]
    assert notes == ["reads a[21] = 21.0", "gives 42.0", "writes a[21] = 42.0"]
    assert way["steps"][0][3:5] == ["odd", {"a": way["steps"][0][4]["a"], "n": "1"}]
    capfd.readouterr()
    assert main([*words[:-1], "9", "--", "1"]) == 0
    assert "weft: the program launches no odd whose threads could be followed" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("raise ValueError('so it ends')", 1),
        ("sys.exit(7)", 7),
        ("sys.exit(0)", 0),
        ("import os; os.kill(os.getpid(), 9)", 128 + 9),
    ],
)
def test_a_program_that_fails_is_the_commands_failure(
    program: Path, capfd: pytest.CaptureFixture[str], last: str, status: int
) -> None:
    program.write_text(f"{PROGRAM}    {last}\n")
    page = program.with_suffix(".html")
    assert main(["explore", f"{program}:odd", "--follow", "-o", str(page), "--", "1"]) == status
    assert "ran ['1']" in capfd.readouterr().err
    if last.startswith(("raise", "sys")):  # what was followed until then is shown
        assert ways_of_page(page)["grid"] == [4, 1, 1]


@func
def bumped(x: LayoutTensor[Float32], row: Int) -> Float32:
    return x[row, 1] + 1.0


@kernel
def mixed(x: LayoutTensor[Float32], b: Pointer[UInt8], s: Pointer[BFloat16]):
    t = thread_idx.x
    x[t, 0] = bumped(x, t)
    barrier()
    b[t] = b[t] - 1
    assert block_idx.x == 0, "one block"
    s[t] = s[t] + 1


def test_what_memory_holds_has_the_types_of_variables() -> None:
    x, b = np.arange(6, dtype=np.float32), np.zeros(2, np.uint8)
    ctx = DeviceContext(api="interpreter")
    short = ctx.enqueue_create_buffer(BFloat16, 2)
    short.enqueue_fill(2.5)
    with follow(thread=(1, 0, 0)) as ways:
        held = ctx.enqueue_create_buffer(Float32, 6)
        ctx.enqueue_copy(dst=held, src=x)
        layout = Layout.row_major(2, 3)
        ctx.enqueue_function(mixed, held.tensor(layout), b, short, grid_dim=1, block_dim=2)
    ctx.synchronize()
    [way] = ways["mixed"]["ways"]
    assert [note for step in way["steps"] for note in step[5]] == [
        "writes x[1, 0] = 5.0",
        "reads x[1, 1] = 4.0",
        "gives 5.0",
        "waits for the block",
        "reads b[1] = 0",
        "writes b[1] = 255",
        "reads s[1] = 2.5",
        "writes s[1] = 3.5",
    ]
    assert sys.gettrace() is None or "follow" not in repr(sys.gettrace())
    ctx.enqueue_function(mixed, held.tensor(layout), b, short, grid_dim=1, block_dim=2)
    assert len(ways["mixed"]["ways"]) == 1


def test_an_assertion_ends_a_way() -> None:
    ctx = DeviceContext(api="interpreter")
    arrays = (
        ctx.enqueue_create_buffer(Float32, 6),
        np.zeros(2, np.uint8),
        ctx.enqueue_create_buffer(BFloat16, 2),
    )
    tensor = arrays[0].tensor(Layout.row_major(2, 3))
    with follow(block=(1, 0, 0), thread=(0, 0, 0)) as ways:
        ctx.enqueue_function(mixed, tensor, *arrays[1:], grid_dim=2, block_dim=2)
    with pytest.raises(DeviceError, match="one block"):
        ctx.synchronize()
    assert "one block" in ways["mixed"]["ways"][0]["steps"][-1][5][-1]


def test_a_browser_steps_along_a_way(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    b = np.array([7, 9], np.uint8)
    ctx = DeviceContext(api="interpreter")
    x, short = ctx.enqueue_create_buffer(Float32, 6), ctx.enqueue_create_buffer(BFloat16, 2)
    layout = Layout.row_major(2, 3)
    with follow() as ways:
        ctx.enqueue_function(mixed, x.tensor(layout), b, short, grid_dim=1, block_dim=2)
    ctx.synchronize()
    lines = [step[0][1] for step in ways["mixed"]["ways"][1]["steps"]]
    text = explore(mixed, layout, target="sm_90", ways=ways).text
    clicks = 'document.getElementById("ways").value = "1"; document.getElementById("ways").onchange();'
    clicks += f"for (let n = 0; n < {len(lines) - 3}; n++) document.getElementById('on').click();"
    page = tmp_path / "page.html"
    page.write_text(text.replace("</html>", f"<script>{clicks}</script></html>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    dom = subprocess.run(
        [browser, *options, f"file://{page}"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    now = re.findall(r'<div[^>]*class="[^"]*\bnow\b[^"]*"[^>]*>(.*?)</div>', dom)
    assert len(now) == 1
    assert "b[t] = b[t] - 1" in now[0]
    thread = dom.partition("<h2>thread")[2].partition("</section>")[0]
    shown = [re.sub("<.*?>", "", each) for each in re.findall("<div.*?</div>", thread)]
    assert shown[0].endswith("reads b[1] = 9")
    assert shown[1] == "writes b[1] = 8"
    assert "t = 1" in shown
    assert len(re.findall(r'class="[^"]*\btaken\b', dom)) == len(set(lines))
    ptx = dom.partition("<h2>ptx")[2].partition("</section>")[0]
    lit = re.findall(r'<div[^>]*class="(?:own|hit)"[^>]*>(.*?)</div>', ptx)
    assert any("st.global" in each for each in lit), lit


def test_a_served_page_follows_any_thread(program: Path) -> None:
    words = [sys.executable, "-m", "weft", "explore", f"{program}:odd", "--target", "sm_80", "--serve"]
    with subprocess.Popen([*words, "--follow", "--", "2"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[0]

            def way(**asked: str) -> Any:
                place = f"{url}way?{urllib.parse.urlencode({'kernel': 'odd', **asked})}"
                with urllib.request.urlopen(place, timeout=60) as answer:
                    return json.loads(answer.read())

            [found] = way(block="1", thread="6,0,0")["ways"]
            assert [(step[1], step[5]) for step in found["steps"]] == as_python(14, 2)
            assert way(block="9")["error"] == "the program has no such thread"
            assert way(block="x")["error"] == "'x' is no index such as 3 or 3,0,1"
            with urllib.request.urlopen(f"{url}changes", timeout=60) as changes:
                program.write_text(PROGRAM.replace("total -= 1.0", "total -= 3.0"))
                while not (kernel := _event(changes)["kernels"]["odd"])["ways"]:
                    pass
                given = [step[5].get("total") for step in kernel["ways"]["ways"][0]["steps"]]
                assert "-3.0" in given
        finally:
            server.terminate()


def _event(stream: Any) -> Any:
    while True:
        line = stream.readline().decode()
        if line.startswith("data: "):
            return json.loads(line[6:])
