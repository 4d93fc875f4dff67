"""Functions whose code is replaced for a while by a rewritten version of their source."""

from __future__ import annotations

import ast
import builtins
import threading
import weakref
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn

from weft.compiler.source.definition import Scope
from weft.compiler.source.find import find_function
from weft.compiler.source.python import is_definition, scope_of
from weft.compiler.source.scopes import INNER, compiled
from weft.diagnostics import CompileError
from weft.diagnostics.syntax import parsed
from weft.record import field, record


class _Made(NamedTuple):
    """The rewritten code of a function, and what it was made of."""

    of: CodeType
    hidden: frozenset[str]
    """The names of builtins that its module has for something else; ``*`` where it is rewritten widely."""
    code: CodeType | None


@record
class Rewriting:
    """A way to rewrite functions.

    Args:
        body: rewrites a definition, given what its names mean, and whether widely; says whether there was
            anything to.
        constants: what the code has in place of a text that stands alone.
        unread: of a function without a text, what is to be done with each call's arguments, if anything.
    """

    body: Callable[[ast.FunctionDef, Scope, bool], bool]
    constants: dict[str, object]
    unread: Callable[[FunctionType], Callable[[Iterable[object]], None] | None]
    made: weakref.WeakKeyDictionary[FunctionType, _Made] = field(
        default_factory=lambda: weakref.WeakKeyDictionary[FunctionType, _Made]()
    )
    own: weakref.WeakKeyDictionary[FunctionType, FunctionType] = field(
        default_factory=lambda: weakref.WeakKeyDictionary[FunctionType, FunctionType]()
    )
    """Functions that are as others were before they were rewritten."""
    under_way: dict[FunctionType, tuple[CodeType, int]] = field(
        default_factory=dict[FunctionType, tuple[CodeType, int]]
    )
    """The functions that are rewritten now: what their code was, and how often that was asked for."""
    wide: threading.Event = field(default_factory=threading.Event)
    """Whether functions are rewritten more widely from now on."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def of(self, functions: Iterable[FunctionType]) -> Generator[None]:
        """Let functions have their rewritten code, but for those of which the text itself is compiled."""
        concerned = [fn for fn in functions if not is_definition(fn) and self._code(fn) is not None]
        try:
            for fn in concerned:
                self._begin(fn)
            yield
        finally:
            for fn in concerned:
                self._end(fn)

    def function_of(self, code: CodeType, functions: Iterable[FunctionType]) -> FunctionType | None:
        """The one of several functions that a code is of, with the code that its text gives."""
        found = next((fn for fn in functions if fn.__code__ is code), None)
        if found is None or found not in self.under_way:
            return found
        own = self.own.get(found)
        if own is None:
            code = self.under_way[found][0]
            own = FunctionType(code, found.__globals__, found.__name__, found.__defaults__, found.__closure__)
            own.__qualname__, own.__module__ = found.__qualname__, found.__module__
            self.own[found] = own
        return own

    def as_written(self, fn: FunctionType) -> FunctionType:
        """A function with the code that its text gives, also while it is rewritten."""
        return self.function_of(fn.__code__, [fn]) or fn

    def _begin(self, fn: FunctionType) -> None:
        with self.lock:
            code, count = self.under_way.get(fn, (fn.__code__, 0))
            self.under_way[fn] = code, count + 1
            if not count:
                fn.__code__ = self.made[fn].code or code

    def _end(self, fn: FunctionType) -> None:
        with self.lock:
            code, count = self.under_way.pop(fn)
            if count > 1:
                self.under_way[fn] = code, count - 1
            elif fn.__code__ is self.made[fn].code:
                fn.__code__ = code

    def _code(self, fn: FunctionType) -> CodeType | None:
        """The rewritten code; None where nothing is, or there is no text."""
        with self.lock:
            code = self.under_way[fn][0] if fn in self.under_way else fn.__code__
            own = fn.__globals__.keys() & vars(builtins).keys()
            hidden = frozenset(own | {"*"} if self.wide.is_set() else own)
            found = self.made.get(fn)
            if found is None or found.of is not code or (found.hidden != hidden and fn not in self.under_way):
                found = self.made[fn] = _Made(code, hidden, self._rewritten(fn, code))
            return found.code

    def _rewritten(self, fn: FunctionType, code: CodeType) -> CodeType | None:
        constants, file = self.constants, code.co_filename
        try:
            node = find_function(fn)
            if not self.body(node, scope_of(fn), self.wide.is_set()):
                return None
        except CompileError as error:
            if file[:1] != "<":
                node, constants = _standing_in(code, "refuse"), {_STAND_IN: _Lost(error)}
            elif (check := self.unread(fn)) is not None:
                node, constants = _standing_in(code, "call"), {_STAND_IN: _Unread(fn, check)}
                file = "<weft>"
            else:  # of exec: a dataclass's own methods, say
                return None
        node.name = INNER
        made = compiled(node, file, code.co_qualname, code.co_freevars, code.co_flags)
        if made.co_freevars != code.co_freevars:
            return None
        made = _within(made, code.co_qualname.rpartition(".")[2])
        consts = tuple([constants.get(c, c) if type(c) is str else c for c in made.co_consts])
        return made.replace(co_consts=consts, co_name=code.co_name)


def _within(code: CodeType, name: str) -> CodeType:
    """A code in which functions and classes know that they stand within a function of that name."""
    consts = tuple([_within(c, name) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_consts=consts, co_qualname=code.co_qualname.replace(INNER, name))


_STAND_IN = "\0stand-in\0"


class _Lost:
    """What a function does of which there is no text any more: it says so where it is called."""

    def __init__(self, error: CompileError) -> None:
        self.error = error

    def refuse(self, *_: object) -> NoReturn:
        raise self.error.with_traceback(None)


class _Unread:
    """What a function does that never had a text: look at the arguments, and then what it always does."""

    def __init__(self, fn: FunctionType, check: Callable[[Iterable[object]], None]) -> None:
        self.own = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        self.own.__kwdefaults__ = fn.__kwdefaults__
        self.check = check

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.check((*args, *kwargs.values()))
        return self.own(*args, **kwargs)


def _standing_in(code: CodeType, method: str) -> ast.FunctionDef:
    """A function that does what the constant in it does."""
    names = " ".join(f"{name};" for name in code.co_freevars)
    text = f"def of(*__weft_a, **__weft_k): return {_STAND_IN!r}.{method}(__weft_a, __weft_k); {names}"
    (node,) = parsed(text, ast.parse).body
    assert isinstance(node, ast.FunctionDef)
    return ast.increment_lineno(node, code.co_firstlineno - 1)
