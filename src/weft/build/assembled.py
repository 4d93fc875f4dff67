"""What the driver of this machine's device makes of a program's code, so that no launch waits for that."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence

from weft.build.outcome import Outcome
from weft.compiler.cache import kept, key_of_parts
from weft.diagnostics.timed import noted


def assembled(outcomes: Sequence[Outcome], jobs: int) -> tuple[list[Outcome], list[str]]:
    """Have the driver assemble what is for the device here, so many at once; the keys of that in the cache.

    Raises:
        DeviceError: the driver refuses it, or the device cannot be opened.
    """
    made, keys = list(outcomes), list[str]()
    code = {n: o.item.target for n, o in enumerate(outcomes) if o.artifact is not None}
    if all(target.format != "ptx" for target in code.values()):
        return made, keys
    from weft.runtime.drivers import default_api, find_driver, is_everywhere

    api = default_api()
    if is_everywhere(api):  # it takes no PTX
        return made, keys
    target = find_driver(api).device_info(0).target
    wanted = [n for n, each in code.items() if each.name == target and each.format == "ptx"]
    if not wanted:
        return made, keys
    from concurrent.futures import ThreadPoolExecutor

    from weft.launch.context import DeviceContext

    def keep(key: Sequence[str | bytes], make: Callable[[], bytes]) -> bytes:
        keys.append(key_of_parts(key))
        return kept(key, make)

    with DeviceContext(api=api) as ctx, ThreadPoolExecutor(jobs, "weft-assemble") as pool:

        def load(number: int) -> None:
            artifact = made[number].artifact
            assert artifact is not None
            with noted() as spans:
                ctx.device.load(artifact, keep)
            made[number] = made[number]._replace(spans=(*made[number].spans, *spans))

        # A thread of a pool has nobody's settings.
        begun = [pool.submit(contextvars.copy_context().run, load, number) for number in wanted]
        for each in begun:
            each.result()
    return made, keys
