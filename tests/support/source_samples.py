"""Functions in every kind of place, and edits of them that Python would not run the same."""

from __future__ import annotations

import re
import sys

__all__ = ["BASE", "EDITS", "PLACES"]

_PLACES = """
#: plain
def f(x):
    return x + 1
#: long header
def f(
    x,
    y=(1, 2),
):
    return x
#: closing bracket
def f(x):
    return max(
        x,
        1,
)


y = 2
#: decorators
def d(n):
    return lambda fn: fn


@d(
    1
)
@d(2)
def f(x):
    return x
#: closure
def outer(a, b):
    def f(x):
        return x + b + a
    return f


f = outer(1, 2)
#: no closure
def outer():
    def f(x):
        return x
    return f


f = outer()
#: called global
def outer():
    global f
    def f(x):
        return x


outer()
#: written outside
def outer():
    n = 0
    def f(x):
        nonlocal n
        n += 1
        return n
    return f


f = outer()
#: method
class A:
    def f(self, x):
        return x


f = A.f
#: private names
class __A:
    def f(self, x):
        return self.__x + _A__y


f = __A.f
#: super
class A:
    def f(self, x):
        return super().f(x), __class__


f = A.f
#: class in a function
def outer(a):
    class A:
        class B:
            def f(self):
                return a + self.__x, __class__
    return A.B.f


f = outer(1)
#: function in a method
class A:
    def m(self, a):
        def f(x):
            return x.__b + a, super
        return f


f = A().m(1)
#: class of a method
class A:
    def m(self, a):
        def f(x):
            return __class__, a
        return f


f = A().m(1)
#: inner functions
def f(x):
    def g(y):
        return x + y
    return [g(i) for i in x], (lambda: x), {i: 1 for i in x}
#: in an if
if True:
    def f(x):
        return x
else:
    def f(x):
        return x + 1
#: in the else
if not True:
    def f(x):
        return x
else:
    def f(x):
        return x + 1
#: in a handler
try:
    1 // 0
except ZeroDivisionError:
    def f(x):
        return x
#: in a match
match 1:
    case 1:
        def f(x):
            return x
#: on one line
if True: f = 1; g = 2
def f(x): return x
#: in a line
class A: f = lambda x: x
class B:
  def f(self): return 1
f = B.f
#: twice
def f(x):
    return x


g = f


def f(x):
    return x


f = g
#: future
from __future__ import annotations


def f(x: int) -> int:
    y: str = x
    return lambda z: y
#: imported module
import math


def f(x):
    return math.sqrt(x) + math.pi
#: imported within
try:
    import math as m
except ImportError:
    m = None


def f(x):
    return m.sqrt(x)
#: imported class
from collections import OrderedDict


def f(x):
    return OrderedDict.fromkeys(x)
#: imported object
from os import environ


def f(x):
    return environ.get(x)
#: object of an imported class
from collections import OrderedDict
d = OrderedDict()


def f(x):
    return d.get(x), OrderedDict.fromkeys(x)
#: imports elsewhere
exec("import math, os, sys")
from collections import OrderedDict


def f(os, x):
    def g(y):
        return sys.intern(y), os.read(y), math.pi
    return math.sin(x), OrderedDict.fromkeys(x), os.path(x), g.call(x), sys.path
#: a local called as an import
import math, os


def f(os, x):
    def g(y):
        return os.read(y), x.get(y), math.tau
    return math.sin(x), os.path(x), [os.read(math) for math in x], g.call(x)
#: own class
import math


class A:
    pass


def f(x):
    return A.get(x) + math.sin(x)
#: trailing comment
def f(x):
    return x
    # the end
# more
#: nothing
def f(x): ...
#: dead code
def f(x):
    while True:
        pass
    return 1
#: constants
def f(x):
    return x in {1, 2}, -0.0, 1j, b'', ..., (1, (2.0, True)), 10**9, 'a' 'b'
#: formatted
def f(x):
    return f'{x!r:>{x}} {x=}'
#: try
def f(x):
    try:
        return x
    except (A, B) as e:
        raise e from None
    finally:
        x = 1
"""

_TYPE_PARAMETERS = """
#: class of a type
class A[T]:
    def f(self, x: T):
        return T, x
f = A.f
#: method of a type
class A[T]:
    def f[U](self, x: T):
        return T, U, __class__
f = A.f
#: type parameters
def f[T](x: T) -> T:
    return T, x
"""


def _split(text: str) -> dict[str, str]:
    parts = re.split(r"^#: (.+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


# Each gives `f`, the function to look for.
PLACES: dict[str, str] = _split(_PLACES) | {
    "docstring": 'def f(x):\n    """One.\n\nAt the margin.\n    """\n    return x\n',
    "tabs": "class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn 1\n\t\treturn 2\nf = A.f\n",
    "form feed": "x = 1\n\x0c\ndef f(x):\n    return x\n",
    "odd line ends": "s = 'a\x0bb\x1cc\u2028d'\n\n\ndef f(x):\n    return '\u2029\x85' + x\n",
    "letters": "def f(ä):\n    return 'ß€𝄞' + ä, ä\n",
    "backslash": "def f(x):\n    return x \\\n+ 1\n",
    "text at the margin": "def f(x):\n    a = '''\ndef g(): pass\n'''\n    return a\n",
}
if sys.version_info >= (3, 12):
    PLACES |= _split(_TYPE_PARAMETERS)

# What is put in the place of what, in `BASE`: never seen in the size of the text.
BASE = """
import math
A, B = 1, 2


def outer(c, d):
    def f(x, y=1):
        z = x + 1
        if z > 2.0:
            z = math.sin(y) * A - c
        w = [i for i in range(3)]
        g = lambda a: a + 5
        assert z, "one"
        return z, w, g(z), {1, 2}, "text", -0.0, (1, 2.0), (True, 1)
    return f


f = outer(1, 2)
"""
EDITS: list[tuple[str, str]] = [
    ("x + 1", "x + 3"),
    ("x + 1", "x - 1"),
    ("x + 1", "y + 1"),
    ("x + 1", "1 + x"),
    ("z > 2.0", "z < 2.0"),
    ("z > 2.0", "z > 2  "),
    ("math.sin", "math.cos"),
    ("* A", "* B"),
    ("- c", "- d"),
    ("x, y=1", "y, x=1"),
    ("range(3)", "range(4)"),
    ("a + 5", "a + 6"),
    ("a: a +", "b: b +"),
    ('"one"', '"two"'),
    ("{1, 2}", "{1, 3}"),
    ("{1, 2}", "(1, 2)"),
    ('"text"', '"test"'),
    ('"text"', 'b"tex"'),
    ("-0.0", "+0.0"),
    ("(1, 2.0)", "(1, 2.5)"),
    ("(True, 1)", "(True, 0)"),
    ("(True, 1)", "(1, True)"),
]
