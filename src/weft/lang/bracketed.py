"""Classes that are written in brackets, ``Vec[Float32, 4]``, which pickles make anew by these."""

from __future__ import annotations

import copyreg
import operator
from typing import Any


class Bracketed(type):
    """The kind of such classes; ``__weft_brackets__`` has what stands before the brackets, and in them."""

    __weft_brackets__: tuple[Any, Any]


def _reduced(cls: Bracketed) -> tuple[Any, ...]:
    return operator.getitem, cls.__weft_brackets__


copyreg.pickle(Bracketed, _reduced)
