"""Every code that weft's messages carry has a page, and no other; the page's programs do what it says."""

from __future__ import annotations

import ast
import functools
import io
import linecache
import re
import sys
import types
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import weft
from weft.diagnostics.explain import GROUPS, pages

PACKAGE = Path(weft.__file__).parent
FOLDER = PACKAGE / "diagnostics" / "codes"
PAGES = {page.code: page for group in GROUPS for page in pages(group)}
PROGRAM = r"^```python\n((?:(?!```).*\n)*)```\n"
SAYING = frozenset({"Diagnostic", "Report", "doubt", "problem", "refuse", "report"})
SLUG = re.compile(r"[a-z]+(-[a-z0-9]+)*")


ELSEWHERE = frozenset(
    # a GPU, or two of them
    "api-missing array-device array-mapped block-extent block-registers capture-copy cluster-device"
    " context-lost cooperative-blocks device-open driver-call driver-too-old event-device"
    " peer-access ptx-refused"
    # other processes, other files, the command line, the environment
    " cache forked no-file no-python option output setting source-changed torch-op unknown-code"
    " unknown-kernel unpickle"
    # what ends the process, or is a defect of weft or of LLVM
    " device-fault wild-access internal-error llvm more-failures no-thread out-of-memory stack".split()
)
"""The codes that no program of a page can show on every machine, by what it would take."""


def says(call: ast.Call) -> bool:
    """Whether a call makes a diagnostic, whose code is among its first two arguments."""
    func = call.func
    if isinstance(func, ast.Name):
        return func.id in SAYING
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr in ("at", "here"):
        return ast.unparse(func.value).endswith("Error")
    return func.attr in SAYING or (func.attr == "add" and ast.unparse(func.value).endswith("problems"))


def slugs(node: ast.AST) -> Iterator[str]:
    for below in ast.walk(node):
        if isinstance(below, ast.Constant) and isinstance(below.value, str) and SLUG.fullmatch(below.value):
            yield below.value


def codes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and says(node):
            for argument in node.args[:2]:
                if isinstance(argument, (ast.Constant, ast.IfExp)):
                    yield from slugs(argument)
            for keyword in node.keywords:
                if keyword.arg == "code":
                    yield from slugs(keyword.value)
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.IfExp)):
            if ast.unparse(node.targets[0]) == "code":
                yield from slugs(node.value)
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "KINDS":
            for key in getattr(node.value, "keys", ()):
                yield from slugs(key)
        elif isinstance(node, ast.FunctionDef) and node.name in SAYING:
            names = [a.arg for a in node.args.args]
            for name, default in zip(reversed(names), reversed(node.args.defaults), strict=False):
                if name == "code":
                    yield from slugs(default)


@functools.cache
def used() -> set[str]:
    found: set[str] = set()
    for file in PACKAGE.rglob("*.py"):
        found.update(codes(ast.parse(file.read_text(encoding="utf-8"))))
    return found


def test_codes_are_found() -> None:
    lines = [
        'refuse("a-b", "some text")',
        'CompileError.at("c", "d e")',
        'raise LaunchError.here("k", "l m")',
        'problems.add("f", "g")',
        'x.add("j")',
    ]
    text = "\n".join(lines)
    assert set(codes(ast.parse(text))) - {"g"} == {"a-b", "c", "f", "k"}


def test_each_code_has_a_page() -> None:
    assert sorted(used() - set(PAGES)) == [], f"in no group of {FOLDER}"
    assert sorted(set(PAGES) - used()) == [], "on a page, but used no more"


def test_cases_know_their_codes() -> None:
    """What the wrong programs of the tests print has codes that have pages."""
    for file in (Path(__file__).parent / "cases").glob("*.md"):
        printed = set(
            re.findall(r"^(?:error|warning)\[(.+?)\]", file.read_text(encoding="utf-8"), re.MULTILINE)
        )
        assert printed <= set(PAGES)


@pytest.mark.parametrize("code", sorted(PAGES))
def test_page(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A page has a title, a program that is wrong by this code, and right ones that print what it says."""
    found = PAGES[code]
    heading = found.text.partition("\n")[0]
    assert heading == f"# {found.title}"
    assert len(heading) <= 100
    assert not heading.endswith(".")
    texts = re.findall(r"^```text\n(.*)$", found.text, re.MULTILINE)
    assert all(re.match(rf"(error|warning)\[{code}\]", text) for text in texts)
    programs = list(right(found.text))
    assert bool(texts) == bool(programs) == (code not in ELSEWHERE)
    for number, (program, said) in enumerate(programs):
        printed = printed_by(program, tmp_path / f"right_{number}.py", monkeypatch)
        if request.config.getoption("--update-golden"):
            path = Path(found.path)
            path.write_text(after(path.read_text(encoding="utf-8"), program, printed), encoding="utf-8")
        else:
            assert printed == said


def right(text: str) -> Iterator[tuple[str, str]]:
    """The right programs of a page, and what they print."""
    for m in re.finditer(
        rf"{PROGRAM}(?!\n```text)(?:\n```output\n((?:(?!```).*\n)*)```\n)?", text, re.MULTILINE
    ):
        yield m[1], m[2] or ""


def after(text: str, program: str, printed: str) -> str:
    """The page with what a program of it prints."""
    head, _, rest = text.partition(f"```python\n{program}```\n")
    rest = re.sub(r"\A\n```output\n(?:.|\n)*?^```\n", "", rest, flags=re.MULTILINE)
    return f"{head}```python\n{program}```\n\n```output\n{printed}```\n{rest}"


def printed_by(program: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    file.write_text(program, encoding="utf-8")
    linecache.checkcache(str(file))
    module = types.ModuleType(file.stem)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, file.stem, module)
    monkeypatch.chdir(file.parent)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(program, str(file), "exec", dont_inherit=True), vars(module))
    return printed.getvalue()
