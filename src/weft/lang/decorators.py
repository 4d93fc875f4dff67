"""``@kernel`` and ``@func``: functions that weft compiles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import (
    Any,
    Generic,
    Never,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    overload,
)

from weft.compiler.source.definition import Definition
from weft.compiler.source.python import definition_of, keep_locals
from weft.diagnostics import LaunchError, a_, nearest, refuse
from weft.diagnostics.instead import ON_HOST, instead
from weft.diagnostics.problems import Problems
from weft.diagnostics.spelt import Spelt
from weft.lang.above import above
from weft.lang.elaboration import maybe_current
from weft.lang.instead import OF_KERNELS
from weft.lang.launchable import AtLaunch
from weft.lang.told_apart import same, told_apart

__all__ = ["Func", "Kernel", "func", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")

_PLAIN: frozenset[type] = frozenset((bool, int, float, str))
"""Types of values that ``bind`` remembers."""
_VARIANTS = 256
_NOTHING: Any = None
"""In place of a function, where a decorator is written with parentheses; a message says so."""


class Compiled(Spelt):
    """What kernels and functions share: a definition, and its bound compile-time values."""

    __weft_inside__ = "definition bound"

    __wrapped__: Callable[..., Any]
    __weft_compiled__ = True
    """By which those are known that must not see this class."""

    def __init__(self, definition: Definition, bound: dict[str, Any]) -> None:
        self.definition = definition
        self.bound = bound
        self.__name__: str = definition.name
        self.__qualname__ = definition.qualname
        self.__doc__ = definition.doc
        self.__module__ = definition.module
        if definition.function is not None:
            self.__wrapped__ = definition.function

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function that was decorated."""
        return self.__wrapped__

    def forget(self) -> None:
        """Drop all that was compiled of it, in every context: the next launch or call compiles it anew.

        That is needed where it has read what weft cannot follow, such as a file; the guide's page on
        variants lists that. Of a @func the kernels that call it are dropped too. What bound values were
        given does not matter, and graphs keep what they have recorded.

        Example:
            >>> import os
            >>> from weft import Float32, func
            >>> @func
            ... def factor() -> Float32:
            ...     return Float32(float(os.environ["FACTOR"]))
            >>> os.environ["FACTOR"] = "2"
            >>> factor()
            2.0
            >>> os.environ["FACTOR"] = "3"
            >>> factor.forget()
            >>> factor()
            3.0
        """
        above().forget(self.definition)

    def _bracketed(self, item: Any) -> dict[str, Any] | None:
        """What stands in brackets, by the names of what is open; None where there are too many."""
        from weft.lang.signature import bracketed

        return bracketed(self.definition, self.bound, item)

    def __weft_parts__(self) -> list[Any]:
        return [self.definition, dict(sorted(self.bound.items()))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compiled) and same(self, other)

    def __hash__(self) -> int:
        return hash((self.definition, tuple(sorted(self.bound))))

    def __reduce__(self) -> tuple[Any, ...]:
        from weft.compiler.source.pickled import by_name, find, sent

        definition = self.definition
        if by_name(definition.module, definition.qualname, self):
            return find, (definition.module, definition.qualname)
        definition.body()  # whose source must be known
        return type(self), (definition, {name: sent(value) for name, value in self.bound.items()})

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        values = "".join(f", {k}={v!r}" for k, v in self.bound.items())
        return f"<{type(self).__name__.lower()} {self.__qualname__}{values}>"


