"""Random programs over structs with several names, which Python runs too.

``PYTHONPATH=src:tests/support python -m objects_at_random [seed] [count]`` counts what is right and refused;
with ``lent`` behind that, of programs whose structs Python gives to the function.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLAIN = """
import copy
import dataclasses
import functools
from dataclasses import dataclass as struct, replace

Int = int


def func(f):
    return f


def unroll(items):
    return items


class InlineArray:
    def __class_getitem__(cls, given):
        return lambda *items: list(items)
"""
WEFT = """
import copy
import dataclasses
import functools
from dataclasses import replace

from weft import InlineArray, Int, func, struct, unroll
"""
GIVEN = """
@struct
class P:
    x: Int
    y: Int

    def norm(self) -> Int:
        return self.x * 3 + self.y

    def dot(self, other: "P") -> Int:
        return self.x * other.x + self.y * 2 - other.y

    def shifted(self, k: Int) -> "P":
        return P(self.x + k, self.y)

    def bump(self, k: Int):
        self.x += k

    def same(self) -> "P":
        return self

    def bumped(self, k: Int) -> "P":
        self.y += k
        return self

    def __add__(self, other: "P") -> "P":
        return P(self.x + other.x, self.y + other.y)


@struct
class Q:
    a: P
    b: P
    n: Int

    def first(self) -> P:
        return self.a

    def total(self) -> Int:
        return self.a.x + self.b.y * 2 + self.n


@func
def read(p: P, q: Q) -> Int:
    return p.x + q.total()


@func
def larger(p: P, q: P) -> P:
    return p if p.x > q.x else q


@func
def change(p: P, k: Int):
    p.x = p.x * 2 + k


@func
def change_both(p: P, q: P) -> Int:
    p.x += 1
    q.y += p.x
    return q.y


@func
def change_within(q: Q, k: Int):
    q.a.x += k
    q.n -= 1


@func
def fresh(k: Int) -> P:
    p = P(k, 1)
    p.y += k
    return p


@func
def pair_of(p: P, q: P) -> tuple[P, Int]:
    if p.x > q.x:
        p.y += 1
        return p, q.x
    p.x += 2
    return p, p.y


@func
def until(p: P, n: Int) -> Int:
    for i in range(n):
        p.x += i
        if p.x > 9:
            return i
    return p.x


@func
def wrapped(p: P, q: P) -> Q:
    q.x -= 1
    return Q(p, q, 3)


@func
def kept(q: Q, p: P) -> Int:
    q.a = p
    p.x += 1
    return q.a.x


@func
def put_new(q: Q, k: Int):
    if k % 2 == 0:
        q.a = P(k, 7)
    q.a.y += 1


@func
def put_one(q: Q, p: P, k: Int) -> Int:
    for i in range(k % 4):
        if i == 2:
            q.b = q.a
        else:
            q.a = p
        q.b.x += i
    return q.a.x


@func
def swap_parts(q: Q, r: Q, k: Int) -> Q:
    if k > 4:
        q.a, r.b = r.b, q.a
    return q


@struct
class R:
    q: Q
    p: P

    def put(self, p: P):
        self.p = p
        self.q.a = p

    def part(self, k: Int) -> P:
        return self.q.b if k > 3 else self.p


@func
def deep(big: R, k: Int) -> Int:
    if k > 3:
        big.q = Q(big.p, P(k, 1), 2)
    big.q.b.y += 1
    big.p.x += 2
    return big.q.a.x


@func
def hand_on(big: R, q: Q, k: Int) -> Q:
    before = big.q
    for i in range(k % 3):
        big.q = q
        big.p = before.a if i == 1 else q.b
    put_new(before, k)
    return before


@func
def read_by(p: P, f) -> Int:
    p.y += 1
    return f(p) + p.x


def apply(f, p):
    return f(p)


@func
def changed_by(p: P, q: P) -> Int:
    r = p
    r.x += 1

    def inner(z: P) -> Int:
        z.y += 2
        return p.x

    k = inner(q)
    q.x -= 1
    return k + inner(r) + p.y


@func
def twice(p: P, q: P) -> P:
    r = p if p.x > q.x else q
    if q.y > 3:
        return r
    q.y += 1
    return p.bumped(2)


@dataclasses.dataclass(frozen=True)
class D:
    p: P
    k: Int


def helper(p, k):
    p.x += k


def helper_of(p):
    return p


"""
RUN = """@func
def run(n: Int) -> Int:
    a, b, c = P(n, 2), P(3, n), P(5, 7)
    q, r = Q(P(1, n), P(n, 4), 6), Q(P(8, 9), P(2, 2), n)
    big = R(r, b)
    k = n + 1
