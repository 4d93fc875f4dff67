"""The names that compiled Python reads, found in its code without running it."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from types import CodeType

from weft.record import record

_GLOBAL = {dis.opmap[n] for n in ("LOAD_GLOBAL",)}
_PLAIN = {dis.opmap[n] for n in ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") if n in dis.opmap}
_FREE = {
    dis.opmap[n]
    for n in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE")
    if n in dis.opmap
}
_ATTRIBUTE = {dis.opmap["LOAD_ATTR"]}
_METHOD = {dis.opmap[n] for n in ("LOAD_METHOD",) if n in dis.opmap}
_IMPORT, _FROM = dis.opmap["IMPORT_NAME"], dis.opmap["IMPORT_FROM"]
_SUPER = {dis.opmap[n] for n in ("LOAD_SUPER_ATTR",) if n in dis.opmap}
_STORE = {dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]}
_STORES = ("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "DELETE_ATTR", "DELETE_SUBSCR")
_CHANGE = _STORE | {dis.opmap[name] for name in _STORES if name in dis.opmap}
_DEREF = dis.opmap["STORE_DEREF"]
_CHANGING = frozenset(
    "append appendleft extend extendleft insert pop popleft popitem remove clear update setdefault add "
    "discard sort reverse rotate send next setattr delattr __setattr__ __setitem__ __next__ __dict__".split()
)
"""Names by which code changes what it is given."""
_FLAGGED = sys.version_info >= (3, 12)
"""Whether the low bit of an attribute's argument is a flag."""
_BY_TEXT = frozenset(
    ("getattr", "hasattr", "globals", "vars", "__dict__", "attrgetter", "methodcaller", "getattr_static")
)
"""What reads names that the code has as strings."""


@record
class Named:
    """What a code object reads. A chain is ``a.b.c``, taken apart."""

    globals: frozenset[tuple[str, ...]]
    free: frozenset[tuple[str, ...]]
    """Chains that begin with a captured variable."""
    attributes: frozenset[str]
    """Attributes of what is only known when it runs."""
    strings: frozenset[str]
    """Strings that may be names, where the code does what reads such."""
    imports: frozenset[tuple[str, int]]
    """Modules, each with how many packages up it is looked for."""
    stored: frozenset[str]
    """Globals that it assigns."""


@functools.lru_cache(maxsize=4096)
def named(code: CodeType) -> Named:
    """What a code object reads, and those in it."""
    found = _Found()
    found.read(code)
    names = {name for chain in (*found.globals, *found.free) for name in chain} | found.attributes
    found.read_inner(code)
    by_text = names & _BY_TEXT or found.imports
    return Named(
        frozenset(found.globals),
        frozenset(found.free),
        frozenset(found.attributes),
        frozenset(found.strings) if by_text else frozenset(),
        frozenset(found.imports),
        frozenset(found.stored),
    )


class _Found:
    def __init__(self) -> None:
        self.globals: set[tuple[str, ...]] = set()
        self.free: set[tuple[str, ...]] = set()
        self.attributes: set[str] = set()
        self.strings: set[str] = set()
        self.imports: set[tuple[str, int]] = set()
        self.stored: set[str] = set()

    def read(self, code: CodeType) -> None:
        """What its own instructions read."""
        chain: list[str] = []
        into, names, level = self.globals, code.co_names, 0

        def begin(*chain_of: str) -> list[str]:
            if chain:
                into.add(tuple(chain))
            return list(chain_of)

        local = [*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames)]
        places = [*local, *code.co_freevars]
        for operation, argument in _operations(code):
            if operation in _GLOBAL:
                chain, into = begin(names[argument >> 1]), self.globals
            elif operation in _PLAIN:
                chain, into = begin(names[argument]), self.globals
            elif operation in _FREE and argument >= len(local):
                chain, into = begin(places[argument]), self.free
            elif operation in _ATTRIBUTE or operation in _METHOD:
                name = names[argument >> 1 if _FLAGGED and operation in _ATTRIBUTE else argument]
                if chain:
                    chain.append(name)
                else:
                    self.attributes.add(name)
            else:
                chain = begin()
                if operation == _IMPORT:
                    self.imports.add((names[argument], level))
                elif operation == _FROM:
                    self.attributes.add(names[argument])
                elif operation in _SUPER:
                    self.attributes.add(names[argument >> 2])
                elif operation in _STORE:
                    self.stored.add(names[argument])
                level = _level(code, operation, argument, level)
        begin()

    def read_inner(self, code: CodeType) -> None:
        """What the code in it reads, and its strings."""
        for const in code.co_consts:
            if isinstance(const, str) and const.isidentifier():
                self.strings.add(const)
            elif isinstance(const, CodeType):
                inner = named(const)
                self.globals |= inner.globals
                for chain in inner.free:
                    if chain[0] in code.co_freevars:
                        self.free.add(chain)
                    else:
                        self.attributes.update(chain[1:])
                self.attributes |= inner.attributes
                self.strings |= inner.strings
                self.imports |= inner.imports
                self.stored |= inner.stored


@functools.lru_cache(maxsize=4096)
def may_change(code: CodeType) -> bool:
    """Whether a code object, or one in it, may change what outlives it."""
    if not _CHANGING.isdisjoint(code.co_names):
        return True
    own = {*code.co_varnames, *code.co_cellvars}
    for operation, argument in _operations(code):
        if operation in _CHANGE or (operation == _DEREF and argument >= len(own)):
            return True
    return any(may_change(const) for const in code.co_consts if isinstance(const, CodeType))


def _operations(code: CodeType) -> Iterator[tuple[int, int]]:
    text, high = code.co_code, 0
    extended, cache = dis.EXTENDED_ARG, dis.opmap.get("CACHE", 0)
    for at in range(0, len(text), 2):
        operation = text[at]
        if operation == cache:
            continue
        argument = text[at + 1] | high
        high = argument << 8 if operation == extended else 0
        if operation != extended:
            yield operation, argument


def _level(code: CodeType, operation: int, argument: int, before: int) -> int:
    """The small number that was loaded last, which may be an import's level."""
    if operation == dis.opmap["LOAD_CONST"]:
        const = code.co_consts[argument]
        return const if type(const) is int else before
    return argument if operation == dis.opmap.get("LOAD_SMALL_INT") else before
