"""The explorer's page: which line became what, and that it shows so in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from weft import Float32, Pointer, func, kernel
from weft.cli import main
from weft.explorer import explore
from weft.explorer.places import Place, of_assembly, of_ir, of_llvm, of_sass
from weft.explorer.stages import explored, with_machine_code
from weft.gpu import barrier, global_idx
from weft.layout import Layout, LayoutTensor
from weft.runtime.cuda.toolkit import find_tool

SCALE = "</script><!-- not the end -->"


@func
def halved(v: Float32) -> Float32:
    return v * 0.5


@kernel
def smooth(x: Pointer[Float32], out: Pointer[Float32]):
    i = global_idx.x
    out[i] = halved(x[i])
    barrier()
    out[i + 1024] = x[i] + 3.0


@kernel
def filled(image: LayoutTensor[Float32]):
    image[global_idx.x, 0] = 1.0


LINES = Path(__file__).read_text(encoding="utf-8").splitlines()
HALF = Place(__file__, LINES.index("    return v * 0.5") + 1)
CALL = Place(__file__, LINES.index("    out[i] = halved(x[i])") + 1)
SUM = Place(__file__, LINES.index("    out[i + 1024] = x[i] + 3.0") + 1)


def of_line(place: Place, target: str) -> dict[str, str]:
    """By its name the text of each form that comes from a line, or from what it calls."""
    made = with_machine_code(explored(smooth, (), target, 0, {}))
    return {s.name: "\n".join(line.text for line in s.lines if place in line.places) for s in made.stages}


@pytest.mark.parametrize(
    ("target", "assembly", "add", "multiply"),
    [("sm_90", "ptx", r"add(\.rn)?\.f32", r"mul(\.rn)?\.f32"), ("x86-64", "asm", "addps", "mulps")],
)
def test_each_form_knows_its_line(target: str, assembly: str, add: str, multiply: str) -> None:
    found = of_line(SUM, target)
    assert list(found)[:4] == ["ir", "llvm", "llvm-opt", assembly]
    assert re.search("arith.addf", found["ir"])
    assert re.search("fadd", found["llvm-opt"])
    assert not re.search("fmul", found["llvm-opt"])
    assert re.search(add, found[assembly])
    assert not re.search(multiply, found[assembly])
    assert "!dbg" not in found["llvm"]
    assert " loc(" not in found["ir"]
    for place in (HALF, CALL):  # a helper's code belongs to its own line and to the call
        found = of_line(place, target)
        assert re.search("fmul", found["llvm-opt"])
        assert re.search(multiply, found[assembly])
        assert not re.search(add, found[assembly])


def test_machine_code_knows_its_line() -> None:
    if find_tool("ptxas") is None or find_tool("nvdisasm") is None:
        assert with_machine_code(explored(smooth, (), "sm_90", 0, {})).notes
        pytest.skip("no ptxas and nvdisasm here")
    assert "FADD" in of_line(SUM, "sm_90")["sass"]
    assert "FMUL" in of_line(CALL, "sm_90")["sass"]


def test_passes_and_what_is_drawn() -> None:
    made = explored(smooth, (), "x86-64", 0, {})
    parts = [s.part for s in made.stages if s.name == "ir"]
    assert parts[0] == "as elaborated"
    assert "thread loops" in parts
    assert made.sources[__file__] == (1, LINES)
    drawn = explored(filled, (), "sm_90", 0, {"image": Layout.row_major(4, 8)})
    assert drawn.pictures["image"].startswith("<svg")


def test_forms_by_hand() -> None:
    ir = '  %1 = "arith.addf"(%a, %b) : () -> f32 loc(callsite("f"("/a.py":3:5) at "/b.py":7:1))'
    assert of_ir(ir)[0] == ('  %1 = "arith.addf"(%a, %b) : () -> f32', (("/a.py", 3), ("/b.py", 7)))
    llvm = """  %1 = fadd float %a, %b, !dbg !3
