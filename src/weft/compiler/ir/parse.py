"""The IR from the text that the printer writes: MLIR's generic syntax, names of values as one likes.

What an operation may have its declaration says (``weft.compiler.ir.ops``); whether a module is right
``verify_module`` says. A comment goes from ``//`` to the end of its line.
"""

from __future__ import annotations

from typing import Any

from weft.compiler.ir.core import Attribute, Function, Global, Loc, Module, Op, Region, Value
from weft.compiler.ir.ops import FUNCTION, GLOBAL, SPECS
from weft.compiler.ir.read import Reader
from weft.compiler.ir.sorts import AttributeSorts
from weft.compiler.ir.types import Type
from weft.record import record


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
        return Global(a["sym_name"], *shape, data, a["kind"] == "external")

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
