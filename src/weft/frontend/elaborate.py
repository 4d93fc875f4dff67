"""Elaboration: running staged functions against a builder, each combination of types once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from weft.artifact import AssertSite, Piece, PrintSite
from weft.diagnostics import CompileError, Diagnostic, Label, Location, WeftError, a_, caller_location
from weft.dtype import DType
from weft.frontend.locate import located
from weft.frontend.over import Over
from weft.frontend.stage import stage
from weft.frontend.staging import Staging
from weft.frontend.variables import carried
from weft.ir.builder import building, current
from weft.ir.core import Function, Loc, Module, Region, Value
from weft.lang.any_lanes import closed
from weft.lang.decorators import Func, Kernel
from weft.lang.errors import refuse
from weft.lang.number import Number, number_class, to_type
from weft.lang.promote import fits
from weft.lang.python_number import python_number
from weft.lang.returned import ends_without, result_annotation
from weft.lang.signature import MISSING, argument_key, bind, parameters
from weft.lang.spec import NumberSpec, Spec, StaticSpec, leaves_of, spec_of

__all__ = ["Elaborator"]

_RESTARTS = 1000


class _Restart(BaseException):
    """A literal's type became known after code was emitted for its assumed one."""

    def __init__(self, key: object) -> None:
        self.key = key


def _staging() -> Staging:
    b = current()
    assert isinstance(b, Staging)
    return b


class _Elaborated:
    """A function of the module and what it returns; under way while ``result`` is None."""

    __slots__ = ("function", "result")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.result: Spec | None = None


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
        self.facts: dict[tuple[object, int], DType] = {}
        self.uses: set[str] = set()
        self.dynamic_shared = 0
        self.uses_thread = False
        self.element_uses_thread = False

    # -- what the language asks of the elaboration under way ------------------------------------
    def refine(self, weak: int, dtype: DType) -> None:
        """A literal's variable meets ``dtype``: elaborate the function again with that type."""
        key = _staging().function_key
        if self.facts.get((key, weak)) is dtype:
            return
        self.facts[key, weak] = dtype
        raise _Restart(key)

    def print_site(self, site: PrintSite) -> int:
        """The number of a print."""
        self.prints.append(site)
        return len(self.prints) - 1

    def assert_site(self, pieces: tuple[Piece, ...]) -> int:
        """The number of an assertion at the line at hand."""
        b = _staging()
        self.asserts.append(AssertSite(pieces, b.file, *b.loc))
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
        key = (fn, tuple(order))
        made = self.done.get(key)
        if made is None:
            made = self.done[key] = _Elaborated(Function(self._symbol(fn.__name__), [], inline=True))
            try:
                annotation = result_annotation(fn)
                self._run(fn, key, order, made, stage(fn, False).run, kernel=False, annotation=annotation)
            except BaseException:
                del self.done[key]
                raise
        if made.result is None:
            cycle = " → ".join([*self.stack[self.stack.index(fn.__qualname__) :], fn.__qualname__])
            refuse(
                "recursion",
                f"{fn.__name__} calls itself ({cycle}), and a GPU has no stack to speak of",
                hint="write a loop; recursion on a Comptime parameter that ends at compile time is fine",
            )
        types = tuple(leaf.type for leaf in made.result.leaves())
        op = b.emit("func.call", tuple(leaves), types, {"callee": made.function.name})
        return made.result.build(op.results)

    def _symbol(self, name: str) -> str:
        if not name.isascii():  # assemblers take no other letters
            name = "".join(c if c.isascii() else f"_{ord(c):x}" for c in name)
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
        annotation: Any = MISSING,
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
                b.facts, b.function_key, b.file, b.function = self.facts, key, f.file, f
                b.loc = (code.co_firstlineno, 0)
                b.annotation, b.result_of = annotation, fn.__name__
                f.body = b.region = Region()
                f.args = []
                values = [_parameter(f, name, spec) for name, spec in order]
                try:
                    with building(b):
                        body(b, *values)
                        made.result = _finish(b, f, fn, kernel)
                    break
                except _Restart as restart:
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


def _parameter(f: Function, name: str, spec: Spec) -> Any:
    leaves = [Value(leaf.type, None, name + leaf.suffix) for leaf in spec.leaves()]
    f.args.extend(leaves)
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


