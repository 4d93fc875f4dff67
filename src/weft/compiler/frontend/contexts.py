"""``with``: context managers that act while code is made, such as ``no_contraction()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from weft.diagnostics import VALUE, a_, refuse
from weft.lang.host import instead_of

if TYPE_CHECKING:
    from weft.compiler.frontend.logic import Logic


class Context:
    """A manager within compiled code: it is entered and left once, while the code between is made."""

    def __init__(self, b: Logic, manager: Any, leaves: bool) -> None:
        kind = cast("type[Any]", type(manager))
        if not hasattr(kind, "__enter__") or not hasattr(kind, "__exit__"):
            refuse(
                "context",
                f"`with` takes a context manager, and this is {a_(kind.__name__)}",
                hint=f"write `with {VALUE}(...)`"
                if callable(manager)
                else "write what it does before and after",
            )
        if instead := instead_of(kind):
            message = (
                f"`with {VALUE}` belongs to the host, and would begin and end while the kernel is compiled"
            )
            refuse("host-only", message, hint=instead)
        self.b = b
        self.manager = manager
        self.leaves = leaves

    def __enter__(self) -> Any:
        return self.manager.__enter__()

    def __exit__(self, *error: Any) -> None:
        before, count = self.b.region, len(self.b.region.ops)
        swallows = self.manager.__exit__(*error)
        if error[0] is None and self.leaves and (before is not self.b.region or count != len(before.ops)):
            refuse(
                "context",
                "this `with` ends with something at run time, which a `return` or `break` in it passes by",
                hint="leave it at its end only",
            )
        if error[0] is not None and swallows:
            hint = "let its `__exit__` return nothing"
            refuse("context", "this context manager hides what is wrong in its body", hint=hint)
