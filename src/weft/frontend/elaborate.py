"""Elaboration: running staged functions against a builder, each combination of types once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.artifact import AssertSite, Piece, PrintSite
from weft.diagnostics import CompileError, WeftError, a_, caller_location
from weft.dtype import DType
from weft.frontend.facts import Facts, Restart
from weft.frontend.locate import located
from weft.frontend.over import Over
from weft.frontend.returns import OpenResults, finish, mark_results
from weft.frontend.stage import stage
from weft.frontend.staging import Staging
from weft.ir.builder import building, current
from weft.ir.core import Function, Module, Region, Value
from weft.lang.any_lanes import closed
from weft.lang.decorators import Func, Kernel
from weft.lang.errors import refuse
from weft.lang.lanes import vector_of
from weft.lang.number import Number, number_class, to_type
from weft.lang.python_number import python_number
from weft.lang.returned import result_annotation
from weft.lang.signature import MISSING, argument_key, bind, parameters
from weft.lang.spec import NumberSpec, Spec, lanes_of, leaves_of, spec_of

__all__ = ["Elaborator"]

_RESTARTS = 1000


def _staging() -> Staging:
    b = current()
    assert isinstance(b, Staging)
    return b


class _Elaborated:
    """A function of the module and what it returns; under way while ``result`` is None."""

    __slots__ = ("annotation", "function", "open", "result", "results")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.result: Spec | None = None
        self.annotation: Any = MISSING
        self.results: dict[int, DType] = {}
        self.open: OpenResults = {}


class Elaborator:
    """Makes one IR module for one target out of Python functions."""

    def __init__(self, module: Module, target: Any) -> None:
        self.module = module
        self.target = target
        self.prints: list[PrintSite] = []
        self.asserts: list[AssertSite] = []
        self.formatted: list[tuple[Number, str]] = []
        self.done: dict[object, _Elaborated] = {}
        self.stack: list[str] = []
        self.facts = Facts()
        self.uses: set[str] = set()
        self.dynamic_shared = 0
        self.uses_thread = False
        self.element_uses_thread = False

    # -- what the language asks of the elaboration under way ------------------------------------
    def new_mark(self) -> object:
        """A mark for a literal of the function at hand whose type is not settled yet."""
        return _staging().new_mark()

    def type_of(self, mark: object, assumed: DType) -> DType:
        """The type to elaborate a literal with."""
        return self.facts.type_of(_staging().function_key, mark, assumed)

    def open(self, mark: object) -> bool:
        """Whether a literal's type is not settled by what is stored into its variable."""
        return self.facts.open(_staging().function_key, mark)

    def met(self, mark: object) -> bool:
        """Whether a literal has met a type."""
        return self.facts.met(_staging().function_key, mark)

    def meet(self, mark: object, dtype: DType, have: DType) -> None:
        """A literal meets ``dtype``; if it is of another, its function is elaborated again."""
        self.facts.meet(_staging().function_key, mark, dtype, have)

    def assume(self, mark: object, dtype: DType, have: DType) -> None:
        """A literal's variable holds another kind of literal too."""
        self.facts.assume(_staging().function_key, mark, dtype, have)

    def settle(self, mark: object, dtype: DType, have: DType) -> None:
        """A value of ``dtype`` is stored into a literal's variable."""
        self.facts.settle(_staging().function_key, mark, dtype, have)

    def print_site(self, site: PrintSite) -> int:
        """The number of a print."""
        self.prints.append(site)
        return len(self.prints) - 1

    def assert_site(self, pieces: tuple[Piece, ...]) -> int:
        """The number of an assertion at the line at hand."""
        b = _staging()
        line, column = b.loc[:2]
        self.asserts.append(AssertSite(pieces, b.file, line, column))
        return len(self.asserts) - 1

    # -- functions ------------------------------------------------------------------------------
    def kernel(self, kernel: Kernel[...], specs: Mapping[str, Spec], over: Over | None = None) -> Function:
        """Elaborate a kernel for parameters of the given specs.

        For a launch over a range on hardware threads the kernel's entry is ``over.runner``'s code, and
        its body a function of the element's index; elsewhere the loops over threads end at the extents.
        """
        fn = kernel.function
        order = [(p.name, specs[p.name]) for p in parameters(fn)]
        made = _Elaborated(Function(self._symbol(fn.__name__), []))
        f = made.function
        self.done[fn, "kernel", tuple(order)] = made
        if over is not None:
            f.over_rank = over.rank
        if over is None or over.runner is None:
            self._run(fn, (fn, "kernel", tuple(order)), order, made, stage(fn, True).run, kernel=True)
            return f
        runner = stage(over.runner, False).run
        per_x, per_y = over.per_thread
        names = [f"over.{axis}" for axis in "xyz"]

        def entry(b: Staging, *values: Any) -> None:
            values, extents = values[: len(order)], list(values[len(order) :])
            extents += [number_class(DType.int64)(1)] * (3 - len(extents))

            def element(*index: Any) -> None:
                self._element(fn, order, values, index)

            runner(b, element, tuple(extents), per_x, per_y)

        index = [(name, NumberSpec(DType.int64)) for name in names]
        key = (fn, "over", tuple(order))
        self._run(over.runner, key, [*order, *index[: over.rank]], made, entry, kernel=True)
        return f

    def _element(
        self,
        fn: Callable[..., Any],
        order: list[tuple[str, Spec]],
        values: tuple[Any, ...],
        index: tuple[Any, ...],
    ) -> None:
        """Call a kernel's body for one element of a range."""
        b = current()
        key = (fn, "element", tuple(order))
        made = self.done.get(key)
        if made is None:
            made = self.done[key] = _Elaborated(
                Function(self._symbol(f"{fn.__name__}_element"), [], inline=True)
            )
            staged = stage(fn, True).run

            def body(b: Staging, *arguments: Any) -> None:
                b.element = arguments[-3:]
                staged(b, *arguments[:-3])

            made.function.element = True
            names = [(f"global_idx.{axis}", NumberSpec(DType.int64)) for axis in "xyz"]
            outside, self.uses_thread = self.uses_thread, False
            self._run(fn, key, [*order, *names], made, body, kernel=False)
            self.element_uses_thread = self.uses_thread
            self.uses_thread = outside
        leaves = [leaf for v in (*values, *index) for leaf in leaves_of(v)]
        b.emit("func.call", tuple(leaves), (), {"callee": made.function.name})

    def call(self, func: Func[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a function from code under elaboration: elaborate it for these types, emit the call."""
        fn = func.function
        values, problems = bind(fn, args, kwargs, func.bound)
        if problems:
            raise CompileError(problems.placed(caller_location(), len(args)))
        b = current()
        order: list[tuple[str, Spec]] = []
        leaves: list[Value] = []
        for p in parameters(fn):
            try:
                value = _argument(p.name, p.annotation, p.comptime, values[p.name], fn.__name__)
            except CompileError as error:
                problems.extend(error.diagnostics, argument_key(fn, p.name, len(args), kwargs))
                continue
            spec = spec_of(value)
            order.append((p.name, spec))
            leaves.extend(leaves_of(value))
        if problems:
            raise CompileError(problems.placed(caller_location(), len(args)))
        made = self._elaborated(fn, order, {})
        marks: dict[int, object] = {leaf: self.new_mark() for leaf in made.open}
        met = {leaf: self.type_of(marks[leaf], dtype) for leaf, (dtype, _) in made.open.items()}
        if any(met[leaf] is not dtype for leaf, (dtype, _) in made.open.items()):
            made = self._elaborated(fn, order, met)
        if made.result is None:
            cycle = " → ".join([*self.stack[self.stack.index(fn.__qualname__) :], fn.__qualname__])
            refuse(
                "recursion",
                f"{fn.__name__} calls itself ({cycle}), and a GPU has no stack to speak of",
                hint="write a loop; recursion on a Comptime parameter that ends at compile time is fine",
            )
        types = tuple(leaf.type for leaf in made.result.leaves())
        op = b.emit("func.call", tuple(leaves), types, {"callee": made.function.name})
        result = made.result.build(op.results)
        if marks:
            mark_results(result, marks, made.open)
        return result

    def _elaborated(
        self, fn: Callable[..., Any], order: list[tuple[str, Spec]], results: dict[int, DType]
    ) -> _Elaborated:
        """A called function for arguments of these specs; ``results`` are types that its literals take."""
        key = (fn, tuple(order), *results.items())
        made = self.done.get(key)
        if made is None:
            made = self.done[key] = _Elaborated(Function(self._symbol(fn.__name__), [], inline=True))
            made.results = results
            try:
                made.annotation = result_annotation(fn)
                self._run(fn, key, order, made, stage(fn, False).run, kernel=False)
            except BaseException:
                del self.done[key]
                raise
        return made

    def _symbol(self, name: str) -> str:
        taken = {f.name for f in self.module.functions} | {d.function.name for d in self.done.values()}
        if name not in taken:
            return name
        n = 1
        while f"{name}_{n}" in taken:
            n += 1
        return f"{name}_{n}"

    def _run(
        self,
        fn: Callable[..., Any],
        key: object,
        order: list[tuple[str, Spec]],
        made: _Elaborated,
        body: Callable[..., Any],
        *,
        kernel: bool,
    ) -> None:
        """Elaborate ``fn``: its parameters per ``order``, its code by running ``body``."""
        code = fn.__code__
        f = made.function
        f.kernel, f.file, f.line, f.source_name = (
            kernel,
            code.co_filename,
            code.co_firstlineno,
            fn.__qualname__,
        )
        self.stack.append(fn.__qualname__)
        try:
            for _ in range(_RESTARTS):
                b = Staging(self.module, self.target, self)
                b.function_key, b.file, b.function = key, f.file, f
                b.loc = (code.co_firstlineno, 0)
                b.annotation, b.result_of, b.results = made.annotation, fn.__name__, made.results
                f.body = b.region = Region()
                f.args = []
                values = [_parameter(b, f, name, spec) for name, spec in order]
                try:
                    with building(b):
                        body(b, *values)
                        made.result, made.open = finish(b, f, fn, kernel)
                    break
                except Restart as restart:
                    if restart.key != key:
                        raise
                    for g in b.own_globals:
                        self.module.globals.remove(g)
                except (CompileError, Exception) as error:
                    found = located(error, f.file, f.line, fn.__name__)
                    told = isinstance(error, WeftError) or found.diagnostics[0].code != "compile-time-error"
                    raise found from (None if told else error)  # a cause that says more than the message
        finally:
            self.stack.pop()
        self.module.functions.append(f)


def _parameter(b: Staging, f: Function, name: str, spec: Spec) -> Any:
    """A parameter's value, of the function's arguments; a kernel is given each lane of a vector by itself."""
    leaves: list[Value] = []
    for leaf in spec.leaves():
        parts = lanes_of(leaf) if f.kernel else (leaf,)
        arguments = [Value(part.type, None, name + part.suffix) for part in parts]
        f.args.extend(arguments)
        leaves.append(arguments[0] if len(parts) == 1 else vector_of(b, arguments, leaf.type))
    return spec.build(leaves)


def _argument(name: str, annotation: Any, comptime: bool, value: Any, function: str) -> Any:
    """An argument as the parameter of a @func takes it."""
    if comptime:
        if spec_of(value).leaves():
            refuse(
                "not-compile-time",
                f"`{name}` of {function} is a Comptime parameter, "
                f"but this {type(value).__name__} exists only at run time",
                hint="give it a Python value, or make it a parameter without Comptime",
            )
        return value
    value = python_number(value)
    if annotation is not MISSING and isinstance(annotation, type) and issubclass(annotation, Number):
        annotation = closed(annotation, value)
        if isinstance(value, (Number, int, float)) and annotation in (
            type(value),
            number_class(annotation.dtype, annotation.lanes),
        ):
            b = current()
            return annotation.of(to_type(value, annotation, b))
        if not isinstance(value, annotation):
            refuse(
                "argument-type",
                f"`{name}` of {function} is {a_(annotation.__name__)}, not {a_(type(value).__name__)}",
                hint=f"convert it: {annotation.__name__}(...)"
                if isinstance(value, (Number, int, float))
                else f"pass {a_(annotation.__name__)}",
            )
    return value
