"""The pieces of MLIR's generic syntax that the IR's text is made of: tokens, types and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from weft.abi.formats import from_bits
from weft.compiler.ir.core import Attribute
from weft.compiler.ir.printer import FLOATS
from weft.compiler.ir.types import FloatType, Type, of_text

_BETWEEN = re.compile(r"(?:\s|//[^\n]*)*")
_TOKEN = re.compile(
    r"""@?"(?:[^"\\\n]|\\[0-9A-F]{2})*" | [%@^\#][\w$.]+ | !llvm\.ptr(?:<\d+>)? | vector<\d+x[\w!.]+>
    | -> | -?(?:0x[0-9A-F]+|\d+(?:\.\d+)?(?:e[-+]?\d+)?) | [A-Za-z_][\w.]* | [(){}<>\[\]=:,] | \Z""",
    re.VERBOSE | re.ASCII,
)


class ParseError(ValueError):
    """The text is none of a module; the message begins with line and column."""


def _string(token: str) -> bytes:
    inner = token.removeprefix("@")[1:-1].encode()
    return re.sub(rb"\\(..)", lambda m: bytes([int(m[1], 16)]), inner)


class Reader:
    """Reads one token after the other; what stands first says what it is."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = self.end = 0
        self.token = ""
        self.results: tuple[Type, ...] = ()
        self.next()

    # -- tokens -------------------------------------------------------------------------------
    def next(self) -> str:
        """Go on to the next token; gives the one before."""
        before = self.token
        between = _BETWEEN.match(self.text, self.end)
        assert between is not None
        self.start = between.end()
        found = _TOKEN.match(self.text, self.start)
        if found is None:
            self.fail("this is no part of the syntax:")
        self.token, self.end = found[0], found.end()
        return before

    def fail(self, text: str) -> NoReturn:
        """Refuse the text, which says what is wrong with the token at hand."""
        line = self.text.count("\n", 0, self.start) + 1
        column = self.start - self.text.rfind("\n", 0, self.start)
        shown = self.text[self.start :].strip().partition("\n")[0]
        raise ParseError(f"{line}:{column}: {text} {shown[:30]!r}")

    def take(self, *wanted: str) -> None:
        """These tokens, and past them."""
        for token in wanted:
            if self.token != token:
                self.fail(f"{token!r} is wanted, not")
            self.next()

    def has(self, token: str) -> bool:
        """Whether this token comes, and past it if so."""
        return self.token == token and bool(self.next())

    def each(self, end: str) -> Iterator[None]:
        """Once for each of what stands up to ``end``, with commas between."""
        first = True
        while not self.has(end):
            if not first:
                self.take(",")
            first = False
            yield

    def text_of(self, head: str = '"') -> str:
        """A string, or what follows the head."""
        if not self.token.startswith(head):
            self.fail("a name is wanted, not")
        token = self.next()
        return _string(token).decode(errors="surrogateescape") if token.endswith('"') else token[1:]

    def int(self) -> int:
        """A whole number."""
        if not self.token.lstrip("-").isdecimal():
            self.fail("a number is wanted, not")
        return int(self.next())

    # -- types and attributes -----------------------------------------------------------------
    def type(self) -> Type:
        """One type."""
        found = of_text(self.token)
        if found is None:
            self.fail("a type is wanted, not")
        self.next()
        return found

    def types(self) -> tuple[Type, ...]:
        """Types in parentheses, or one without."""
        if not self.has("("):
            return (self.type(),)
        return tuple([self.type() for _ in self.each(")")])

    def signature(self) -> tuple[tuple[Type, ...], tuple[Type, ...]]:
        """Types of operands, and of results."""
        takes = self.types()
        self.take("->")
        return takes, self.types()

    def attributes(self) -> dict[str, Attribute]:
        """Those in braces; a name alone is true."""
        self.take("{")
        named = [(self.text_of(), self.attribute() if self.has("=") else True) for _ in self.each("}")]
        return dict(named)

    def attribute(self) -> Attribute:
        """One value."""
        token = self.token
        if token[:1] in ('"', "@"):
            return self.text_of(token[0])
        if token.startswith("#"):
            self.next()
            self.take("<")
            return ",".join([self.next() for _ in self.each(">")])
        if token == "(":
            _, self.results = self.signature()
            return True
        if self.has("array"):
            return self.array()
        if token in ("true", "false"):
            return self.next() == "true"
        if self.has("dense"):
            self.take("<")
            token = self.next()
            self.take(">")
            return self.number(token)
        return self.number(self.next()) if re.match(r"-?\d", token) else self.type()

    def array(self) -> tuple[int, ...]:
        """What follows ``array``."""
        self.take("<", "i64")
        if self.has(">"):
            return ()
        self.take(":")
        return tuple([self.int() for _ in self.each(">")])

    def number(self, token: str) -> bool | int | float:
        """What the token is as a number of the type that follows."""
        self.take(":")
        kind = self.type().scalar
        if token in ("true", "false"):
            return token == "true"
        try:
            if not isinstance(kind, FloatType):
                return int(token)
            return from_bits(FLOATS[kind.mlir], int(token, 16)) if "x" in token else float(token)
        except ValueError:
            self.fail(f"{token} is no {kind}; it stands before")
