"""Elaboration for checked kernels: each operation keeps the user's expression that it comes from."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, cast

from weft.abi.checks import ALWAYS
from weft.compiler.frontend import access, generators, pybuiltins, staging
from weft.compiler.frontend.stage import is_staged
from weft.compiler.frontend.staging import Staging
from weft.compiler.ir.core import Attribute, Op, Region, Value
from weft.compiler.ir.types import Type
from weft.diagnostics import frame_location, is_internal, unfit
from weft.dtype import DType
from weft.lang import conversions, elaboration, lanes, number, operators, power, simd, structs
from weft.record import replace
from weft.targets import Feature, Target

if TYPE_CHECKING:
    from weft.compiler.frontend.elaborate import Elaborator

_NO_ATTRS: dict[str, Attribute] = {}
_ACCESSES = frozenset(("llvm.load", "llvm.store", "llvm.atomicrmw", "llvm.cmpxchg"))
_UNSEEN = {Feature.ASYNC_COPY}
"""What a machine does by assembly, where the library also has loads and stores, which checks see."""
_OPERATORS = frozenset(
    m.__file__
    for m in (access, conversions, generators, lanes, number, operators, power, pybuiltins, staging, unfit)
)
"""What stands between an operator, an index or a call of the library, and what it emits."""
_INDEXING = _OPERATORS | {simd.__file__, structs.__file__}
"""The same of an index alone: methods of vectors compute what is their own matter."""


def _span(frame: FrameType) -> tuple[int, ...] | None:
    """First line and column, last line and column, of what a frame evaluates."""
    place = frame_location(frame)
    if place.end_line is None or place.end_column is None:
        return None
    return place.line, place.column, place.end_line, place.end_column


class Exact(Staging):
    """``b`` where operations are to know their expressions."""

    exact = True

    def __init__(self, target: Target, elaborator: Elaborator) -> None:
        super().__init__(replace(target, supported=target.supported - _UNSEEN), elaborator)
        self.tells_overflow = not elaborator.checked.isdisjoint(("overflow", "wrap"))

    def value(
        self, name: str, operands: tuple[Value, ...], type: Type, attrs: Mapping[str, Attribute] = _NO_ATTRS
    ) -> Value:
        """Append an operation of one result and give the result."""
        if name in _ACCESSES:
            attrs = self.spanned(attrs)
        return super().value(name, operands, type, attrs)

    def emit(
        self,
        name: str,
        operands: tuple[Value, ...] = (),
        types: tuple[Type, ...] = (),
        attrs: Mapping[str, Attribute] = _NO_ATTRS,
        regions: tuple[Region, ...] = (),
    ) -> Op:
        """Append one operation."""
        if name in _ACCESSES:
            attrs = self.spanned(attrs)
        return super().emit(name, operands, types, attrs, regions)

    def spanned(self, attrs: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
        """Attributes with the place of the innermost staged expression, where that is in the file at hand."""
        frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        while frame is not None and not is_staged(frame.f_code):
            frame = frame.f_back
        span = None if frame is None or frame.f_code.co_filename != self.file else _span(frame)
        return attrs if span is None else {**attrs, "span": span}

    def computed(self, what: str, source: DType, d: DType, *values: Value) -> None:
        """Note an operator of the user's, or a call of ``weft.math``, so that it can be checked.

        What functions of the library compute in between is their own matter. Nothing is noted for nobody.
        """
        if what != "index" and cast("Elaborator", self.elaborator).checked <= ALWAYS:
            return
        between = _INDEXING if what == "index" else _OPERATORS
        first: FrameType = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while first.f_code.co_filename == elaboration.__file__ and first.f_back is not None:
            first = first.f_back
        frame: FrameType | None = first
        while frame is not None and not is_staged(frame.f_code):
            file = frame.f_code.co_filename
            among = what != "index" and operators.is_part_by_part(frame.f_code)
            if file not in between and not among and not file.startswith(_functions_of(first)):
                break
            if frame is not first and frame.f_code is first.f_code and file not in _OPERATORS:
                return
            frame = frame.f_back
        if frame is None or is_internal(frame.f_code.co_filename) or not self.live:
            return
        span = _span(frame) if frame.f_code.co_filename == self.file else None
        attrs: dict[str, Attribute] = {"what": what, "source": source.name, "dtype": d.name}
        self.emit("weft.computed", values, (), attrs if span is None else {**attrs, "span": span})


def _functions_of(frame: FrameType) -> tuple[str, ...]:
    """The folder of the library's function that asks, of an operator none."""
    file = frame.f_code.co_filename
    return () if file in _OPERATORS else (os.path.dirname(file),)
