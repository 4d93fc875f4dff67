"""A smaller program with the same verdict: statements are left out, expressions replaced by parts of them."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

from tests.fuzz.program import Program

__all__ = ["shrunk"]

Still = Callable[[Program], bool]


def _statements(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Every statement, as the list that it is in and its place there, the last first."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            found = getattr(node, name, None)
            if isinstance(found, list):
                items = cast("list[ast.stmt]", found)
                yield from ((items, n) for n in reversed(range(len(items))))


def _without(tree: ast.Module) -> Iterator[ast.Module]:
    """The program with runs of statements left out, long runs first."""
    for size in (16, 8, 4, 2, 1):
        number = 0
        while True:
            made = copy.deepcopy(tree)
            places = list(_statements(made))
            if number >= len(places):
                break
            items, at = places[number]
            number += 1
            if at + 1 >= size:
                del items[at + 1 - size : at + 1]
                if items or not _needed(made, items):
                    yield made


def _needed(tree: ast.AST, items: list[ast.stmt]) -> bool:
    """Whether a list may not be empty; a ``pass`` is put there where that does."""
    for node in ast.walk(tree):
        if getattr(node, "body", None) is items:
            if isinstance(node, ast.Module):
                return True
            items.append(ast.Pass())
            return False
    return False


def _opened(tree: ast.Module) -> Iterator[ast.Module]:
    """The program with a branch or a loop's body in the place of the whole."""
    number = 0
    while True:
        made = copy.deepcopy(tree)
        places = [(i, n) for i, n in _statements(made) if isinstance(i[n], (ast.If, ast.For, ast.While))]
        if number // 2 >= len(places):
            return
        items, at = places[number // 2]
        body: list[ast.stmt] = getattr(items[at], ("body", "orelse")[number % 2])
        number += 1
        if body:
            items[at : at + 1] = body
            yield made


def _simpler(tree: ast.Module) -> Iterator[ast.Module]:
    """The program with an expression replaced by one in it."""
    number = 0
    while True:
        made = copy.deepcopy(tree)
        places = list(_expressions(made))
        if number >= len(places):
            return
        place = places[number]
        number += 1
        parent, name, at, inner = place
        if at is None:
            setattr(parent, name, inner)
        else:
            getattr(parent, name)[at] = inner
        yield made


_SKIPPED = ("func", "annotation", "returns", "targets", "target")


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Every expression and one that it is made of: the parent, its field, the place in it, the part."""
    for parent in ast.walk(tree):
        if isinstance(parent, (ast.ClassDef, ast.arguments)):
            continue
        for name, value in ast.iter_fields(parent):
            if name in _SKIPPED:
                continue
            items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
            for at, item in enumerate(items):
                if isinstance(item, ast.expr):
                    for part in _parts(item):
                        yield parent, name, at if isinstance(value, list) else None, part


def _parts(whole: ast.expr) -> list[ast.expr]:
    """What an expression is made of; a mark's literal keeps its type."""
    if isinstance(whole, ast.Call):
        marked = isinstance(whole.func, ast.Name) and whole.func.id[:1] == "_"
        method = [whole.func.value] if isinstance(whole.func, ast.Attribute) else []
        return [*method, *(a for a in whole.args if not (marked and isinstance(a, ast.Constant)))]
    return [part for part in ast.iter_child_nodes(whole) if isinstance(part, ast.expr)]


def shrunk(program: Program, still: Still, seconds: float = 120.0) -> Program:
    """The smallest program found in some time for which ``still`` holds."""
    end = time.monotonic() + seconds
    best = program
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for way in (_without, _opened, _simpler):
            again = True
            while again and time.monotonic() < end:
                again = False
                for tree in way(ast.parse(best.text)):
                    if time.monotonic() > end:
                        break
                    text = ast.unparse(ast.fix_missing_locations(tree))
                    if len(text) < len(best.text) and still(made := _with(best, text)):
                        best, again, progress = made, True, True
                        break
    return best


def _with(program: Program, text: str) -> Program:
    """The program with another text, and only those arguments that its kernel takes."""
    return replace(program, text=text)
