"""Functions written in weft that other code calls by name, with C's calling convention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.compiler.frontend.draft import assemble
from weft.compiler.frontend.elaborate import Elaborator
from weft.compiler.frontend.room import with_room
from weft.compiler.ir.verify import verify_module
from weft.compiler.llvm.lower import LOWER
from weft.compiler.llvm.lowering import Lowering
from weft.compiler.support import support
from weft.lang.decorators import Func
from weft.lang.external import callback_order
from weft.targets import Target


def exported(functions: Sequence[Func[..., Any]], target: Target) -> str:
    """The LLVM IR of functions for a CPU, whose symbols are their names.

    Raises:
        CompileError: a parameter or the result is none that C has, or C cannot call it for another reason.
    """

    def text() -> str:
        elaborator = Elaborator(target)
        drafts = [elaborator.called_by_c(function, callback_order(function))[0] for function in functions]
        module, _ = assemble(drafts, target)
        verify_module(module)
        lowering = Lowering(LOWER, module, target, debug=False)
        lowering.support = support
        names = [function.__name__ for function in functions]
        lowering.exports = {draft.function.name: name for draft, name in zip(drafts, names, strict=True)}
        return lowering.run()

    return with_room(text)
