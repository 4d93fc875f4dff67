"""The command line: ``weft run``, ``inspect``, ``explore`` and the others."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from weft.cli.words import Words
from weft.compiler.frontend.garbage import rarely_collected
from weft.diagnostics import CompileError, WeftError
from weft.diagnostics.hook import tell_more
from weft.record import replace

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        the exit status: 0, or 1 after an error that is described on standard error; 2 without a command, of
        which a list is shown.
    """
    own, given = _parted(sys.argv[1:] if argv is None else argv)
    if not own:
        _parser().print_help(sys.stderr)
        return 2
    words = _parsed(_with_check(own))
    if given:
        words.args = given
    try:
        return _command(words, alone=argv is None)
    except WeftError as error:
        _report(error)
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _parted(argv: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """The words of a command, and those for the program, behind ``--``.

    argparse takes these for unknown where options stand between the file and them.
    """
    if argv[:1] not in (["debug"], ["explore"]) or "--" not in argv:
        return argv, []
    end = [*argv].index("--")
    return argv[:end], [*argv[end + 1 :]]


def _with_check(argv: Sequence[str]) -> list[str]:
    """The words with ``--check`` as ``--check=1``: what follows it is the file."""
    made, options = list(argv), iter(range(1, len(argv)))
    for n in options if made[:1] == ["run"] else ():
        if made[n] == "--check":
            made[n] = "--check=1"
        elif made[n] in ("--format", "--output", "-o", "--schedule-seed", "--explore"):
            next(options, None)
        elif not made[n].startswith("-"):
            break
    return made


def _report(error: WeftError) -> None:
    """Write an error's diagnostics to standard error, in colour where that is a terminal.

    What the command line itself asked for has no place in a source file: such labels name the
    script that called ``main``, which says nothing to anybody.
    """
    from weft.diagnostics.rendering import render_all

    outside: set[str] = set()
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        outside.add(frame.f_code.co_filename)
        frame = frame.f_back
    shown = [
        replace(d, labels=tuple(label for label in d.labels if label.location.file not in outside))
        for d in error.diagnostics
    ]
    print(render_all(shown, colour=sys.stderr.isatty()), file=sys.stderr)
    tell_more(error)


def _command(words: argparse.Namespace, *, alone: bool) -> int:
    # Each command loads what it needs and nothing else.
    if words.command == "run":
        return _run(words)
    if words.command == "tune":
        from weft.cli.tune import tune

        return tune(words)
    if words.command == "debug":
        from weft.cli.debug import debug

        return debug(words)
    if words.command == "inspect":
        with rarely_collected():
            from weft.cli.inspect import inspect
            from weft.cli.program import guarded

            _keep_loaded(alone)
            return guarded(lambda: inspect(words, _inspected))
    if words.command == "build":
        with rarely_collected():
            from weft.cli.build import build
            from weft.cli.program import guarded

            _keep_loaded(alone)
            return guarded(lambda: build(words))
    if words.command == "explore":
        from weft.cli.explore import explore
        from weft.cli.program import guarded

        return guarded(lambda: explore(words))
    if words.command == "profile":
        from weft.cli.profile import profile

        return profile(words)
    if words.command == "cache":
        from weft.cli.cache import cache

        return cache(words)
    if words.command == "layout":
        from weft.cli.layout import layout

        return layout(words)
    if words.command == "explain":
        from weft.cli.explain import explain

        return explain(words.code)
    from weft.cli.devices import devices

    return devices()


def _keep_loaded(alone: bool) -> None:
    """Look for no garbage among what was loaded, which at the end takes a twentieth of a short process."""
    if alone:  # else it is also what the caller has, and not ours to keep
        gc.freeze()


def _run(words: argparse.Namespace) -> int:
    if words.check == "":
        hint = "write --check alone, or words: --check=bounds,races"
        raise CompileError.at("option", "--check= says nothing to look for", None, hints=(hint,))
    if not words.check and (words.output is not None or words.format != "text"):
        message = "--format and -o are for what --check finds, which is not asked for"
        raise CompileError.at("option", message, None, hints=("add --check",))
    if words.explore:
        from weft.cli.schedules import in_orders

        return in_orders(_again(words), words.file, words.args, words.explore)
    from weft.cli.run import Check, run

    if words.schedule_seed is not None:
        from weft.config import schedule_all

        schedule_all(words.schedule_seed)
    if words.opt_level is not None:
        from weft.config import optimise_all

        optimise_all(words.opt_level)
    check = Check(words.check, words.format, words.output) if words.check else None
    return run(words.file, words.args, check, interpret=words.interpret)


def _again(words: argparse.Namespace) -> list[str]:
    """The options of ``weft run`` for each of its runs in another order."""
    if words.schedule_seed is not None:
        message = "--explore goes through the seeds itself"
        raise CompileError.at("option", message, None, hints=("leave --schedule-seed out",))
    options = [f"--check={words.check}", f"--format={words.format}"] if words.check else []
    options += [] if words.output is None else [f"--output={words.output}"]
    options += [] if words.opt_level is None else [f"-O{words.opt_level}"]
    return [*options, "--interpret"] if words.interpret else options


class _Version(argparse.Action):
    """Prints the version, which is not looked up before."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from weft import __version__

        print(f"weft {__version__}")
        parser.exit()


def _index(text: str) -> tuple[int, int, int]:
    """``3`` or ``3,0,1`` as an index."""
    from weft.runtime.dim import index_of

    try:
        return index_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _extents(text: str) -> tuple[int, ...]:
    """``1,4`` as numbers."""
    return tuple([_count(part.strip()) for part in text.split(",")])


def _count(text: str) -> int:
    """A number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return int(text)


def _parsed(own: Sequence[str]) -> argparse.Namespace:
    """The words of a command: for its own, no parser knows those of the others."""
    if own[0] not in _COMMANDS:
        return _parser().parse_args(own)
    words = Words(prog=f"weft {own[0]}")
    _COMMANDS[own[0]][1](words)
    return words.parse_args(own[1:], argparse.Namespace(command=own[0]))


def _parser() -> argparse.ArgumentParser:
    parser = Words(prog="weft", description="GPU programming in Python.", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of weft")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (does, add) in _COMMANDS.items():
        add(commands.add_parser(name, help=does))
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--check",
        metavar="WORDS",
        help="have kernels check what memory they access; --check=WORDS is for what WORDS say: "
        "bounds, races, overflow, wrap, division, shift, nan, conversion, leaks",
    )
    run.add_argument(
        "--format",
        choices=("text", "json", "sarif"),
        default="text",
        help="how --check tells what it found: text on standard error, the others alone on standard output, "
        "to standard error then what the program prints",
    )
    run.add_argument("-o", "--output", metavar="FILE", help="where --check writes that instead")
    _add_level(run)
    run.add_argument("--interpret", action="store_true", help="have Python run kernels, thread by thread")
    run.add_argument(
        "--schedule-seed",
        type=_count,
        metavar="N",
        help="have a CPU run blocks and warps in the order of this seed, threads backwards where it is odd",
    )
    run.add_argument(
        "--explore",
        type=_count,
        metavar="N",
        help="run the program with N such orders, and tell where its output differs first",
    )
    run.add_argument("file", metavar="FILE")
    run.add_argument("args", nargs=argparse.REMAINDER, metavar="...", help="arguments of the program")


def _add_tune(tune: argparse.ArgumentParser) -> None:
    tune.add_argument("--write", metavar="TABLE", help="add what was chosen to this file of JSON")
    tune.add_argument("--picture", metavar="FILE", help="write a picture of the space: .svg or .html")
    tune.add_argument("file", metavar="FILE")
    tune.add_argument("args", nargs=argparse.REMAINDER, metavar="...", help="arguments of the program")


def _add_debug(debug: argparse.ArgumentParser) -> None:
    debug.add_argument("file", metavar="FILE")
    debug.add_argument("--kernel", metavar="NAME", default="", help="the kernel; by default the first")
    _add_thread(debug, "the")
    debug.add_argument(
        "--line", type=int, default=0, metavar="N", help="stop at line N, not at the first one"
    )
    debug.add_argument("args", nargs="*", metavar="ARG", help="arguments of the program, behind --")


def _add_thread(command: argparse.ArgumentParser, which: str) -> None:
    command.add_argument("--block", type=_index, metavar="X[,Y,Z]", help=f"{which} block; by default any")
    command.add_argument("--thread", type=_index, metavar="X[,Y,Z]", help=f"{which} thread of its block")


def _add_layout(layout: argparse.ArgumentParser) -> None:
    layout.add_argument("layout", metavar="EXPRESSION", help="such as 'Layout.row_major(8, 8)'")
    layout.add_argument("--threads", metavar="EXPRESSION", help="a layout of threads: who has which element")
    layout.add_argument("--svg", metavar="FILE", help="write a picture")
    layout.add_argument("--conflicts", metavar="TYPE", help="count the threads' bank conflicts: Float32, say")
    vector: dict[str, Any] = {"type": _extents, "default": ()}
    layout.add_argument("--vector", **vector, metavar="N,M", help="elements of a vector along each mode")


def _inspected(given: list[str]) -> argparse.Namespace:
    """Words of ``weft inspect`` that stand in one of its options."""
    parser = argparse.ArgumentParser(prog="weft inspect --diff", add_help=False, allow_abbrev=False)
    _add_inspect(parser)
    return parser.parse_args(given)


def _add_inspect(inspect: argparse.ArgumentParser) -> None:
    _add_kernel(
        inspect,
        "a kernel's name, or a call that makes one; without it the file's kernels are listed",
        nargs="?",
    )
    kinds = "staged, ir, llvm, llvm-opt, asm, object, passes or remarks; "
    kinds += "for NVIDIA also ptx, cubin, sass, resources"
    inspect.add_argument("--emit", metavar="KIND", help=kinds)
    other = "what differs from FILE:KERNEL, or from the kernel with other words: --diff='-O0 --param n=2'"
    inspect.add_argument("--diff", metavar="WORDS", help=other)
    inspect.add_argument("-o", dest="output", metavar="FILE", help="write there instead of standard output")


def _add_explore(explore: argparse.ArgumentParser) -> None:
    _add_kernel(explore, "a kernel's name, or a call that makes one; without it all of the file's kernels")
    explore.add_argument("-o", dest="output", metavar="FILE", help="the page; by default FILE.html")
    told = "what `weft profile --trace` wrote: times and a roofline are shown with each kernel"
    explore.add_argument("--profile", metavar="TRACE", help=told)
    explore.add_argument("--serve", action="store_true", help="show it, and again whenever the file is saved")
    explore.add_argument("--port", type=_count, default=0, metavar="N", help="of --serve; by default any")
    follow = "run the file in Python with the arguments behind --, and show threads' ways through its kernels"
    explore.add_argument("--follow", action="store_true", help=follow)
    _add_thread(explore, "follow this")
    explore.set_defaults(args=[])


def _add_profile(profile: argparse.ArgumentParser) -> None:
    profile.add_argument(
        "--trace", metavar="FILE", help="write each launch there, as Chrome's traces have it"
    )
    profile.add_argument(
        "--page", metavar="FILE", help="write a page of HTML: the table, rooflines, timelines"
    )
    ranges = "mark launches for Nsight Systems and Nsight Compute, as ranges of NVTX"
    profile.add_argument("--nvtx", action="store_true", help=ranges)
    profile.add_argument("file", metavar="FILE")
    profile.add_argument("args", nargs=argparse.REMAINDER, metavar="...", help="arguments of the program")


def _add_build(build: argparse.ArgumentParser) -> None:
    what = "a file or a folder of files; of a file, a kernel's name or an expression that lists some"
    build.add_argument("files", nargs="+", metavar="FILE[:KERNELS]", help=what)
    targets = "such as sm_90,cpu; by default this machine's device"
    build.add_argument("--target", metavar="NAMES", default="", help=targets)
    jobs = "processes; by default as many as there are cores"
    build.add_argument("-j", "--jobs", type=_count, default=0, metavar="N", help=jobs)
    place = "an archive for `weft cache import`, or a folder for the code as files"
    build.add_argument("-o", dest="output", metavar="PLACE", help=place)
    build.add_argument("--time-report", action="store_true", help="print what each stage of each kernel took")
    build.add_argument("--trace", metavar="FILE", help="write that there, as Chrome's traces have it")
    _add_open(build)


def _add_cache(cache: argparse.ArgumentParser) -> None:
    each = cache.add_subparsers(dest="what", required=True, metavar="WHAT")
    each.add_parser("info", help="where they are, and how many")
    each.add_parser("clear", help="delete them")
    for name, does in (("export", "write them into an archive"), ("import", "take those of an archive")):
        each.add_parser(name, help=does).add_argument("file", metavar="FILE", help="a tar archive")


def _add_level(command: Any) -> None:
    level: dict[str, Any] = {"type": int, "choices": (0, 1, 2, 3), "dest": "opt_level", "metavar": "LEVEL"}
    told = "how much LLVM and a GPU's assembler optimise: -O0 to -O3"
    command.add_argument("-O", **level, help=told)


def _add_kernel(command: Any, means: str, **more: Any) -> None:
    """What says which kernel, and what its parameters leave open."""
    command.add_argument("kernel", metavar="FILE[:KERNEL]", help=means, **more)
    command.add_argument("--target", metavar="NAME", help="such as sm_90; by default this machine's device")
    _add_open(command)


def _add_open(command: Any) -> None:
    """What the parameters of kernels leave open."""
    extents: dict[str, Any] = {"type": int, "default": 0, "choices": (1, 2, 3)}
    _add_level(command)
    command.add_argument("--over", **extents, metavar="N", help="for a launch over N extents, of 1 to 3")
    several: dict[str, Any] = {"action": "append", "default": []}
    command.add_argument("--param", **several, metavar="NAME=VALUE", help="a compile-time parameter")
    types = "the type of a parameter that leaves it open: x=Pointer[Int]"
    command.add_argument("--type", **several, metavar="NAME=TYPE", help=types)
    layouts = "a tensor's row-major layout: image=512,512,3"
    command.add_argument("--layout", **several, metavar="NAME=EXTENTS", help=layouts)


def _add_explain(explain: argparse.ArgumentParser) -> None:
    which = "such as int-division; without it all are listed"
    explain.add_argument("code", metavar="CODE", nargs="?", help=which)


def _add_nothing(_: argparse.ArgumentParser) -> None:
    pass


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "run": ("run a Python file; errors of weft are shown without a traceback", _add_run),
    "tune": (
        "run a Python file, and measure the configurations of what it launches under @autotune",
        _add_tune,
    ),
    "debug": ("run a Python file and stop in a thread of a kernel, in pdb", _add_debug),
    "profile": ("run a Python file, and tell what its kernels took", _add_profile),
    "inspect": ("show what a kernel is compiled to", _add_inspect),
    "explore": ("a page with a kernel's forms side by side, line by line", _add_explore),
    "build": ("compile the kernels of programs ahead, into the cache", _add_build),
    "cache": ("compiled kernels that are kept: look, delete, bring along", _add_cache),
    "layout": ("show where the elements of a layout lie", _add_layout),
    "explain": ("tell what the code of a message means, with a program that is right", _add_explain),
    "devices": ("list the devices here and the targets that weft compiles for", _add_nothing),
}
"""What each command does, and its words."""
