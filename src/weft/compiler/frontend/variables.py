"""Variables that control flow assigns: slots with one type, known since when and by which line."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from weft.compiler.frontend.blanks import NO_BLANK, blank_of
from weft.compiler.frontend.unassigned import refuse_undefined
from weft.compiler.ir.core import Loc, Region, Value
from weft.compiler.ir.types import SLOT
from weft.diagnostics import VALUE, CompileError, Diagnostic, Label, Location, a_, refuse
from weft.dtype import DType
from weft.lang import weak
from weft.lang.enums import EnumSpec, at_run_time
from weft.lang.maybe import Maybe
from weft.lang.number import Number, number_class
from weft.lang.objects import is_of_program, is_own, note_copy, state_of
from weft.lang.products import (
    all_parts,
    annotations_of,
    class_of,
    is_numeric,
    objects_in,
    part_names,
    parts_of,
    remade,
    structs_in,
)
from weft.lang.promote import fits, promote
from weft.lang.python_number import python_number
from weft.lang.spec import NumberSpec, PartsSpec, Spec, StaticSpec, is_composite, leaves_of, spec_of
from weft.lang.structs import as_read, is_struct, replace_field, struct_fields
from weft.lang.weak import assumed_type

if TYPE_CHECKING:
    from weft.compiler.frontend.merged import Refs
    from weft.compiler.frontend.pybuiltins import Builtins


_Bool = number_class(DType.bool)


class Undefined:
    """A variable before its first assignment."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<undefined>"


UNDEFINED = Undefined()
BY_VALUE = ("by value",)
"""The key of a variable that leads to no objects."""


def carried(value: Any) -> Any:
    """A value without what is known of it only here, such as a tensor's alignment."""
    if isinstance(value, Number):
        return value if value.weak is None else type(value).of(value.value)
    kind = cast("type[Any]", type(value))
    hook = getattr(kind, "__weft_carried__", None)
    if hook is not None:
        return hook(value)
    parts = parts_of(value)
    if parts is not None:
        return remade(class_of(value), [carried(part) for part in parts])
    if is_struct(kind):
        note_copy(value)
        for name in struct_fields(kind):
            held = getattr(value, name)
            kept = carried(held)
            if kept is not held:
                value = replace_field(value, name, kept)
    return value


def as_runtime(value: Any, annotation: Any = None) -> Any:
    """Python numbers and members of enums, in parts too, as what can change at run time."""
    value = python_number(value)
    if (
        isinstance(value, (bool, int, float))
        and isinstance(annotation, type)
        and issubclass(annotation, Number)
    ):
        fits(value, annotation)
        return annotation(value)
    if isinstance(value, bool):
        return number_class(DType.bool)(value)
    if isinstance(value, int):
        return number_class(DType.int64)(value)
    if isinstance(value, float):
        return number_class(DType.float32)(value)
    if isinstance(value, Enum):
        return at_run_time(value)
    kind = class_of(value)
    parts = all_parts(value) if is_numeric(value) else parts_of(value)
    if parts is None:
        return value
    types = annotations_of(kind) if kind is not tuple else {}
    wanted = [types.get(name) for name in part_names(kind) or ()] or [None] * len(parts)
    return remade(kind, list(map(as_runtime, parts, wanted)))


def _annotated(value: Any, parts: Sequence[Any]) -> list[Any]:
    """The parts of a value, literals in the types that its class says."""
    kind = class_of(value)
    types = annotations_of(kind) if kind is not tuple else {}
    wanted = [types.get(name) for name in part_names(kind) or ()] or [None] * len(parts)
    return [
        type_(part) if isinstance(type_, type) and issubclass(type_, Number) and is_weak(part) else part
        for type_, part in zip(wanted, map(python_number, parts), strict=True)
    ]


def is_weak(value: Any) -> bool:
    """Whether a value is a number of literals, at compile time or at run time."""
    return _is_literal(value) or (isinstance(value, Number) and value.weak is not None)


def _parts_with_literals(value: Any) -> list[Any] | None:
    """The parts of a tuple or the like that has literals in it, whose types are open; None of all else."""
    parts = all_parts(value) if is_numeric(value) else parts_of(value)
    if parts is None:
        return None
    parts = _annotated(value, parts)
    found = any(is_weak(part) or _parts_with_literals(part) is not None for part in parts)
    return parts if found else None


def _parts_with_objects(value: Any, refs: Refs | None) -> list[Any] | None:
    """The parts of a tuple or the like with objects in it, to which variables lead if there are ``refs``."""
    parts = None if refs is None or not any(map(is_own, objects_in(value))) else parts_of(value)
    return None if parts is None else list(parts)


