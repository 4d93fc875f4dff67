"""Numbers of values: those have the same that are computed alike from the same."""

from __future__ import annotations

from weft.compiler.ir.core import Op, Value


class Numbering:
    """The numbers given so far."""

    def __init__(self) -> None:
        self._numbers = dict[object, int]()
        self._known = dict[Value, int]()

    def of(self, v: Value) -> int:
        """The number of a value."""
        found = self._known.get(v)
        if found is None:
            op = v.owner
            alike = isinstance(op, Op) and op.spec.pure and len(op.results) == 1 and not op.regions
            made = (op.name, str(op.attrs), *map(self.of, op.operands)) if isinstance(op, Op) and alike else v
            found = self._known[v] = self._numbers.setdefault(made, len(self._numbers))
        return found
