"""Branches and loops: of the device, or written out where what decides is known at compile time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, cast

from weft.compiler.frontend.containers import check
from weft.compiler.frontend.generators import Generated
from weft.compiler.frontend.iteration import Once, is_open, items_of, on_device
from weft.compiler.frontend.logic import Logic, truth
from weft.compiler.frontend.objects import Fields
from weft.compiler.frontend.ranges import Range
from weft.compiler.frontend.variables import Var
from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.types import I1
from weft.diagnostics import VALUE, a_, refuse
from weft.lang.as_python import drawn
from weft.lang.comptime import unroll
from weft.lang.number import Number
from weft.lang.spec import is_composite

__all__ = ["Flow"]


class _Loop:
    __slots__ = ("breaks", "ends", "goes_on", "jump", "left", "place", "scope", "static")

    def __init__(self, static: bool, scope: int, place: object = None) -> None:
        self.static = static
        self.scope = scope
        self.place = place
        self.left: Var | None = None
        """What ``break`` sets where it leaves the loops around as well."""
        self.jump = ""
        self.ends: list[dict[Var, bool]] = []
        """Which variables are set where its condition ends it."""
        self.breaks: list[dict[Var, bool]] = []
        """Likewise, where ``break`` does."""
        self.goes_on: list[dict[Var, bool]] = []
        """Likewise, where a round ends, and at ``continue``."""

    def again(self) -> None:
        """Begin an iteration of a loop that is written out."""
        self.jump = ""


class Flow(Logic):
    """A builder with branches and loops."""

    def branches(self, condition: Any) -> Iterator[bool]:
        """Yields True for the code of ``if`` and False for ``else``: both, or the known one."""
        tested, self.tested = self.tested, None
        known = tested[1] if tested and tested[0] is condition else truth(condition, self)
        if isinstance(known, bool):
            yield known
            return
        containers = self.containers.held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        place = self.loc
        regions = Region(), Region()
        set_before = [(v, v.defined) for v in self.open_vars]
        reached: list[bool] = []
        set_after: list[dict[Var, bool]] = []
        sure_before = [(v, v.is_sure(), v.parts[0].read) for v in self.optionals]
        sure_after: list[dict[Var, bool]] = []
        changed: set[Var] = set()
        objects: Fields = []
        for taken, region in zip((True, False), regions, strict=True):
            before = self._enter(region, regions)
            self.members.passed(known, taken)
            yield taken
            check(containers, "`if`")
            sure = {v: v.is_sure() for v, *_ in sure_before}
            here, fields = self._leave(before)
            reached.append(here)
            objects += fields
            set_after.append(self._set())
            sure_after.append(sure)
            for var, was in set_before:
                var.defined = was
            for var, was, read in sure_before:
                changed |= {var} if var.parts[0].read is not read else set()
                var.surely, var.parts[0].read = was, read
        for var in set_after[1]:
            var.defined = all(s.get(var, False) or not r for s, r in zip(set_after, reached, strict=True))
        for var in changed:
            var.parts[0].read = None
        for var, *_ in sure_before:
            var.surely = all(s[var] or not r for s, r in zip(sure_after, reached, strict=True))
        self.loc = place
        self.emit("weft.if", (known,), (), {}, regions)
        self.live = self.live and any(reached)
        self.behind(objects)
        for taken, goes_on in zip((True, False), reached, strict=True):
            if not goes_on:
                self.members.passed(known, not taken)

    def loop(self, items: Any, leaves: bool = False, whole: bool = True) -> Iterator[Any]:
        """The iterations of a ``for``: one of the loop's body for a Range, else each item.

        ``leaves`` says that a ``break`` may leave it, ``whole`` that nothing does.
        """
        place = self.loc[:2]
        fresh = isinstance(items, Generated) and not items.under_way
        if fresh and (items.late or place in self.late_loops):
            containers = self.containers.held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            items.statement = True
            items.leaves = leaves
            yield from items.run()
            check(containers, "loop")
            return
        if on_device(items):
            containers = self.containers.held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            if isinstance(items, Once):
                items.spend()
            hint = ""
            if isinstance(items, Range):
                known = not any(is_open(n) for n in (items.start, items.stop, items.step))
                hint = "write the rounds out: `for ... in unroll(range(...))`" * known
                yield from self._counted(items, None)
            elif (found := items_of(items, whole=whole)) is not None:
                yield from self._counted(Range(found.length), found.at)
            check(containers, "loop", hint)
            return
        if isinstance(items, Number) or (is_composite(items) and getattr(items, "__iter__", None) is None):
            _refuse_items(items)
        if isinstance(items, Generated):
            items.written_out = place
        if isinstance(items, unroll):
            items = cast("unroll[Any]", items).items
        if not isinstance(items, Iterable):
            _refuse_items(items)
        given = items.known() if isinstance(items, Range) else cast("Iterable[Any]", items)
        given = drawn(given) if isinstance(given, (map, filter)) else given
        if place not in self.late_loops:
            yield from self._unrolled(given, place)
            return
        containers = self.containers.named_in(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        left, self.breaks = Var(self, "left", False) if leaves else None, []
        yield from self.in_rounds(given, left)
        if isinstance(items, Generated):  # only run time knows what is left of it
            items.spend("generator")
        check(containers, "loop")

    def _unrolled(self, items: Iterable[Any], place: object) -> Iterator[Any]:
        loop = _Loop(True, self.scopes[-1], place)
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
        self.breaks = None

    def in_rounds(self, items: Iterable[Any], left: Var | None) -> Iterator[Any]:
        """Each item in a loop of one round, which may be left at run time; none once ``left`` is set."""
        breaks: list[dict[Var, bool]] = []
        for n, item in enumerate(items):
            loop = _Loop(False, 0)
            for reached in (True,) if left is None or n == 0 else self.branches(self.not_(left.load())):
                if reached:
                    loop.left = left
                    for _ in self._counted(Range(1), None, loop):
                        yield item
            breaks += loop.breaks
            if not loop.ends:  # there is no way to the next item
                break
        self.breaks = breaks

    def decided_late(self, place: object) -> NoReturn:
        """Give up this pass: what is written out at a place is left, or chosen, by what run time knows."""
        self.late_loops.add(place)
        self.learnt += 1
        refuse("not-compile-time", "only run time knows how this loop goes on")

    def _counted(
        self, items: Range, at: Callable[[Any], Any] | None, loop: _Loop | None = None
    ) -> Iterator[Any]:
        bounds, index_of = items.bounds(self)
        place, sure = self.loc, self._sure_in_loop()
        index = Value(bounds[0].type, None, "i")
        body = Region([index])
        index.owner = body
        loop, runs = loop or _Loop(False, 0), items.surely_runs()
        if not runs:
            loop.ends.append(self._set())
        self.loops.append(loop)
        objects = self.opening(body)
        before = self._enter_round(body, body, objects)
        loop.scope = self.scopes[-1]
        yield index_of(index) if at is None else at(index_of(index))
        if self.live:
            loop.goes_on.append(self._set())
        objects = self._leave(before)[1]
        self.round = object()
        self.loops.pop()
        loop.ends += loop.goes_on if runs else ()
        self._after(loop)
        for var, was, read in sure:
            var.surely, var.parts[0].read = was, read
        self.loc = place
        self.emit("weft.for", bounds, (), {"parallel": False}, (body,))
        self.live = self.live and bool(loop.ends or loop.breaks)
        self.behind(objects, True)

    def _sure_in_loop(self) -> list[tuple[Var, bool, Any]]:
        """Which variables are certain not to be None in all rounds of the loop that begins; what was read."""
        reads = [None if var.root is not None else var.parts[0].read for var in self.optionals]
        for var in self.optionals:
            var.enter_loop(False)
        return [(var, var.surely, read) for var, read in zip(self.optionals, reads, strict=True)]

    def while_(self, test: Callable[[], Any]) -> Iterator[None]:
        """The one iteration that stands for all of a ``while``."""
        containers = self.containers.held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        place, sure = self.loc, self._sure_in_loop()
        condition, body = Region(), Region()
        objects = self.opening(body)
        before = self._enter_round(condition, body, objects)
        known = truth(test(), self)
        value = self.constant(known, I1) if isinstance(known, bool) else known
        self.move_out(len(self.regions))
        self.emit("weft.condition", (value,))
        self.members.passed(value, True)
        tested = [var for var in self.optionals if var.is_sure()]
        tested_objects = self._leave(before)[1]
        loop = _Loop(False, 0)
        if known is not True:
            loop.ends.append(self._set())
        self.loops.append(loop)
        before = self._enter_round(body, body, objects)
        loop.scope = self.scopes[-1]
        for var in tested:
            var.surely = True
        yield
        check(containers, "loop")
        objects = tested_objects + self._leave(before)[1]
        self.round = object()
        self.loops.pop()
        self.loc = place
        self.emit("weft.while", (), (), {}, (condition, body))
        self._after(loop)
        for var, was, read in sure:
            var.surely, var.parts[0].read = was, read
        self.live = self.live and bool(loop.ends or loop.breaks)
        self.behind(objects, True)

    def _enter_round(self, region: Region, nest: object, objects: Fields) -> tuple[Region, bool, Any, int]:
        """What was read of variables before it may be another each time, and what ``objects`` hold."""
        self.round = object()
        before = self._enter(region, nest)
        self.repeated.add(self.scopes[-1])
        self.open(objects)
        return before

    def _set(self) -> dict[Var, bool]:
        """Which variables are set here."""
        return {v: v.defined for v in self.open_vars}

    def _after(self, loop: _Loop) -> None:
        """Behind a loop a variable is set that is so wherever the loop may end."""
        self.breaks = loop.breaks
        for var in self.open_vars:
            var.defined = all(ended.get(var, False) for ended in (*loop.ends, *loop.breaks))

    def left(self) -> None:
        """Behind a loop with ``else``, where ``break`` has left it."""
        if self.breaks is None:
            return
        for var in self.open_vars:
            var.defined |= all(ended.get(var, False) for ended in self.breaks)
        self.live = self.live and bool(self.breaks)

    def _jump(self, kind: str) -> None:
        if not self.live:
            return
        loop = self.loops[-1]
        if kind == "break" and loop.left is not None:
            loop.left.store(True)
        if loop.static:
            if loop.scope != self.scopes[-1]:
                self.decided_late(loop.place)
            loop.jump = kind
            self.live = False
            return
        self.move_out(self.scopes.index(loop.scope), False)
        (loop.breaks if kind == "break" else loop.goes_on).append(self._set())
        self.emit(f"weft.{kind}")

    def break_(self) -> None:
        """``break``."""
        self._jump("break")

    def continue_(self) -> None:
        """``continue``."""
        self._jump("continue")


def _refuse_items(items: Any) -> NoReturn:
    """Say no to a loop over what has no items."""
    hint = f"write range({VALUE})" if isinstance(items, int) else "loop over range(n)"
    if isinstance(items, Number):
        integer = items.dtype.is_integer and items.lanes == 1
        hint = f"write range({VALUE})" if integer else f"loop over unroll(range({items.lanes})) and index"
    elif is_composite(items):
        own = getattr(items, "__weft_loop_hint__", "")
        hint = own or f"loop over range(n) and index: {VALUE}[i]"
    refuse("iteration", f"a loop cannot run over {a_(type(items).__name__)}", hint=hint)
