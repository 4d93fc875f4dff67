"""The builder that staged functions run against: control flow, variables, logic, calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, cast

from weft.compiler.frontend.access import Access, is_changed_as_value
from weft.compiler.frontend.closures import Closure, defined
from weft.compiler.frontend.containers import stays
from weft.compiler.frontend.contexts import Context
from weft.compiler.frontend.draft import Draft
from weft.compiler.frontend.dropped import Called, note_dropped
from weft.compiler.frontend.flow import Flow
from weft.compiler.frontend.generators import Generated, certain, extreme, first, generator, numbered, total
from weft.compiler.frontend.given_back import at_return
from weft.compiler.frontend.iteration import enumerated, on_device, turned, zipped
from weft.compiler.frontend.logic import truth
from weft.compiler.frontend.matching import are_all, fits
from weft.compiler.frontend.nonlocals import shared
from weft.compiler.frontend.pybuiltins import late
from weft.compiler.frontend.unassigned import refuse_unassigned
from weft.compiler.frontend.variables import UNDEFINED, Undefined, Var
from weft.compiler.ir.core import Region, Value
from weft.compiler.ir.types import I1
from weft.diagnostics import VALUE, a_, refuse
from weft.lang.any_lanes import closed
from weft.lang.number import Number, to_type
from weft.lang.objects import is_own, looking, note_copy
from weft.lang.printing import assertion, text_of, text_pieces
from weft.lang.products import objects_in, settled, structs_in
from weft.lang.python_number import python_number
from weft.lang.returned import returned
from weft.lang.signature import MISSING
from weft.lang.spec import is_composite, leaves_of, spec_of
from weft.lang.text import RunTimeText

__all__ = ["Staging"]


_Ways = tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
"""Variables of which only items, or parts, are set, and the fields that lead to what has these."""
_KNOWN = frozenset({bool, int, float, str, tuple, list, dict, set, type(None)})
"""Of these classes the truth is known at compile time."""


class Staging(Flow, Access):
    """What ``b`` is in staged code."""

    UNDEFINED = UNDEFINED
    MISSING = MISSING
    most = 1 << 17

    def overfull(self) -> None:
        """Stop what Python repeats nearly without end."""
        refuse(
            "unrolled",
            f"{self.result_of} has {self.most} operations up to here: what Python repeats is written out",
            hint="write a `for` statement over range(n), without unroll(...): that is one loop of the device",
        )

    @property
    def draft(self) -> Draft:
        """The pass under way."""
        return cast("Any", self.elaborator).under_way[-1]

    def helper_of(self, code: CodeType) -> FunctionType | None:
        """The helper of the kernel's that a code is of."""
        return cast("Any", self.elaborator).helpers.function_of(code)

    # -- functions in functions ---------------------------------------------------------------
    def nested(self, function: Any, parameters: tuple[Any, ...], result: Any) -> Closure:
        """``def`` in a function."""
        return defined(function, parameters, result, self)

    def rest(self, annotation: Any) -> Any:
        """The type of the tuple that ``*args: T`` is."""
        return tuple[annotation, ...]

    def closure(self, function: Any) -> Closure:
        """A lambda."""
        return Closure(function, None, {}, self)

    def shared(self, name: str, value: Any) -> Var:
        """A variable that functions in this one assign."""
        return shared(self, name, value)

    # -- variables ----------------------------------------------------------------------------
    def ld(self, value: Any, name: str) -> Any:
        """Read a variable that may be carried."""
        if type(value) is Var:
            if value.scope in self.scopes:
                return value.load()
            value = UNDEFINED
        if value is UNDEFINED and self.live:
            refuse_unassigned(name, self.file, self.loc)
        return value

    def named(self, old: Any, value: Any, name: str) -> Any:
        """``(name := value)`` where that may not be reached: its variable has a slot."""
        if type(old) is not Var or old.scope not in self.scopes:
            refuse("undefined", f"`{name}` cannot be assigned here", hint="assign it in a statement before")
        old.store(value)
        return old.load()

    def assigned(self, *values: Any) -> None:
        """What the condition of the code at hand has assigned by ``:=``."""
        for value in values:
            if type(value) is Var:
                value.defined = True

    def st(self, old: Any, value: Any, name: str, slot: bool = False) -> Any:
        """Assign a variable that may be carried; gives what the Python variable holds now.

        ``slot`` says that the expression at hand needs its slot, if it has one.
        """
        if isinstance(value, Undefined):
            return old
        if type(old) is Var and old.scope in self.scopes and (slot or old.scope != self.scopes[-1]):
            old.store(value)
            return old
        return value

    def _carried(
        self,
        names: tuple[str, ...],
        values: tuple[Any, ...],
        ways: _Ways = (),
        parts: _Ways = (),
        rounds: bool = True,
    ) -> tuple[Any, ...]:
        out: list[Any] = []
        of_items, of_parts = dict(ways), dict(parts)
        for name, value in zip(names, values, strict=True):
            if name in of_parts and self.leave_as_object(value, of_parts[name], rounds):
                out.append(value)
                continue
            if name in of_items and not any(is_changed_as_value(value, way) for way in of_items[name]):
                out.append(value)
                continue
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
        if self.merging and any(map(is_own, objects_in(value))):
            return UNDEFINED
        open_regions = [*self.regions, self.region]
        here = all(
            leaf.owner in open_regions or any(leaf.owner in r.ops for r in open_regions)
            for leaf in _values(value)
        )
        return value if here else UNDEFINED

    def carry(
        self,
        condition: Any,
        names: tuple[str, ...],
        values: tuple[Any, ...],
        ways: _Ways = (),
        parts: _Ways = (),
    ) -> tuple[Any, ...]:
        """Before an ``if``: give its variables slots where the condition is a run-time value."""
        if isinstance(condition, Number):
            known = not isinstance(condition.value, Value)
        elif late(condition):
            known = False
        elif known := type(condition) in _KNOWN:
            pass
        else:  # an object that may compute its truth, as a range does
            self.tested = condition, truth(condition, self)
            known = isinstance(self.tested[1], bool)
        return values if known else self._carried(names, values, ways, parts, False)

    def carry_loop(
        self,
        items: Any,
        names: tuple[str, ...],
        values: tuple[Any, ...],
        ways: _Ways = (),
        parts: _Ways = (),
    ) -> tuple[Any, ...]:
        """Before a ``for``: likewise, unless it is unrolled."""
        late = (isinstance(items, Generated) and items.late) or self.loc[:2] in self.late_loops
        if not (late or on_device(items)):
            return values
        return self._unsure(self._carried(names, values, ways, parts))

    def carry_while(
        self, _: Any, names: tuple[str, ...], values: tuple[Any, ...], ways: _Ways = (), parts: _Ways = ()
    ) -> tuple[Any, ...]:
        """Before a ``while``: always."""
        return self._unsure(self._carried(names, values, ways, parts))

    def _unsure(self, assigned: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a loop assigns may be None in its next round; what is known of all else stays known."""
        changed = [one for one in assigned if type(one) is Var]
        for var in changed:  # grows while it runs
            changed += var.parts
        for var in self.optionals:
            var.enter_loop(any(var is one for one in changed))
        return assigned

    def annotated(self, annotation: Any, value: Any) -> Any:
        """``x: T = value``: the value as T."""
        if isinstance(annotation, type) and issubclass(annotation, Number):
            cls = closed(annotation, value)
            return cls.of(to_type(value, cls, self))
        return value

    def called(self, callee: Any) -> Any:
        """What a statement calls."""
        self.call = Called(callee, self.region, len(self.region.ops))
        return callee

    def dropped(self, value: Any) -> None:
        """A statement that is a call or an operator."""
        call, self.call = self.call, None
        if value is not None:
            note_dropped(self, call, value)

    def unused(self, value: Any) -> None:
        """A statement that is only a name."""
        if callable(value) and not isinstance(value, type):
            refuse("call", f"`{VALUE}` is named here, but not called", hint=f"write {VALUE}()")
        refuse(
            "no-effect",
            "this names a value and does nothing with it",
            hint="assign it to a variable, or leave it out",
        )

    def augmented(self, held: Any, value: Any) -> Any:
        """``held += x``, once ``held + x`` is known: what is memory takes it, as NumPy's arrays do."""
        keep = getattr(cast("type[Any]", type(held)), "__weft_augmented__", None)
        return value if keep is None else keep(held, value)

    def matched(self, value: Any, pattern: Any, count: int, tried: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Whether a value fits a pattern, and the ``count`` values that the pattern captures.

        With ``tried``, the values of this case and of all before it, it fits where there are no others.
        """
        test, captured = fits(self, value, pattern)
        if are_all(value, [wanted for _, wanted in tried]):
            test = True
        return (test, *(captured.get(n, UNDEFINED) for n in range(count)))

    def deleted(self, old: Any, name: str) -> Any:
        """``del name`` of a variable that may be carried."""
        self.ld(old, name)
        if type(old) is not Var:
            return UNDEFINED
        if any(
            not loop.static and self.scopes.index(old.scope) < self.scopes.index(loop.scope)
            for loop in self.loops
        ):
            refuse(
                "undefined",
                f"`{name}` lives outside of this loop, and is deleted in it",
                hint="leave it out",
            )
        if old not in self.open_vars:
            self.open_vars.append(old)
        old.defined = False
        return old

    def delete_item(self, items: Any, index: Any) -> None:
        """``del items[index]``."""
        if is_composite(items) or not hasattr(cast("type[Any]", type(items)), "__delitem__"):
            hint = "leave it out" if is_composite(items) else "make another without it"
            refuse(
                "operand",
                f"`del` takes items out of a list or dict, not of {a_(type(items).__name__)}",
                hint=hint,
            )
        del items[index]

    def context(self, manager: Any, leaves: bool) -> Context:
        """What ``with`` enters; ``leaves`` says that its body may be left before its end."""
        return Context(self, manager, leaves)

    py_reversed = turned

    def py_enumerate(self, items: Any, start: Any = 0) -> Any:
        """``enumerate``."""
        make = numbered if isinstance(items, Generated) else enumerated
        return make(self, items, start)

    def py_zip(self, *items: Any, strict: bool = False) -> Any:
        """``zip``: of what the device loops over such a loop, else at compile time."""
        return zipped(self, items, strict)

    generator = generator
    certain = staticmethod(certain)

    def py_any(self, value: Any) -> Any:
        """``any``: of a mask, whether any lane holds; of items, whether one does, asked as far as needed."""
        return first(self, value, True)

    def py_all(self, value: Any) -> Any:
        """``all``: of a mask, whether every lane holds; of items, whether every one does."""
        return first(self, value, False)

    def py_sum(self, items: Any, start: Any = 0) -> Any:
        """``sum``; of a SIMD value, of its lanes."""
        return total(self, items, start)

    def py_min(self, *args: Any, **kwargs: Any) -> Any:
        """``min``: of run-time numbers, pairwise from the left; nan loses if it stands first."""
        return extreme(self, args, kwargs, "<")

    def py_max(self, *args: Any, **kwargs: Any) -> Any:
        """``max``: likewise."""
        return extreme(self, args, kwargs, ">")

    # -- what ends a function -----------------------------------------------------------------
    def return_(self, value: Any) -> None:
        """``return value``."""
        if not self.live:
            return
        value = python_number(value)
        if isinstance(value, RunTimeText):
            spec_of(value)  # refuses it, here and not at the function's end
        stays(self.result_of, value)
        if self.annotation is not MISSING:
            value = returned(self.result_of, self.annotation, value)
        found = [*structs_in(value)]
        self.at_returns.append(at_return(self, self.lent, found))
        if any(map(is_own, found)):  # which may change before the result is made of it
            value = settled(value)
        for one in found:
            if not is_own(one):
                note_copy(one)
        op = self.emit("weft.return")
        self.left_open.update([var for var in self.shared_vars.values() if not var.defined])
        self.returns.append((op, self.region, value))

    def assert_(self, condition: Any, message: Callable[[], Any]) -> None:
        """``assert condition, message``."""
        holds = assertion(condition, message)
        if holds is not None:
            self.members.passed(holds, True)
            self._assert(holds, message)

    def never(self, message: Callable[[], Any]) -> None:
        """``assert False, message``: at run time, where only that knows whether a thread comes here."""
        if not self.live:
            return
        assert self.function is not None
        if self.region is self.function.body and not (self.returns or self.ends):
            assertion(False, message)
        self._assert(self.constant(False, I1), message)
        self.ends.append((self.emit("weft.return"), self.region))

    def _assert(self, holds: Value, message: Callable[[], Any]) -> None:
        failing, (pieces, values), fields = self._aside(lambda: text_pieces(text_of(message(), ord("s"))))
        self.by_values(fields)
        with self.into(failing if failing.ops else self.region):
            op = self.emit("weft.assert", (holds, *values))
        self.elaborator.refer(op, self.elaborator.assert_site(pieces))
        if not failing.ops:
            return  # else the message is computed only where it is needed, as in Python
        self.branch(holds, Region(), failing)


def _values(value: Any) -> list[Value]:
    """The IR values in a value that operations and regions make: not constants, not parameters."""
    if isinstance(value, Number):
        found = [value.value] if isinstance(value.value, Value) else []
    else:
        with looking():
            found = leaves_of(value)
    return [v for v in found if v.owner is not None]