"""
LENT = """@func
def run(n: Int, a: P, b: P, c: P, q: Q, r: Q, big: R) -> Int:
    k = n + 1
"""
DIGEST = """    s = a.x + a.y * 3 + b.x * 7 + b.y * 11 + c.x * 13 + c.y * 17 + k * 19
    s += q.a.x * 23 + q.a.y * 29 + q.b.x * 31 + q.b.y * 37 + q.n * 41
    s += r.a.x * 43 + r.a.y * 47 + r.b.x * 53 + r.b.y * 59 + r.n * 61
    return s + big.p.x * 67 + big.p.y * 71 + big.q.a.x * 73 + big.q.b.y * 79 + big.q.n * 83
"""


class Maker:
    """One random function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *options: str) -> str:
        """One of several texts."""
        return self.random.choice(options)

    def place(self) -> str:
        """Where a P is."""
        return self.one(*["a", "b", "c"] * 3, "q.a", "q.b", "r.a", "r.b")

    def number(self) -> str:
        """A number of few operators."""
        return self.one(
            "k", "n", "2", f"{self.place()}.x", f"{self.place()}.y", "q.n", f"{self.place()}.norm()"
        )

    def p(self) -> str:
        """A P: mostly one that there is."""
        return self.one(
            *[self.place()] * 6,
            f"P({self.number()}, 3)",
            f"copy.copy({self.place()})",
            f"replace({self.place()}, y=4)",
            f"{self.place()}.shifted(k)",
            f"{self.place()}.same()",
            f"larger({self.place()}, {self.place()})",
            f"fresh({self.number()})",
            f"{self.place()} + {self.place()}",
            f"helper_of({self.place()})",
            f"({self.place()} if n > 2 else {self.place()})",
            "q.first()",
            f"[{self.place()}, {self.place()}, P(1, 2)][{self.one('0', '1', '2')}]",
            f"(lambda z: z)({self.place()})",
            f"{{0: {self.place()}, 1: {self.place()}}}[1]",
            f"wrapped({self.place()}, {self.place()}).{self.one('a', 'b')}",
            f"pair_of({self.place()}, {self.place()})[0]",
        )

    def simple(self) -> str:
        """One statement."""
        place, name = self.place(), self.one("a", "b", "c")
        return self.one(
            *[f"{place}.{self.one('x', 'y')} = {self.number()} % 1000"] * 4,
            *[f"{place}.{self.one('x', 'y')} += {self.number()} % 100"] * 4,
            *[f"{name} = {self.p()}"] * 5,
            f"a = b = {self.p()}",
            "a, b = b, a",
            f"q.{self.one('a', 'b')} = {self.p()}",
            f"{self.one('q', 'r')} = Q({self.p()}, {self.p()}, {self.number()} % 50)",
            "q = r",
            "r = copy.copy(q)",
            f"q.n = {self.number()} % 77",
            f"{place}.bump(k % 10)",
            f"{name} = {place}.bumped(3)",
            f"change({place}, k % 10)",
            f"k = change_both({place}, {self.place()}) % 100",
            f"change_within({self.one('q', 'r')}, k % 7)",
            f"helper({place}, k % 5)",
            f"k = (k + read({place}, {self.one('q', 'r')})) % 97",
            f"k = ({place}.dot({place}) + {place}.dot({self.place()})) % 97",
            f"{name} = {place} + {place} + {self.place()}",
            f"k = (k + {place}.norm()) % 91",
            f"k += [{place}, {self.place()}][1].x % 13",
            f"{name}, k = pair_of({place}, {self.place()})",
            f"k = until({place}, n % 4) % 50",
            f"k = kept({self.one('q', 'r')}, {place}) % 50",
            f"{self.one('q', 'r')} = wrapped({place}, {self.place()})",
            f"put_new({self.one('q', 'r')}, {self.number()})",
            f"k = deep(big, {self.number()}) % 50",
            f"{self.one('q', 'r', 'big.q')} = hand_on(big, {self.one('q', 'r', 'big.q')}, {self.number()})",
            f"big.put({place})",
            f"big.{self.one('p', 'q.a', 'q.b')} = {place}",
            f"big.q = {self.one('q', 'r')}",
            f"{name} = big.part({self.number()})",
            f"big.p.x += {self.number()} % 9; big.q.{self.one('a', 'b')}.y += 1",
            f"big = R({self.one('q', 'r', 'big.q')}, {place})",
            f"k = put_one({self.one('q', 'r')}, {place}, {self.number()}) % 50",
            f"{self.one('q', 'r')} = swap_parts({self.one('q', 'r')}, {self.one('q', 'r')}, k)",
            f"k += sum([z.x for z in ({place}, {self.place()})]) % 9",
            f"k += sum(until({place}, 2) for _ in range(n % 3)) % 9",
            f"k = k if k > {self.random.randint(0, 9)} or until({place}, 2) > 3 else 4",
            f"f = lambda w: w + {place}.x; {place}.x += 1; k = f(2) % 60",
            f"f = lambda w: helper({place}, w); f(3)",
            f"u = InlineArray[P, 2]({place}, {self.place()}); u[0].x += 1; k += u[n % 2].x % 7",
            f"u = InlineArray[P, 2]({place}, {self.place()}); {self.place()}.y += 1; k += u[1].y % 7",
            f"m = [P(1, 2), {place}]; m[0].x += 1; {name} = m[0]",
            f"{self.place()}.x, {self.place()}.y = {self.number()} % 40, {self.number()} % 40",
            f"g = {place}.bump; {place}.x += 1; g(k % 4)",
            f"g = functools.partial(change, {place}); g(k % 4); {self.place()}.y += 1; g(2)",
            f"d = D({place}, k); d.p.x += 2; {name} = d.p",
            f"d = D({place}, k); {place}.y += 2; k = (k + d.p.y) % 50; {name} = d.p",
            f"d = D({place}, 3); e = dataclasses.replace(d, k=4); e.p.x += 2; k += d.p.x % 3",
            f"{name} = min({place}, {self.place()}, key=lambda z: z.x)",
            f"{name} = (w := {place}); w.x += 1; {place}.y += w.x % 5",
            f"o = copy.copy({self.one('q', 'r')}); o.a.x += 1; o.n = 3; {name} = o.b",
            f"o = copy.deepcopy({self.one('q', 'r')}); o.a.x += 1; o.n = 3; {name} = o.b",
            f"k = read_by({place}, lambda z: z.x + {self.place()}.y) % 90",
            f"k = changed_by({place}, {self.place()}) % 90",
            f"t = [{place}, {self.place()}]; t[0].x += 1; t.append({place}); t[2].y += 1; {name} = t.pop()",
            f"k = sum([zz.bumped(1).y for zz in ({place}, {self.place()})]) % 70",
            f"{name} = twice({place}, {self.place()})",
            f"t = ({place}, k); t[0].x += 2",
            f"l = [{place}, {self.place()}]; l[0].y += 3; {name} = l[1]",
            *[f"{name} = {place} if {self.number()} > {self.random.randint(0, 9)} else {self.p()}"] * 2,
            f"w = {place} if k % 2 else {self.place()}; w.x += 1; {self.place()}.y += w.x % 7; {name} = w",
            f"({place} if n > 3 else {self.place()}).bump(k % 3)",
            f"o = q if {self.number()} > 4 else r; o.a.x += 2; o.b = {place}; o.n = k % 9",
            "q.a, r.b = r.b, q.a",
            f"before = {name}; {name} = P(k, 2); before.x += 1",
        )

    def block(self, deep: int, count: int) -> list[str]:
        """Statements, each of one or more lines."""
        out: list[str] = []
        for _ in range(count):
            kind = self.random.random()
            if deep == 0 and kind < 0.06:
                place, how = (
                    self.place(),
                    self.one("nonlocal k", f"{self.place()}.x += 0", f"z = {self.place()}"),
                )
                out += [
                    "def inner(m: Int) -> Int:",
                    f"    {how}",
                    f"    k = ({place}.x + m) % 40" if how[:8] == "nonlocal" else f"    helper({place}, 0)",
                    f"    return {place}.y + m",
                ]
                out += [
                    self.simple().split("; ")[0],
                    "k = (k + inner(2)) % 60",
                    f"{self.place()}.x += 1",
                    "k = (k + inner(k)) % 60",
                ]
                continue
            if kind < 0.1:
                place, name = self.place(), self.one("a", "b", "c")
                out += [
                    f"match {place}:",
                    "    case P(x=xx, y=2):",
                    f"        {self.place()}.x += xx % 5",
                    "    case P() as pp:",
                    "        pp.y += 1",
                    f"        {name} = pp",
                ]
                continue
            if kind < 0.13:
                inner = [f"    {line}" for line in self.block(deep + 1, self.random.randint(1, 2))]
                out += [
                    f"for e{deep}, z{deep} in enumerate([{self.place()}, {self.place()}]):",
                    f"    z{deep}.y += e{deep}",
                    *inner,
                ]
                continue
            if deep >= 2 or kind < 0.68:
                out += self.simple().split("; ")
                continue
            inner = [f"    {line}" for line in self.block(deep + 1, self.random.randint(1, 3))]
            if kind < 0.82:
                out += [f"if {self.number()} > {self.random.randint(0, 9)}:", *inner]
                if self.random.random() < 0.4:
                    out += ["else:", *[f"    {x}" for x in self.block(deep + 1, 1)]]
            elif kind < 0.85:
                out += [f"w{deep} = 0", f"while w{deep} < n % 3:", f"    w{deep} += 1", *inner]
            elif kind < 0.88:
                out += [f"for i{deep} in unroll(range(2)):", *inner]
            elif kind < 0.92:
                out += [f"for z{deep} in ({self.place()}, {self.place()}):", f"    z{deep}.x += 1", *inner]
            else:
                leave = [f"    if k % 5 == {deep}:", f"        {self.one('break', 'continue')}"]
                after = [f"    {line}" for line in self.block(deep + 1, 1)]
                leave = [*leave, *after] * self.random.randint(0, 1)
                out += [f"for j{deep} in range(n % 4):", *inner, *leave]
        return out


