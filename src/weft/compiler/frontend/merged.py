"""Variables that lead to objects: to which of several, run time knows.

``a = p if c else q`` is one object of two. In a pass that follows objects so (``merging``), the slot of such
a variable holds the number of one, and what it gives is a struct whose fields are chosen by that when they
are asked for; an assignment to one changes the object that it is. A field that leads to a struct is such a
variable as well, where branches and loops assign it.

What a region makes ends with it. Where a variable outside leads there, the object moves to a home outside
(``move_out``): a struct whose fields have slots. The rounds of a loop share one home, so there is none where
two variables may lead to objects of different rounds: such a pass fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from weft.compiler.frontend.blanks import NO_BLANK, blank_of_spec
from weft.compiler.frontend.objects import Fields, Objects, has_structs
from weft.compiler.frontend.variables import BY_VALUE, Var, as_runtime, carried
from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.types import I64, SLOT
from weft.lang.elaboration import Elaborator, maybe_current
from weft.lang.objects import STATE, Merged, State, is_own, looking, note_led_to, state_of
from weft.lang.products import remade
from weft.lang.spec import PartsSpec, Spec, StaticSpec, leaves_of, spec_of
from weft.lang.structs import is_mergeable, is_struct
from weft.targets import Target

OF_COPIES = frozenset({"shared-value", "lost-field", "item-assignment"})
"""What is refused where variables hold copies of objects."""
_MOST = 8
"""Objects that one variable leads to; each takes a choice wherever a field is read or assigned."""


class Refs:
    """The objects that a variable leads to: its slot holds the number of one."""

    __slots__ = ("b", "blank", "held", "key", "kind", "memo", "name", "region", "slot")

    def __init__(self, b: Merging, name: str, key: tuple[Any, ...]) -> None:
        self.b = b
        self.name = name
        self.key = key
        """Which of the function's variables it is, the same in each pass."""
        self.region = b.region
        self.held: dict[int, Any] = {}
        """The objects, by their numbers."""
        self.memo: tuple[object, Any] = (None, None)

    def take(self, value: Any) -> bool:
        """Store the first value, where it is an object and the variable can lead there."""
        self.kind = cast("type[Any]", type(value))
        if not self.b.is_followed(value):
            return False
        self.blank = spec_of(value)
        self.slot = self.b.prologue("weft.slot", SLOT, {"elem_type": I64, "name": f"{self.name}.which"})
        self.b.refs.append(self)
        self.store(value)
        return True

    def store(self, value: Any) -> None:
        """Lead to an object, or to one of several."""
        b = self.b
        if not is_own(value):
            b.copy_instead(self)
        for number, base in b.numbered(value).items():
            self.add(number, base)
        b.set(self.slot, b.number_in(value))
        b.moment += 1

    def add(self, number: int, base: Any) -> None:
        """Note that it may lead to an object, of which rounds of loops must know where they begin."""
        self.b.check_rounds(self, number, base)
        self.held[number] = base

    def now(self) -> Any:
        """The object, or one of several."""
        b = self.b
        moment = b.moment, b.region, b.live
        if self.memo[0] != moment:
            tag = b.get(self.slot, I64) if len(self.held) > 1 else 0
            self.memo = moment, b.merged(self.kind, dict(self.held), tag, self.blank)
        return self.memo[1]


class _Rounds(NamedTuple):
    """A loop of the device that is open."""

    key: object
    depth: int
    """How many regions are around the one that the loop stands in."""
    seen: dict[Refs, set[int]]
    """What variables outside may lead to where a round begins."""


