"""Python's functions as definitions: the one room that takes them apart."""

from __future__ import annotations

import functools
import marshal
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from weft.compiler.source.definition import MISSING, Definition, Parameter, Scope
from weft.compiler.source.quoted import text_of, unquoted
from weft.compiler.source.written import keep_text, share_text
from weft.diagnostics import CompileError, undefined
from weft.diagnostics.unfit import frame_above

if TYPE_CHECKING:
    import ast

    from weft.compiler.source.names import Named

_SUSPENDED = 0x2A0
"""The flags of code that is a generator or asynchronous."""
_GENERATOR = 0x20
_STARS = 0x0C
_STAR = 0x04
_FUTURE_ANNOTATIONS = 0x1000000
"""The flag of code whose annotations are texts."""


class PythonFunction(Definition):
    """A Python function. What can be replaced of it is read when it is asked for."""

    def __init__(self, function: FunctionType, *, fast_math: bool = False, threads: int = 0) -> None:
        self._function = function
        self.fast_math = fast_math
        self.threads = threads
        self.name = function.__name__
        self.qualname = function.__qualname__
        self.module = function.__module__
        self.doc = function.__doc__

    @property
    def file(self) -> str:
        """The file that it was compiled from."""
        return self._function.__code__.co_filename

    @property
    def line(self) -> int:
        """The line in which it begins."""
        return self._function.__code__.co_firstlineno

    @property
    def scope(self) -> Scope:
        """What its names mean now."""
        return scope_of(self._function)

    @property
    def version(self) -> object:
        """Its code."""
        return self.code

    @property
    def code(self) -> CodeType:
        """Its code, which may be replaced."""
        return self._function.__code__

    def without_cells(self) -> PythonFunction:
        """The function with captured variables that are not set."""
        fn = self._function
        closure = tuple([CellType() for _ in fn.__code__.co_freevars])
        made = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        for name in ("__qualname__", "__module__", "__kwdefaults__", "__annotations__", "__type_params__"):
            if hasattr(fn, name):  # the last from Python 3.12 on
                setattr(made, name, getattr(fn, name))
        made.__dict__.update(fn.__dict__)
        share_text(made, fn)
        return PythonFunction(made, fast_math=self.fast_math, threads=self.threads)

    @property
    def defaults(self) -> tuple[Any, ...]:
        """The values of parameters that have one."""
        return *(self._function.__defaults__ or ()), *(self._function.__kwdefaults__ or {}).values()

    @property
    def parts(self) -> tuple[Any, ...]:
        """What a ``def`` gives its function beside code and scope: defaults and annotations."""
        fn = self._function
        return fn.__defaults__ or None, fn.__kwdefaults__ or None, fn.__annotations__ or None

    @property
    def function(self) -> FunctionType:
        """The function itself."""
        return self._function

    def body(self) -> ast.FunctionDef:
        """The syntax that its code was compiled from, placed as in its file."""
        from weft.compiler.source.find import find_function  # not for who only decorates

        return find_function(self._function)

    def names(self) -> tuple[str, ...]:
        """The names of its parameters, then of its type variables."""
        return *self._named(), *self.variables()

    def _named(self) -> tuple[str, ...]:
        code = self._function.__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def variables(self) -> dict[str, Any]:
        """Its type variables by name: its own, those in annotations, those of the class that it stands in."""
        fn = self._function
        own, outer = getattr(fn, "__type_params__", ()), fn.__dict__.get("__weft_variables__", ())
        found = {v.__name__: v for v in own if isinstance(v, TypeVar)}
        spaces = fn.__dict__.get("__weft_locals__", {}), self.scope.captured(), fn.__globals__
        for annotation in fn.__annotations__.values():
            found.update(_variables_in(annotation, spaces))
        found.update({v.__name__: v for v in outer})
        return {name: v for name, v in found.items() if name not in self._named()}

    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, their annotations evaluated."""
        fn = self._function
        code = fn.__code__
        if code.co_flags & _STARS:
            stars = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
            raise CompileError.at(
                "signature",
                f"{self.name} takes {'*' if code.co_flags & _STAR else '**'}{stars}, "
                "but a compiled function has a fixed list of parameters",
                self.place(stars),
                hints=("name each parameter, or pass a tuple or a @struct",),
            )
        count = code.co_argcount
        defaults = fn.__defaults__ or ()
        given: Mapping[str, Any] = {
            **dict(zip(code.co_varnames[count - len(defaults) : count], defaults, strict=True)),
            **(fn.__kwdefaults__ or {}),
        }
        variables = self.variables()
        named = [
            Parameter(
                name,
                self._evaluated(fn.__annotations__.get(name, MISSING), f"`{name}`", name, variables),
                keyword_only=n >= count,
                default=given.get(name, MISSING),
            )
            for n, name in enumerate(self._named())
        ]
        types = [Parameter(name, v, True, True, variable=True) for name, v in variables.items()]
        return *named, *types

    def result(self) -> Any:
        """The annotation of its result, evaluated."""
        annotation = self._function.__annotations__.get("return", MISSING)
        return self._evaluated(annotation, f"the result of {self.name}", "return", self.variables())

    def _evaluated(self, annotation: Any, of: str, name: str, variables: dict[str, Any]) -> Any:
        """An annotation, what is quoted of it as what that means where the function stands."""
        fn = self._function

        def failed(text: str, error: Exception) -> CompileError:
            otherwise = "define or import what it names before the launch"
            return CompileError.at(
                "annotation",
                f"the annotation `{text}` of {of} does not evaluate: {error}",
                self.place(name),
                hints=(undefined(error, text, fn.__globals__, otherwise),),
            )

        def evaluate(text: str) -> Any:
            scope = {**fn.__dict__.get("__weft_locals__", {}), **variables, **self.scope.captured()}
            try:
                return eval(_code_of(text), fn.__globals__, scope)
            except Exception as error:
                raise failed(text, error) from None

        try:
            return unquoted(annotation, evaluate)
        except NameError as error:  # what `type` names is evaluated here
            raise failed(str(annotation), error) from None

    def reads(self) -> Named:
        """What its code names."""
        from weft.compiler.source.names import named

        return named(self._function.__code__)

    def __reduce__(self) -> tuple[Any, ...]:
        from weft.compiler.source.pickled import reduced

        return reduced(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from weft.compiler.source.pickled import fill

        fill(self, state)

    def digest(self) -> bytes:
        """Its code, as bytes."""
        return marshal.dumps(self._function.__code__)


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@functools.lru_cache(maxsize=4096)
def _code_of(annotation: str) -> CodeType:
    return compile(annotation.lstrip(" \t"), "<string>", "eval")


def _variables_in(annotation: Any, spaces: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The type variables in an annotation, by what the first of the spaces that knows a name has there."""
    if isinstance(annotation, TypeVar):
        yield annotation.__name__, annotation
    elif (text := text_of(annotation)) is not None:
        for name in _words(text):
            value = next((space[name] for space in spaces if name in space), MISSING)
            if isinstance(value, TypeVar):
                yield name, value
    else:
        for part in get_args(annotation):
            yield from _variables_in(part, spaces)