!0 = !DIFile(filename: "k.py", directory: "/tmp")
!1 = distinct !DISubprogram(name: "k", scope: !0, file: !0, line: 2)
!3 = !DILocation(line: 5, column: 1, scope: !1, inlinedAt: !4)
!4 = distinct !DILocation(line: 9, column: 1, scope: !1)
"""
    assert of_llvm(llvm) == [("  %1 = fadd float %a, %b", (("/tmp/k.py", 5), ("/tmp/k.py", 9)))]
    ptx = '\t.loc\t1 5 1\n\tadd.f32 %a;\n$L1:\n\tret;\n}\n\tnop;\n\t.file\t1 "/tmp/k.py"'
    at = (Place("/tmp/k.py", 5), Place("/tmp/k.py", 9))
    lines = of_assembly(ptx, {at[0]: at[1:]})
    assert [line.places for line in lines] == [at, (), at, (), ()]
    sass = '\t//## File "/tmp/k.py", line 5\n        /*0010*/                   FADD R1, R2, R3 ;\n.L_x_1:'
    assert of_sass(sass, {}) == [("/*0010*/         FADD R1, R2, R3 ;", at[:1]), (".L_x_1:", ())]


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_page_needs_nothing_else() -> None:
    text = explore(smooth, target="sm_90").text
    own = re.sub(r'<script id="data".*?</script>', "", text, flags=re.DOTALL)
    assert "addEventListener" in own
    assert not re.search(r"(src|href)=|https?://|@import|url\(", own)
    kernel = data_of(text)["kernels"]["smooth"]
    shown = [line for file in kernel["sources"] for line, _ in file["lines"]]
    assert f'SCALE = "{SCALE}"' in shown
    assert SCALE not in text
    assert repr(explore(smooth, target="sm_90")).startswith("<page of ")


TWO = """from weft import Float32, Pointer, kernel
from weft.gpu import global_idx

@kernel
def first(x: Pointer[Float32]):
    x[global_idx.x] = 1.0

@kernel
def second(x: Pointer[Float32]):
    x[global_idx.x] = 2.0
