"""Targets as data; ``find_target`` gives one by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.targets.target import Feature, Target, Word, axes

if TYPE_CHECKING:
    from weft.targets.known import TARGETS, at_level, find_target

__all__ = ["TARGETS", "Feature", "Target", "Word", "at_level", "axes", "find_target"]

if not TYPE_CHECKING:  # whoever imports the language needs none yet

    def __getattr__(name: str) -> object:
        if name not in ("TARGETS", "at_level", "find_target"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from weft.targets.known import TARGETS, at_level, find_target

        globals().update(TARGETS=TARGETS, at_level=at_level, find_target=find_target)
        return globals()[name]
