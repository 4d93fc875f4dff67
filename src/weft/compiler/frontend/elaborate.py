"""Elaboration: running staged functions against a builder, each combination of types once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from weft.compiler.frontend.arguments import argument_as
from weft.compiler.frontend.changes import check_given
from weft.compiler.frontend.closures import Captures, Closure, containers, entry, given, literals_in
from weft.compiler.frontend.containers import Held, captured, check, restored
from weft.compiler.frontend.draft import Draft, assemble, reached, shared_memory
from weft.compiler.frontend.helpers import Helpers
from weft.compiler.frontend.lent import NONE_LENT, Lent, after_call, lent, note_given, take
from weft.compiler.frontend.locate import located
from weft.compiler.frontend.merged import OF_COPIES, is_merging
from weft.compiler.frontend.nonlocals import give_back
from weft.compiler.frontend.options import Over
from weft.compiler.frontend.returns import finish
from weft.compiler.frontend.stage import stage
from weft.compiler.frontend.staging import Staging
from weft.compiler.frontend.state import Facts
from weft.compiler.frontend.told import Told, staging_at_hand
from weft.compiler.frontend.value_numbering import ValueNumbering
from weft.compiler.ir.core import Function, Global, Module, Region, Value
from weft.compiler.ir.types import I64, pointer
from weft.compiler.source.definition import MISSING, Definition
from weft.diagnostics import (
    CompileError,
    Location,
    WeftError,
    is_internal,
    refuse,
)
from weft.diagnostics.problems import Problems
from weft.dtype import DType
from weft.lang.captured import note
from weft.lang.decorators import Func, Kernel
from weft.lang.elaboration import FAST_MATH, building, current
from weft.lang.external import check_callback, check_result, filled
from weft.lang.generic import substitute
from weft.lang.host_closures import HostClosure
from weft.lang.lanes import vector_of
from weft.lang.number import Number, number_class
from weft.lang.objects import looking
from weft.lang.overloads import chosen
from weft.lang.pointer import AddressSpace
from weft.lang.returned import result_annotation
from weft.lang.signature import Parameter, argument_key, bind, parameters
from weft.lang.spec import (
    NumberSpec,
    PartsSpec,
    Spec,
    StaticSpec,
    given_spec,
    lanes_of,
    leaves_by,
    leaves_of,
    spec_of,
)
from weft.lang.structs import as_read
from weft.lang.type_variables import assumed, settle
from weft.lang.weak import meet
from weft.record import replace
from weft.targets import Target

_DEEPEST = 1000
"""How many functions may be under way, each called by the one before; a recursion that ends has fewer."""
_PASSES = 1000


class Elaborator(Told):
    """Elaborates kernels of one module, and what they call, for one target."""

    def __init__(self, target: Target, *, checked: frozenset[str] = frozenset(), debug: bool = False) -> None:
        self.target = target
        self.checked = checked
        self.formatted: list[tuple[Number | str, str]] = []
        self.tables: dict[tuple[bytes, int], Global] = {}
        self.done: dict[object, Draft | None] = {}
        self.under_way: list[Draft] = []
        self.helpers = Helpers()
        self.threads = 0
        self.stepped = "python" if target.format == "python" else "native" if debug else ""

    def _staging(self) -> Staging:
        if not (self.checked or self.stepped):
            return (ValueNumbering if self.target.threads == "hardware" else Staging)(self.target, self)
        from weft.compiler.frontend import exact, stepping  # here, since few programs ask for them

        kinds = {
            (True, ""): exact.Exact,
            (False, "python"): stepping.Stepping,
            (True, "python"): stepping.ExactStepping,
            (False, "native"): stepping.Watching,
            (True, "native"): stepping.ExactWatching,
        }
        return kinds[bool(self.checked), self.stepped](self.target, self)

    # -- functions ------------------------------------------------------------------------------
    def kernel(
        self, kernel: Kernel[...], specs: Mapping[str, Spec], over: Over | None = None
    ) -> tuple[Draft, Over | None]:
        """Elaborate one more kernel, for parameters of the given specs.

        For a launch over a range on hardware threads the kernel's entry is ``over.runner``'s code, and
        its body a function of the element's index; elsewhere the loops over threads end at the extents.
        A body that asks which thread runs it gets one element a thread: the range that it is elaborated
        for comes back with it. What prints or asserts is each kernel's own, so that a site says whose it is.
        """
        fn = kernel.definition
        kept = self.done.items() if fn.threads == self.threads else ()
        self.done = {key: draft for key, draft in kept if draft is not None and not draft.tells}
        self.threads = fn.threads
        order = [(p.name, specs[p.name]) for p in parameters(fn)]
        f = Function(fn.name, [], kernel=True, over_rank=0 if over is None else over.rank)
        if over is None or over.runner is None:
            return self._run(fn, order, f, stage(fn, True)), over
        body = (fn, "element", tuple(order))
        draft = self._over(fn, body, order, f, over)
        if over.per_thread != (1, 1) and _finished(self.done[body]).uses_thread:
            over = replace(over, per_thread=(1, 1))
            draft = self._over(fn, body, order, f, over)
        return draft, over

    def function(self, fn: Definition, specs: Sequence[Spec]) -> Module:
        """A function by itself, for arguments of these specs."""
        order = [(p.name, spec) for p, spec in zip(parameters(fn), specs, strict=True)]
        return assemble([self._elaborated(fn, order, DType.float32)], self.target)[0]

    def _over(
        self, fn: Definition, body: object, order: list[tuple[str, Spec]], f: Function, over: Over
    ) -> Draft:
        """The entry of a launch over a range."""
        assert over.runner is not None
        runner = stage(over.runner, False)
        per_x, per_y = over.per_thread
        index = [(f"over.{axis}", NumberSpec(DType.int64)) for axis in "xyz"[: over.rank]]

        def entry(b: Staging, *values: Any) -> None:
            values, extents = values[: len(order)], list(values[len(order) :])
            extents += [number_class(DType.int64)(1)] * (3 - len(extents))

            def element(*index: Any) -> None:
                self._element(fn, body, order, values, index)

            runner(b, element, tuple(extents), per_x, per_y)

        return self._run(over.runner, [*order, *index], f, entry)

    def _element(
        self,
        fn: Definition,
        key: object,
        order: list[tuple[str, Spec]],
        values: tuple[Any, ...],
        index: tuple[Any, ...],
    ) -> None:
        """Call a kernel's body for one element of a range."""
        if key not in self.done:
            staged = stage(fn, True)

            def body(b: Staging, *arguments: Any) -> None:
                b.element = arguments[-3:]
                staged(b, *arguments[:-3])

            f = Function(f"{fn.name}_element", [], inline=True, element=True)
            names = [(f"global_idx.{axis}", NumberSpec(DType.int64)) for axis in "xyz"]
            self.done[key] = self._run(fn, [*order, *names], f, body)
        leaves = [leaf for (_, spec), v in zip(order, values, strict=True) for leaf in leaves_by(spec, v)]
        leaves += [leaf for v in index for leaf in leaves_of(v)]
        self.refer(current().emit("func.call", tuple(leaves)), _finished(self.done[key]))

    def call(
        self,
        func: Func[..., Any] | Closure | HostClosure,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        untyped: DType = DType.float32,
    ) -> Any:
        """Call a function from code under elaboration: elaborate it for these types, emit the call.

        Float literals that it returns, and that nothing types, are ``untyped``.
        """
        fn, inner = func.definition, func if isinstance(func, (Closure, HostClosure)) else None
        assert fn is not None
        values, problems = bind(fn, args, kwargs, func.bound)
        problems.check(CompileError, len(args))
        if fn.overloads:
            other = chosen(fn, values, problems)
            problems.check(CompileError, len(args))
            if other is not fn:
                params = parameters(fn)
                positional = tuple([values[p.name] for p in params if not p.keyword_only])
                named = {p.name: values[p.name] for p in params if p.keyword_only and p.name in values}
                return self.call(Func[..., Any](other, {}), positional, named, untyped)
        values = values if inner is None else given(inner, values)
        order, leaves, arguments = self._taken(fn, values, problems, len(args), kwargs)
        literals = [
            x
            for p in parameters(fn)
            if _is_open(p) or isinstance(values.get(p.name), Closure)
            for x in literals_in(values[p.name])
        ]
        if inner is not None:
            for name, value in zip(inner.captures, inner.captured(), strict=True):
                order.append((f"{fn.name}.{name}", given_spec(value, True)))
                leaves.extend(leaves_of(value))
                literals.extend(literals_in(value, True))
        objects = lent(staging_at_hand(), arguments)
        made = self._elaborated(fn, order, untyped, inner, objects)
        assert made.result is not None
        for literal, dtype in zip(literals, made.literals, strict=True):
            if dtype is not None:
                meet(literal, dtype)
        given_back = (made.result, *made.fields)
        count = sum(len(spec.leaves()) for spec in given_back)
        types = tuple(leaf.type for spec in (*given_back, *made.changes) for leaf in spec.leaves())
        before = shared_memory(self.under_way) if made.memory else 0
        b = staging_at_hand()
        if made.changed:
            check_given(b, fn, made.changed, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        op = self.refer(b.emit("func.call", tuple(leaves), types), made)
        if made.memory:
            more = shared_memory(self.under_way) - before
            self.take_shared_memory(f"calling {fn.name} takes", more)
        b.given_back = {}
        give_back(b, made.changes, op.results[count:])
        return after_call(b, made, arguments, objects, op.results)

    def _taken(
        self,
        fn: Definition,
        values: Mapping[str, Any],
        problems: Problems,
        count: int,
        kwargs: Mapping[str, Any],
    ) -> tuple[list[tuple[str, Spec]], list[Value], dict[str, Any]]:
        """Arguments as a function takes them: specs, IR values, and they; ``count`` came by position."""
        specs: dict[str, Spec] = {}
        given: dict[str, Any] = {}
        taken: dict[str, list[Value]] = {}

        def take(p: Parameter, value: Any) -> Spec | None:
            try:
                value = argument_as(p.name, p.annotation, p.comptime, value, fn.name)
            except CompileError as error:
                problems.extend(error.diagnostics, argument_key(fn, p.name, count, kwargs))
                return None
            spec = (given_spec if _is_open(p) else spec_of)(value)
            given[p.name] = value
            with looking():  # whether the function keeps it is known when that is elaborated
                specs[p.name], taken[p.name] = spec, leaves_of(value)
            return spec

        def note(message: str, hint: str, name: str = "") -> None:
            problems.add("argument-type", message, hint, at=argument_key(fn, name, count, kwargs))

        params = parameters(fn)
        types = settle(fn.name, params, values, take, assumed, note)
        specs.update({name: StaticSpec(meant) for name, meant in types.items()})
        problems.check(CompileError, count)
        leaves = [leaf for p in params for leaf in taken.get(p.name, ())]
        return [(p.name, specs[p.name]) for p in params], leaves, given

    def callback(self, func: Func[..., Any], order: list[tuple[str, Spec]]) -> tuple[Value, Spec]:
        """The address of a function as C calls it, and what it returns."""
        made, result = self.called_by_c(func, order)
        b = current()
        op = self.refer(b.emit("func.constant", (), (pointer(AddressSpace.GENERIC),)), made)
        return b.value("llvm.ptrtoint", (op.result,), I64), result

    def apart(self, func: Func[..., Any], order: list[tuple[str, Spec]], known: Mapping[str, Any]) -> Value:
        """The address of a function that is compiled once, and put into none of those that call it.

        It returns nothing; ``known`` are its ``Comptime`` parameters.
        """
        fn, key = func.definition, (func, tuple(order), tuple(known.items()))
        made = self.done.get(key)
        if made is None:

            def entry(b: Staging, *values: Any) -> None:
                func(*values, **known)

            made = self.done[key] = self._run(fn, order, Function(f"{fn.name}_apart", []), entry)
        return self.refer(current().emit("func.constant", (), (pointer(AddressSpace.GENERIC),)), made).result

    def called_by_c(self, func: Func[..., Any], order: list[tuple[str, Spec]]) -> tuple[Draft, Spec]:
        """A function as C calls it, and what it returns.

        Integers of fewer than 32 bits are returned as C's functions do, in a register that they fill.
        """
        fn, key = func.definition, (func, "callback", tuple(order))

        def entry(b: Staging, *values: Any) -> None:
            b.return_(filled(func(*values)))

        made = self.done.get(key)
        if made is None:
            f = Function(f"{fn.name}_callback", [], inline=True)
            made = self.done[key] = self._run(fn, order, f, entry)
        for draft in reached([made]):
            check_callback(fn.name, draft.function)
        called = next(what for _, what in made.refers if isinstance(what, Draft))
        assert called.result is not None
        check_result(fn.name, called.result)
        return made, called.result

    def _elaborated(
        self,
        fn: Definition,
        order: list[tuple[str, Spec]],
        untyped: DType,
        inner: Captures | None = None,
        objects: Lent = NONE_LENT,
    ) -> Draft:
        """A called function for arguments of these specs, of which ``objects`` says which are that.

        It returns float literals as ``untyped``.
        """
        key = (fn, tuple(order), untyped, is_merging())
        for known in (key, (*key, *objects.key)):
            if known in self.done:
                found = self.done[known]
                if found is None:
                    self._recursive(fn)
                return found
        if len(self.under_way) > _DEEPEST:
            refuse(
                "recursion",
                f"{fn.name} calls itself {_DEEPEST} times at compile time and comes to no end",
                hint="end it by a condition known at compile time, or write a loop",
            )
        self.done[key] = None
        try:
            f = Function(fn.name, [], inline=True)
            run = stage(fn, False) if inner is None else entry(inner, lambda: stage(fn, False))
            held = Held() if inner is None else containers(inner)
            types = {n: s.value for n, s in order if isinstance(s, StaticSpec)}
            result = substitute(result_annotation(fn), types)
            made = self._run(fn, order, f, run, result, untyped, objects)
            check(held, "call")
        finally:
            del self.done[key]
        self.done[(*key, *objects.key) if made.is_apart() or objects.has_one_twice else key] = made
        return made

    def _recursive(self, fn: Definition) -> NoReturn:
        names = [draft.function.source_name for draft in self.under_way]
        cycle = " → ".join([*names[names.index(fn.qualname) :], fn.qualname])
        refuse(
            "recursion",
            f"{fn.name} calls itself ({cycle}), and a GPU has no stack to speak of",
            hint="write a loop; recursion on a Comptime parameter that ends at compile time is fine",
        )

    def _run(
        self,
        fn: Definition,
        order: list[tuple[str, Spec]],
        f: Function,
        body: Callable[..., Any],
        annotation: Any = MISSING,
        untyped: DType = DType.float32,
        objects: Lent = NONE_LENT,
    ) -> Draft:
        """Elaborate ``fn`` as ``f``: its parameters per ``order``, its code by running ``body``.

        Where that is refused since variables hold copies of objects, they lead to these (``merged``), as they
        do in what is called from such code.
        """
        if not fn.within:  # else the function around it is noted
            note(fn)
        merging = is_merging()
        refused: CompileError | None = None
        for following in (merging, not merging):
            tried: list[Staging] = []
            try:
                return self._in_passes(fn, order, f, body, annotation, untyped, objects, following, tried)
            except CompileError as error:
                refused = error if refused is None or not following else refused
                copies = error.diagnostics[0].code in OF_COPIES and any(b.merges for b in tried)
                if not (following or copies):
                    break
        assert refused is not None
        raise refused

    def _in_passes(
        self,
        fn: Definition,
        order: list[tuple[str, Spec]],
        f: Function,
        body: Callable[..., Any],
        annotation: Any,
        untyped: DType,
        objects: Lent,
        merging: bool,
        tried: list[Staging],
    ) -> Draft:
        """Elaborate a function, its variables leading to objects or not; ``tried`` gets the builders.

        A pass that meets the type of a literal which it took for another is given up, and of it nothing
        stays but that type.
        """
        place = (fn.file, fn.line, fn.qualname)
        library = fn.within or is_internal(place[0])
        met, stored, facts = dict[object, DType](), dict[object, DType](), Facts()
        for _ in range(_PASSES):
            b = self._staging()
            tried[:] = [one for one in (b, *tried) if one is b or one.merges][:2]
            b.merging = merging
            b.containers.beyond = self.helpers.beyond
            b.met, b.stored, b.untyped = met, stored, untyped
            known = b.take(facts)
            draft, values = _begin(b, fn, order, f, objects)
            b.annotation, b.result_of = annotation, fn.name
            self.under_way.append(draft)
            done, around = len(self.done), Held() if library else captured(fn)
            try:
                with building(b), self.helpers.of(fn, [spec for _, spec in order]):
                    body(b, *values)
                    b.containers.check_large()
                    draft.literals = tuple([met.get(mark) for mark in b.literals])
                    draft.result, draft.fields, draft.changes = finish(b, draft.function, fn, f.kernel)
                    note_given(b, draft, [name for name, _ in order], values)
            except (CompileError, Exception) as error:
                if not b.learnt:  # else it may be wrong for the types that were assumed only
                    if restored(around):
                        self.done = dict(list(self.done.items())[:done])
                    if b.postponed:
                        raise b.postponed[0] from None
                    found = located(error, *place[:2], fn.name)
                    told = isinstance(error, WeftError) or found.diagnostics[0].code != "compile-time-error"
                    raise found from (None if told else error)  # a cause that says more than the message
            finally:
                self.under_way.pop()
            if not b.learnt:
                if b.postponed:
                    raise b.postponed[0]
                return draft
            if facts.count() > known:  # other code, with other marks
                met.clear()
                stored.clear()
            if restored(around):  # by a helper, perhaps, which then is no more done than they are
                self.done = dict(list(self.done.items())[:done])
        raise CompileError.at(
            "literal",
            f"{fn.name} has more than {_PASSES} literals in variables whose type only their use says",
            Location(*place[:2]),
            hints=("write their types, as in x = Float64(0.0)",),
        )


def _begin(
    b: Staging, fn: Definition, order: list[tuple[str, Spec]], f: Function, objects: Lent
) -> tuple[Draft, list[Any]]:
    """An empty draft of ``fn`` as ``f``, which ``b`` will fill, and its parameters."""
    empty = replace(f, args=[], body=Region(), file=fn.file, line=fn.line, source_name=fn.qualname)
    draft = Draft(empty, fn, f.name)
    b.file, b.function = fn.file, draft.function
    if fn.fast_math:
        b.fastmath = FAST_MATH
    b.region, b.loc = draft.function.body, (fn.line, 0)
    with building(b):
        b.entering = True
        values = [_parameter(b, draft.function, name, spec, name in objects.names) for name, spec in order]
        values = take(b, values, [name for name, _ in order], objects)
        b.entering = False
    return draft, values


def _is_open(p: Parameter) -> bool:
    """Whether a parameter takes any value, and literals as such."""
    return p.annotation is MISSING and not p.comptime


def _finished(draft: Draft | None) -> Draft:
    assert draft is not None
    return draft


def _parameter(b: Staging, f: Function, name: str, spec: Spec, lent: bool) -> Any:
    """A parameter's value, of the function's arguments; a kernel is given each lane of a vector by itself."""
    leaves: list[Value] = []
    for leaf in spec.leaves():
        parts = lanes_of(leaf) if f.kernel else (leaf,)
        arguments = [Value(part.type, None, name + part.suffix) for part in parts]
        f.args.extend(arguments)
        leaves.append(arguments[0] if len(parts) == 1 else vector_of(b, arguments, leaf.type))
    made = spec.build(leaves)
    if isinstance(spec, StaticSpec):
        return b.meant(made)
    return made if f.kernel or lent or not isinstance(spec, PartsSpec) else as_read(made, name)