def program(seed: int, lent: bool) -> str:
    """The text of a random program, which makes its structs or is lent them."""
    maker = Maker(seed)
    body = maker.block(0, maker.random.randint(1, 4))
    return GIVEN + (LENT if lent else RUN) + "".join(f"    {line}\n" for line in body) + DIGEST


def called(module: Any, n: int, seed: int, lent: bool) -> Any:
    """What a program gives, and what it leaves of the structs that it is lent."""
    if not lent:
        return int(module.run(n))
    P, Q, choose = module.P, module.Q, random.Random(seed)
    a, b, c = P(n, 2), P(3, n), P(5, 7)
    q, r = Q(P(1, n), P(n, 4), 6), Q(P(8, 9), P(2, 2), n)
    for _ in range(choose.randint(0, 2)):  # what is one object
        how = choose.randint(0, 4)
        b = a if how == 0 else b
        r = q if how == 1 else r
        setattr(*choose.choice([(q, "a"), (q, "b"), (r, "a")]), choose.choice([a, b, q.b]))
    big = module.R(*choose.choice([(q, a), (r, q.a), (Q(b, P(n, n), 5), P(6, n)), (Q(r.a, r.a, 5), c)]))
    wholes = [q, r, big.q]
    known = [a, b, c, big.p, *(part for one in wholes for part in (one.a, one.b))]
    result = int(module.run(n, a, b, c, q, r, big))
    held = [big.p, *(part for one in (*wholes, big.q) for part in (one.a, one.b))]
    fields = [(int(one.x), int(one.y)) for one in (*known, *held)]
    led = [next((m for m, one in enumerate(known) if one is part), -1) for part in held]
    shared = [one is other for one in held for other in held]
    return result, fields, led, shared, [int(one.n) for one in wholes], [big.q is one for one in wholes]


