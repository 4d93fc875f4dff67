"""What Python says of wrong programs is still said in the words that are looked for, on this Python."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import pytest

from weft.compiler.frontend import operations, translate, unfit_calls
from weft.diagnostics.instead import instead_of_kind
from weft.layout.tensor import split as tensor_split

OPERATORS: Any = operator
ANY: Any = translate
CALLS: Any = unfit_calls
OWN: Any = operations
"""Their patterns are their own."""


class Plain:
    """An object without operators."""

    def method(self, x: int) -> None:
        """Takes one argument."""


def takes(x: int, *, y: int = 0) -> int:
    """Takes one argument."""
    return x + y


def unbound() -> None:
    if len(ANY.__name__) < 0:
        value = 1
    print(value)  # pyright: ignore[reportPossiblyUnboundVariable]


def unpack(values: Any, count: int) -> None:
    if count == 2:
        _, _ = values
    else:
        _, _, *_ = values


def call(f: Any, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


def assign(to: Any) -> None:
    to[0] = 1


SAID: list[tuple[str, Callable[[], Any], tuple[str | None, ...]]] = [
    ("_BINARY", lambda: call(OPERATORS.add, Plain(), "a"), ("+", "Plain", "str")),
    ("_BINARY", lambda: call(OPERATORS.iadd, Plain(), 1), ("+=", "Plain", "int")),
    ("_BINARY", lambda: call(OPERATORS.matmul, Plain(), 1), ("@", "Plain", "int")),
    ("_BINARY", lambda: call(OPERATORS.pow, Plain(), 1), ("** or pow()", "Plain", "int")),
    ("_COMPARE", lambda: call(OPERATORS.lt, Plain(), 1), ("<", "Plain", "int")),
    ("_UNARY", lambda: call(OPERATORS.neg, Plain()), ("-", "Plain")),
    ("_UNARY", lambda: call(OPERATORS.invert, Plain()), ("~", "Plain")),
    ("_UNARY", lambda: call(abs, Plain()), ("abs()", "Plain")),
    ("_VERB", lambda: call(Plain()), ("Plain", "is not callable")),
    ("_VERB", lambda: call(OPERATORS.getitem, Plain(), 0), ("Plain", "is not subscriptable")),
    ("_VERB", lambda: call(iter, Plain()), ("Plain", "is not iterable")),
    ("_VERB", lambda: assign(Plain()), ("Plain", "does not support item assignment")),
    ("_UNPACK", lambda: unpack(Plain(), 2), ("Plain",)),
    ("_CALL", lambda: call(takes), ("takes", "missing")),
    ("_CALL", lambda: call(takes, 1, 2), ("takes", "takes")),
    ("_CALL", lambda: call(takes, 1, z=2), ("takes", "got")),
    ("_CALL", lambda: call(Plain().method), ("method", "missing")),
]


@pytest.mark.parametrize(("pattern", "wrong", "groups"), SAID)
def test_python_still_says_so(pattern: str, wrong: Callable[[], Any], groups: tuple[str | None, ...]) -> None:
    with pytest.raises(TypeError) as found:
        wrong()
    match = getattr(CALLS if pattern == "_CALL" else OWN, pattern).match(str(found.value))
    assert match is not None, f"{found.value!r} is not looked for"
    assert match.groups() == groups


@pytest.mark.parametrize(("values", "words"), [((1, 2, 3), "too many"), ((1,), "not enough")])
def test_how_many_values_are_needed(values: tuple[int, ...], words: str) -> None:
    with pytest.raises(ValueError, match="values to unpack") as found:
        unpack(values, 2)
    match = ANY._COUNT.match(str(found.value))
    assert match is not None
    assert (match[1], match[2]) == (words, "2")


def test_too_few_for_a_star() -> None:
    with pytest.raises(ValueError, match="values to unpack") as found:
        unpack((1,), 3)
    match = ANY._COUNT.match(str(found.value))
    assert match is not None
    assert match.groups() == ("not enough", "2", "1")


def test_a_class_that_is_made_wrongly() -> None:
    class Made:
        def __init__(self, x: int) -> None:
            self.x = x

    with pytest.raises(TypeError) as found:
        call(Made)
    text = str(found.value).split("<locals>.")[-1]
    match = CALLS._CONSTRUCT.match(text)
    assert match is not None
    assert match[1] == "Made"


def test_a_variable_without_a_value() -> None:
    with pytest.raises(UnboundLocalError) as found:
        unbound()
    match = ANY._UNBOUND.search(str(found.value))
    assert match is not None
    assert match[1] == "value"


def test_a_keyword_that_nothing_takes() -> None:
    with pytest.raises(TypeError) as found:
        call(takes, 1, z=2)
    assert re.search(r"unexpected keyword argument '(\w+)'", str(found.value)) is not None


def test_no_number() -> None:
    import math

    with pytest.raises(TypeError, match=r"must be real number, not Plain"):
        call(math.sqrt, Plain())


def test_what_takes_brackets_is_called_so() -> None:
    own = [value for value in vars(tensor_split).values() if isinstance(value, type)]
    own = [value for value in own if value.__module__ == tensor_split.__name__]
    told = {value.__name__ for value in own if instead_of_kind(value.__name__, "()").startswith("give the ")}
    assert told == {value.__name__ for value in own} - {"Tiles", "_Splitting"}
