"""What a `Bench` is asked for by names of other libraries."""

from __future__ import annotations

from weft.diagnostics.diagnostic import OBJECT
from weft.diagnostics.instead import alike

OF_BENCHES = {
    **alike(f"write {OBJECT}.bench_function(function)", "run measure time timeit benchmark add bench"),
    **alike(f"write print({OBJECT})", "show table report results dump_report print"),
}
