"""One scenario under many seeds of virtual time: what a seed finds, the same seed finds again."""

from __future__ import annotations

import functools
import inspect
import os
import random
import time
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydoca._errors import InvalidValueError
from pydoca._progress import Meter, Progress
from pydoca._time.timing import Config, in_force, load
from pydoca._time.virtual_time import VirtualTime
from pydoca.faults import FaultPlan, FaultPlanWarning

Scenario = Callable[..., Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Run:
    """One run of a scenario."""

    seed: int
    time: VirtualTime
    random: random.Random = field(repr=False)  # the scenario's random draws, which thus follow from the seed


@dataclass(frozen=True)
class Exploration:
    """The outcome of `explore`."""

    runs: int
    virtual_seconds: float
    seconds: float
    digests: dict[int, str] = field(repr=False)  # the digest of each seed's run


def explore(
    scenario: Scenario | Sequence[Scenario] | None = None,
    seeds: int | Iterable[int] = 1000,
    *,
    timing: Config | Mapping[str, Any] | None = None,
    faults: FaultPlan | None = None,
    progress: Progress = None,
) -> Any:
    """Runs a scenario in virtual time, once with each seed.

    scenario: a coroutine function, or several that run in event loops of their own, such as a host's and a DPU's. Each
    may have a parameter `run`, which receives a `Run`. seeds: that many, from 0, or the seeds themselves; with
    PYDOCA_EXPLORE_SEED in the environment, that seed alone. timing: how long devices take, as `load_config` takes it.
    faults: a plan that is in force in each run; its random choices also follow from the run's seed. progress: True for
    a bar, a function of the runs done and of all, or None.

    Returns an `Exploration`. The first exception ends it. Its note has the seed, what repeats the run, and the rules of
    the plan without which the scenario would not fail. A rule that has met nothing in any run is a FaultPlanWarning.

    Without a scenario it is a decorator, which makes a test of a coroutine function::

        @pydoca.sim.explore(seeds=500)
        async def test_copies_survive_a_removal(run): ...
    """
    options: dict[str, Any] = {"timing": timing, "faults": faults, "progress": progress}
    if scenario is None:
        return functools.partial(_test_of, seeds=seeds, options=options)
    parts = [scenario] if callable(scenario) else list(scenario)
    return _explore(_Scenario(parts, (), {}), _seeds_of(seeds), **options)


def _test_of(scenario: Scenario, *, seeds: int | Iterable[int], options: dict[str, Any]) -> Callable[..., None]:
    @functools.wraps(scenario)
    def test(*arguments: Any, **keywords: Any) -> None:
        _explore(_Scenario([scenario], arguments, keywords), _seeds_of(seeds), **options)

    # A test framework gives the other arguments and calls a plain function.
    rest = [each for each in inspect.signature(scenario).parameters.values() if each.name != "run"]
    test.__signature__ = inspect.Signature(rest)  # type: ignore[attr-defined]
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


class _Scenario:
    def __init__(self, parts: Sequence[Scenario], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        for part in parts:
            if not inspect.iscoroutinefunction(part):
                raise InvalidValueError(f"explore: a scenario is a coroutine function (async def), not {part!r}")
        self._parts = parts
        self._arguments = arguments
        self._keywords = keywords

    def run(self, virtual_time: VirtualTime) -> None:
        run = Run(virtual_time.seed, virtual_time, random.Random(virtual_time.seed))
        virtual_time.run(*(self._coroutine_of(part, run) for part in self._parts))

    def _coroutine_of(self, part: Scenario, run: Run) -> Coroutine[Any, Any, Any]:
        of_run = {"run": run} if "run" in inspect.signature(part).parameters else {}
        return part(*self._arguments, **self._keywords, **of_run)


def _explore(
    scenario: _Scenario,
    seeds: list[int],
    *,
    timing: Config | Mapping[str, Any] | None,
    faults: FaultPlan | None,
    progress: Progress,
) -> Exploration:
    digests: dict[int, str] = {}
    met: set[int] = set()  # rules of the plan, by their places
    begin, virtual = time.monotonic(), 0.0
    failure: BaseException | None = None
    meter = Meter(progress, len(seeds))
    try:
        with _timing_of(timing):
            for seed in seeds:
                with VirtualTime(seed=seed) as virtual_time:
                    try:
                        _run_once(scenario, virtual_time, faults, met)
                    except BaseException as error:
                        error.add_note(_note(seed, len(digests), virtual_time))
                        failure = error
                    virtual += virtual_time.now
                    digests[seed] = virtual_time.digest
                if failure is not None:
                    if faults is not None and isinstance(failure, Exception):
                        failure.add_note(_shrunk(scenario, seed, faults, type(failure)))
                    raise failure
                meter.advance()
                meter.require_no_failure()
    finally:
        meter.close()
        failure = None
    _warn_of_rules(faults, met)
    return Exploration(len(digests), virtual, time.monotonic() - begin, digests)


@contextmanager
def _timing_of(timing: Config | Mapping[str, Any] | None) -> Iterator[None]:
    if timing is None:
        yield
        return
    before = in_force()
    load(timing)
    try:
        yield
    finally:
        load(before)


def _run_once(scenario: _Scenario, virtual_time: VirtualTime, plan: FaultPlan | None, met: set[int]) -> None:
    if plan is None:
        scenario.run(virtual_time)
        return
    plan._plan.install_silently()  # a failure's traceback may keep a device of the run before open
    try:
        scenario.run(virtual_time)
    finally:
        plan._plan.leave_force()
        met.update(place for place, report in enumerate(plan.report()) if report.triggered)


def _note(seed: int, runs_before: int, virtual_time: VirtualTime) -> str:
    return (
        f"with seed {seed}, after {runs_before} runs without a failure, at {virtual_time.now:.9f} s of virtual time; "
        f"to repeat it: PYDOCA_EXPLORE_SEED={seed}, or explore(..., seeds=[{seed}])"
    )


def _shrunk(scenario: _Scenario, seed: int, plan: FaultPlan, kind: type[Exception]) -> str:
    """The rules that are left when all are taken out, one after another, without which it fails all the same."""
    rules = list(plan.rules)
    for rule in plan.rules:
        fewer = [other for other in rules if other is not rule]
        if _fails(scenario, seed, FaultPlan(*fewer, seed=plan.seed), kind):
            rules = fewer
    if not rules:
        return "it also fails without any rule of the fault plan"
    return f"it needs no more than this plan: {FaultPlan(*rules, seed=plan.seed)!r}"


def _fails(scenario: _Scenario, seed: int, plan: FaultPlan, kind: type[Exception]) -> bool:
    try:
        with VirtualTime(seed=seed) as virtual_time:
            _run_once(scenario, virtual_time, plan, set())
    except Exception as error:
        return type(error) is kind
    return False


def _warn_of_rules(plan: FaultPlan | None, met: set[int]) -> None:
    if plan is None:
        return
    for place, report in enumerate(plan.report()):
        if place not in met:
            why = report.never or "it met nothing in the last run"
            text = f"rule {place + 1} of the fault plan, {report.rule!r}, has met nothing in any run: {why}"
            warnings.warn(text, FaultPlanWarning, stacklevel=4)
