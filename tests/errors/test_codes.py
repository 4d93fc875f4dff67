"""The documentation lists every code that weft's messages carry, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import weft

ROOT = Path(__file__).parents[2]
PACKAGE = Path(weft.__file__).parent
PAGE = ROOT / "docs" / "errors.md"
SAYING = frozenset({"Diagnostic", "problem", "refuse", "report"})
SLUG = re.compile(r"[a-z]+(-[a-z0-9]+)*")
ROW = re.compile(r"^\| `([a-z0-9-]+)` \|(.+)\|(.+)\|$", re.MULTILINE)


def says(call: ast.Call) -> bool:
    """Whether a call makes a diagnostic, whose code is among its first two arguments."""
    func = call.func
    if isinstance(func, ast.Name):
        return func.id in SAYING
    if not isinstance(func, ast.Attribute):
        return False
    held = ast.unparse(func.value)
    if func.attr in ("at", "here"):
        return held.endswith("Error")
    return (func.attr == "add" and held.endswith("problems")) or func.attr in SAYING


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
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "code":
            if isinstance(node.value, (ast.Constant, ast.IfExp)):
                yield from slugs(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in SAYING:
            names = [a.arg for a in node.args.args]
            for name, default in zip(reversed(names), reversed(node.args.defaults), strict=False):
                if name == "code":
                    yield from slugs(default)


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


def test_table_is_complete() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    listed = [code for code, _, _ in rows]
    assert sorted(used() - set(listed)) == [], "not in docs/errors.md"
    assert sorted(set(listed) - used()) == [], "in docs/errors.md, but used no more"
    assert len(listed) == len(set(listed))


def test_table_is_in_order() -> None:
    """Each section of the page lists its codes alphabetically, so that they are found."""
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        listed = [code for code, _, _ in ROW.findall(section)]
        assert listed == sorted(listed)


def test_cases_know_their_codes() -> None:
    """What the wrong programs of the tests print has codes of the table."""
    listed = {code for code, _, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    for file in (Path(__file__).parent / "cases").glob("*.md"):
        printed = set(re.findall(r"^error\[(.+?)\]", file.read_text(encoding="utf-8"), re.MULTILINE))
        assert printed <= listed
