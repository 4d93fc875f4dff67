"""Functions that ask what objects are (``is``, ``type``) and are not rewritten, recognised by their bytecode.

What ``exec`` made has no text to rewrite: such a function refuses what exists only at run time. Installed
packages are not looked into otherwise; of theirs those are rewritten that a kernel or a helper names, or
that these call, and that compare with True, False or a class of numbers.
"""

from __future__ import annotations

import dis
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from weft.compiler.source.definition import MISSING
from weft.compiler.source.names import named
from weft.record import record

_IS = dis.opmap["IS_OP"]
_NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
_FILLING = ("EXTENDED_ARG", "CACHE", "NOP")
_NUMBERS = (bool, int, float)
_MOST = 200
"""Functions of a package that are looked into for one that is named."""

_found: weakref.WeakKeyDictionary[FunctionType, list[FunctionType]] = weakref.WeakKeyDictionary()

Names = Callable[[str], Any]


@record
class Identity:
    """Which functions go by what objects are.

    Args:
        names_of: what the names in a function mean.
        is_one: whether a value is a function of Python's own that does, or what else goes by ``type``.
        texts: the names of such functions, as ``getattr`` finds them.
    """

    names_of: Callable[[FunctionType], Names]
    is_one: Callable[[Any], bool]
    texts: frozenset[str]

    def in_text_of(self, fn: FunctionType, *, numbers: bool = False) -> bool:
        """Whether a function goes by ``type``, or by ``is`` but with a marker; or with classes of numbers."""
        given = (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())
        return self._compares(fn.__code__, self.names_of(fn), numbers) or any(map(self.is_one, given))

    def of_packages(self, roots: Iterable[FunctionType]) -> set[FunctionType]:
        """Those to rewrite among functions of installed packages and what they call of their own."""
        out: set[FunctionType] = set()
        for root in roots:
            if root not in _found:
                _found[root] = [fn for fn in self._called(root) if self.in_text_of(fn, numbers=True)]
            out.update(_found[root])
        return out

    def _called(self, root: FunctionType) -> list[FunctionType]:
        reached, seen = [root], {root}
        for fn in reached:  # grows while it runs
            for value in _reached(fn.__code__, self.names_of(fn)):
                if isinstance(value, FunctionType) and value not in seen and len(reached) < _MOST:
                    if value.__module__.partition(".")[0] == root.__module__.partition(".")[0]:
                        seen.add(value)
                        reached.append(value)
        return reached

    def _compares(self, code: CodeType, names: Names, numbers: bool) -> bool:
        if _IS in code.co_code[::2]:
            steps = [step for step in dis.get_instructions(code) if step.opname not in _FILLING]
            for n, step in enumerate(steps):
                if step.opname == "IS_OP" and _is_asked(
                    [_meaning(s, names) for s in steps[n - 2 : n]], numbers
                ):
                    return True
        if not numbers and named(code).strings & self.texts:
            return True
        if any(self.is_one(v) or (v is type and not numbers) for v in _reached(code, names)):
            return True
        return any(self._compares(c, names, numbers) for c in code.co_consts if isinstance(c, CodeType))


def _meaning(step: dis.Instruction, names: Names) -> Any:
    if step.opname in _NAMES:
        return names(step.argval)
    return step.argval if "CONST" in step.opname or step.opname == "LOAD_SMALL_INT" else MISSING


def _is_asked(sides: list[Any], numbers: bool) -> bool:
    of_numbers = any(side in _NUMBERS or isinstance(side, _NUMBERS) for side in sides if _is_plain(side))
    return of_numbers or not (numbers or any(side is not MISSING for side in sides))


def _is_plain(side: Any) -> bool:
    return isinstance(side, (type, bool, int, float))


def _reached(code: CodeType, names: Names) -> Iterator[Any]:
    """What the names of code and their attributes stand for."""
    for first, *rest in (*named(code).globals, *named(code).free):
        value = names(first)
        for name in rest:
            value = getattr(value, name, MISSING) if isinstance(value, (ModuleType, type)) else MISSING
        yield value
