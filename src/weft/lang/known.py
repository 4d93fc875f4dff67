"""What only a number that is known can do: be a condition, an index, a key or a text."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from weft.abi.number_text import format_value
from weft.compiler.ir.core import Value
from weft.diagnostics import CompileError, a_, refuse
from weft.dtype import DType
from weft.lang.elaboration import maybe_current
from weft.lang.fold import has_lanes
from weft.lang.hints import refuse_lanes

if TYPE_CHECKING:
    from weft.lang.number import Number


class Known:
    """A number where Python asks for its value, which one of run time has not."""

    __slots__ = ()
    if TYPE_CHECKING:
        dtype: ClassVar[DType]
        lanes: ClassVar[int]
        value: Any

    def __hash__(self) -> int:
        return hash(
            self._known(
                "a key",
                "compare it with keys that are known, as `in` does; what a kernel collects lies in memory",
                lanes=True,
            )
        )

    def __bool__(self) -> bool:
        return bool(self._known("a condition", "decorate the function with @func to branch on it"))

    def __int__(self) -> int:
        return int(self._known("int(...)", "write Int(x) to convert it in the kernel"))

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            refuse(
                "index",
                f"an integer is needed here, not {a_(type(self).__name__)}",
                hint="convert it: Int(...)",
            )
        return int(self._known("this place", "pass it as a Comptime parameter"))

    def __float__(self) -> float:
        return float(self._known("float(...)", "write Float32(x) to convert it in the kernel"))

    def _known(self, what: str, hint: str, *, lanes: bool = False) -> Any:
        name = type(self).__name__
        if self.lanes > 1 and not lanes:
            refuse_lanes(what, name)
        if isinstance(self.value, Value):
            message = f"{what} needs a value known at compile time, and this {name} exists only at run time"
            try:
                refuse("not-compile-time", message, hint)
            except CompileError as error:
                error.asked = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
                raise
        return self.value

    def __repr__(self) -> str:
        if isinstance(self.value, Value):
            self._check_text(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            return f"<{type(self).__name__} at run time>"
        lanes = self.value if has_lanes(self.value) else [self.value]
        return f"{type(self).__name__}({', '.join([format_value(self.dtype, lane) for lane in lanes])})"

    def _check_text(self, caller: FrameType) -> None:
        """Refuse ``str`` and ``repr`` in a program; debuggers and logs may show what there is."""
        if maybe_current() is not None:
            from weft.lang.captured import is_library
            from weft.lang.printing import refuse_text

            while caller.f_code.co_name in ("__repr__", "__str__") and caller.f_back:
                caller = caller.f_back  # of what has it in it
            if not is_library(str(caller.f_globals.get("__name__")).partition(".")[0]):
                refuse_text(cast("Number", self), caller)

    def __str__(self) -> str:
        if isinstance(self.value, Value):
            self._check_text(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        return format(self, "") if maybe_current() or not isinstance(self.value, Value) else repr(self)

    def __format__(self, spec: str) -> str:
        from weft.lang.printing import format_number

        return format_number(cast("Number", self), spec, within=True)
