"""What a launch costs: of a small kernel again and again, in a graph, and the first of a process.

Every figure is of a process of its own, the peers' in turns.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.launch_worker import LAUNCHES, PEERS_BY_NAME
from benchmarks.measure import PEERS, Target, process_environment, spread, table, worker

CXX = "C++, cuLaunchKernel"
Command = Sequence[str | Path]
Found = dict[str, list[dict[str, float]]]
"""What the processes of each peer measured."""


def launches(rounds: int) -> None:
    """Print what launches and replays take, of weft and of its peers."""
    commands: dict[str, Command] = {
        name: [sys.executable, "-m", "benchmarks.launch_worker", name, str(rounds)] for name in PEERS_BY_NAME
    }
    with tempfile.TemporaryDirectory() as folder:
        floor = build_floor(Path(folder))
        if floor is not None:
            commands[CXX] = [floor]
        found = in_processes(commands, 3)
    print(f"Launch of scalar_add, {LAUNCHES} in a row, end to end, of three processes each")
    print_times(found, "launch", 2)
    medians = {name: figures(got) for name, got in found.items()}
    ours = min((m["launch"] for name, m in medians.items() if name.startswith("weft")), default=None)
    if ours is not None:
        print(Target("launch, end to end", ours, 2.7, "µs"))
    if ours is not None and CXX in medians:
        print(f"         {ours / medians[CXX]['launch']:.2f} of the time of C++")
    for name, limit in (("weft", 0.15), ("weft, torch tensor", 0.6)):
        if "side" in medians.get(name, {}):
            print(Target(f"{name}, Python's side alone", medians[name]["side"], limit, "µs"))
    print("\nReplay of a graph of 100 launches, per launch, of three processes each")
    print_times(found, "graph", 3)
    if "weft" in medians:
        print(Target("graph, per launch", medians["weft"]["graph"], 0.95, "µs"), "\n")


def in_processes(commands: dict[str, Command], turns: int) -> Found:
    """Run each command so often, in turns."""
    found: Found = {}
    missing: dict[str, str] = {}
    for _ in range(turns):
        for name, command in commands.items():
            if name not in missing:
                outcome = worker(command)
                if outcome.missing:
                    missing[name] = outcome.missing
                else:
                    found.setdefault(name, []).append(outcome.data)
    for name, why in missing.items():
        print(f"{name}: {why}")
    return found


def figures(got: list[dict[str, float]]) -> dict[str, float]:
    """The medians of what a peer's processes measured."""
    return {key: statistics.median(g[key] for g in got) for key in got[0]}


def print_times(found: Found, key: str, digits: int) -> None:
    rows = [
        [name, *(f"{t:.{digits}f}" for t in spread([g[key] for g in got]))]
        for name, got in found.items()
        if key in got[0]
    ]
    table(("", "least µs", "median", "most"), rows)


def build_floor(folder: Path) -> Path | None:
    """The program that launches from C++, or None without nvcc."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return None
    program = folder / "launch_floor"
    command = [nvcc, "-O2", str(PEERS / "launch_floor.cu"), "-ldl", "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        print(f"nvcc failed: {built.stderr.strip().splitlines()[-1]}")
        return None
    return program


def first_launches(rounds: int) -> None:
    """Fresh processes: from import to the first result."""
    rows: dict[str, list[dict[str, float]]] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        weft = [sys.executable, "-m", "benchmarks.first_launch", "cuda"]
        triton = [sys.executable, PEERS / "first_triton.py"]
        places = {"weft": Path(folder) / "weft", "Triton": Path(folder) / "triton"}
        env = process_environment(
            PYTHONPYCACHEPREFIX=Path(folder) / "bytecode",
            WEFT_CACHE_DIR=places["weft"],
            TRITON_CACHE_DIR=places["Triton"],
            CUDA_CACHE_PATH=Path(folder) / "driver",
        )
        for round_ in range(rounds + 1):
            for name, command in (("weft", weft), ("Triton", triton)):
                shutil.rmtree(places[name], ignore_errors=True)
                shutil.rmtree(Path(folder) / "driver", ignore_errors=True)
                for state in ("cold", "from its cache"):
                    if name in missing:
                        continue
                    found = worker(command, env)
                    if found.missing:
                        missing[name] = found.missing
                    elif round_:
                        rows.setdefault(f"{name}, {state}", []).append(found.data)
    print("First vector addition in a fresh process: medians")
    keys = ("import", "context", "launch")
    medians = {n: {k: 1e3 * statistics.median(r[k] for r in got) for k in keys} for n, got in rows.items()}
    table(
        ("", "import ms", "context and memory", "first launch"),
        [[n, *(f"{m[k]:.1f}" for k in keys)] for n, m in medians.items()],
    )
    for name, why in missing.items():
        print(f"{name}: {why}")
    for name, limit in (("weft, cold", 60), ("weft, from its cache", 10)):
        if name in medians:
            print(Target(f"first launch, {name}", medians[name]["launch"], limit))
    print()