@instead(OF_KERNELS, ON_HOST)
class Kernel(Compiled, Generic[P]):
    """A function that runs once per thread of a launch; see ``kernel``."""

    __weft_inside__ = "at_level opt_level tuned"

    tuned = False
    """Whether it is launched by ``launch`` of its own, which chooses its parameters (``weft.tuning``)."""
    opt_level: int | None = None
    """How much it is optimised, where ``compile_function`` was told; else as the context says."""

    def __init__(self, definition: Definition, bound: dict[str, Any]) -> None:
        super().__init__(definition, bound)
        self._variants: dict[object, Kernel[P]] = {}

    def for_blocks(self, threads: int) -> Kernel[P]:
        """The kernel for launches with blocks of so many threads, by which tile kernels differ."""
        return self

    def at_level(self, opt_level: int | None) -> Kernel[P]:
        """The kernel, optimised as much as a level from 0 to 3 says; None leaves it as it is."""
        if opt_level is None:
            return self
        made: Kernel[P] = Kernel(self.definition, self.bound)
        made.opt_level = opt_level
        return made

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> AtLaunch:
        """A kernel is launched, by ``ctx.enqueue_function(kernel, ...)``; a call is refused."""
        name = self.__name__
        refuse(
            "kernel-call",
            f"{name} is a kernel: it runs on a device, many threads at once, and cannot be called",
            hint=f"launch it with ctx.enqueue_function({name}, ..., grid_dim=..., block_dim=...), "
            "or make it a @func"
            if maybe_current() is None
            else f"make {name} a @func, which kernels call, or launch it on the host",
        )

    def __get__(self, instance: object, owner: Any = None) -> Kernel[P]:
        return self  # with it, help() shows what the function says

    def __getitem__(self, item: Any) -> Kernel[...]:
        """The kernel with type variables and compile-time parameters given, in their order."""
        values = self._bracketed(item)
        if values is None:
            name = self.__name__
            parts = cast("tuple[object, ...]", item if type(item) is tuple else ())
            grid, block = parts if len(parts) == 2 else ("...", "...")
            refuse(
                "kernel-call",
                f"{name}[...] is no launch: grid and block are given by name, and so are parameters",
                hint=f"launch it with ctx.enqueue_function({name}, ..., grid_dim={grid}, block_dim={block}), "
                f"with compile-time parameters by name there or in {name}.bind(...)",
            )
        return self.bind(**values)

    def bind(self, **values: Any) -> Kernel[...]:
        """The kernel with compile-time parameters given, as in ``downsample.bind(factor=2)``.

        Given the same numbers and strings again it is the same object, whose launches are remembered.
        """
        types: list[type] = [type(value) for value in values.values()]
        if not _PLAIN.issuperset(types):
            _check_names(self.definition, values)
            return Kernel(self.definition, {**self.bound, **values})
        key = tuple((name, told_apart(value)) for name, value in values.items())
        found = self._variants.get(key)
        if found is None:
            _check_names(self.definition, values)
            if len(self._variants) >= _VARIANTS:
                self._variants.clear()
            found = self._variants[key] = Kernel(self.definition, {**self.bound, **values})
        return found


class Func(Compiled, Generic[P, R]):
    """A function that kernels call and that Python may call; see ``func``."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call it: from compiled code a call is emitted, from Python it runs on the CPU."""
        builder = maybe_current()
        if builder is not None:
            return builder.elaborator.call(self, args, kwargs)
        return above().call(self, args, kwargs)

    @overload
    def __getitem__(self, item: type[Any] | tuple[type[Any], ...]) -> Func[P, R]: ...

    @overload
    def __getitem__(self, item: Any) -> Func[..., R]: ...

    def __getitem__(self, item: Any) -> Func[..., R]:
        """The function with type variables and compile-time parameters given, in their order."""
        values = self._bracketed(item)
        if values is None:
            message = f"{self.__name__} has no compile-time parameters left for all that is in the brackets"
            refuse("argument-count", message, hint="leave out the rest")
        return self.bind(**values)

    def register(self, fn: Callable[..., Any]) -> Func[..., Any]:
        """A decorator: ``fn`` is called instead where its annotations say more of the arguments' types.

        As ``functools.singledispatch`` does, but by all positional arguments, and when a call is compiled.
        What none of them takes comes to the function itself.

        Example:
            >>> from weft import Float32, Integer, func
            >>> @func
            ... def half(x):
            ...     return x / 2
            >>> @half.register
            ... def _(x: Integer):
            ...     return x // 2
            >>> half(3.0), half(3)
            (1.5, 1)
        """
        other = cast("Compiled", fn).definition if isinstance(fn, Func) else defined(fn, "register")
        from weft.lang.overloads import check_registered

        check_registered(self.definition, other)
        self.forget()
        self.definition.overloads += (other,)
        return Func(other, {})

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        if not self.definition.names():
            message = f"{self.definition.qualname} is asked of an object, and has no parameter that takes it"
            refuse("call", message, hint=f"write def {self.__name__}(self), or @staticmethod above it")
        return functools.partial(self.__call__, instance)

    def bind(self, **values: Any) -> Func[..., R]:
        """The function with compile-time parameters given."""
        _check_names(self.definition, values)
        return Func(self.definition, {**self.bound, **values})


