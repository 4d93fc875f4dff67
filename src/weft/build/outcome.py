"""What became of each kernel of a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.abi.artifact import Artifact
from weft.build.plan import Item
from weft.compiler.cache.program import Pending
from weft.diagnostics import CompileError, Diagnostic
from weft.diagnostics.timed import Span


class Outcome(NamedTuple):
    """A kernel that was compiled, or an error."""

    item: Item
    artifact: Artifact | None
    error: CompileError | None = None
    key: str | None = None
    """Of its code in the cache; None where it is not kept."""
    found: bool = False
    """Whether the cache had it."""
    spans: tuple[Span, ...] = ()
    """When its stages were gone through."""
    process: int = 0
    doubts: tuple[Diagnostic, ...] = ()


def outcome_of(item: Item, pending: Pending[Artifact], spans: Sequence[Span]) -> Outcome:
    """What has become of a kernel that was begun, when it is done."""
    artifact: Artifact | None = None
    error: CompileError | None = None
    try:
        artifact = pending.result()
    except CompileError as found:
        error = found
    how = pending.key, pending.found, tuple(spans), os.getpid(), pending.doubts
    return Outcome(item, artifact, error, *how)


Told = Callable[[Outcome], object]
"""What is told of each kernel when it is done."""
