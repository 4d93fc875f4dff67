"""A warning where something is compiled again and again."""

from __future__ import annotations

from weft.diagnostics import caller_location, note_slow
from weft.lang.decorators import Kernel
from weft.lang.host_closures import HostClosureSpec
from weft.launch.arguments import Specs
from weft.layout.tensor.spec import TensorSpec

_MANY = 32
"""Variants of a kernel that takes tensors, or of a function that it is given, until there is a warning."""
_SHAPES = (
    "the shapes of its tensors are part of its code. Where they keep changing, make them run-time values: "
    "layout.dynamic(), or weft.interop.as_tensor(x, dynamic=True)"
)
_NUMBERS = (
    "Python's numbers that it captures are part of its code, and the shapes of tensors. Where they keep "
    "changing, make them run-time values: Float32(x), layout.dynamic()"
)


class MadeAgain:
    """How often each function was compiled in a context."""

    def __init__(self) -> None:
        self._compiled: dict[object, int] = {}

    def count(self, kernel: Kernel[...], specs: Specs) -> None:
        """A kernel was compiled once more: warn where shapes or numbers keep changing."""
        if any(isinstance(spec, TensorSpec) for spec in specs.each):
            self._count(kernel.definition, kernel.__name__, _SHAPES)
        for spec in specs.each:
            if isinstance(spec, HostClosureSpec):
                self._count((kernel.definition, spec.definition), spec.definition.name, _NUMBERS)

    def _count(self, code: object, name: str, why: str) -> None:
        count = self._compiled[code] = self._compiled.get(code, 0) + 1
        if count == _MANY:
            note_slow(f"{name} has been compiled {count} times, since {why}", caller_location())
