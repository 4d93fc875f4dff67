"""Functions that have other code for a while: that of their text, rewritten."""

from __future__ import annotations

import ast
import builtins
import dis
import threading
import weakref
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import NamedTuple, NoReturn

from weft.compiler.source.find import find_function
from weft.compiler.source.python import is_definition
from weft.compiler.source.scopes import INNER, compiled
from weft.diagnostics import CompileError
from weft.record import field, record


class _Made(NamedTuple):
    """The rewritten code of a function, and what it was made of."""

    of: CodeType
    hidden: frozenset[str]
    """The names of builtins that its module has for something else."""
    code: CodeType | None


@record
class Rewriting:
    """A way to rewrite functions.

    Args:
        operations: those of Python's machine of which one is in the code of each function concerned,
        names: or of these names.
        body: rewrites a definition, given the names that mean no builtin; says whether there was anything to.
        constants: what the code has in place of a text that stands alone.
    """

    operations: frozenset[str]
    names: frozenset[str]
    body: Callable[[ast.FunctionDef, set[str]], bool]
    constants: dict[str, object]
    made: weakref.WeakKeyDictionary[FunctionType, _Made] = field(
        default_factory=lambda: weakref.WeakKeyDictionary[FunctionType, _Made]()
    )
    under_way: dict[FunctionType, tuple[CodeType, int]] = field(
        default_factory=dict[FunctionType, tuple[CodeType, int]]
    )
    """The functions that are rewritten now: what their code was, and how often that was asked for."""
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
            hidden = frozenset(fn.__globals__.keys() & vars(builtins).keys())
            found = self.made.get(fn)
            if found is None or found.of is not code or (found.hidden != hidden and fn not in self.under_way):
                operations = {dis.opmap[name] for name in self.operations}
                made = self._rewritten(fn, code) if self._is_concerned(code, operations) else None
                found = self.made[fn] = _Made(code, hidden, made)
            return found.code

    def _is_concerned(self, code: CodeType, operations: set[int]) -> bool:
        if not self.names.isdisjoint(code.co_names) or not operations.isdisjoint(code.co_code[::2]):
            return True
        return any(self._is_concerned(c, operations) for c in code.co_consts if isinstance(c, CodeType))

    def _rewritten(self, fn: FunctionType, code: CodeType) -> CodeType | None:
        constants = self.constants
        try:
            node = find_function(fn)
            if not self.body(node, {*code.co_freevars, *fn.__globals__}):
                return None
        except CompileError as error:
            if code.co_filename[:1] == "<":  # of exec: a dataclass's own methods, say
                return None
            node, constants = _raising(code), {_ERROR: _Unread(error)}
        node.name = INNER
        made = compiled(node, code.co_filename, code.co_qualname, code.co_freevars)
        if made.co_freevars != code.co_freevars:
            return None
        consts = tuple([constants.get(c, c) if type(c) is str else c for c in made.co_consts])
        return made.replace(co_consts=consts, co_name=code.co_name)


_ERROR = "\0error\0"


class _Unread:
    def __init__(self, error: CompileError) -> None:
        self.error = error

    def refuse(self) -> NoReturn:
        raise self.error.with_traceback(None)


def _raising(code: CodeType) -> ast.FunctionDef:
    """A function of which there is no text any more: it says so where it is called."""
    names = " ".join(f"{name};" for name in code.co_freevars)
    text = f"def of(*_, **__): {_ERROR!r}.refuse(); {names}"
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return ast.increment_lineno(node, code.co_firstlineno - 1)
