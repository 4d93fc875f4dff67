"""What is wrong with a call, collected without knowing the call's place, which only errors look up."""

from __future__ import annotations

from collections.abc import Iterable

from weft.diagnostics import Diagnostic, Label, Location, WeftError, caller_location
from weft.record import replace


def _of_names(diagnostic: Diagnostic) -> bool:
    return diagnostic.code == "argument-name"


class Problems:
    """Diagnostics of one call, each with the argument that it is about.

    An argument is named by its position among the values or by its keyword; None is the whole call.
    """

    def __init__(self) -> None:
        self.found: list[tuple[Diagnostic, int | str | None]] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(
        self,
        code: str,
        message: str,
        hint: str,
        *,
        notes: tuple[str, ...] = (),
        at: int | str | None = None,
        place: Location | None = None,
    ) -> None:
        """Note a problem at an argument, or at a place of its own."""
        labels = () if place is None else (Label(place),)
        self.found.append((Diagnostic(code, message, labels, notes, (hint,)), at))

    def extend(self, diagnostics: Iterable[Diagnostic], at: int | str | None = None) -> None:
        """Note what somebody else found, at an argument."""
        self.found.extend((replace(d, labels=()), at) for d in diagnostics)

    def check(self, kind: type[WeftError], positional: int) -> None:
        """Raise an error of what is wrong with the call that the user's program makes, if anything is.

        ``positional`` is how many values came by position.
        """
        if self.found:
            raise kind(self.placed(caller_location(), positional))

    def placed(self, call: Location | None, positional: int) -> list[Diagnostic]:
        """The diagnostics, labelled with the arguments of the call at a place.

        ``positional`` is how many values came by position; the call may name more before them, as a
        launch names its kernel, or fewer, as a method's call does.
        """
        from weft.diagnostics.wrote import argument_place, resolved

        out: list[Diagnostic] = []
        for diagnostic, at in self.found:
            if not diagnostic.labels and call is not None:
                where = (
                    call if at is None else argument_place(call, at, positional, named=_of_names(diagnostic))
                )
                diagnostic = resolved(
                    diagnostic, where, whole=where is not call, quoted=at is None or where is not call
                )
            out.append(diagnostic)
        return out
