"""The IR as Python: every operation has its word there, and every word is the machine's."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from random import Random

import pytest
from tests.fuzz.kinds import KINDS, nearest
from tests.ir.sample_modules import MODULES

from weft.compiler.interpreted.generate import text
from weft.runtime.interpreter.machine import words

KNOWN = {*words(), "__t"}
NAMES = [name for name in MODULES if not name.endswith("passed") and "sm_" not in name]


@pytest.mark.parametrize("name", NAMES)
def test_all_words_are_known(name: str) -> None:
    tree = ast.parse(text(MODULES[name]))
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id.startswith("__")}
    own = {word for word in named if re.fullmatch(r"__[afcnr]?\d+k?", word)}
    assert named - own <= KNOWN
    assert not own & KNOWN


def test_words_of_numbers_are_right() -> None:
    """Beside Python's own numbers and those of NumPy: at the ends, where formats differ."""
    import numpy as np

    word = words()
    assert [word["__divsi"](a, b) for a, b in ((-7, 2), (7, -2), (-8, -2))] == [-3, -3, 4]
    assert [word["__remsi"](a, b) for a, b in ((-7, 2), (7, -2), (-8, -2))] == [-1, 1, 0]
    odd = 2**60 + 2**36 + 1  # by way of a double it would be a tie
    assert word["__f32_of"](odd) == np.float32(2**60 + 2**37)
    assert word["__f16_of"](70000) == np.inf
    assert word["__bf16"](np.float32(1 + 2**-8 + 2**-20)) == 1 + 2**-7
    assert np.isnan(word["__bf16"](np.float32(np.nan)))
    assert [word["__signed"](np.float32(x), 8) for x in (200.5, -200.5, -3.9, np.nan)] == [127, -128, -3, 0]
    assert [word["__unsigned"](np.float64(x), 16) for x in (-1.0, 65535.9, 1e9)] == [0, 65535, 65535]
    assert word["__fma"](np.float32(1 + 2**-23), np.float32(1 - 2**-23), np.float32(-1)) == np.float32(
        -(2**-46)
    )
    zero = word["__minimumnum"](np.float32(0.0), np.float32(-0.0))
    assert np.signbit(zero)
    assert word["__cast"]((1, -1), "i16", 2, "i32", 1) == -65535
    assert word["__cast"](np.float32(-2.0), "f32", 1, "i8", 4) == (0, 0, 0, -64)


def test_a_product_and_a_sum_are_rounded_once() -> None:
    """Beside fractions: any bits, what is left of a product, and sums next to the middle of two numbers."""
    import numpy as np

    random, fma, form = Random(5), words()["__fma"], KINDS["Float32"]
    last = 2.0**-23
    for n in range(4000):
        a, b, c = (np.uint32(random.getrandbits(32)).view(np.float32) for _ in range(3))
        size = 2.0 ** random.randrange(-60, 60)
        if n % 3 == 0:
            a, b = np.float32(1 + last), np.float32((1 - last) * last / 2 * size * random.choice([-1, 1]))
            c = np.float32((1 + random.randrange(2**23) * last) * size)
        elif n % 3 == 1 and all(map(np.isfinite, (a, b))) and abs(float(a) * float(b)) < form.largest:
            c = np.float32(-float(a) * float(b))
        with np.errstate(all="ignore"):  # as threads run
            found = fma(a, b, c)
            if not all(map(np.isfinite, (a, b, c))):
                assert np.array_equal(found, float(a) * float(b) + float(c), equal_nan=True)
            elif exact := Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)):
                assert found.tobytes() == nearest(exact, form).tobytes(), (a, b, c)
            else:
                assert found.tobytes() == np.float32(float(a) * float(b) + float(c)).tobytes()
