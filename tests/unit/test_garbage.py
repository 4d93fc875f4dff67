"""Garbage is looked for seldom while something is compiled, and as usual thereafter."""

from __future__ import annotations

import gc

from weft.compiler.frontend.garbage import rarely_collected


def test_what_compiles_within_another_leaves_it_so() -> None:
    usual = gc.get_threshold()
    with rarely_collected():
        rare = gc.get_threshold()
        with rarely_collected():
            pass
        assert gc.get_threshold() == rare != usual
    assert gc.get_threshold() == usual


def test_a_choice_made_meanwhile_stays() -> None:
    usual = gc.get_threshold()
    try:
        with rarely_collected():
            gc.set_threshold(1234)
        assert gc.get_threshold()[0] == 1234
    finally:
        gc.set_threshold(*usual)
