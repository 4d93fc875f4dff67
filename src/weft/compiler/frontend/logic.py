"""Logic in staged functions: conditions, ``and/or/not``, ``is``, ``in`` and conditional expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, cast

from weft.compiler.frontend.blanks import NO_BLANK, blank_of
from weft.compiler.frontend.containers import check
from weft.compiler.frontend.membership import contains, equal
from weft.compiler.frontend.merged import Merging
from weft.compiler.frontend.objects import Fields
from weft.compiler.frontend.pybuiltins import Builtins, late
from weft.compiler.frontend.variables import (
    UNDEFINED,
    Var,
    as_runtime,
    carried,
    none_hint,
    number_hint,
)
from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.effects import is_pure
from weft.compiler.ir.types import I1
from weft.diagnostics import LEFT, RIGHT, VALUE, a_, refuse
from weft.dtype import DType
from weft.lang.as_python import FUNCTIONS, check_classes, is_one_type, is_unasked
from weft.lang.enums import EnumValue
from weft.lang.maybe import Maybe, maybe, present
from weft.lang.number import Number, number_class, to_type, unify
from weft.lang.objects import is_own, note_copy
from weft.lang.products import ListRow, class_of, objects_in, parts_of, plain_class, settled, structs_in
from weft.lang.python_number import python_number
from weft.lang.spec import Spec, is_composite, spec_of

__all__ = ["Logic", "truth"]

_Bool = number_class(DType.bool)
_NUMBERS = (int, float, Number)


def truth(value: Any, b: Logic) -> bool | Value:
    """A condition: a Python bool where it is known now, else an i1."""
    if isinstance(value, Maybe):
        value = value.narrowed()
    if isinstance(value, Maybe):
        flag = truth(value.flag(), b)
        held = truth(value.weft_held, b)
        if isinstance(held, bool):
            return flag if held else False
        assert isinstance(flag, Value)
        made = b.value("arith.andi", (flag, held), I1)
        b.members.joined(flag, held, made, True)
        return made
    if isinstance(value, Number):
        if value.lanes != 1:
            refuse(
                "condition",
                f"a condition is one Bool, not {a_(type(value).__name__)}",
                hint="write any(...) or all(...) around it, mask.select(a, b) to choose lane by lane, "
                "& and | for `and` and `or`",
            )
        if value.dtype.kind != "bool":
            value = value != 0
        return value.value if isinstance(value.value, Value) else bool(value.value)
    if value is None or isinstance(value, (bool, int, float)):
        return bool(value)
    for name in ("__bool__", "__len__"):
        for kind in class_of(value).__mro__:
            if name in vars(kind):
                if kind is tuple:
                    _check_no_bool(value)
                return truth(vars(kind)[name](value), b)
    if is_composite(value) and spec_of(value).leaves():
        refuse(
            "condition",
            f"{a_(type(value).__name__)} is not a condition",
            hint="compare something of it with a number; a pointer is never empty",
        )
    if type(value) in FUNCTIONS and is_unasked(value):
        message = f"`{VALUE}` is a function, which is always true"
        refuse("condition", message, hint=f"call it: {VALUE}()")
    return bool(value)


def _check_no_bool(value: tuple[Any, ...]) -> None:
    """Refuse a tuple as a condition that has one in it, as the results of ``compare_exchange`` have."""
    places = [n for n, part in enumerate(value) if isinstance(part, Number) and part.dtype.kind == "bool"]
    if any(isinstance(value[n].value, Value) for n in places):
        kind = "tuple" if type(value) is tuple else type(value).__name__
        refuse(
            "condition",
            f"{a_(kind)} of {len(value)} is true whatever it holds, and this one holds a Bool",
            hint=f"take that: x[{places[0]}]"
            if len(places) == 1
            else "take one of its items, or any(...) or all(...) of it",
        )


class Logic(Builtins, Merging):
    """A builder with conditions, and with the regions that a condition decides about."""

    def _enter(self, region: Region, nest: object = None) -> tuple[Region, bool, Any, int]:
        before = (self.region, self.live, self.members.gone, len(self.journal))
        self.nests.append(region if nest is None else nest)
        self.regions.append(self.region)
        self.region = region
        self.new_scope()
        return before

    def _leave(self, before: tuple[Region, bool, Any, int]) -> tuple[bool, Fields]:
        """Back to the outer region; tells whether the inner one's end is reached, and what it has changed."""
        reached = self.live
        self.move_out(len(self.regions))
        self.region, self.live, self.members.gone, mark = before
        self.regions.pop()
        self.scopes.pop()
        self.nests.pop()
        return reached, self.ended(mark)

    def _aside(
        self, thunk: Callable[[], Any], test: Value | None = None, holds: bool = True
    ) -> tuple[Region, Any, Fields]:
        """A region that is reached where ``test`` is ``holds``, what comes of it, and what it changes."""
        region = Region()
        set_before = [(v, v.defined) for v in self.open_vars]
        sure = [(v, v.surely) for v in self.optionals]
        held = self.containers.named(thunk)
        before = self._enter(region)
        if test is not None:
            self.members.passed(test, holds)
        value = thunk()
        if isinstance(value, Maybe):  # as what stands before says
            value = value.narrowed()
        check(held, "expression")
        if not self.merging and len(self.journal) > before[3] and any(map(is_own, objects_in(value))):
            self.merges = True
            for one in structs_in(value):  # of which a copy is taken here, before its fields are restored
                note_copy(one)
            value = settled(value)
        fields = self._leave(before)[1]
        for var, was in set_before:
            var.defined = was
        for var, was in sure:
            var.surely = was and var.surely
        return region, value, fields

    def _within(self, region: Region, store: Callable[[], None]) -> Fields:
        """Add to the end of a region, which was left; what that changes."""
        before = self._enter(region)
        store()
        return self._leave(before)[1]

    def _short_circuit(self, first: Any, thunk: Callable[[], Any], is_and: bool) -> Any:
        """``first and thunk()`` as a Bool: only the truth of either counts."""
        known = truth(first, self)
        if isinstance(known, bool):
            return thunk() if known is is_and else first
        region, other, fields = self._aside(lambda: truth(thunk(), self), known, is_and)
        made = self._joined(known, region, other, is_and)
        self.behind(fields)
        return made

    def _joined(self, known: Value, region: Region, other: bool | Value, is_and: bool) -> Any:
        """A condition joined with another, which was emitted to a region of its own."""
        empty = Region()
        only = (region, empty) if is_and else (empty, region)
        if isinstance(other, bool):
            if not _pure(region):
                self.emit("weft.if", (known,), (), {}, only)
            return _Bool.of(known) if other is is_and else other
        if _pure(region):
            self.splice(region)
            made = self.value("arith.andi" if is_and else "arith.ori", (known, other), I1)
            self.members.joined(known, other, made, is_and)
            return _Bool.of(made)
        result = Var(self, "and" if is_and else "or", _Bool.of(known))
        with self.into(region):
            result.store(_Bool.of(other))
        self.emit("weft.if", (known,), (), {}, only)
        made = result.load()
        self.members.joined(known, other, made.value, is_and)
        return made

    def _either(self, first: Any, thunk: Callable[[], Any], is_and: bool) -> Any:
        """``first and thunk()`` as Python means it: the value of the one that decides."""
        known = truth(first, self)
        if isinstance(known, bool):
            return thunk() if known is is_and else first
        region, other, fields = self._aside(thunk, known, is_and)
        made = self._decided(first, known, region, python_number(other), is_and)
        self.behind(fields)
        return made

    def _decided(self, first: Any, known: Value, region: Region, other: Any, is_and: bool) -> Any:
        """``first``, or ``other``, which is made in a region of its own."""
        if isinstance(first, Maybe) and not is_and:
            first = first.weft_held  # where it decides
        if _is_bool(first) and _is_bool(other):
            return self._joined(known, region, truth(other, self), is_and)
        if _is_bool(first) and isinstance(other, (Number, int, float)):  # what it is where it decides
            first = float(not is_and) if _is_float(other) else int(not is_and)
        last, here = (region, other), (Region(), first)
        return self._one_of(known, *((last, here) if is_and else (here, last)), "and" if is_and else "or")

    def both(self, first: Any, thunk: Callable[[], Any]) -> Any:
        """``first and thunk()`` in a condition."""
        return self._short_circuit(first, thunk, True)

    def either(self, first: Any, thunk: Callable[[], Any]) -> Any:
        """``first or thunk()`` in a condition."""
        return self._short_circuit(first, thunk, False)

    def and_(self, first: Any, thunk: Callable[[], Any]) -> Any:
        """``first and thunk()``."""
        return self._either(first, thunk, True)

    def or_(self, first: Any, thunk: Callable[[], Any]) -> Any:
        """``first or thunk()``."""
        return self._either(first, thunk, False)

    def is_(self, first: Any, second: Any, negated: bool) -> Any:
        """``first is second``: of Python's objects, members of enums, and Bools, of which Python has two."""
        check_classes(first, second)
        first, second = (v.narrowed() if isinstance(v, Maybe) else plain_class(v) for v in (first, second))
        if isinstance(first, Maybe) or isinstance(second, Maybe):
            return self._is_none(first, second, negated)
        if _is_bool(first) and _is_bool(second) and (late(first) or late(second)):
            same: Any = first if second is True else second if first is True else first == second
            return self.not_(same) if negated else same
        if isinstance(first, EnumValue) or isinstance(second, EnumValue):
            same = first.is_member(second) if isinstance(first, EnumValue) else second.is_member(first)
            return self.not_(same) if negated else same
        found = [_is_at_run_time(v) for v in (first, second)]
        alike = [there or isinstance(v, _NUMBERS) for there, v in zip(found, (first, second), strict=True)]
        if (any(found) and all(alike)) or _may_be_one(first, second):
            number = any(isinstance(v, Number) for v in (first, second))
            ends = ".ptr" * all(hasattr(v, "ptr") for v in (first, second))
            late_side = RIGHT if found[1] and not found[0] else LEFT
            refuse(
                "operand",
                f"`is` compares objects of Python's, but `{late_side}` is a run-time "
                f"{'number' if number else 'value'}",
                hint=f"write {LEFT}{ends} {'!=' if negated else '=='} {RIGHT}{ends}",
            )
        same = first is second or is_one_type(first, second) or is_one_type(second, first)
        return same is not negated

    def _is_none(self, first: Any, second: Any, negated: bool) -> Any:
        """``x is None`` of what may be None."""
        if first is None or second is None:
            flag = cast("Maybe", second if first is None else first).flag()
            return flag if negated else self.not_(flag)
        return self.is_(present(first), present(second), negated)

    def same(self, first: Any, second: Any) -> Any:
        """``first == second``, as a bool or a Bool."""
        return equal(self, first, second)

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
        made = self.arith("xori", known, self.constant(True, I1))
        self.members.inverted(known, made)
        return _Bool.of(made)

    def if_exp(self, condition: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
        """``true() if condition else false()``."""
        known = truth(condition, self)
        if isinstance(known, bool):
            return true() if known else false()
        *yes, changed = self._aside(true, known, True)
        *no, fields = self._aside(false, known, False)
        made = self._one_of(known, (yes[0], yes[1]), (no[0], no[1]), "if/else")
        self.behind(changed + fields)
        return made

    def _one_of(self, known: Value, true: tuple[Region, Any], false: tuple[Region, Any], what: str) -> Any:
        """One of two values that were emitted to regions of their own, in the type that both have or take."""
        (yes, a), (no, c) = true, false
        a, c = python_number(a), python_number(c)
        if isinstance(a, Maybe) or isinstance(c, Maybe) or (a is None) is not (c is None):
            made = self._maybe(known, (yes, a), (no, c), what)
            if made is not None:
                return made
        numbers = isinstance(a, (Number, int, float)) and isinstance(c, (Number, int, float))
        if _pure(yes) and _pure(no) and (numbers or _pairs(a, c)):
            self.splice(yes)
            self.splice(no)
            return self._choose(_Bool.of(known), a, c, what)
        if numbers:
            a, c = self._meet(a, c, yes, no, what)
        with self.into(Region() if self.merging else self.region):  # asked where fields are not known
            objects = any(is_own(one) for value in (a, c) for one in objects_in(value))
            self.merges |= objects
            if not (self.merging and objects):
                kinds = spec_of(carried(as_runtime(a))), spec_of(carried(as_runtime(c)))
                if kinds[0] != kinds[1]:
                    _refuse_mixed(what, *kinds)
        result = Var(self, "conditional expression" if what == "if/else" else what, UNDEFINED)
        changed: Fields = []
        for region, value in ((yes, a), (no, c)):
            changed += self._within(region, lambda value=value: result.store(value))
        if self.merging and objects and result.refs is None:
            self.give_up()  # fields of the regions are restored
        self.branch(known, yes, no)
        self.behind(changed)
        result.defined = True
        return result.load()

    def _maybe(self, known: Value, true: tuple[Region, Any], false: tuple[Region, Any], what: str) -> Any:
        """One of two values of which one may be None, or is; nothing where these have no blank."""
        sides = true, false
        blanks = [NO_BLANK if value is None else blank_of(value) for _, value in sides]
        blank = next((b for b in blanks if b is not NO_BLANK), NO_BLANK)
        if blank is NO_BLANK:
            return None
        parted = [maybe(value, blank) for _, value in sides]
        (yes, no), (a, c) = [region for region, _ in sides], [part.weft_held for part in parted]
        if all(isinstance(v, (Number, int, float)) for v in (a, c)):
            a, c = self._meet(a, c, yes, no, what)
        with self.into(Region() if self.merging else self.region):
            if self.merging and any(is_own(one) for value in (a, c) for one in objects_in(value)):
                self.give_up()  # what stands for None is no object, so this is a copy; fields are restored
        flag, held = Var(self, what, UNDEFINED), Var(self, what, UNDEFINED)
        changed: Fields = []
        for region, part, value in ((yes, parted[0], a), (no, parted[1], c)):
            changed += self._within(region, lambda part=part: flag.store(part.weft_there))
            changed += self._within(region, lambda value=value: held.store(value))
        self.branch(known, yes, no)
        self.behind(changed)
        flag.defined = held.defined = True
        return Maybe(flag.load(), held.load())

    def _choose(self, condition: Number, a: Any, c: Any, what: str) -> Any:
        """``a`` where the condition holds, else ``c``: numbers, or tuples of as many."""
        if type(a) is tuple:
            pairs = zip(cast("tuple[Any, ...]", a), c, strict=True)
            return tuple(self._choose(condition, x, y, what) for x, y in pairs)
        if isinstance(a, Number) or isinstance(c, Number):
            unify(what, a, c)
        return condition.select(a, c)

    def _meet(self, a: Any, c: Any, yes: Region, no: Region, what: str) -> tuple[Any, Any]:
        """Two numbers converted, each in its own region, to the type in which they meet."""
        if not isinstance(a, Number) and not isinstance(c, Number):
            return a, c
        cls, mark = unify(what, a, c)
        with self.into(yes):
            a = cls.of(to_type(a, cls, self), mark)
        with self.into(no):
            c = cls.of(to_type(c, cls, self), mark)
        return a, c

    def splice(self, region: Region) -> None:
        """Move the operations of ``region`` to here."""
        if self.live:
            self.region.ops.extend(region.ops)


def _is_at_run_time(value: Any) -> bool:
    if isinstance(value, Number):
        return isinstance(value.value, Value)
    return is_composite(value) and bool(spec_of(value).leaves())


def _may_be_one(first: Any, second: Any) -> bool:
    """Whether two run-time tuples, named tuples or dataclasses, copies here, may be one object in Python."""
    if first is second or class_of(first) is not class_of(second) or not (late(first) or late(second)):
        return False
    if class_of(first) is list:  # those that are no rows of tables are objects here too
        return ListRow in (type(first), type(second))
    return parts_of(first) is not None


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, Number) and value.dtype.kind == "bool")