def scope_of(fn: FunctionType) -> Scope:
    """What the names in a Python function mean."""
    return Scope(fn.__globals__, dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)))


_Known = weakref.WeakKeyDictionary[FunctionType, "weakref.ref[PythonFunction]"]
_known: dict[tuple[bool, int], _Known] = {}
"""The definitions of functions, by their options."""


def is_definition(fn: FunctionType) -> bool:
    """Whether a function is a definition, of which the text counts."""
    return any(fn in known for known in _known.values())


def definition_of(fn: Callable[..., Any], *, fast_math: bool = False, threads: int = 0) -> PythonFunction:
    """A Python function as a definition: the same one, with the same options, as long as anyone has it.

    Raises:
        CompileError: it is a generator or asynchronous.
    """
    function = cast("FunctionType", fn)
    known = _known.setdefault((fast_math, threads), _Known())
    found = known.get(function)
    made = None if found is None else found()
    if made is None:
        made = PythonFunction(function, fast_math=fast_math, threads=threads)
        _check(made)
        keep_text(function)
        known[function] = weakref.ref(made)
    return made


def _check(made: PythonFunction) -> None:
    flags = made.function.__code__.co_flags
    if flags & _SUSPENDED:
        generator = bool(flags & _GENERATOR)
        raise CompileError.at(
            "unsupported-syntax",
            f"{made.name} is {'a generator' if generator else 'asynchronous'}, which cannot be compiled",
            made.place(""),
            notes=("compiled code runs to its end and has no suspended frames",),
            hints=(
                "write the results to memory instead of `yield`"
                if generator
                else "leave out `async`: launches are asynchronous by themselves",
            ),
        )


def keep_locals(fn: Callable[..., Any], depth: int) -> None:
    """Keep what annotations that are texts name in the function around ``fn``, which no cell holds.

    ``depth`` says how many calls up is who wrote the decorator.
    """
    frame = frame_above(depth + 1)
    function = cast("FunctionType", fn)
    if frame.f_locals is frame.f_globals or "__weft_locals__" in function.__dict__:
        return
    if function.__code__.co_flags & _FUTURE_ANNOTATIONS or sys.version_info < (3, 14):
        texts = [text for text in function.__annotations__.values() if isinstance(text, str)]
        function.__dict__["__weft_locals__"] = named_in(texts, frame.f_locals)


def named_in(annotations: Iterable[Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    """What annotations name of a scope."""
    names = set(re.findall(r"\w+", " ".join(map(str, annotations))))
    return {name: value for name, value in scope.items() if name in names}
