"""The builder that staged functions run against: control flow, variables, logic, calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from weft.dtype import DType
from weft.frontend.containers import check, held
from weft.frontend.membership import contains
from weft.frontend.pybuiltins import Builtins
from weft.frontend.ranges import Range
from weft.frontend.variables import UNDEFINED, Undefined, Var, as_runtime
from weft.ir.core import Op, Region, Value
from weft.ir.types import I1
from weft.lang.any_lanes import closed
from weft.lang.comptime import unroll
from weft.lang.errors import LEFT, RIGHT, VALUE, a_, refuse
from weft.lang.number import Number, number_class, to_type, unify
from weft.lang.printing import assertion, text_of, text_pieces
from weft.lang.python_number import python_number
from weft.lang.returned import returned
from weft.lang.signature import MISSING
from weft.lang.spec import is_composite, leaves_of, spec_of
from weft.lang.structs import lost_field, replace_field

__all__ = ["Staging", "truth"]

_Bool = number_class(DType.bool)


def truth(value: Any, b: Staging) -> bool | Value:
    """A condition: a Python bool where it is known now, else an i1."""
    if isinstance(value, Number):
        if value.lanes != 1:
            refuse(
                "condition",
                f"a condition is one Bool, not {a_(type(value).__name__)}",
                hint="write any(...) or all(...) around it, or mask.select(a, b) to choose lane by lane",
            )
        if value.dtype.kind != "bool":
            value = value != 0
        return value.value if isinstance(value.value, Value) else bool(value.value)
    if is_composite(value) and spec_of(value).leaves():
        refuse(
            "condition",
            f"{a_(type(value).__name__)} is not a condition",
            hint="compare something of it with a number; a pointer is never empty",
        )
    return bool(value)


class _Loop:
    __slots__ = ("breaks", "jump", "scope", "static")

    def __init__(self, static: bool, scope: int) -> None:
        self.static = static
        self.scope = scope
        self.jump = ""
        self.breaks = 0

    def again(self) -> None:
        """Begin an iteration of an unrolled loop."""
        self.jump = ""


class Staging(Builtins):
    """What ``b`` is in staged code."""

    UNDEFINED = UNDEFINED

    # -- variables ----------------------------------------------------------------------------
    def ld(self, value: Any, name: str) -> Any:
        """Read a variable that may be carried."""
        if type(value) is Var:
            if value.scope in self.scopes:
                return value.load()
            value = UNDEFINED
        if value is UNDEFINED and self.live:
            refuse("undefined", f"`{name}` is used before it is assigned", hint=f"assign `{name}` before")
        return value

    def st(self, old: Any, value: Any, name: str) -> Any:
        """Assign a variable that may be carried; gives what the Python variable holds now."""
        if isinstance(value, Undefined):
            return old
        if type(old) is Var and old.scope in self.scopes and old.scope != self.scopes[-1]:
            old.store(value)
            return old
        return value

    def _carried(self, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        out: list[Any] = []
        for name, value in zip(names, values, strict=True):
            if type(value) is Var:
                if value.scope in self.scopes:
                    out.append(value)
                    continue
                value = UNDEFINED
            out.append(Var(self, name, value))
        return tuple(out)

    def reachable(self, value: Any) -> Any:
        """A value that nobody reads, unless it was made in a region that has ended: of that, nothing."""
        if type(value) is Var or value is UNDEFINED:
            return value
        open_regions = [*self.regions, self.region]
        here = all(
            leaf.owner in open_regions or any(leaf.owner in r.ops for r in open_regions)
            for leaf in _values(value)
        )
        return value if here else UNDEFINED

    def carry(self, condition: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Before an ``if``: give its variables slots where the condition is a run-time value."""
        if isinstance(condition, Number) and isinstance(condition.value, Value):
            return self._carried(names, values)
        return values

    def carry_loop(self, items: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Before a ``for``: likewise, unless it is unrolled."""
        return self._carried(names, values) if isinstance(items, Range) else values

    def carry_while(self, _: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Before a ``while``: always."""
        return self._carried(names, values)

    def annotated(self, annotation: Any, value: Any) -> Any:
        """``x: T = value``: the value as T."""
        if isinstance(annotation, type) and issubclass(annotation, Number):
            cls = closed(annotation, value)
            return cls.of(to_type(value, cls, self))
        return value

    def unused(self, value: Any) -> None:
        """A statement that is only a name: refused where a call is meant."""
        if callable(value) and not isinstance(value, type):
            refuse("call", f"`{VALUE}` is named here, but not called", hint=f"write {VALUE}()")

    def set_field(self, held: Any, name: str, value: Any) -> Any:
        """``held.name = value`` as a new value of ``held``."""
        return replace_field(held, name, value)

    def lost_field(self, held: Any, name: str, parameter: str, function: str) -> None:
        """``held.name = ...`` where ``held`` is a copy that is not used again."""
        lost_field(held, name, parameter, function)

    # -- branches and loops -------------------------------------------------------------------
    def _enter(self, region: Region) -> tuple[Region, bool]:
        before = (self.region, self.live)
        self.regions.append(self.region)
        self.region = region
        self.new_scope()
        return before

    def _leave(self, before: tuple[Region, bool]) -> bool:
        """Back to the outer region; tells whether the end of the inner one is reached."""
        reached = self.live
        self.region, self.live = before
        self.regions.pop()
        self.scopes.pop()
        return reached

    def branches(self, condition: Any) -> Iterator[bool]:
        """Yields True for the code of ``if`` and False for ``else``: both, or the known one."""
        known = truth(condition, self)
        if isinstance(known, bool):
            yield known
            return
        containers = held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        regions = Region(), Region()
        set_before = [(v, v.defined) for v in self.open_vars]
        reached: list[bool] = []
        set_after: list[dict[Var, bool]] = []
        for taken, region in zip((True, False), regions, strict=True):
            before = self._enter(region)
            yield taken
            check(containers, "`if`")
            reached.append(self._leave(before))
            set_after.append({v: v.defined for v in self.open_vars})
            for var, was in set_before:
                var.defined = was
        for var in set_after[1]:
            var.defined = all(s.get(var, False) or not r for s, r in zip(set_after, reached, strict=True))
        self.emit("weft.if", (known,), (), {}, regions)
        self.live = self.live and any(reached)

    def loop(self, items: Any) -> Iterator[Any]:
        """The iterations of a ``for``: one of the loop's body for a Range, else each item."""
        if isinstance(items, Range):
            containers = held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            yield from self._counted(items)
            check(containers, "loop")
            return
        if isinstance(items, Number) or is_composite(items):
            refuse(
                "iteration",
                f"a loop cannot run over {a_(type(items).__name__)}",
                hint=f"write range({VALUE})"
                if isinstance(items, Number) and items.dtype.is_integer and items.lanes == 1
                else f"loop over unroll(range({items.lanes})) and index"
                if isinstance(items, Number)
                else f"loop over range(n) and index: {VALUE}[i]",
            )
        if isinstance(items, unroll):
            items = cast("unroll[Any]", items).items
        if not isinstance(items, (Iterable, Range)):
            hint = f"write range({VALUE})" if isinstance(items, int) else "loop over range(n)"
            refuse("iteration", f"a loop cannot run over {a_(type(items).__name__)}", hint=hint)
        yield from self._unrolled(cast("Iterable[Any]", items))

    def _unrolled(self, items: Iterable[Any]) -> Iterator[Any]:
        if isinstance(items, Range):
            items = items.known()
        loop = _Loop(True, self.scopes[-1])
        self.loops.append(loop)
        was_live = self.live
        for item in items:
            loop.again()
            yield item
            if loop.jump == "break":
                break
            if loop.jump == "continue":
                self.live = was_live
            elif not self.live:
                break
        if loop.jump:
            self.live = was_live
        self.loops.pop()

    def _counted(self, items: Range) -> Iterator[Number]:
        bounds, index_of = items.bounds(self)
        index = Value(bounds[0].type, None, "i")
        body = Region([index])
        index.owner = body
        set_before = [(v, v.defined) for v in self.open_vars]
        loop = _Loop(False, 0)
        self.loops.append(loop)
        before = self._enter(body)
        loop.scope = self.scopes[-1]
        yield index_of(index)
        self._leave(before)
        self.loops.pop()
        for var, was in set_before:
            var.defined = was
        for var in self.open_vars[len(set_before) :]:
            var.defined = False
        self.emit("weft.for", bounds, (), {"parallel": False}, (body,))

    def while_(self, test: Callable[[], Any]) -> Iterator[None]:
        """The one iteration that stands for all of a ``while``."""
        containers = held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        condition, body = Region(), Region()
        set_before = [(v, v.defined) for v in self.open_vars]
        before = self._enter(condition)
        known = truth(test(), self)
        value = self.constant(known, I1) if isinstance(known, bool) else known
        self.emit("weft.condition", (value,))
        self._leave(before)
        loop = _Loop(False, 0)
        self.loops.append(loop)
        before = self._enter(body)
        loop.scope = self.scopes[-1]
        yield
        check(containers, "loop")
        self._leave(before)
        self.loops.pop()
        if known is not True:
            for var, was in set_before:
                var.defined = was
            for var in self.open_vars[len(set_before) :]:
                var.defined = False
        self.emit("weft.while", (), (), {}, (condition, body))
        if known is True and not loop.breaks:
            self.live = False

    def _jump(self, kind: str) -> None:
        if not self.live:
            return
        loop = self.loops[-1]
        if loop.static:
            if loop.scope != self.scopes[-1]:
                refuse(
                    "unrolled-jump",
                    f"`{kind}` from an unrolled loop needs a condition known at compile time",
                    hint="loop over range(...) to leave it by a run-time condition",
                )
            loop.jump = kind
            self.live = False
            return
        loop.breaks += kind == "break"
        self.emit(f"weft.{kind}")

    def break_(self) -> None:
        """``break``."""
        self._jump("break")

    def continue_(self) -> None:
        """``continue``."""
        self._jump("continue")

    def return_(self, value: Any) -> None:
        """``return value``."""
        if not self.live:
            return
        value = python_number(value)
        if self.annotation is not MISSING:
            value = returned(self.result_of, self.annotation, value)
        op = self.emit("weft.return")
        self.returns.append((op, self.region, value))

    def assert_(self, condition: Any, message: Callable[[], Any]) -> None:
        """``assert condition, message``."""
        holds = assertion(condition, message)
        if holds is None:
            return
        failing, (pieces, values) = self._aside(lambda: text_pieces(text_of(message(), ord("s"))))
        site = {"site": self.elaborator.assert_site(pieces)}
        if not failing.ops:
            self.emit("weft.assert", (holds, *values), (), site)
            return
        with self.into(failing):  # the message is computed only where it is needed, as in Python
            self.emit("weft.assert", (holds, *values), (), site)
        self.emit("weft.if", (holds,), (), {}, (Region(), failing))

    # -- logic --------------------------------------------------------------------------------
    def _aside(self, thunk: Callable[[], Any]) -> tuple[Region, Any]:
        region = Region()
        before = self._enter(region)
        value = thunk()
        self._leave(before)
        return region, value

    def _short_circuit(self, first: Any, thunk: Callable[[], Any], is_and: bool) -> Any:
        known = truth(first, self)
        if isinstance(known, bool):
            return thunk() if known is is_and else first
        region, other = self._aside(lambda: truth(thunk(), self))
        if isinstance(other, bool) and _pure(region):
            return _Bool.of(known) if other is is_and else other
        if _pure(region):
            self.splice(region)
            assert isinstance(other, Value)
            return _Bool.of(self.value("arith.andi" if is_and else "arith.ori", (known, other), I1))
        result = Var(self, "and" if is_and else "or", _Bool.of(known))
        with self.into(region):
            result.store(_Bool.of(other) if isinstance(other, Value) else _Bool(other))
        empty = Region()
        self.emit("weft.if", (known,), (), {}, (region, empty) if is_and else (empty, region))
        return result.load()

    def and_(self, first: Any, thunk: Callable[[], Any]) -> Any:
        """``first and thunk()``."""
        return self._short_circuit(first, thunk, True)

    def or_(self, first: Any, thunk: Callable[[], Any]) -> Any:
        """``first or thunk()``."""
        return self._short_circuit(first, thunk, False)

    def is_(self, first: Any, second: Any, negated: bool) -> bool:
        """``first is second``: of Python's objects only."""
        late = [isinstance(v, Number) and isinstance(v.value, Value) for v in (first, second)]
        if any(late) and first is not None and second is not None:
            refuse(
                "operand",
                f"`is` compares objects of Python's, but `{LEFT if late[0] else RIGHT}` is a run-time number",
                hint=f"write {LEFT} {'!=' if negated else '=='} {RIGHT}",
            )
        return (first is second) is not negated

    def in_(self, value: Any, items: Any, negated: bool) -> Any:
        """``value in items``."""
        found = contains(self, value, items)
        return self.not_(found) if negated else found

    def truth(self, value: Any) -> Any:
        """``bool(value)``, of a run-time value a Bool."""
        known = truth(value, self)
        return known if isinstance(known, bool) else _Bool.of(known)

    def not_(self, value: Any) -> Any:
        """``not value``."""
        known = truth(value, self)
        if isinstance(known, bool):
            return not known
        return _Bool.of(self.value("arith.xori", (known, self.constant(True, I1)), I1))

    def if_exp(self, condition: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        """``true() if condition else false()``."""
        known = truth(condition, self)
        if isinstance(known, bool):
            return true() if known else false()
        (yes, a), (no, c) = self._aside(true), self._aside(false)
        a, c = python_number(a), python_number(c)
        numbers = isinstance(a, (Number, int, float)) and isinstance(c, (Number, int, float))
        if _pure(yes) and _pure(no) and (numbers or _pairs(a, c)):
            self.splice(yes)
            self.splice(no)
            return self._choose(_Bool.of(known), a, c)
        if numbers:
            a, c = self._meet(a, c, yes, no)
        kinds = spec_of(as_runtime(a)), spec_of(as_runtime(c))
        if kinds[0] != kinds[1]:
            refuse(
                "mixed-types",
                f"this is {kinds[0].describe()} if `{VALUE}` holds, and else {kinds[1].describe()}",
                hint="give both branches one type, or choose by a condition known at compile time",
            )
        result = Var(self, "conditional expression", UNDEFINED)
        for region, value in ((yes, a), (no, c)):
            with self.into(region):
                result.store(value)
        self.emit("weft.if", (known,), (), {}, (yes, no))
        result.defined = True
        return result.load()

    def _choose(self, condition: Number, a: Any, c: Any) -> Any:
        """``a`` where the condition holds, else ``c``: numbers, or tuples of as many."""
        if type(a) is tuple:
            pairs = zip(cast("tuple[Any, ...]", a), c, strict=True)
            return tuple(self._choose(condition, x, y) for x, y in pairs)
        if isinstance(a, Number) or isinstance(c, Number):
            unify("if/else", a, c)
        return condition.select(a, c)

    def _meet(self, a: Any, c: Any, yes: Region, no: Region) -> tuple[Any, Any]:
        """Two numbers converted, each in its own region, to the type in which they meet."""
        if not isinstance(a, Number) and not isinstance(c, Number):
            return a, c
        cls, mark = unify("if/else", a, c)
        with self.into(yes):
            a = cls.of(to_type(a, cls, self), mark)
        with self.into(no):
            c = cls.of(to_type(c, cls, self), mark)
        return a, c

    def splice(self, region: Region) -> None:
        """Move the operations of ``region`` to here."""
        if self.live:
            self.region.ops.extend(region.ops)


def _values(value: Any) -> list[Value]:
    """The IR values in a value; a number known at compile time has none."""
    if isinstance(value, Number):
        return [value.value] if isinstance(value.value, Value) else []
    return [v for v in leaves_of(value) if v.owner is not None]


def _pairs(a: Any, c: Any) -> bool:
    """Whether these are tuples of as many numbers."""
    if type(a) is not tuple or type(c) is not tuple:
        return False
    left, right = cast("tuple[Any, ...]", a), cast("tuple[Any, ...]", c)
    numbers = (isinstance(python_number(v), (Number, int, float)) for v in (*left, *right))
    return len(left) == len(right) and all(numbers)


def _pure(region: Region) -> bool:
    return all(_is_pure(op) for op in region.ops)


def _is_pure(op: Op) -> bool:
    if op.spec.pure or op.spec.name == "weft.get":
        return True
    return op.spec.name == "llvm.call_intrinsic" and op.attrs["pure"] is True