"""


def test_a_browser_opens_the_kernel_of_a_line(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    program, page = tmp_path / "two.py", tmp_path / "page.html"
    program.write_text(TWO, encoding="utf-8")
    assert main(["explore", str(program), "--target", "sm_90", "-o", str(page)]) == 0
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    for line, name in ((6, "first"), (10, "second"), (1, "first")):
        command = [browser, *options, f"file://{page}#{line}"]
        dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        ptx = dom.partition("<h2>ptx")[2].partition("</section>")[0]
        assert f".entry {name}(" in ptx
        assert ('class="own"' in ptx) == (line != 1)


PRESSED = """<script>
const said = [];
document.querySelector("section .text").focus();
for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "Enter", "Escape"]) {
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  const lit = [...document.querySelectorAll("section:first-child .own")];
  said.push(`${key} ${lit.map((e) => e.dataset.at.split(":")[1])}`);
}
document.title = said.join(", ");
</script>"""


def test_a_browser_goes_by_keys(tmp_path: Path) -> None:
    """Lines that became something, one after the other; Esc ends it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    page = tmp_path / "page.html"
    explore(smooth, target="sm_90").save(page)
    page.write_text(page.read_text(encoding="utf-8") + PRESSED, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    command = [browser, *options, f"file://{page}"]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    first, second = HALF.line - 2, HALF.line  # where the function begins, and what it gives
    steps = f"ArrowDown {first}, ArrowDown {second}, ArrowUp {first}, Enter {first}, Escape "
    assert f"<title>{steps}</title>" in dom


def test_a_browser_lights_what_became_of_a_line(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    page = tmp_path / "page.html"
    explore(smooth, target="sm_90").save(page)
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    command = [browser, *options, f"file://{page}#{CALL.line}"]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    for title in ("Python", "ir", "llvm-opt", "ptx"):
        section = dom.partition(f"<h2>{title}")[2].partition("</section>")[0]
        lit = re.findall(r'class="(?:own|hit)"[^>]*>(.*?)</div>', section)
        assert lit, title
        if title == "ptx":
            assert any("mul" in line for line in lit)
            assert not any("add.f32" in line or "add.rn.f32" in line for line in lit)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    text = (
        "from weft import Float32, Pointer, kernel\n@kernel\ndef fill(x: Pointer[Float32]):\n    x[0] = 2.0\n"
    )
    path.write_text(f"{text}@kernel\ndef open_(x):\n    x[0] = 1\n")
    return path


def test_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = file.with_suffix(".html")
    assert main(["explore", str(file), "--target", "sm_80", "-o", str(page)]) == 0
    out, err = capsys.readouterr()
    assert out == f"wrote {page}\n"
    assert "weft: left out open_: compiling open_ without a launch needs to know the type of `x`" in err
    assert list(data_of(page.read_text())["kernels"]) == ["fill"]
    words = ["explore", f"{file}:open_", "--type", "x=Pointer[Float32]", "--target", "sm_80", "-o", str(page)]
    assert main(words) == 0
    assert list(data_of(page.read_text())["kernels"]) == ["open_"]


@pytest.mark.parametrize(
    ("more", "said"),
    [(":open_", "--type 'x=Pointer[Float32]'"), (":fil", "did you mean 'fill'?")],
)
def test_what_is_wrong(file: Path, more: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", f"{file}{more}", "--target", "sm_80"]) == 1
    assert said in capsys.readouterr().err


def test_a_page_that_follows_the_file(file: Path) -> None:
    words = [sys.executable, "-m", "weft", "explore", f"{file}:fill", "--target", "sm_80", "--serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[0]
            with urllib.request.urlopen(url, timeout=20) as page:
                assert data_of(page.read().decode())["live"]
            with urllib.request.urlopen(f"{url}changes", timeout=20) as changes:
                file.write_text(file.read_text().replace("2.0", "4096.0"))
                assert "4096.0" in str(json.loads(_event(changes))["kernels"]["fill"]["sources"])
                json.loads(_event(changes))  # the same with machine code
                text = file.read_text()
                file.write_text("")  # as some editors save: for a moment there is nothing
                time.sleep(0.1)
                file.write_text(text.replace("x[0]", "x[0"))
                assert "SyntaxError" in json.loads(_event(changes))["error"]
        finally:
            server.terminate()


def test_a_page_that_follows_what_is_imported(file: Path) -> None:
    part, deep = file.with_name("part_of_it.py"), file.with_name("deep_part.py")
    deep.write_text("NUMBER = 3.5\n")
    part.write_text("from deep_part import NUMBER\n")
    text = file.read_text().replace("2.0", "NUMBER")
    file.write_text(f"from part_of_it import NUMBER\n{text}")
    words = [sys.executable, "-m", "weft", "explore", f"{file}:fill", "--target", "sm_80", "--serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[0]
            with urllib.request.urlopen(f"{url}changes", timeout=20) as changes:
                deep.write_text("NUMBER = 7.5\n")  # as long as before
                found = json.loads(_event(changes))["kernels"]["fill"]
                (ir, *_) = [stage["lines"] for stage in found["stages"] if stage["name"] == "ir"]
                assert "7.5" in str(ir)
                assert "3.5" not in str(ir)
                json.loads(_event(changes))  # the same with machine code
                deep.write_text("NUMBER = 8.5 +\n")
                assert "SyntaxError" in json.loads(_event(changes))["error"]
                assert changes.readline() == b"\n"
                assert changes.readline() == b": waits\n"  # it is said once
                deep.write_text("NUMBER = 8.5\n")
                assert "8.5" in str(json.loads(_event(changes))["kernels"]["fill"]["stages"])
        finally:
            server.terminate()


def _event(stream: Any) -> str:
    while True:
        line = stream.readline().decode()
        if line.startswith("data: "):
            return line[6:]


def test_what_was_measured_is_shown(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, page = tmp_path / "trace.json", tmp_path / "page.html"
    args = {"bytes": 4000, "flops": 8000, "bandwidth": 2 * 10**9, "peak": 10**10}
    events = [{"name": "fill", "pid": "GPU", "dur": took, "ts": 0, "args": args} for took in (3.0, 4.0, 9.0)]
    trace.write_text(json.dumps({"traceEvents": events, "otherData": {"GPU": 1.5e9}}))
    words = ["explore", f"{file}:fill", "--target", "sm_80", "-o", str(page), "--profile", str(trace)]
    assert main(words) == 0
    kernel = data_of(page.read_text())["kernels"]["fill"]
    expected = {"launches": "3", "median": "4.0 us", "bandwidth": "1 GB/s", "operations": "2 GFLOP/s"}
    assert kernel["measured"] == expected
    assert "fill: 2.0 GFLOP/s, 2 FLOP/byte" in kernel["roofline"]
    assert kernel["roofline"].count("<circle") == 1
    trace.write_text("{}")
    capsys.readouterr()
    assert main(words) == 1
    assert "is no trace of weft profile" in capsys.readouterr().err