class Merging(Objects):
    """A builder with variables that lead to objects."""

    def __init__(self, target: Target, elaborator: Elaborator) -> None:
        super().__init__(target, elaborator)
        self.refs: list[Refs] = []
        self.rounds: list[_Rounds] = []
        self.objects_by_key: dict[object, Any] = {}
        self._count = 0
        self._times: dict[object, int] = {}

    def new_object(self, value: Any) -> object:
        """Which of the structs that the function makes this one is."""
        key = super().new_object(value)
        self.objects_by_key[key] = value
        return key

    def new_refs(self, var: Var, key: tuple[Any, ...] | None) -> Refs | None:
        """What a new variable may lead to; None of one that leads to no objects."""
        if not self.merging or key == BY_VALUE:
            return None
        key = self._nth(var.key) if key is None else key
        return None if key in self.copying else Refs(self, var.name, key)

    def _nth(self, place: object) -> tuple[Any, ...]:
        """What is made at a place, which may be the same several times."""
        self._times[place] = count = self._times.get(place, 0) + 1
        return place, count

    def is_followed(self, value: Any) -> bool:
        """Whether a value is an object that variables can lead to."""
        kind = cast("type[Any]", type(value))
        return is_struct(kind) and is_own(value) and is_mergeable(kind)

    def fits_slot(self, value: Any) -> bool:
        """Whether a slot holds, or leads to, all of what a field holds."""
        return super().fits_slot(value) or (self.merging and self.is_followed(value))

    # -- one of several ---------------------------------------------------------------------------
    def numbered(self, value: Any) -> dict[int, Any]:
        """The objects that a struct may be, by their numbers."""
        state = state_of(value)
        assert state is not None
        if isinstance(state, Merged):
            return state.bases
        if not state.number:
            self._count += 1
            state.number = self._count
        return {state.number: value}

    def number_in(self, value: Any) -> Value:
        """The number of the object that a struct is."""
        state = state_of(value)
        number = state.tag if isinstance(state, Merged) else next(iter(self.numbered(value)))
        return number if isinstance(number, Value) else self.constant(number, I64)

    def merged(self, kind: type[Any], bases: dict[int, Any], tag: Value | int, blank: Spec) -> Any:
        """A struct that is one of several objects, or that one."""
        if len(bases) == 1:
            return next(iter(bases.values()))
        if len(bases) > _MOST:
            self.give_up()
        made: Any = object.__new__(kind)
        made.__dict__[STATE] = Merged(self.region, kind.__weft_names__(), bases, tag, blank)
        return made

    def one_of(self, found: Sequence[Any], ways: Sequence[int], way: Value, blank: Spec) -> Any:
        """One of several structs, of which this is the way."""
        bases: dict[int, Any] = {}
        tag: Value | None = None
        for one, n in zip(found, ways, strict=True):
            bases |= self.numbered(one)
            number = self.number_in(one)
            tag = number if tag is None else self.select(self._is(way, n), number, tag)
        assert tag is not None
        return self.merged(cast("type[Any]", type(found[0])), bases, tag, blank)

    def way_of(self, ways: Mapping[int, int], tag: Value | None) -> Value:
        """The way of the object with the number ``tag``, of those of each."""
        found: Value | None = None
        for number, n in ways.items():
            way = self.constant(n, I64)
            found = way if found is None else self.select(self._is(tag or number, number), way, found)
        assert found is not None
        return found

    def part_of(self, value: Any, name: str) -> Any:
        """A field of what is one of several objects."""
        state = state_of(value)
        assert isinstance(state, Merged)
        moment = self.moment, self.region, self.live
        if state.memo[0] != moment:
            state.memo = moment, {}
        if name not in state.memo[1]:
            state.memo[1][name] = self._part(state, name)
        return state.memo[1][name]

    def _part(self, state: Merged, name: str) -> Any:
        if not state.bases:
            return self._blank(dict(zip(state.fields, state.blank.items, strict=True))[name])
        found: Any = None
        for n, (number, base) in enumerate(state.bases.items()):
            if self._depth(cast("State", state_of(base))) is None:
                self.give_up()
            part = getattr(base, name)
            found = part if n == 0 else self._chosen(self._is(state.tag, number), part, found)
        return found

    def _is(self, tag: Value | int, number: int) -> Value:
        assert isinstance(tag, Value)
        return self.compare("eq", tag, self.constant(number, I64))

    def _chosen(self, holds: Value | None, yes: Any, no: Any) -> Any:
        """One of two values of a field; the first where there is no condition."""
        if holds is None or yes is no:
            return yes
        if is_struct(cast("object", type(no))):
            if not (self.is_followed(yes) and self.is_followed(no)):
                self.give_up()
            bases = self.numbered(yes), self.numbered(no)
            if not all(bases):
                return yes if bases[0] else no
            if yes is no or (bases[0].keys() == bases[1].keys() and len(bases[0]) == 1):
                return yes
            tag = self.select(holds, self.number_in(yes), self.number_in(no))
            return self.merged(cast("type[Any]", type(no)), {**bases[1], **bases[0]}, tag, spec_of(no))
        with looking():
            yes, no = carried(as_runtime(yes)), carried(as_runtime(no))
            spec, leaves = spec_of(no), [leaves_of(yes), leaves_of(no)]
        if spec_of(yes) != spec or has_structs(no):
            self.give_up()
        pairs = zip(*leaves, strict=True)
        return spec.build([self.select(holds, a, c) for a, c in pairs]) if leaves[0] else no

    def change(self, held: Any, made: Any, names: Sequence[str] | None = None) -> bool:
        """Give a struct the fields of another, where it is one object for all its names; else say no.

        They are those that differ, unless ``names`` says which.
        """
        state = state_of(held)
        if not isinstance(state, Merged):
            done = super().change(held, made, names)
            self.moment += 1
            return done
        if not state.own:
            return False
        differ = [n for n in state.fields if getattr(made, n) is not getattr(held, n)]
        parts = {name: getattr(made, name) for name in (differ if names is None else names)}
        note_led_to(parts.values())
        for number, base in state.bases.items():
            holds = self._is(state.tag, number)
            self._change(base, {n: self._chosen(holds, part, getattr(base, n)) for n, part in parts.items()})
        return True

    def _change(self, base: Any, parts: dict[str, Any]) -> None:
        """Change fields of an object."""
        names = base.__weft_names__()
        made = remade(
            cast("type[Any]", type(base)), [parts[n] if n in parts else getattr(base, n) for n in names]
        )
        if not self.change(base, made, [*parts]):
            self.give_up()

    # -- variables that copy after all -----------------------------------------------------------
    def copy_instead(self, refs: Refs) -> NoReturn:
        """Give up this pass: in the next one a variable holds a copy."""
        if refs.key[:1] != ("field",):
            self._learn(self.copying, refs.key)
        self._learn(self.by_value, refs.key[1])

    # -- regions that end ---------------------------------------------------------------------------
    def _outside(self, depth: int) -> list[Refs]:
        """The variables outside of a region that lead to objects."""
        around = [*self.regions, self.region][:depth]
        return [refs for refs in self.refs if any(refs.region is region for region in around)]

    def move_out(self, depth: int, over: bool = True) -> None:
        """Before control leaves the regions from a depth on: move what variables outside lead to.

        They are ``over`` where no other way leads on in them.
        """
        if not self.merging:
            return
        for at in range(len(self.regions), depth - 1, -1):
            region = [*self.regions, self.region][at]
            homes, moved = dict[int, Any](), set[tuple[Refs, int]]()
            while True:
                found = [
                    (refs, n, base)
                    for refs in self._outside(at)  # fields of what has moved are among them
                    for n, base in refs.held.items()
                    if _region_of(base) is region and (refs, n) not in moved
                ]
                if not found:
                    break
                _, number, base = found[0]
                holders = [refs for refs, _, one in found if one is base]
                moved.update((refs, number) for refs in holders)
                if number not in homes:
                    homes[number] = self._move(base, number, holders, at)
                self._lead(holders, number, homes[number])
            for refs in self._outside(at) if over else ():
                refs.held = {n: base for n, base in refs.held.items() if _region_of(base) is not region}
            if over:
                self.refs = [refs for refs in self.refs if refs.region is not region]

    def _move(self, base: Any, number: int, holders: Sequence[Refs], depth: int) -> Any:
        """Move an object out of a region at a depth, to which these variables may lead; gives its home."""
        state = cast("State", state_of(base))
        parent = [*self.regions, self.region][depth - 1]
        key = "home", state.key
        home: Any = self.objects_by_key.get(key)
        fresh = home is None or _region_of(home) is not parent
        if not state.own:
            self.copy_instead(holders[0])
        if fresh:
            with looking():
                spec = spec_of(base)
            home = self._home(key, spec, parent)
        to = next(iter(self.numbered(home)))
        known = [refs for refs in self._outside(depth) if to in refs.held]
        if len({*known, *holders}) > 1 and not fresh:
            self.give_up()  # which of them leads to the object of this round?
        for refs in holders:
            refs.add(to, home)  # which another pass may have to know first
        holds = None
        if not fresh:
            holds = self._is(self.get(holders[0].slot, I64), number)
        names = state.fields
        self._change(home, {n: self._chosen(holds, getattr(base, n), getattr(home, n)) for n in names})
        return home

    def _lead(self, holders: Sequence[Refs], number: int, home: Any) -> None:
        """Have variables that lead to an object lead to its home instead."""
        to = next(iter(self.numbered(home)))
        for refs in holders:
            refs.add(to, home)
            tag = self.get(refs.slot, I64)
            self.set(refs.slot, self.select(self._is(tag, number), self.constant(to, I64), tag))
        self.moment += 1

    def _home(self, key: object, spec: Spec, region: Region) -> Any:
        """A new object in a region, which others of its class move to."""
        assert isinstance(spec, PartsSpec)
        home = remade(spec.cls, [self._blank(item) for item in spec.items])
        home.__dict__[STATE] = State(region, True, key, home.__weft_names__())
        self.objects_by_key[key] = home
        self.to_open += [(home, name) for of, name in self.in_loops if of == key]
        return home

    def _blank(self, spec: Spec) -> Any:
        """What a field of a new home holds; what leads to an object leads to none."""
        if isinstance(spec, StaticSpec):
            return spec.value
        if isinstance(spec, PartsSpec) and is_struct(spec.cls):
            return self.merged(spec.cls, {}, 0, spec)
        made = blank_of_spec(spec)
        if made is NO_BLANK:
            self.give_up()
        return made

    # -- loops --------------------------------------------------------------------------------------
    def opening(self, nest: object) -> Fields:
        """The fields that the loop that begins may change, in slots."""
        fields = super().opening(nest)
        if not self.merging:
            return fields
        depth, key = len(self.regions), self._nth(("loop", self.loc[:2]))
        rounds, before = _Rounds(key, depth, {}), -1
        while before != len(fields):  # a home may have fields that lead on
            before = len(fields)
            for refs in self._outside(depth + 1):
                for of, spec in self.left_by_rounds.get((key, refs.key), {}).items():
                    base = self.objects_by_key.get(of)
                    if base is None or self._depth(cast("State", state_of(base))) is None:
                        base = self._home(of, spec, self.region)
                        for name in base.__weft_names__():
                            self._slot(base, name, depth, [*self.nests, nest][depth])
                            fields.append((base, name))
                    refs.add(next(iter(self.numbered(base))), base)
        rounds.seen.update({refs: set(refs.held) for refs in self._outside(depth + 1)})
        self.rounds.append(rounds)
        self.moment += 1
        return fields

    def check_rounds(self, refs: Refs, number: int, base: Any) -> None:
        """Learn where a round of a loop leaves a variable to lead where the next one does not know of."""
        around = [*self.regions, self.region]
        depth, outer = self._depth(cast("State", state_of(base))), None
        outer = next((n for n, region in enumerate(around) if region is refs.region), None)
        if depth is None or outer is None:
            self.give_up()
        for rounds in self.rounds:
            if max(depth, outer) <= rounds.depth and number not in rounds.seen.get(refs, ()):
                known = self.left_by_rounds.setdefault((rounds.key, refs.key), {})
                of = cast("State", state_of(base)).key
                self.learnt += of not in known
                with looking():
                    known[of] = spec_of(base)
                self.give_up()

    def behind(self, fields: Fields, rounds: bool = False) -> None:
        """Behind a branch or loop: fields that it has changed hold what it left."""
        if rounds and self.merging:
            self.rounds.pop()
            for held, _ in fields:
                for refs in () if is_own(held) else self.refs:
                    if any(base is held for base in refs.held.values()):
                        self.copy_instead(refs)
        super().behind(fields, rounds)
        self.moment += 1


def is_merging() -> bool:
    """Whether variables of the code at hand, if there is any, lead to objects."""
    around = maybe_current()
    return isinstance(around, Merging) and around.merging


def _region_of(value: Any) -> Region:
    return cast("State", state_of(value)).region
