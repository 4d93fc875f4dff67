"""Times of calls by PyTorch's graphs: replays in turns, so that the host does not count."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.measure import in_turns

CALLS = 20
"""Calls in a graph."""


def replayed(torch: Any, cases: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median of the seconds that a call takes, of each case."""
    replays = {name: recorded(torch, call) for name, call in cases.items()}

    def timed(replay: Callable[[], Any]) -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(100_000)  # cycles, while the replay is queued
        begin.record()
        replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / (1e3 * CALLS)

    times = in_turns({name: lambda r=replay: timed(r) for name, replay in replays.items()}, rounds)
    return {name: statistics.median(got) for name, got in times.items()}


def recorded(torch: Any, call: Callable[[], Any], calls: int = CALLS) -> Callable[[], Any]:
    """The replay of so many calls; it gives what the last of them gave."""
    graph, stream, made = torch.cuda.CUDAGraph(), torch.cuda.Stream(), None
    stream.wait_stream(torch.cuda.current_stream())  # which may still fill what is read
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            made = call()

    def replay(inputs: Callable[[], Any] = call) -> Any:
        """It keeps what the call reads: the graph has addresses alone."""
        graph.replay()
        return made

    return replay
