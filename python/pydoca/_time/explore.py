"""One scenario under many seeds of virtual time: what a seed finds, the same seed finds again."""

from __future__ import annotations

import functools
import inspect
import os
import random
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydoca._errors import InvalidValueError
from pydoca._progress import Meter, Progress
from pydoca._time.virtual_time import VirtualTime

Scenario = Callable[..., Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Run:
    """One run of a scenario."""

    seed: int
    time: VirtualTime
    random: random.Random = field(repr=False)  # what the scenario draws, so that it, too, follows from the seed


@dataclass(frozen=True)
class Exploration:
    """What `explore` did."""

    runs: int
    virtual_seconds: float
    seconds: float
    digests: dict[int, str] = field(repr=False)  # of each seed's run


def explore(
    scenario: Scenario | Sequence[Scenario] | None = None,
    seeds: int | Iterable[int] = 1000,
    *,
    progress: Progress = None,
) -> Any:
    """Runs a scenario in virtual time, once with each seed.

    scenario: a coroutine function, or several that run in event loops of their own, such as a host's and a DPU's. Each
    may have a parameter `run`, which receives a `Run`. seeds: that many, from 0, or the seeds themselves; with
    PYDOCA_EXPLORE_SEED in the environment, that seed alone. progress: True for a bar, a function of the runs done and
    of all, or None.

    Returns an `Exploration`. The first exception ends it, and has a note with the seed and with what repeats the run.

    Without a scenario it is a decorator, which makes a test of a coroutine function::

        @pydoca.sim.explore(seeds=500)
        async def test_copies_survive_a_removal(run): ...
    """
    if scenario is None:
        return functools.partial(_test_of, seeds=seeds, progress=progress)
    parts = [scenario] if callable(scenario) else list(scenario)
    return _explore(parts, (), {}, _seeds_of(seeds), progress)


def _test_of(scenario: Scenario, *, seeds: int | Iterable[int], progress: Progress) -> Callable[..., None]:
    @functools.wraps(scenario)
    def test(*arguments: Any, **keywords: Any) -> None:
        _explore([scenario], arguments, keywords, _seeds_of(seeds), progress)

    # A test framework gives the other arguments, and calls a plain function.
    test.__signature__ = inspect.Signature(_other_parameters(scenario))  # type: ignore[attr-defined]
    del test.__wrapped__
    return test


def _seeds_of(seeds: int | Iterable[int]) -> list[int]:
    if (chosen := os.environ.get("PYDOCA_EXPLORE_SEED")) is not None:
        if not chosen.isdecimal():
            raise InvalidValueError(f"PYDOCA_EXPLORE_SEED is a seed, an integer of 0 or more, not {chosen!r}")
        return [int(chosen)]
    if isinstance(seeds, int):
        if seeds < 1:
            raise InvalidValueError(f"explore: seeds is a number of seeds, 1 or more, or the seeds, not {seeds}")
        return list(range(seeds))
    return list(seeds)


def _other_parameters(scenario: Scenario) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(scenario).parameters.values() if each.name != "run"]


def _explore(
    parts: Sequence[Scenario],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    seeds: list[int],
    progress: Progress,
) -> Exploration:
    takes = [_takes_run(part) for part in parts]
    digests: dict[int, str] = {}
    begin, virtual = time.monotonic(), 0.0
    meter = Meter(progress, len(seeds))
    try:
        for seed in seeds:
            with VirtualTime(seed=seed) as virtual_time:
                run = Run(seed, virtual_time, random.Random(seed))
                try:
                    virtual_time.run(
                        *(
                            part(*arguments, **keywords, **({"run": run} if takes_run else {}))
                            for part, takes_run in zip(parts, takes, strict=True)
                        )
                    )
                except BaseException as error:
                    error.add_note(_note(seed, len(digests), virtual_time))
                    raise
                virtual += virtual_time.now
                digests[seed] = virtual_time.digest
            meter.advance()
            meter.require_no_failure()
    finally:
        meter.close()
    return Exploration(len(digests), virtual, time.monotonic() - begin, digests)


def _takes_run(part: Scenario) -> bool:
    if not inspect.iscoroutinefunction(part):
        raise InvalidValueError(f"explore: a scenario is a coroutine function (async def), not {part!r}")
    return "run" in inspect.signature(part).parameters


def _note(seed: int, runs_before: int, virtual_time: VirtualTime) -> str:
    return (
        f"with seed {seed}, after {runs_before} runs without a failure, at {virtual_time.now:.9f} s of virtual time; "
        f"to repeat it: PYDOCA_EXPLORE_SEED={seed}, or explore(..., seeds=[{seed}])"
    )