def _check_names(fn: Definition, values: dict[str, Any]) -> None:
    """Refuse to bind what is no parameter."""
    names = fn.names()
    problems = Problems()
    for name in values:
        if name not in names:
            guess = nearest(name, names)
            hint = f"did you mean `{guess}`?" if guess else "leave it out, or add the parameter"
            problems.add("argument-name", f"{fn.name} has no parameter `{name}`", hint, at=name)
    problems.check(LaunchError, 0)


def defined(fn: Any, decorator: str, *, fast_math: bool = False, threads: int = 0) -> Definition:
    """A decorated function as a definition, with the options of its decorator."""
    if isinstance(fn, Compiled):
        refuse(
            "decorator",
            f"{fn.__name__} is decorated twice",
            hint=f"keep one of @{decorator} and @{_kind(fn)}",
        )
    if not isinstance(fn, FunctionType):
        what, hint = _not_a_function(fn, decorator)
        refuse("decorator", f"@{decorator} goes on a function defined with def, not on {what}", hint=hint)
    if fn.__name__ == "<lambda>":
        hint = f"write it with def and decorate that with @{decorator}"
        refuse("decorator", f"@{decorator} goes on a function defined with def, not on a lambda", hint=hint)
    keep_locals(fn, 2)
    made = definition_of(fn, fast_math=fast_math, threads=threads)
    if decorator in ("kernel", "tile_kernel"):
        _check_no_method(made)
    return made


def of_threads(definition: Definition, threads: int) -> Definition:
    """The definition of the same kernel for blocks of so many threads."""
    function = cast("FunctionType", definition.function)
    return definition_of(function, fast_math=definition.fast_math, threads=threads)


def _check_no_method(fn: Definition) -> None:
    """Refuse a kernel that is a method: a launch has no object to call it on."""
    outside, first = fn.qualname.rpartition(".")[0], fn.names()[:1]
    if not outside or outside.endswith("<locals>") or first not in (("self",), ("cls",)):
        return
    annotations: dict[str, Any] = getattr(fn.function, "__annotations__", {})
    if first[0] not in annotations:
        refuse(
            "decorator",
            f"{fn.qualname} is a method, and a kernel has no `{first[0]}`",
            hint=[
                f"write @staticmethod above @kernel, and leave `{first[0]}` out",
                "for fields of a @struct, annotate the parameter with it, and pass one at the launch",
            ],
        )


def _kind(made: Compiled) -> str:
    return type(made).__name__.lower()


def _not_a_function(fn: object, decorator: str) -> tuple[str, str]:
    """What a decorator was put on, and what to write instead."""
    kind = type(fn).__name__
    if isinstance(fn, staticmethod):
        return "a staticmethod", f"turn them round: @staticmethod above @{decorator}"
    if isinstance(fn, (classmethod, property)):
        return f"a {kind}", f"leave out @{kind}"
    if isinstance(fn, (str, list, tuple)) or hasattr(fn, "dtype"):
        what = f"the class {fn.__name__}" if isinstance(fn, type) else a_(kind)
        return what, f"annotate its parameters, as in x: Pointer[Float32], and write @{decorator} alone"
    if isinstance(fn, type):
        return f"the class {fn.__name__}", "write @struct for a class"
    if hasattr(type(fn), "__weft_nested__"):
        return "a function in a function", "write `with fast_math():` around its body"
    if isinstance(fn, functools.partial):
        return "a functools.partial", "decorate the function, and give it values by .bind(...) or a closure"
    return a_(type(fn).__name__), f"write a function with def and decorate it with @{decorator}"


