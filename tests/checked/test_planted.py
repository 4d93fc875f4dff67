"""Programs with one known fault each: it is found at its line, and at the other one where there are two.

A comment marks them in ``cases/*.md``: ``# fault: CODE``, ``# other``, or ``# raises: CODE`` of a call on the
host that is refused. Where nothing is marked, nothing may be told.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.checked.given import given

from weft import DeviceError, WeftError
from weft.gpu.host import DeviceContext

pytestmark = pytest.mark.filterwarnings("ignore::weft.PerformanceWarning", "ignore::weft.CompileWarning")
CASES = Path(__file__).parent / "cases"
CPU_ONLY = {"pointers", "right", "threads"}
WORDS: dict[str, Any] = dict.fromkeys(("alignment", "bounds", "host"), "bounds")
"""What pages are checked for whose programs do not say it; noting accesses too takes LLVM longer."""
Found = set[tuple[str, int, int]]


def cases() -> Iterator[Any]:
    for page in sorted(CASES.glob("*.md")):
        for title, checks, program in re.findall(
            r"^## (.+)\n\n(?:checks: (.+)\n\n)?```python\n((?:(?!```).*\n)*)```$",
            page.read_text(encoding="utf-8"),
            re.MULTILINE,
        ):
            yield pytest.param(page.stem, checks, program, id=f"{page.stem}-{title.replace(' ', '_')}")


ALL = list(cases())


def test_there_are_many() -> None:
    assert len(ALL) >= 140


def marked(program: str, word: str) -> list[tuple[str, int]]:
    lines = enumerate(program.splitlines(), 1)
    return [(m[1] or "", n) for n, line in lines if (m := re.search(rf"# {word}(?:: ([a-z-]+))?", line))]


@pytest.mark.parametrize(("page", "checks", "program"), ALL)
def test_the_fault_is_found(
    device: DeviceContext,
    page: str,
    checks: str,
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if page in CPU_ONLY and device.api != "cpu":
        pytest.skip("of threads, only CPUs are asked")
    file = tmp_path / "planted.py"
    file.write_text(program, encoding="utf-8")
    linecache.checkcache(str(file))
    module = types.ModuleType("planted")
    monkeypatch.setitem(sys.modules, "planted", module)
    words: Any = set(checks.split(", ")) if checks else WORDS.get(page, True)
    with DeviceContext(api=device.api, checked=words) as ctx:
        vars(module).update(given(ctx), __file__=str(file))
        program += "ctx.synchronize()\n"
        if page == "right":
            exec(compile(program, str(file), "exec", dont_inherit=True), vars(module))
            return
        with pytest.raises(WeftError) as caught:
            exec(compile(program, str(file), "exec", dont_inherit=True), vars(module))
    error = caught.value
    if not isinstance(error, DeviceError):
        assert [(d.code, d.location and d.location.line) for d in error.diagnostics] == marked(
            program, "raises"
        )
        return
    assert len(error.reports) == len(error.diagnostics), error
    found: Found = set()
    for report in error.reports:
        assert report.location.file == str(file)
        assert report.location.end_column
        found.add((report.code, report.location.line, report.other.location.line if report.other else 0))
    ((code, line),) = marked(program, "fault")
    ((_, other),) = marked(program, "other") or [("", 0)]
    assert found == {(code, line, other)}, error
