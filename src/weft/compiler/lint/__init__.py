"""What an elaborated kernel says that is legal and hardly meant so: one kind of it a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.compiler.frontend.draft import Draft, reached
from weft.compiler.frontend.unread import unread
from weft.compiler.ir.core import Function
from weft.compiler.lint.accesses import Walk
from weft.compiler.lint.barriers import check_barriers
from weft.compiler.lint.conflicts import conflicts
from weft.compiler.lint.countdowns import countdowns
from weft.compiler.lint.divided import divided
from weft.compiler.lint.races import races
from weft.compiler.lint.uncoalesced import uncoalesced
from weft.diagnostics import Diagnostic, is_internal
from weft.targets import Target

__all__ = ["doubts"]


def doubts(kernels: Sequence[Draft], target: Target) -> tuple[Diagnostic, ...]:
    """All of it, of kernels and what they call.

    Raises:
        CompileError: threads of a block are certain to part before a barrier.
    """
    found: list[Diagnostic] = []
    drafts = reached(kernels)
    for definition in dict.fromkeys(draft.definition for draft in drafts):
        found += unread(definition)
    for draft in drafts:
        found += [doubt.diagnostic for doubt in draft.doubts if doubt.value is None]
        found += countdowns(draft)
        found += divided(draft)
        function = draft.function
        if is_internal(function.file) or not (function.kernel or function.element):
            continue
        if draft.uses_thread or function.element:
            functions = {other.function.name: other.function for other in drafts}
            found += _of_threads(function, functions, target)
            if target.threads != "loops":
                check_barriers(function, functions)
        if any(doubt.diagnostic.code == "float-widening" for doubt in draft.doubts):
            from weft.compiler.lint.widened import widened

            found += widened(draft, drafts)
    return tuple(found)


def _of_threads(function: Function, functions: Mapping[str, Function], target: Target) -> list[Diagnostic]:
    """What threads do together."""
    walk = Walk(function, functions)
    accesses = walk.accesses()
    found = list(races(function, walk, accesses))
    if target.threads != "loops":
        found += uncoalesced(function, accesses)
        found += conflicts(accesses)
    return found
