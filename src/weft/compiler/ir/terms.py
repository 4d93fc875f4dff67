"""Integers as polynomials: sums of products of symbols, whatever these stand for."""

from __future__ import annotations

Symbol = object
Terms = dict[tuple[Symbol, ...], int]
"""How often each product of symbols is taken; that of none is 1."""


def number(n: int) -> Terms:
    """A number."""
    return {(): n} if n else {}


def constant(terms: Terms) -> int | None:
    """The number that they are, if they are one."""
    return terms.get((), 0) if not terms.keys() - {()} else None


def along(terms: Terms, symbol: Symbol) -> Terms:
    """What is added where a symbol grows by one; of no number is it taken to be a power."""
    found: Terms = {}
    for product, count in terms.items():
        if symbol in product:
            rest = list(product)
            rest.remove(symbol)
            found[tuple(rest)] = count
    return found


def symbols(terms: Terms) -> set[Symbol]:
    """All that they are made of."""
    return {symbol for product in terms for symbol in product}


def added(a: Terms, b: Terms, times: int = 1) -> Terms:
    """``a``, and ``b`` so many times."""
    found = dict(a)
    for product, count in b.items():
        found[product] = found.get(product, 0) + times * count
        if not found[product]:
            del found[product]
    return found


def difference(a: Terms, b: Terms) -> Terms:
    """How far ``a`` lies beyond ``b``."""
    return added(a, b, -1)


def multiplied(a: Terms, b: Terms) -> Terms:
    """Their product."""
    found: Terms = {}
    for one, count in a.items():
        for other, times in b.items():
            product = tuple(sorted((*one, *other), key=_order))
            found[product] = found.get(product, 0) + count * times
            if not found[product]:
                del found[product]
    return found


def _order(symbol: Symbol) -> tuple[str, int]:
    return (symbol, 0) if isinstance(symbol, str) else ("~", id(symbol))