def _option(decorator: str, fn: object, fast_math: object, options: Mapping[str, object]) -> bool:
    """Whether a decorator is written with its option, which is then checked."""
    hint = [f"write @{decorator}, or @{decorator}(fast_math=True); compile-time values go to .bind(...)"]
    if options:
        if decorator == "kernel":
            hint = ["write @kernel; grid_dim=, block_dim= and compile-time values are given at the launch"]
        refuse("decorator", f"@{decorator} has no option `{next(iter(options))}`", hint=hint)
    if fast_math is None:
        if fn is None:
            refuse("decorator", f"@{decorator}() has parentheses, and no option in them", hint=hint)
        return False
    if fn is not None or type(fast_math) is not bool:
        what = "a function beside fast_math" if fn is not None else f"fast_math={fast_math!r}"
        hint = f"write @{decorator}(fast_math=True) above the function, or `with fast_math():` in it"
        refuse("decorator", f"@{decorator} was given {what}", hint=hint)
    return True


class _Options(Protocol):
    """What ``@kernel(...)`` gives."""

    def __call__(self, fn: Callable[P, None], /) -> Kernel[P]: ...


class _FuncOptions(Protocol):
    """What ``@func(...)`` gives."""

    def __call__(self, fn: Callable[P, R], /) -> Func[P, R]: ...


@overload
def kernel(fn: Callable[P, None]) -> Kernel[P]: ...


@overload
def kernel(*, fast_math: bool) -> _Options: ...


def kernel(
    fn: Callable[P, None] = _NOTHING, *, fast_math: bool | None = None, **options: Never
) -> Kernel[P] | _Options:
    """Make a typed Python function a kernel.

    Its parameters are annotated with ``Int``, ``Float32``, ``Pointer[T]``, ``LayoutTensor[T]``,
    structs of these, or ``Comptime[...]`` for keyword-only compile-time values. It returns nothing.

    ``@kernel(fast_math=True)`` has its floats computed as within ``with fast_math():`` of ``weft.lang``; they
    are exact by default. Functions that it calls have their own.

    Raises:
        CompileError: ``fn`` is not a plain function.

    Example:
        >>> from weft import Float32, Int, Pointer, kernel
        >>> from weft.gpu import global_idx
        >>> @kernel
        ... def scale(x: Pointer[Float32], n: Int, by: Float32):
        ...     if global_idx.x < n:
        ...         x[global_idx.x] *= by
    """
    if not _option("kernel", fn, fast_math, options):
        return Kernel(defined(fn, "kernel"), {})
    return lambda fn: Kernel(defined(fn, "kernel", fast_math=fast_math is True), {})


@overload
def func(fn: Func[P, R]) -> Func[P, R]: ...


@overload
def func(fn: Callable[P, R]) -> Func[P, R]: ...


@overload
def func(*, fast_math: bool) -> _FuncOptions: ...


def func(
    fn: Callable[P, R] | Func[P, R] = _NOTHING, *, fast_math: bool | None = None, **options: Never
) -> Func[P, R] | _FuncOptions:
    """Make a Python function callable from kernels, and compiled when Python calls it.

    A parameter without annotation takes values of any type; the function is compiled once for each
    combination. It may return early, and more than one value. Called by Python it runs on the CPU, takes
    NumPy arrays as pointers and tensors, and gives Python's numbers.

    It has the option of ``kernel``, ``fast_math``.

    Raises:
        CompileError: ``fn`` is not a plain function.

    Example:
        >>> from weft import Float32, func
        >>> @func
        ... def clamp01(x: Float32) -> Float32:
        ...     if x < 0.0:
        ...         return Float32(0.0)
        ...     return x if x < 1.0 else Float32(1.0)
        >>> clamp01(1.5)
        1.0
    """
    if _option("func", fn, fast_math, options):

        def made(fn: Callable[..., Any], /) -> Func[..., Any]:
            return Func(defined(fn, "func", fast_math=fast_math is True), {})

        return made
    if hasattr(type(fn), "__weft_nested__"):  # it stands in a function, where every function is one
        return fn  # pyright: ignore[reportReturnType]
    return Func(defined(fn, "func"), {})
