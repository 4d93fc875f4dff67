"""The IR from the text that the printer writes: MLIR's generic syntax, names of values as one likes.

What an operation may have its declaration says (``weft.compiler.ir.ops``); whether a module is right
``verify_module`` says. A comment goes from ``//`` to the end of its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from weft.abi.formats import from_bits
from weft.compiler.ir.core import Attribute, Function, Global, Loc, Module, Op, Region, Value
from weft.compiler.ir.ops import FUNCTION, GLOBAL, SPECS
from weft.compiler.ir.printer import FLOATS
from weft.compiler.ir.sorts import AttributeSorts
from weft.compiler.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    AddressSpace,
    FloatType,
    Type,
    pointer,
    vector,
)
from weft.record import record

__all__ = ["ParseError", "parse_module"]

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
        found = _type_of(self.token)
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


_TYPES: dict[str, Type] = {kind.mlir: kind for kind in (I1, I8, I16, I32, I64, F16, BF16, F32, F64)}


def _type_of(text: str) -> Type | None:
    """The type that MLIR spells like this."""
    if text.startswith("!llvm.ptr"):
        space = int(text[10:-1] or 0)
        return pointer(space) if space in list(AddressSpace) else None
    if text.startswith("vector<"):
        lanes, _, element = text[7:-1].partition("x")
        kind = _type_of(element)
        return vector(int(lanes), kind) if kind is not None else None
    return _TYPES.get(text)


def parse_module(text: str) -> Module:
    """The module that the text says; it is not verified.

    Raises:
        ParseError: the text does not follow the syntax, or names what there is not.
    """
    return _Parser(text).module()


@record(frozen=False)
class _Tail:
    """What follows the operands and regions of an operation."""

    attributes: dict[str, Attribute]
    takes: tuple[Type, ...]
    gives: tuple[Type, ...]
    file: str
    loc: Loc


class _Parser(Reader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.values: dict[str, Value] = {}
        self.functions: dict[str, Function] = {}

    # -- places -------------------------------------------------------------------------------
    def place(self) -> tuple[str, Loc]:
        """The file of the function at hand, and the place, after ``loc`` or within another."""
        if self.has("callsite"):
            self.take("(")
            callee = self.named(self.text_of())
            self.take("(")
            callee.file, (line, column, *_) = self.place()
            self.take(")", "at")
            file, outer = self.place()
            self.take(")")
            return file, (line, column, callee, outer)
        file = self.text_of()
        self.take(":")
        line = self.int()
        self.take(":")
        return file, (line, self.int() - 1)

    def named(self, name: str) -> Function:
        """The function of a name, which may come later."""
        return self.functions.setdefault(name, Function(name, []))

    # -- operations ---------------------------------------------------------------------------
    def module(self) -> Module:
        """All of the text."""
        self.take('"builtin.module"', "(", ")")
        made = Module(str(self.properties().get("sym_name", "")), "")
        self.take("(", "{")
        while not self.has("}"):
            if self.has('"weft.global"'):
                made.globals.append(self.memory())
            else:
                self.function(made)
        self.take(")")
        made.target = str(self.tail().attributes.get("weft.target", ""))
        self.take("")
        return made

    def properties(self) -> dict[str, Attribute]:
        """Attributes in ``<{ }>``, if there are any."""
        if not self.has("<"):
            return {}
        found = self.attributes()
        self.take(">")
        return found

    def tail(self) -> _Tail:
        """What follows the operands and regions of an operation."""
        attributes = self.attributes() if self.token == "{" else {}
        self.take(":")
        takes, gives = self.signature()
        file, loc = "", (0, 0)
        if self.has("loc"):
            self.take("(")
            file, loc = self.place()
            self.take(")")
        return _Tail(attributes, takes, gives, file, loc)

    def memory(self) -> Global:
        """What follows ``weft.global``."""
        self.take("(", ")")
        a: dict[str, Any] = self.checked(GLOBAL, self.tail().attributes)
        data: bytes | None = a["value"].encode(errors="surrogateescape") if "value" in a else None
        shape = a["space"], a["elem_type"], a["count"], a["alignment"]
        return Global(a["sym_name"], *shape, data, a["kind"] == "external", a["kind"] == "scratch")

    def checked(self, sorts: AttributeSorts, found: dict[str, Attribute]) -> dict[str, Attribute]:
        """The attributes, which are of their sorts."""
        wrong = sorts.wrong(found)
        if wrong is not None:
            self.fail(f"{wrong}: this stands before")
        return found

    def function(self, module: Module) -> None:
        """One function; a private one has been put into those that called it."""
        self.take('"func.func"', "(", ")")
        self.values = {}
        given = self.properties()
        self.take("(")
        body = self.region()
        self.take(")")
        tail = self.tail()
        f = self.named(str(given.get("sym_name")))
        if f in module.functions:
            self.fail(f"{f.name} is defined twice before")
        f.args, f.body, f.results = body.args, Region([], body.ops), self.results
        f.file, f.line = tail.file, tail.loc[0]
        for argument in f.args:
            argument.owner = None
        for name, value in self.checked(FUNCTION, tail.attributes).items():
            setattr(f, name.rpartition(".")[2], frozenset(value) if isinstance(value, tuple) else value)
        if given.get("sym_visibility") != "private":
            module.functions.append(f)

    def region(self) -> Region:
        """The operations in braces, with the arguments before them."""
        made = Region()
        self.take("{")
        if self.token.startswith("^"):
            self.next()
            if self.has("("):
                for _ in self.each(")"):
                    name = self.next()
                    self.take(":")
                    made.args.append(self.define(name, Value(self.type(), made)))
            self.take(":")
        while not self.has("}"):
            made.ops.append(self.op())
        return made

    def define(self, name: str, value: Value) -> Value:
        """Give a value its name."""
        if not name.startswith("%") or name in self.values:
            self.fail(f"{name} is no new name of a value, before")
        self.values[name] = value
        value.name = "" if name[1:].isdecimal() else name[1:]
        return value

    def used(self) -> Value:
        """A value that was defined before."""
        found = self.values.get(self.token)
        if found is None:
            self.fail("a value defined before is wanted, not")
        self.next()
        return found

    def op(self) -> Op:
        """One operation."""
        names: list[str] = []
        while self.token.startswith("%"):
            names.append(self.next())
            self.take("," if self.token == "," else "=")
        spec = SPECS.get(self.token[1:-1])
        if spec is None:
            self.fail("an operation is wanted, not")
        self.next()
        self.take("(")
        operands = [self.used() for _ in self.each(")")]
        attrs, regions = self.properties(), list[Region]()
        if self.has("("):
            regions.append(self.region())
            while self.has(","):
                regions.append(self.region())
            self.take(")")
        tail = self.tail()
        if tail.takes != tuple([v.type for v in operands]) or len(tail.gives) != len(names):
            self.fail(f"the types of {spec.name} are not those of its operands and results, before")
        attrs |= tail.attributes
        for name, words in spec.attributes.numbered.items():
            number = attrs.get(name)
            if isinstance(number, int) and 0 <= number < len(words):
                attrs[name] = words[number]
        made = Op(spec, tuple(operands), attrs, tuple(regions), tail.gives, tail.loc)
        for name, value in zip(names, made.results, strict=True):
            self.define(name, value)
        return made
