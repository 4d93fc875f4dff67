"""When this process began to load weft: a file of it that is written later is not what runs."""

from __future__ import annotations

import time

STARTED = time.time_ns()
"""In nanoseconds since 1970."""
