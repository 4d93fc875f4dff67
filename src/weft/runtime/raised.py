"""What is said of exceptions in queued work."""

from __future__ import annotations

from weft.diagnostics import Diagnostic, Label, Location, frame_location, is_internal


def raised(failure: BaseException, what: str) -> Diagnostic:
    """What is said of an exception of Python's in queued work, at the innermost line of the user's."""
    import sysconfig

    library = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
    place: Location | None = None
    trace = failure.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_internal(file) and not file.startswith((*library, "<frozen")):
            place = frame_location(trace)
        trace = trace.tb_next
    text = f"{what} raised {type(failure).__name__}: {failure}".removesuffix(": ")
    return Diagnostic("queued-work", text, () if place is None else (Label(place),))
