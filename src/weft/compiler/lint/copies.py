"""Copies that go on beside a kernel, of which it waits for none."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.frontend.draft import Draft, reached
from weft.diagnostics import Diagnostic
from weft.lang.doubts import COPIES_AWAITED


def unawaited(kernel: Draft) -> Iterator[Diagnostic]:
    """The first of them."""
    if COPIES_AWAITED in kernel.uses:
        return
    for draft in reached([kernel]):
        for doubt in draft.doubts:
            if doubt.diagnostic.code == "unawaited-copy":
                yield doubt.diagnostic
                return
