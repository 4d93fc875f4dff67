"""Generator expressions, and ``any``, ``all``, ``sum``, ``min`` and ``max``, which run over them.

    (x * y for x in t if x > 0)   ->   b.generator(t, lambda g, items:
                                           (x * y for x in g.loop(items) for _ in g.when(x > 0)))

What is known at compile time is Python's own generator. Where ``loop`` begins one of the device, or ``when``
a branch, the item is made within it, once; and who asks for the items, if it is one of the five, keeps what
it has in slots from then on. Anything else that asks is refused there.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from weft.compiler.frontend.containers import check
from weft.compiler.frontend.iteration import Once, is_open, items_of, known, on_device
from weft.compiler.frontend.pybuiltins import late
from weft.compiler.frontend.ranges import Range
from weft.compiler.frontend.variables import UNDEFINED, Var, as_runtime, carried
from weft.compiler.ir.core import Region
from weft.diagnostics import VALUE, a_, refuse
from weft.lang.number import Number, unify
from weft.lang.products import class_of, parts_of, remade
from weft.lang.python_number import python_number
from weft.lang.spec import spec_of

if TYPE_CHECKING:
    from weft.compiler.frontend.staging import Staging


class Generated(Once):
    """The items of a generator expression, each made when it is asked for."""

    def __init__(
        self, b: Staging, items: Any, make: Callable[[Generated], Iterator[Any]], chosen: bool = False
    ) -> None:
        super().__init__(b)
        self._chosen = chosen
        """Whether a condition says which items there are."""
        self.late = _found(items, True, chosen)[1]
        """Whether a ``for`` statement over it is a loop of the device, as over what it runs over first."""
        self.written_out: object = None
        """The place of the ``for`` statement that asks for what is known at compile time."""
        self.statement = False
        """Whether a ``for`` statement asks: its body, with what that does to the loop, is in a region."""
        self.leaves = False
        """Whether that body has a ``break``."""
        self._make = make
        self._running: Iterator[Any] | None = None
        self.asked = False
        """Whether who asks has said that it runs over all of it."""
        self._place: tuple[Region, int] | None = None
        self._decided: Var | None = None
        self._loops = 0
        """How many loops of the device have begun."""
        self._written = False
        """Whether a loop that is written out is under way."""
        self._asked_at: tuple[Region, int] | None = None
        """Where who asks as far as needed has asked for an item: a branch, where that is not the first."""
        self._for: Generated = self
        """The generator that runs over this one, or over one that does; itself where none does."""

    def __iter__(self) -> Generated:
        return self

    def __next__(self) -> Any:
        self.check("generator")
        if self._running is None:
            self._running = self._make(self)
        item = next(self._running)
        self._stood = self._b.scopes[-1]
        return item

    def run(self) -> Iterator[Any]:
        """The items, for who keeps what it has in slots, where they are made in regions."""
        self.spend("generator")
        self.asked = True
        return self._running or self._make(self)

    @property
    def begun(self) -> bool:
        """Whether items are made in a region of their own."""
        return self._for._place is not None

    @property
    def under_way(self) -> bool:
        """Whether items were taken at compile time, as the others are then."""
        return self._running is not None

    def asks(self) -> None:
        """An item is asked for, maybe in a branch, in which the next is not."""
        self._asked_at = self._b.region, len(self._b.region.ops)

    def grown(self) -> bool:
        """Whether code has been made since then, and no region for all items."""
        place = self._asked_at
        return place is not None and self._place is None and len(place[0].ops) > place[1]

    def __weft_spec__(self) -> Any:
        refuse(
            "escaped",
            "this generator belongs to the function that made it, where its items are code",
            hint="loop over it here, or pass what it runs over",
        )

    # -- what the staged expression calls ---------------------------------------------------------
    def loop(self, items: Any) -> Iterator[Any]:
        """``for x in items``: a loop of the device where only run time knows how many there are."""
        b = self._b
        found, of_device = _found(items, self.statement, self._chosen)
        if of_device and not self.asked and self.written_out:
            b.decided_late(self.written_out)
        if isinstance(found, Generated) and self.asked:
            yield from self._over(found)
        elif self.statement:
            yield from self._of_statement(found, of_device)
        elif self.asked and of_device:
            self._begin()
            held = b.containers.held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            for item in b.loop(found):
                yield item
                self._leave()
            check(held, "loop")
        else:
            if isinstance(found, Generated):
                found.written_out = self.written_out
            within, self._written = self._written, True
            for item in known(found):
                if within and self._for.grown():  # by what all items of this loop go back to
                    self._begin()
                decided = self._for._decided
                for reached in (True,) if decided is None else b.branches(b.not_(decided.load())):
                    if reached:
                        yield item
            self._written = within

    def _over(self, items: Generated) -> Iterator[Any]:
        """The items of another generator, asked for as these are."""
        items.statement, items.leaves, items._for = self.statement, self.leaves, self._for
        yield from items.run()

    def _of_statement(self, items: Any, of_device: bool) -> Iterator[Any]:
        """A loop that is all or a part of a ``for`` statement, whose ``break`` leaves all of them."""
        b, whole = self._b, self._for
        first = not self.begun
        self._begin()
        if self.leaves and whole._decided is None and not (first and of_device):
            whole.until_decided()
        whole._loops += 1
        number, decided = whole._loops, whole._decided
        for item in b.loop(items) if of_device else b.in_rounds(known(items), decided):
            b.loops[-1].left = decided
            yield item
            if whole._loops > number:
                self._leave()

    def _leave(self) -> None:
        """``break`` where a loop within was left, or no more items are asked for."""
        b, decided = self._b, self._for._decided
        if decided is None:
            return
        for taken in b.branches(decided.load()):
            if taken:
                if self.statement:
                    b.left()
                b.break_()

    def when(self, condition: Any) -> Iterator[bool]:
        """``if condition``."""
        b = self._b
        if not is_open(condition):
            yield from (taken for taken in b.branches(condition) if taken)
            return
        if not self.asked and self.written_out:
            b.decided_late(self.written_out)
        if not self.asked:
            certain(condition)
        self._begin()
        held = b.containers.held(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        for taken in b.branches(condition):
            if taken:
                yield taken
                check(held, "`if`")

    # -- what who asks calls ----------------------------------------------------------------------
    def _begin(self) -> None:
        whole = self._for
        whole._place = whole._place or (self._b.region, self._b.scopes[-1])

    def slot(self, name: str, value: Any, like: Any = None) -> Var:
        """A variable that is ``value`` before the first region in which items are made; or like an item."""
        place = self._for._place
        assert place is not None
        b, (region, scope) = self._b, place
        with b.into(region):
            made = Var(b, name, _blank(b, like) if value is UNDEFINED else value)
        made.scope = scope
        return made

    def until_decided(self) -> Var:
        """A Bool: once it is set, no more items are made."""
        self._decided = self.slot("decided", False)
        return self._decided


def _found(items: Any, statement: bool, chosen: bool) -> tuple[Any, bool]:
    """What a ``for`` in a generator runs over, and whether by a loop of the device.

    It does where only run time knows how many there are, and for a ``for`` statement over any tensor, or
    any range of which a condition chooses.
    """
    if isinstance(items, Generated):
        return items, items.late
    if isinstance(items, Range):
        return items, (statement and chosen) or any(map(is_open, (items.start, items.stop, items.step)))
    found = items_of(items) if on_device(items) else None
    return (items, False) if found is None else (found, statement or is_open(found.length))


def _blank(b: Staging, like: Any) -> Any:
    """A value of the same type, of which nobody asks."""
    like = python_number(like)
    if isinstance(like, (bool, int, float)):
        return like
    if isinstance(like, Number) and like.weak is not None:
        return 0.0 if like.dtype.is_float else 0
    parts = parts_of(like)
    if parts is not None:
        return remade(class_of(like), [_blank(b, part) for part in parts])
    spec = spec_of(carried(as_runtime(like)))
    return spec.build([b.constant(0, leaf.type) for leaf in spec.leaves()])


def generator(
    b: Staging, items: Any, make: Callable[[Generated, Any], Iterator[Any]], chosen: bool
) -> Generated:
    """A generator expression; ``items`` are what its first ``for`` runs over, ``chosen`` by its ``if``."""
    return Generated(b, items, lambda asked: make(asked, items), chosen)


def numbered(b: Staging, items: Generated, start: Any) -> Generated:
    """``enumerate`` of a generator: a variable counts from where only run time knows how many came before."""

    def made(asked: Generated) -> Iterator[Any]:
        number, slot = start, cast("Var | None", None)
        for item in asked.loop(items):
            if asked.begun:
                slot = slot or asked.slot("number", as_runtime(number))
                number = slot.load()
                slot.store(number + 1)
                yield number, item
            else:
                yield number, item
                number += 1

    return Generated(b, items, made)


def certain(condition: Any) -> Any:
    """``if condition`` of a comprehension, which decides what a list or a tuple has in it."""
    if is_open(condition):
        refuse(
            "not-compile-time",
            "only run time knows which items there are",
            notes=("any, all, sum, min and max take a generator with such a condition",),
            hint="write a `for` statement, or choose each item: x if condition else other",
        )
    return condition


def _each(b: Staging, items: Any) -> Generated:
    """The items of whatever one may loop over."""
    made = items if isinstance(items, Generated) else Generated(b, items, lambda asked: asked.loop(items))
    return made


def first(b: Staging, items: Any, wanted: bool) -> Any:
    """``any`` and ``all``: whether an item is ``wanted``, or its contrary; asked as far as needed."""
    if isinstance(items, Number):
        return items.reduce_or() if wanted else items.reduce_and()
    asked, found = _each(b, items), not wanted
    run = asked.run()
    while found is not wanted:
        ended = False

        def following() -> Any:
            nonlocal ended
            decided: Var | None = None
            asked.asks()
            for item in run:
                holds = b.truth(item)
                if not asked.begun:
                    return holds
                decided = decided or asked.until_decided()
                for taken in b.branches(holds if wanted else b.not_(holds)):
                    if taken:
                        decided.store(True)
            ended = True
            return not wanted if decided is None else decided.load() if wanted else b.not_(decided.load())

        found = (b.either if wanted else b.both)(found, following)
        if ended:
            break
    return found


def total(b: Staging, items: Any, start: Any) -> Any:
    """``sum``."""
    if isinstance(items, Number):
        lanes = items.reduce_add()
        return lanes if type(start) is int and start == 0 else start + lanes
    asked, ready, slot = _each(b, items), list[Any](), cast("Var | None", None)
    for item in asked.run():
        if not asked.begun:
            ready.append(item)
            continue
        if slot is None:  # the first says of which type it is
            start = _sum(ready, start)
            added = _sum([item], start)
            typed = isinstance(added, Number) and added.weak is None and isinstance(start, (int, float))
            slot = asked.slot("sum", type(added)(start) if typed else start)
        slot.store(_sum([item], slot.load()))
    return _sum(ready, start) if slot is None else slot.load()


def _sum(items: list[Any], start: Any) -> Any:
    try:
        return sum(items, start)
    except TypeError:
        kinds = [type(v).__name__ for v in (start, *items)]
        other = next((kind for kind in kinds if kind != kinds[0]), kinds[0])
        hint = f"give it one to start from: sum(items, {other}(...))"
        refuse("operand", f"sum begins with {a_(kinds[0])}, to which {a_(other)} is not added", hint=hint)


def extreme(b: Staging, args: tuple[Any, ...], kwargs: dict[str, Any], better: str) -> Any:
    """``min`` and ``max``: pairwise from the left; nan loses if it stands first."""
    plain: Any = builtins.min if better == "<" else builtins.max
    name, single, default = plain.__name__, len(args) == 1, kwargs.get("default", UNDEFINED)
    _check_extreme(name, args, kwargs)
    key: Callable[[Any], Any] | None = kwargs.get("key")
    asked, ready = _each(b, args[0] if single else args), list[tuple[Any, Any]]()
    best: _Extreme | None = None
    for item in asked.run():
        measure = item if key is None else key(item)
        if not asked.begun:
            ready.append((item, measure))
            continue
        if best is None:
            known = _best(b, name, better, ready) if ready else None
            best = _Extreme(b, name, better, known, default)
            best.begin(asked, item, UNDEFINED if key is None else measure)
        best.compare(item, measure)
    if best is not None:
        return best.outcome()
    if any(late(v) for pair in ready for v in pair):
        return _best(b, name, better, ready)[0]
    return plain([item for item, _ in ready], **kwargs) if single else plain(*args, **kwargs)


def _check_extreme(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if len(args) == 1 and isinstance(args[0], Number):
        hint = f"write {VALUE}.reduce_{name}()" if args[0].lanes > 1 else "give two numbers or more"
        refuse("builtin", f"{name} of one number has no meaning in compiled code", hint=hint)
    if not args or not kwargs.keys() <= {"key", "default"}:
        hint = f"write {name}(a, b), or {name}(items, default=..., key=...)"
        refuse("builtin", f"{name} takes numbers or a sequence of them, and `key` and `default`", hint=hint)


class _Extreme:
    """The best item so far and its key, in slots: items are made in regions."""

    def __init__(
        self, b: Staging, name: str, better: str, known: tuple[Any, Any] | None, default: Any
    ) -> None:
        self._b, self._name, self._better = b, name, better
        self._known = known
        """The best of the items known before, with its key; None where there were none."""
        self._default = default
        self._found: Var
        """Whether there was an item."""
        self._best: Var
        self._least: Var
        """The best item's key: the item itself where no key was given."""

    def begin(self, asked: Generated, item: Any, measure: Any) -> None:
        """Slots before the first item that is made in a region; ``measure`` where items have keys."""
        default = UNDEFINED if self._default is None else self._default
        start, mark = self._known or (default, UNDEFINED)
        if isinstance(start, Number) and isinstance(item, Number):
            start = unify(self._name, start, item)[0](start)
        self._found = asked.slot("found", self._known is not None)
        self._best = asked.slot(self._name, start, item)
        self._least = self._best if measure is UNDEFINED else asked.slot("key", mark, measure)

    def compare(self, item: Any, measure: Any) -> None:
        """Code that keeps the item if it is the first, or better than the best so far."""
        b = self._b
        closer = b.either(
            b.not_(self._found.load()), lambda: b.compared(self._better, measure, self._least.load())
        )
        now = self._best.load()
        if isinstance(item, Number) and isinstance(now, Number) and item.weak is None and now.weak is None:
            item = unify(self._name, now, item)[0](item)
        for taken in b.branches(closer):
            if taken:
                self._best.store(item)
                if self._least is not self._best:
                    self._least.store(measure)
                self._found.store(True)

    def outcome(self) -> Any:
        """The best of all items; without items the default, or an assertion that says it is missing."""
        b, name = self._b, self._name
        if self._known is None and self._default is None:
            return b.if_exp(self._found.load(), self._best.load, lambda: None)
        if self._known is None and self._default is UNDEFINED:
            b.assert_(self._found.load(), lambda: f"{name}() of nothing: give it default=")  # noqa: PT009
        return self._best.load()


def _best(b: Staging, name: str, better: str, ready: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Of items and their keys the first whose key is best, and that key."""
    best, least = ready[0]
    for item, measure in ready[1:]:
        closer = b.compared(better, measure, least)
        best, least = _closer(b, name, closer, item, best), _closer(b, name, closer, measure, least)
    return best, least


def _closer(b: Staging, what: str, closer: Any, item: Any, best: Any) -> Any:
    if isinstance(item, (Number, int, float)) and isinstance(best, (Number, int, float)) and late(closer):
        if isinstance(item, Number) or isinstance(best, Number):
            unify(what, item, best)
        return closer.select(item, best)
    return b.if_exp(closer, lambda: item, lambda: best)
