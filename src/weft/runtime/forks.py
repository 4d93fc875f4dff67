"""What is done in a child that this process forks, where only the thread that forked lives on."""

from __future__ import annotations

import os
from collections.abc import Callable


def after_fork(function: Callable[[], object]) -> None:
    """Call a function in every child: it makes locks anew that other threads may have held."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
