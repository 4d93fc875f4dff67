"""What stands between the parts of what ``trace_passes`` has printed."""

BEFORE = "*** weft: as given ***"
"""Before the module as LLVM gets it."""
TIMES = "*** weft: times ***"
"""Before the report of times."""
