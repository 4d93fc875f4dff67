"""Tuning: compile-time parameters and blocks that are found out by measuring. The names are Triton's.

``autotune`` stands above ``@kernel``. See "Tuning" in the guide.
"""

from weft.diagnostics.modules import present
from weft.tuning.autotuner import Autotuner
from weft.tuning.config import Config, PerConfig
from weft.tuning.decorator import autotune
from weft.tuning.known import Choice, write_table

__all__ = ["Autotuner", "Choice", "Config", "PerConfig", "autotune", "write_table"]


present(globals())
