"""What a declaration of an operation says of its types and attributes, as checks.

Types are interned, so the combinations of types that an operation was found right with are remembered, and
checking it again is one look into a set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.compiler.ir.core import Attribute
from weft.compiler.ir.types import I1, I64, FloatType, IntType, PointerType, Type, VectorType

Types = tuple[Type, ...]
TypeRule = Callable[[Types, Types], "str | None"]
"""What is wrong with the types of operands and results together."""

_TYPES: Mapping[str, Callable[[Type], bool]] = {
    "any": lambda t: True,
    "data": lambda t: not isinstance(t, PointerType),
    "int": lambda t: isinstance(t.scalar, IntType),
    "float": lambda t: isinstance(t.scalar, FloatType),
    "index": lambda t: isinstance(t, IntType),
    "mask": lambda t: t.scalar is I1,
    "ptr": lambda t: isinstance(t, PointerType),
    "vec": lambda t: isinstance(t, VectorType),
    "i1": lambda t: t is I1,
    "i64": lambda t: t is I64,
}


class OpSignature:
    """The operands and results of one kind of operation."""

    __slots__ = ("_operands", "_results", "_rule", "_variadic", "_variadic_results", "known", "names")

    def __init__(self, operands: str, results: str, rule: TypeRule | None) -> None:
        declared = [(name, sort or "any") for name, _, sort in (w.partition(":") for w in operands.split())]
        self._variadic = bool(declared) and declared[-1][0].startswith("*")
        self._variadic_results = results == "*"
        self.names: tuple[str, ...] = tuple(name for name, _ in declared)
        self._operands = declared[:-1] if self._variadic else declared
        self._results = [] if self._variadic_results else results.split()
        self._rule = rule
        self.known: set[tuple[Type | int, ...]] = set()

    def wrong(self, operands: Types, results: Types) -> str | None:
        """What is wrong with operands and results of these types; if nothing, that is ``known`` then."""
        found = self._wrong(operands, results)
        if found is None and not self._variadic:
            self.known.add((len(operands), *operands, *results))
        return found

    def _wrong(self, operands: Types, results: Types) -> str | None:
        many = len(self._operands)
        if len(operands) < many or (len(operands) > many and not self._variadic):
            return f"has {len(operands)} operands, declared {self.names}"
        if len(results) != len(self._results) and not self._variadic_results:
            return f"has {len(results)} results, declared {len(self._results)}"
        of: dict[str, Type] = {}
        for (name, sort), kind in zip(self._operands, operands, strict=False):
            wrong = _mismatch(f"the operand {name}", sort, kind, of)
            if wrong is not None:
                return wrong
            of[name] = kind
        for sort, kind in zip(self._results, results, strict=False):
            wrong = _mismatch("the result", sort, kind, of)
            if wrong is not None:
                return wrong
        return None if self._rule is None else self._rule(operands, results)


def _mismatch(what: str, sort: str, kind: Type, of: Mapping[str, Type]) -> str | None:
    if sort in of:
        return None if kind is of[sort] else f"{what} is {kind}, not {of[sort]} as {sort}"
    return None if _TYPES[sort](kind) else f"{what} is {kind}, which is no {sort}"


_ATTRIBUTES: Mapping[str, Callable[[Attribute], bool]] = {
    "number": lambda a: type(a) in (bool, int, float),
    "count": lambda a: type(a) is int and a >= 0,
    "power": lambda a: type(a) is int and a > 0 and a & (a - 1) == 0,
    "bool": lambda a: type(a) is bool,
    "str": lambda a: type(a) is str,
    "name": lambda a: type(a) is str and a != "",
    "symbol": lambda a: type(a) is str and a != "",
    "type": lambda a: isinstance(a, Type),
    "ints": lambda a: type(a) is tuple and all(type(i) is int for i in a),
}


class AttributeSorts:
    """The attributes of one kind of operation: those with a ``?`` may be missing.

    A sort is one of the above, or the words between bars. ``#a|b`` is written as the number of the word, and
    ``#arith.fastmath<a|b>`` with that head.
    """

    __slots__ = ("_sorts", "needed", "numbered", "written")

    def __init__(self, declared: str) -> None:
        self._sorts: dict[str, Callable[[Attribute], bool]] = {}
        self.needed: list[str] = []
        self.written: dict[str, str] = {}
        self.numbered: dict[str, list[str]] = {}
        for word in declared.split():
            name, _, sort = word.partition(":")
            if not name.endswith("?"):
                self.needed.append(name)
            name = name.removesuffix("?")
            self.written[name] = sort
            words = sort.rpartition("<")[2].strip("#>").split("|")
            self._sorts[name] = _ATTRIBUTES.get(sort) or frozenset(words).__contains__
            if sort[0] == "#" and "<" not in sort:
                self.numbered[name] = words

    def wrong(self, attrs: Mapping[str, Attribute]) -> str | None:
        """What is wrong with these attributes, or None."""
        sorts = self._sorts
        for name, value in attrs.items():
            fits = sorts.get(name)
            if fits is None:
                return f"has no attribute {name}"
            if not fits(value):
                return f"the attribute {name} cannot be {value!r}"
        for name in self.needed:
            if name not in attrs:
                return f"lacks the attribute {name}"
        return None


class RegionSort:
    """A region: ``name(lower)!weft.condition`` has an argument of the type of ``lower``, and that end."""

    __slots__ = ("argument", "end", "name")

    def __init__(self, declared: str) -> None:
        head, _, self.end = declared.partition("!")
        self.name, _, argument = head.partition("(")
        self.argument: str = argument.removesuffix(")")


def region_sorts(declared: str) -> tuple[RegionSort, ...]:
    """The regions of one kind of operation."""
    return tuple([RegionSort(word) for word in declared.split()])
