"""What an elaborated kernel says that is legal and hardly meant so: one kind of it a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args, get_origin

from weft.compiler.frontend.chained import chained
from weft.compiler.frontend.draft import Draft, reached
from weft.compiler.frontend.unread import unread
from weft.compiler.ir.core import Function
from weft.compiler.lint.accesses import Walk
from weft.compiler.lint.barriers import check_barriers
from weft.compiler.lint.conflicts import conflicts
from weft.compiler.lint.copies import unawaited
from weft.compiler.lint.countdowns import countdowns
from weft.compiler.lint.divided import divided
from weft.compiler.lint.races import races
from weft.compiler.lint.uncoalesced import uncoalesced
from weft.diagnostics import Diagnostic, is_internal
from weft.lang.number import Number
from weft.lang.pointer import Pointer
from weft.lang.signature import parameters
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
        found += unread(definition) + chained(definition)
    for draft in drafts:
        found += [doubt.diagnostic for doubt in draft.doubts if doubt.value is None]
        found += countdowns(draft)
        found += divided(draft)
        function = draft.function
        if is_internal(function.file) or not (function.kernel or function.element):
            continue
        if draft.uses_thread or function.element:
            functions = {other.function.name: other.function for other in drafts}
            found += _of_threads(draft, functions, target)
            found += unawaited(draft)
            if target.threads != "loops":
                check_barriers(function, functions)
        if any(doubt.diagnostic.code == "float-widening" for doubt in draft.doubts):
            from weft.compiler.lint.widened import widened

            found += widened(draft, drafts)
    return tuple(found)


def _of_threads(draft: Draft, functions: Mapping[str, Function], target: Target) -> list[Diagnostic]:
    """What threads do together."""
    function = draft.function
    walk = Walk(function, functions)
    accesses = walk.accesses()
    found = list(races(function, walk, accesses))
    if target.threads != "loops":
        pointers = {p.name for p in parameters(draft.definition) if _is_of_numbers(p.annotation)}
        found += uncoalesced(function, walk, accesses, pointers)
        found += conflicts(accesses)
    return found


def _is_of_numbers(annotation: object) -> bool:
    """Whether it says ``Pointer[Float32]`` or the like."""
    kind: object = next(iter(get_args(annotation)), None)
    return get_origin(annotation) is Pointer and isinstance(kind, type) and issubclass(kind, Number)
