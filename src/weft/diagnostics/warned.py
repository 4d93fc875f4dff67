"""Warnings about code that is legal and hardly meant so, by Python's ``warnings``.

They look like errors, at the user's line. A line that ends with ``# weft: ignore[code]`` has none of that
code; where a filter makes errors of them, they are a ``CompileError``.
"""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterable

from weft.diagnostics.diagnostic import Diagnostic
from weft.diagnostics.errors import CompileError, CompileWarning, PerformanceWarning
from weft.diagnostics.rendering import render

_SLOW = frozenset({"bank-conflicts", "float-widening", "index-division", "uncoalesced"})
"""Codes of what is right, and slow."""
_IGNORED = re.compile(r"#\s*weft:\s*ignore\[([\w\s,-]+)\]")
_told: dict[str | tuple[str, type[Warning], int], int] = {}
"""What Python keeps of the warnings that were given, so that each is given once."""


def told(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Give those warnings that their lines do not silence, and return them.

    Raises:
        CompileError: a filter makes errors of some.
    """
    given = tuple([d for d in found if not _silenced(d)])
    wrong = [d for d in given if not _passes(d)]
    if wrong:
        raise CompileError(wrong)
    return given


def _silenced(diagnostic: Diagnostic) -> bool:
    place = diagnostic.location
    if place is None:
        return False
    lines = [linecache.getline(place.file, n) for n in range(place.line, (place.end_line or place.line) + 1)]
    said = [match[1] for line in lines for match in _IGNORED.finditer(line)]
    return any(diagnostic.code in re.split(r"[\s,]+", codes) for codes in said)


def _passes(diagnostic: Diagnostic) -> bool:
    """Give a warning; False where it is an error."""
    category = PerformanceWarning if diagnostic.code in _SLOW else CompileWarning
    place = diagnostic.location
    file, line = ("<unknown>", 1) if place is None else (place.file, place.line)
    try:
        warnings.warn_explicit(render(diagnostic, kind="warning"), category, file, line, registry=_told)
    except category:
        return False
    return True
