"""Elaboration for a debugger: what a variable holds is known by its name, wherever a statement begins."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from weft.compiler.frontend.exact import Exact
from weft.compiler.frontend.stage import is_staged
from weft.compiler.frontend.staging import Staging
from weft.compiler.frontend.variables import Undefined, Var
from weft.compiler.ir.core import Loc, Region, Value
from weft.dtype import DType
from weft.lang.maybe import Maybe
from weft.lang.objects import looking
from weft.lang.spec import NumberSpec, PartsSpec, PointerSpec, Spec, StaticSpec, leaves_of, spec_of
from weft.lang.structs import is_struct

if TYPE_CHECKING:
    import numpy as np

_PLAIN = (bool, int, float, str, type(None))


class Stepping(Staging):
    """A builder that notes, before each statement, the variables that have changed."""

    def __init__(self, *args: Any) -> None:
        self._loc: Loc = (0, 0)
        self._noted: dict[tuple[FrameType, str], Any] = {}
        self._marked: Region | None = None
        super().__init__(*args)

    @property
    def loc(self) -> Loc:
        """Where the code at hand stands."""
        return self._loc

    @loc.setter
    def loc(self, loc: Loc) -> None:
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if is_staged(frame.f_code) and self.live:
            if self._marked and self._marked is not self.region and self._marked not in self.regions:
                self._loc = loc  # what stands before is not what runs before
            self._note(frame)
            self._marked = self.region
            self._loc = loc
            self.emit("weft.statement")
        self._loc = loc

    def py_breakpoint(self) -> None:
        """``breakpoint()``: stop here."""
        self.emit("weft.breakpoint")

    def _note(self, frame: FrameType) -> None:
        for name, value in frame.f_locals.items():
            if name.startswith("__") or isinstance(value, Undefined) or not name.isidentifier():
                continue
            if isinstance(value, Var) and (value.spec is None or value.scope not in self.scopes):
                continue
            key = frame, name
            if self._noted.get(key, self) is not value or self.always or is_struct(value.__class__):
                self._noted[key] = value
                self._name(name, value)

    def _name(self, name: str, value: Any) -> None:
        try:
            if isinstance(value, Var) and value.refs is not None:  # what it leads to
                if not value.defined:
                    return
                value = value.now()
            if isinstance(value, Var):
                assert value.spec is not None
                spec, leaves = value.spec, self._held(value)
            else:
                with looking():
                    leaves = leaves_of(value)
                if not all(map(self._is_here, leaves)):
                    return
                spec = spec_of(value)
        except Exception:  # what has no form outside of the compiler
            return
        self.emit("weft.named", tuple(leaves), (), {"name": name, "shown": json.dumps(_form(spec))})

    def _is_here(self, leaf: Value) -> bool:
        """Whether a value is known where the code at hand stands."""
        if leaf.owner is None:
            return True
        around = [*self.regions, self.region]
        return leaf.owner in around or any(leaf.owner in region.ops for region in around)

    always = False
    """Whether variables are noted that have not changed."""

    def _held(self, value: Var) -> Sequence[Value]:
        """What says what a variable holds: its slots, as long as there are any."""
        return value.slots


class Watching(Stepping):
    """For debuggers of native code: before each statement, what all variables hold."""

    always = True

    def _held(self, value: Var) -> Sequence[Value]:
        """Numbers of now, since passes know slots by their uses."""
        assert value.spec is not None
        return [
            self.get(slot, leaf.type) for slot, leaf in zip(value.slots, value.spec.leaves(), strict=True)
        ]


class ExactWatching(Watching, Exact):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Both: of a checked kernel."""


class ExactStepping(Stepping, Exact):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Both: of a checked kernel that Python runs."""


def _element(dtype: DType) -> Any:
    """The type of an element by its name; of a struct its fields as NumPy has them, behind its name."""
    return dtype.name if dtype.is_number else [dtype.name, _fields(dtype.numpy)]


def _fields(dtype: np.dtype[Any]) -> Any:
    """A type of NumPy's as text and lists."""
    if dtype.subdtype is not None:
        return [_fields(dtype.base), [*dtype.shape]]
    if dtype.fields is None:
        return dtype.str
    each = {name: [_fields(field[0]), field[1]] for name, field in dtype.fields.items()}
    return [each, dtype.itemsize]


def _form(spec: Spec) -> list[Any]:
    if isinstance(spec, NumberSpec):
        return ["number", spec.dtype.name, spec.lanes]
    if isinstance(spec, PointerSpec):
        return ["pointer", _element(spec.dtype)]
    if isinstance(spec, PartsSpec) and spec.cls is Maybe:
        return ["maybe", [_form(item) for item in spec.items]]
    if isinstance(spec, PartsSpec):
        name = "" if spec.cls is tuple else spec.cls.__name__
        return ["parts", name, [*spec.names()], [_form(item) for item in spec.items]]
    if isinstance(spec, StaticSpec):
        value = spec.value
        if isinstance(value, float) and not math.isfinite(value):
            return ["static", f"float({str(value)!r})"]
        if type(value) in _PLAIN:
            return ["static", repr(value)]
    columns: Spec | None = getattr(spec, "columns", lambda: None)()
    if columns is not None:
        return ["columns", _form(columns)]
    view = getattr(spec, "view", tuple)()
    if view:
        dtype, *layout = view
        return ["array", _element(dtype), *layout]
    return ["opaque", spec.describe(), len(spec.leaves())]