def _is_float(value: Number | int | float) -> bool:
    return value.dtype.is_float if isinstance(value, Number) else isinstance(value, float)


def _refuse_mixed(what: str, *kinds: Spec) -> NoReturn:
    """Two values, of which a run-time condition gives one, have types that do not meet."""
    yes, no = [kind.describe() for kind in kinds]
    if what == "if/else":
        message = f"this is {yes} if `{VALUE}` holds, and else {no}"
        hint = (
            none_hint(yes, no)
            or number_hint(*kinds)
            or "give both branches one type, or choose by a condition known at compile time"
        )
        if yes[0] in "'\"" and no[0] in "'\"":
            hint = "print each text in a branch of its own: if c: print(one), else: print(other)"
    else:
        left, right = (no, yes) if what == "and" else (yes, no)
        message = f"`{what}` gives one of its sides, and these are {left} and {right}"
        hint = f"give both sides one type; where only their truth counts, write `bool(x) {what} bool(y)`"
    refuse("mixed-types", message, hint=hint)


def _pairs(a: Any, c: Any) -> bool:
    """Whether these are tuples of as many numbers."""
    if type(a) is not tuple or type(c) is not tuple:
        return False
    left, right = cast("tuple[Any, ...]", a), cast("tuple[Any, ...]", c)
    numbers = (isinstance(python_number(v), (Number, int, float)) for v in (*left, *right))
    return len(left) == len(right) and all(numbers)


def _pure(region: Region) -> bool:
    return all(is_pure(op) or op.spec.name == "weft.get" for op in region.ops)
