"""Annotations in quotes, as a whole or in part, ``"Int"``, ``Pointer["Float32"]``; and names of ``type``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

from weft.dtype import unaliased


def text_of(annotation: Any) -> str | None:
    """What stands in the quotes, if the annotation is such a text."""
    found: object = getattr(annotation, "__forward_arg__", annotation)  # as typing keeps it
    return found if isinstance(found, str) else None


def unquoted(annotation: Any, evaluate: Callable[[str], Any]) -> Any:
    """The annotation with what its quoted parts mean, and ``Row`` of ``type Row = Pointer[Int]``."""
    text = text_of(annotation)
    if text is not None:
        found = evaluate(text)
        return found if text_of(found) is not None else unquoted(found, evaluate)
    meant = unaliased(annotation)
    if meant is not annotation:
        return unquoted(meant, evaluate)
    origin: Any = get_origin(annotation)
    args: tuple[Any, ...] = get_args(annotation)
    if not args or origin in (Literal, Annotated):
        return annotation
    made = tuple([unquoted(arg, evaluate) for arg in args])
    if all(one is other for one, other in zip(made, args, strict=True)):
        return annotation
    return origin[made[0] if len(made) == 1 else made]