def _finish(b: Staging, f: Function, fn: Callable[..., Any], kernel: bool) -> Spec:
    """Give every return its operands, now that all of them are known; the result's spec."""
    body = f.body
    b.region = body
    fell = b.live
    if b.live:
        if b.annotation is not MISSING:
            ends_without(fn, b.annotation)
        b.return_(None)
    else:
        b.live = True
        if not body.ops or not body.ops[-1].spec.terminator:
            b.emit("llvm.unreachable")
    values = [value for _, _, value in b.returns]
    if kernel:
        return StaticSpec(None)
    result, values = _result(b, values, fn.__name__, fell)
    f.results = tuple(leaf.type for leaf in result.leaves())
    if not f.results:
        return result
    for (op, region, _), value in zip(b.returns, values, strict=True):
        region.ops.pop()
        b.region, b.live, b.loc = region, True, op.loc
        op.operands = tuple(leaves_of(value))
        region.ops.append(op)
    return result


def _unified(b: Staging, values: list[Any]) -> list[Any]:
    """What the returns give, with literals in the type of the numbers on other paths; tuples by item."""
    if values and all(type(v) is tuple and len(v) == len(values[0]) > 0 for v in values):
        return list(zip(*[_unified(b, list(items)) for items in zip(*values, strict=True)], strict=True))
    literal = [isinstance(v, (int, float)) and not isinstance(v, bool) for v in values]
    numbers = [v for v in values if isinstance(v, Number)]
    if numbers and all(n or isinstance(v, Number) for n, v in zip(literal, values, strict=True)):
        cls = next((type(v) for v in numbers if v.weak is None), type(numbers[0]))
        for v in numbers:
            if type(v) is not cls and v.weak is not None:
                b.elaborator.refine(v.weak, cls.dtype)
            elif v.weak is not None and not cls.dtype.is_float and float in map(type, values):
                b.elaborator.refine(v.weak, DType.float32)
        for n, v in zip(literal, values, strict=True):
            if n:
                fits(v, cls)
        return [cls(v) if n else v for n, v in zip(literal, values, strict=True)]
    if all(isinstance(v, (bool, int, float)) for v in values) and len({StaticSpec(v) for v in values}) > 1:
        kind = DType.bool if all(isinstance(v, bool) for v in values) else DType.int64
        kind = DType.float32 if any(isinstance(v, float) for v in values) else kind
        return [number_class(kind)(v) for v in values]
    if numbers and any(isinstance(v, bool) for v in values):
        return [number_class(DType.bool)(v) if isinstance(v, bool) else v for v in values]
    return values


def _result(b: Staging, values: list[Any], name: str, fell: bool) -> tuple[Spec, list[Any]]:
    values = _unified(b, values)
    specs = [spec_of(v) for v in values]
    if any(spec != specs[0] for spec in specs):
        values = [carried(v) for v in values]
        specs = [spec_of(v) for v in values]
    for (op, _, _), spec in zip(b.returns, specs, strict=True):
        if spec != specs[0]:
            texts = [_returned(s) for s in (specs[0], spec)]
            hint = "end every path with a `return` of one type"
            if isinstance(spec, NumberSpec) and isinstance(specs[0], NumberSpec):
                hint = f"make all returns one type: write {texts[0]}(...) here"
            raise CompileError(
                Diagnostic(
                    "return-type",
                    f"{name} returns {texts[0]} on one path and {texts[1]} on another",
                    (
                        Label(
                            _return_place(b, None if fell and op is b.returns[-1][0] else op.loc), texts[1]
                        ),
                        Label(_return_place(b, b.returns[0][0].loc), texts[0]),
                    ),
                    (),
                    (hint,),
                )
            )
    if len(values) == 1 and isinstance(values[0], Number) and not isinstance(values[0].value, Value):
        return StaticSpec(values[0]), values  # a typed constant stays known at compile time
    return (specs[0] if specs else StaticSpec(None)), values


def _return_place(b: Staging, loc: Loc | None) -> Location:
    """Where the statement at ``loc`` returns; of the end of the function, its name."""
    from weft.diagnostics.wrote import parameter_place, source_of

    source = source_of(b.file)
    statement = None if source is None or loc is None else source.statement(loc[0], loc[1])
    if source is not None and isinstance(statement, ast.Return):
        return source.place(statement.value or statement)
    return parameter_place(b.file, b.function.line if b.function is not None else 0, "")


def _returned(spec: Spec) -> str:
    return "nothing" if spec == StaticSpec(None) else spec.describe()
