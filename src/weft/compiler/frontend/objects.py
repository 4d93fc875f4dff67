"""Structs as objects: their fields change where they lie, in run-time branches and loops too.

A struct that is one object for all its names (``lang/objects``) has in its fields what they hold where the
code at hand stands. In a region that began after it was made, a field that changes gets a slot: it is stored
there as well, and read from there behind the branch or loop, and where a round of a loop begins. Which fields
a loop changes has to be known where it begins: the text says so of most, other ones take another pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from weft.compiler.frontend.stage_places import ITEM
from weft.compiler.frontend.state import FunctionState
from weft.compiler.frontend.variables import Var, as_runtime, carried
from weft.diagnostics import refuse
from weft.lang.objects import Merged, State, bases_of, is_own, looking, state_of
from weft.lang.products import structs_in
from weft.lang.spec import spec_of
from weft.lang.structs import change, is_struct

Field = tuple[Any, str]
"""A struct, and the name of one of its fields."""
Fields = list[Field]


class Entry(NamedTuple):
    """What a field was before the code at hand, and whether that has changed it, or only read it anew."""

    of: Any
    field: str
    before: Any
    changed: bool


class Objects(FunctionState):
    """A builder that knows structs as objects."""

    def new_object(self, value: Any) -> object:
        """Which of the structs that the function makes this one is."""
        key = super().new_object(value)
        self.to_open += [(value, name) for of, name in self.in_loops if of == key]
        return key

    def change(self, held: Any, made: Any, names: Sequence[str] | None = None) -> bool:
        """Give a struct the fields of another, where it is one object for all its names; else say no.

        They are those that differ, unless ``names`` says which.
        """
        state = state_of(held)
        if state is None or not state.own:
            if state is not None and state.left and state.region is not self.region:
                self._learn(self.by_value, state.key)
            return False
        depth = self._depth(state)
        if depth is None:
            return False
        fields = [n for n in state.fields if getattr(made, n) is not getattr(held, n)]
        fields = fields if names is None else names
        if state.region is self.region:
            change(held, made)
            return True
        if not self.live:
            return True
        for name in fields:
            new = getattr(made, name)
            if not self.fits_slot(new) or not self.fits_slot(getattr(held, name)):
                self._learn(self.by_value, state.key)
            for scope in self.scopes[depth + 1 :]:
                if scope in self.repeated and (id(held), name) not in self.opened.get(scope, ()):
                    self._learn(self.in_loops, (state.key, name))
            slot = self._slot(held, name, depth, self.nests[depth])
            with looking():
                spec = spec_of(carried(as_runtime(new)))
            if spec != slot.spec:  # of other lanes, as an open field may be
                self._learn(self.by_value, state.key)
            self.journal.append(Entry(held, name, getattr(held, name), True))
            object.__setattr__(held, name, new)
            slot.store(new)
        return True

    def fits_slot(self, value: Any) -> bool:
        """Whether a slot holds all of what a field holds: no other object."""
        return not has_structs(value)

    def _depth(self, state: State) -> int | None:
        """How many regions are around the one in which a struct was made; None if that has ended."""
        return next((n for n, r in enumerate([*self.regions, self.region]) if r is state.region), None)

    def _slot(self, held: Any, name: str, depth: int, nest: object) -> Var:
        """The slot of a field, with what that held before ``nest``, the outermost branch or loop."""
        state = state_of(held)
        assert state is not None
        slot, of = state.slots.get(name, (None, None))
        if of is not nest:
            with self.into([*self.regions, self.region][depth]):
                if slot is None:
                    title, key = f"{type(held).__name__}.{name}", ("field", state.key, name)
                    slot = Var(cast("Any", self), title, getattr(held, name), key=key)
                else:
                    slot.store(getattr(held, name))
            state.slots[name] = slot, nest
        assert slot is not None
        return slot

    def is_object(self, value: Any) -> bool:
        """Whether a struct is one object for all its names, and made where the code at hand stands."""
        state = _own_state(value)
        return state is not None and self._depth(state) is not None

    def keep_by_value(self, value: Any) -> NoReturn:
        """Give up this pass: in the next one a struct is a value."""
        state = state_of(value)
        assert state is not None
        if isinstance(state, Merged):
            self.give_up()
        self._learn(self.by_value, state.key)

    def _learn(self, known: set[Any], fact: object) -> NoReturn:
        """Give up this pass: the next one knows. If it was known, there is no use in another."""
        self.learnt += fact not in known
        known.add(fact)
        self.merges |= known is self.by_value
        self.give_up()

    def give_up(self) -> NoReturn:
        """Give up this pass."""
        refuse(
            "shared-value",
            "a part of a struct is set in a run-time branch or loop in which it cannot be followed",
            hint="set it outside of that, or change a copy of its own: mine = copy.copy(...)",
        )

    # -- regions --------------------------------------------------------------------------------
    def leave_as_object(self, value: Any, ways: Iterable[Sequence[str]], rounds: bool) -> bool:
        """Whether a variable needs no slot of which a branch, or ``rounds`` of a loop, set parts alone.

        ``ways`` lead to these.
        """
        state = _own_state(value)
        if state is None or self._depth(state) is None:
            return False
        found: Fields = []
        for way in ways:
            held = value
            for name in way:
                if name == ITEM or _own_state(held) is None:
                    break
                found += [(base, name) for base in bases_of(held)]
                held = getattr(held, name, None)
            else:
                if not self.fits_slot(held):  # another struct is assigned as a whole
                    return False
        state.left = True
        self.hinted += found if rounds else []
        return True

    def opening(self, nest: object) -> Fields:
        """The fields that the loop that begins may change, in slots."""
        found = dict[tuple[int, str], Field]()
        learnt = [(held, name) for held, name in self.to_open if is_own(held)]
        for held, name in [*self.hinted, *learnt]:
            state = state_of(held)
            assert state is not None
            depth = self._depth(state)
            if depth is None or name not in state.fields or not self.fits_slot(getattr(held, name)):
                continue
            self._slot(held, name, depth, [*self.nests, nest][depth])
            found[id(held), name] = held, name
        self.hinted = []
        return list(found.values())

    def open(self, fields: Fields) -> None:
        """A round begins: fields hold what the last one has left."""
        self.opened[self.scopes[-1]] = {(id(held), name) for held, name in fields}
        self._read(fields, False)

    def _read(self, fields: Fields, changed: bool) -> None:
        """Read fields from their slots."""
        for held, name in fields:
            state = state_of(held)
            assert state is not None
            if state.region is not self.region:
                self.journal.append(Entry(held, name, getattr(held, name), changed))
            object.__setattr__(held, name, state.slots[name][0].now())

    def ended(self, mark: int) -> Fields:
        """A region has ended: fields hold again what they did before it; gives those that it has changed."""
        found = dict[tuple[int, str], Field]()
        for held, name, before, changed in reversed(self.journal[mark:]):
            object.__setattr__(held, name, before)
            state = state_of(held)
            if changed and state is not None and self._depth(state) is not None:
                found[id(held), name] = held, name
        del self.journal[mark:]
        return list(found.values())

    def behind(self, fields: Fields, rounds: bool = False) -> None:
        """Behind a branch or loop: fields that it has changed hold what it left.

        What a round of a loop changes must have no copy, which the next round would have to change as well.
        """
        for held, _ in fields if rounds else ():
            state = state_of(held)
            if state is not None and not state.own:
                self._learn(self.by_value, state.key)
        self._read(list({(id(held), name): (held, name) for held, name in fields}.values()), True)

    def by_values(self, fields: Fields) -> None:
        """What changes within an expression has no slots: its structs are values in the next pass."""
        for held, _ in fields:
            self.keep_by_value(held)


def _own_state(value: Any) -> State | None:
    """What is known of a value that is a struct, and one object for all its names."""
    return state_of(value) if is_struct(cast("object", type(value))) and is_own(value) else None


def has_structs(value: Any) -> bool:
    """Whether there are structs in a value, which lead to other objects."""
    return any(True for _ in structs_in(value))
