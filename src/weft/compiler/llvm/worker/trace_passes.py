"""A worker of one job: what each of LLVM's passes makes of a module and takes, or what LLVM remarks.

LLVM writes both to its standard error, which who has started this process reads; so nothing else may be
written there. The options are those of the whole process, which ends behind its one job.
"""

from __future__ import annotations

import importlib
import marshal
import sys
from typing import Any

_REMARKS = "loop-vectorize|slp-vectorizer|loop-unroll|transform-warning|regalloc|prologepilog"


def main() -> None:
    """Do the job that comes in, as ``marshal`` writes it, behind what is asked: ``passes`` or ``remarks``."""
    backend: Any = importlib.import_module("backend")  # beside this file, as the package is not loaded here
    markers: Any = importlib.import_module("markers")
    asked, job = marshal.loads(sys.stdin.buffer.read())
    backend.host_machine()
    if asked == "remarks":
        for kind in ("", "-missed", "-analysis"):
            backend.llvm.set_option("weft", f"--pass-remarks{kind}={_REMARKS}")
        backend.compile(backend.Job(*job), _nothing)
        return
    timed: list[Any] = []

    def started(builder: Any) -> None:
        builder.start_pass_timing()
        timed.append(builder)

    backend.compile(backend.Job(*job), _nothing, started)  # without what printing costs
    report = "".join([builder.finish_pass_timing() for builder in timed])
    module = backend.llvm.parse_assembly(backend.Job(*job).text, backend.llvm.create_context())
    print(f"{markers.BEFORE}\n{module}", file=sys.stderr, flush=True)
    backend.llvm.set_option("weft", "--print-changed=quiet")
    backend.compile(backend.Job(*job), _nothing)
    print(f"{markers.TIMES}\n{report}", file=sys.stderr, flush=True)


def _nothing(stage: str) -> None:
    """Nobody asks how far it is."""


if __name__ == "__main__":
    main()