def _is_literal(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def none_hint(*kinds: str) -> str:
    """What to write where a run-time condition would choose None; empty where none of these is."""
    if not any(kind.startswith("None ") for kind in kinds):
        return ""
    return "only what is made of numbers may be None: let a Bool beside it say whether there is one"


def number_hint(*specs: Spec | None) -> str:
    """The same where it would choose a number or what holds one, as that says (``spec.number_hint``)."""
    told = [getattr(spec, "number_hint", None) for spec in specs]
    return "" if None not in told else next(filter(None, told), "")


class Var:
    """One carried variable: its slots, its spec, and whether it is set on every path to here."""

    __slots__ = (
        "b",
        "changed",
        "defined",
        "key",
        "loc",
        "name",
        "of_program",
        "optional",
        "parts",
        "read",
        "refs",
        "root",
        "scope",
        "slots",
        "spec",
        "surely",
        "weak",
        "whole",
    )

    def __init__(
        self, b: Builtins, name: str, value: Any, *part: int, key: tuple[Any, ...] | None = None
    ) -> None:
        self.b = b
        self.name = name
        self.key = (name, b.loc[:2], *part)
        self.refs = b.new_refs(self, key)
        """Which objects it leads to, of a variable that does; else what it holds is a copy."""
        self.optional = self.surely = False
        """Whether it may be None; and whether it is certain not to be where code is emitted now."""
        self.scope = b.scopes[-1]
        self.spec: Spec | None = None
        self.slots: list[Value] = []
        self.parts: list[Var] = []
        """Of a tuple with literals in it: a variable for each of its parts."""
        self.weak: object = None
        self.loc: Loc = b.loc
        self.defined = False
        self.changed = False
        self.of_program = False
        """Whether it may hold a struct that the program has made."""
        self.read: tuple[object, Region, list[Value]] | None = None
        """In which round of which loop and where it was read last, and what was there."""
        self.whole: tuple[list[Value], Any] | None = None
        """A tuple of numbers as it was read last: who asks it for each of its parts reads it as often."""
        self.root: Var | None = None
        """Of one that functions in the function assign: which it is in the function that it belongs to."""
        if value is UNDEFINED:
            b.open_vars.append(self)
        else:
            self.store(value)

    def _create(self, value: Any) -> Any:
        """Fix the spec from the first value; a literal's type stays open until something meets it."""
        b, refs, self.refs = self.b, self.refs, None
        blank = b.optional.get(self.key, NO_BLANK)
        if isinstance(value, Maybe):
            blank = blank_of(value)
        if blank is not NO_BLANK:
            return self._create_optional(value, blank)
        if self.weak is None and (
            _is_literal(value) or (isinstance(value, Number) and value.weak is not None)
        ):
            self.weak = b.new_mark()
            assumed, lanes = (
                (value.dtype, value.lanes) if isinstance(value, Number) else (assumed_type(value), 1)
            )
            self.spec = NumberSpec(b.stored.get(self.weak) or b.met.get(self.weak) or assumed, lanes)
            value = self._converted(value)
        elif refs is not None and refs.take(value):
            self.refs, self.spec, self.loc = refs, spec_of(value), b.loc
            return value
        elif (parts := _parts_with_literals(value) or _parts_with_objects(value, refs)) is not None:
            self.parts = [Var(b, self.name, part, *self.key[2:], n) for n, part in enumerate(parts)]
            specs = [part.spec for part in self.parts if part.spec is not None]
            self.spec = PartsSpec(tuple(specs), class_of(value))
            self.slots = [slot for part in self.parts for slot in part.slots]
            self.loc = b.loc
            return value
        else:
            value = carried(as_runtime(value))
            self.spec = spec_of(value)
        self.loc = b.loc
        for leaf in self.spec.leaves():
            attrs = {"elem_type": leaf.type, "name": self.name + leaf.suffix}
            self.slots.append(b.prologue("weft.slot", SLOT, attrs))
        return value

    def _create_optional(self, value: Any, blank: Any) -> Any:
        """A variable that may be None: one for the flag, one for the value."""
        made = (
            value if isinstance(value, Maybe) else Maybe(value is not None, blank if value is None else value)
        )
        self.optional, self.surely = True, made.known() is True
        flag = made.weft_there if isinstance(made.weft_there, Number) else _Bool(made.weft_there)
        self.parts = [
            Var(self.b, self.name, part, *self.key[2:], n) for n, part in ((-1, flag), (-2, made.weft_held))
        ]
        specs = [part.spec for part in self.parts if part.spec is not None]
        self.spec = PartsSpec(tuple(specs), Maybe)
        self.slots = [slot for part in self.parts for slot in part.slots]
        self.loc = self.b.loc
        self.b.optionals.append(self)
        self._remember(made)
        return made

    def _remember(self, stored: Any) -> None:
        """What was tested of a flag holds of the variable that it was stored into."""
        flag = stored.weft_there.value if isinstance(stored, Maybe) and stored.known() is None else None
        if isinstance(flag, Value):
            self.parts[0].read = self.b.round, self.b.region, [flag]

    def _store_optional(self, value: Any) -> None:
        flag, held = self.parts
        self.surely = value is not None and not isinstance(value, Maybe)
        flag.store(value.weft_there if isinstance(value, Maybe) else value is not None)
        if value is not None:
            held.store(value.weft_held if isinstance(value, Maybe) else value)
        self._remember(value)

    def _learn_optional(self, value: Any) -> None:
        """Give up the pass where a variable may be None after all; the next knows."""
        b, none = self.b, isinstance(self.spec, StaticSpec) and self.spec.value is None
        if (value is None) is none and not isinstance(value, Maybe):
            return
        if value is None:
            with b.into(Region()):
                blank = blank_of(self.now())
        else:
            blank = blank_of(value)
        if blank is not NO_BLANK and self.key not in b.optional:
            b.optional[self.key], b.learnt = blank, b.learnt + 1
            refuse("type-change", f"`{self.name}` may be None")

    def enter_loop(self, assigned: bool) -> None:
        """A loop begins: what it assigns, itself or by calls, may be None in its next round."""
        self.surely = self.is_sure() and not assigned and self.root is None
        self.parts[0].read = None

    def is_sure(self) -> bool:
        """Whether what may be None is certain not to be, by what was assigned or tested."""
        if self.surely or not self.optional:
            return True
        read = self.parts[0].read
        return read is not None and self.b.members.known(read[2][0], 1, 2) is True

    def store(self, value: Any) -> None:
        """Assign; the type must be that of the first assignment."""
        value = value.load() if isinstance(value, Var) else python_number(value)
        self.of_program = self.of_program or any(map(is_of_program, objects_in(value)))
        if not self.b.merges and any(map(is_own, objects_in(value))):
            self.b.merges = True
        if self.spec is None:
            value = self._create(value)
        elif self.optional:
            self._store_optional(value)
        else:
            self._learn_optional(value)
            if self.parts:
                self._store_parts(value)
            elif self.refs is not None:
                if (found := spec_of(value)) != self.spec:
                    self._type_change(value, found.describe())
                self.refs.store(value)
            else:
                value = self._converted(value)
        self.put(() if self.parts or self.refs is not None else leaves_of(value))

    def _store_parts(self, value: Any) -> None:
        spec, parts = self.spec, all_parts(value) or ()
        assert isinstance(spec, PartsSpec)
        if class_of(value) is spec.cls and len(parts) == len(self.parts):
            try:
                for var, part in zip(self.parts, _annotated(value, parts), strict=True):
                    var.store(part)
            except CompileError:
                pass
            else:
                return
        self._type_change(value, spec_of(carried(as_runtime(value))).describe())

    def put(self, leaves: Sequence[Value]) -> None:
        """Assign what is of the variable's type."""
        for slot, leaf in zip(() if self.parts else self.slots, leaves, strict=True):
            self.b.set(slot, leaf)
        self.changed, self.read = True, None
        if self.b.live:
            self.defined = True

    def _converted(self, value: Any) -> Any:
        spec = self.spec
        assert spec is not None
        if isinstance(spec, NumberSpec) and isinstance(value, (Number, bool, int, float)):
            return self._number(value, spec)
        if isinstance(spec, (PartsSpec, EnumSpec)):
            value = as_runtime(value)
        value = carried(value)
        found = spec_of(value)
        if found != spec:
            self._type_change(value, found.describe())
        return value

    def _number(self, value: Number | int | float, spec: NumberSpec) -> Any:
        """A number or a literal in the type of this variable, which is weak while it holds literals."""
        cls = number_class(spec.dtype, spec.lanes)
        if not isinstance(value, Number):
            if isinstance(value, bool) != (spec.dtype.kind == "bool"):
                self._type_change(value, type(value).__name__)
            if self.weak is not None:
                weak.outgrow(self.weak, value, spec.dtype)
            fits(value, cls)
            return cls(value)
        flag = "bool" in (spec.dtype.kind, value.dtype.kind)
        if not flag and value.lanes in (1, spec.lanes):
            if value.weak is not None:
                self._literals(value, spec)
            elif self.weak is not None and (value.dtype.is_float or not spec.dtype.is_float):
                weak.settle(self.weak, value.dtype, spec.dtype)
        if type(value) is cls:
            return value
        taken = value.dtype is cls.dtype and value.lanes == 1
        if not flag and (self.weak is not None or value.weak is not None):
            exact = (
                value.weak is not None or value.dtype.is_float == cls.dtype.is_float
            )  # of an Int it may not be
            taken |= exact and promote(value.dtype, cls.dtype) is cls.dtype and value.lanes in (1, cls.lanes)
        if not taken:
            self._type_change(value, type(value).__name__)
        return cls(value)

    def _literals(self, value: Number, spec: NumberSpec) -> None:
        """What is weak itself is stored: it and the variable type each other."""
        here = number_class(spec.dtype).of(self.slots[0] if self.slots else value.value, self.weak)
        if self.weak is None or self.weak in self.b.stored:
            weak.meet(value, spec.dtype)
        elif value.dtype.is_float == spec.dtype.is_float:
            weak.link(here, value)
        elif value.dtype.is_float:
            weak.note(self.weak, value.dtype, spec.dtype)

    def _type_change(self, value: object, found: str) -> None:
        from weft.diagnostics.wrote import range_at, resolved

        spec, b = self.spec, self.b
        assert spec is not None
        if isinstance(spec, StaticSpec) or not spec.leaves():
            who = "no run-time branch or loop" if self.root is None else "no function in a function"
            raise CompileError(
                Diagnostic(
                    "not-compile-time",
                    f"`{self.name}` is {spec.describe()}, so {who} can change it",
                    (Label(self._place(b.loc), "changed here"), *self._since(spec.describe())),
                    (),
                    (
                        none_hint(spec.describe())
                        or "let a number stand for it, or choose it by a condition known at compile time",
                    ),
                )
            )
        now = self._place(b.loc)
        was = spec.describe()
        hint = "use another name"
        if isinstance(spec, NumberSpec) and isinstance(spec_of(value), NumberSpec):
            kind = number_class(spec.dtype, spec.lanes).__name__
            counted = None if spec.dtype.is_float else range_at(now, kind)
            here = f"{counted} here" if counted else f"{kind}({VALUE}) here, begin with {a_(found)}"
            hint = f"write {here}, or use another name"
        hint = none_hint(found) or number_hint(spec, spec_of(value) if is_composite(value) else None) or hint
        change = Diagnostic(
            "type-change",
            f"`{self.name}` is {was}, but becomes {found} here",
            (Label(now, found), *self._since(was)),
            ("a variable keeps one type across the branches and iterations that assign it",),
            (hint,),
        )
        raise CompileError(resolved(change, now))

    def _place(self, loc: Loc) -> Location:
        """Where the statement at ``loc``, or the last before it that does so, assigns the variable."""
        from weft.diagnostics.wrote import binding_before

        file, line, column = self.b.file, loc[0], loc[1]
        return binding_before(file, line, column, self.name) or Location(file, line, column)

    def _since(self, was: str) -> tuple[Label, ...]:
        return (Label(self._place(self.loc), f"{was} since here"),)

    def load(self) -> Any:
        """The present value."""
        b = self.b
        if not self.defined and b.live:
            at = None if self.spec is None else self._place(self.loc)
            refuse_undefined(self.name, b.file, b.loc, at)
        if self.spec is None:
            return UNDEFINED
        if self.optional:
            return self.parts[1].now() if self.is_sure() else self._maybe()
        return self.now()

    def _maybe(self) -> Any:
        """What it holds, of which it is not certain that it is there; None where it is certain that not."""
        held = self.now()
        held.weft_name = self.name
        return held.narrowed()

    def now(self) -> Any:
        """What it holds, wherever it is set."""
        spec = self.spec
        assert spec is not None
        if isinstance(spec, PartsSpec) and self.parts:
            return remade(spec.cls, [part.now() for part in self.parts])
        if self.refs is not None:
            return self.refs.now()
        held = self.held()
        if isinstance(spec, PartsSpec):
            if self.whole is None or self.whole[0] is not held:
                value = as_read(spec.build(held), self.name)
                for one in structs_in(value) if self.of_program else ():
                    if (state := state_of(one)) is not None:
                        state.of_program = True
                if spec.cls is not tuple or not all(isinstance(item, NumberSpec) for item in spec.items):
                    return value
                self.whole = held, value
            return self.whole[1]
        value = spec.build(held)
        if self.is_weak:
            value.weak = self.weak
        return value

    def held(self) -> list[Value]:
        """What its slots hold, as read before where it is the same: tests behind a member tell of it."""
        b, read = self.b, self.read
        if read is None or read[0] is not b.round or read[1] not in (*b.regions, b.region):
            leaves = () if self.spec is None else self.spec.leaves()
            held = [b.get(slot, leaf.type) for slot, leaf in zip(self.slots, leaves, strict=True)]
            read = self.read = b.round, b.region, held
        return read[2]

    @property
    def is_weak(self) -> bool:
        """Whether it holds literals only, as far as is known."""
        return self.weak is not None and self.weak not in self.b.stored
