"""Value numbering: what was computed already is not computed again, as far as its result reaches.

A kernel that Python writes out names the same addresses, parts of vectors and constants at each turn; what
is found here goes through no later stage. It is for machines whose threads are the hardware's: where they are
loops, which are cut at barriers, what is computed anew need not be kept.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from weft.compiler.frontend.staging import Staging
from weft.compiler.ir.constants import constant
from weft.compiler.ir.core import Attribute, Op, Region, Value
from weft.compiler.ir.ops import SPECS
from weft.compiler.ir.types import Type
from weft.lang.elaboration import Elaborator
from weft.targets import Target

_NO_ATTRS: dict[str, Attribute] = {}


class ValueNumbering(Staging):
    """``b`` where operations without effects are made once, as far as their results reach."""

    def __init__(self, target: Target, elaborator: Elaborator) -> None:
        super().__init__(target, elaborator)
        self._known: dict[tuple[object, ...], tuple[Value, Region]] = {}
        """Results by what they are computed from, each with the region that has the operation."""

    def value(
        self, name: str, operands: tuple[Value, ...], type: Type, attrs: Mapping[str, Attribute] = _NO_ATTRS
    ) -> Value:
        """Append an operation of one result and give the result; or give one that is the same."""
        if not self.live or not SPECS[name].pure:
            return super().value(name, operands, type, attrs)
        if name == "vector.extractelement":
            lane = _lane(*operands)
            if lane is not None:
                return lane
        key = (name, operands, type, *attrs.items())
        if name == "arith.constant" and not attrs["value"]:
            key += (str(attrs["value"]),)  # -0.0 equals 0.0
        found = self._known.get(key)
        if found is not None and (found[1] is self.region or found[1] in self.regions):
            return found[0]
        made = super().value(name, operands, type, attrs)
        self._known[key] = made, self.region
        return made

    @contextmanager
    def into(self, region: Region) -> Generator[Region]:
        """Append to ``region``, which may be any, for a while."""
        before, self._known = self._known, {}
        try:
            with super().into(region):
                yield region
        finally:
            self._known = before


def _lane(vector: Value, position: Value) -> Value | None:
    """A lane of a vector that was put together of numbers."""
    wanted = constant(position)
    while wanted is not None and isinstance(op := vector.owner, Op):
        if op.name == "vector.splat":
            return op.operands[0]
        if op.name != "vector.insertelement" or (given := constant(op.operands[2])) is None:
            return None
        if given == wanted:
            return op.operands[0]
        vector = op.operands[1]
    return None