def judged(seed: int, load: Callable[[str], Any], lent: bool = False) -> tuple[str, str]:
    """``same``, ``wrong``, or which refusal; and the text."""
    from weft import WeftError

    text = program(seed, lent)
    try:
        module = load(PLAIN + text)
        wanted = [called(module, n, seed, lent) for n in (1, 4, 7)]
    except UnboundLocalError:
        return "no program", text
    try:
        module = load(WEFT + text)
        found = [called(module, n, seed, lent) for n in (1, 4, 7)]
    except WeftError as error:
        code = re.search(r"\[([a-z-]+)\]", str(error))
        return code[1] if code else "refused", text
    return "same" if found == wanted else "wrong", text


def main(first: int, count: int, lent: bool = False) -> None:
    """Print how many of each there are, and the wrong ones."""
    import importlib.util

    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:

        def load(text: str) -> Any:
            path = Path(folder) / f"m{abs(hash(text))}.py"
            path.write_text(text)
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            return module

        for seed in range(first, first + count):
            try:
                how, _ = judged(seed, load, lent)
            except Exception as error:
                how = f"{type(error).__name__}: {error}"
            found[how] += 1
            if how in ("wrong", "internal-error") or ":" in how:
                print(seed, how)
    print(found)


if __name__ == "__main__":
    first, count = [int(n) for n in [*sys.argv[1:], "0", "300"][:2]]
    main(first, count, sys.argv[3:] == ["lent"])
