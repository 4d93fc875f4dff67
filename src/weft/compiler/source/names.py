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
    chains: dict[bool, set[tuple[str, ...]]] = {True: set(), False: set()}
    attributes: set[str] = set()
    imports: set[tuple[str, int]] = set()
    stored: set[str] = set()
    chain: list[str] | None = None
    free = False
    level = 0

    def end() -> None:
        if chain is not None:
            chains[free].add(tuple(chain))

    local = [*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames)]
    places = [*local, *code.co_freevars]
    for operation, argument in _operations(code):
        if operation in _GLOBAL:
            end()
            chain, free = [code.co_names[argument >> 1]], False
        elif operation in _PLAIN:
            end()
            chain, free = [code.co_names[argument]], False
        elif operation in _FREE and argument >= len(local):
            end()
            chain, free = [places[argument]], True
        elif operation in _ATTRIBUTE or operation in _METHOD:
            name = code.co_names[argument >> 1 if _FLAGGED and operation in _ATTRIBUTE else argument]
            if chain is None:
                attributes.add(name)
            else:
                chain.append(name)
        else:
            end()
            chain = None
            if operation == _IMPORT:
                imports.add((code.co_names[argument], level))
            elif operation == _FROM:
                attributes.add(code.co_names[argument])
            elif operation in _SUPER:
                attributes.add(code.co_names[argument >> 2])
            elif operation in _STORE:
                stored.add(code.co_names[argument])
            level = _level(code, operation, argument, level)
    end()
    names = {name for one in (*chains[True], *chains[False]) for name in one} | attributes
    strings: set[str] = set()
    for const in code.co_consts:
        if isinstance(const, str) and const.isidentifier():
            strings.add(const)
        elif isinstance(const, CodeType):
            inner = named(const)
            chains[False] |= inner.globals
            for one in inner.free:
                if one[0] in code.co_freevars:
                    chains[True].add(one)
                else:
                    attributes.update(one[1:])
            attributes |= inner.attributes
            strings |= inner.strings
            imports |= inner.imports
            stored |= inner.stored
    return Named(
        frozenset(chains[False]),
        frozenset(chains[True]),
        frozenset(attributes),
        frozenset(strings) if names & _BY_TEXT or imports else frozenset(),
        frozenset(imports),
        frozenset(stored),
    )


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
