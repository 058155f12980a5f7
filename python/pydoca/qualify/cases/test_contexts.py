"""CTX: contexts of each library start, stop and fail repeatedly, and each task ends once with its own result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pydoca.qualify.bench import streams
from pydoca.qualify.bench.rules import (
    aftermath,
    awaits,
    independence,
    lives,
    many,
    reuse,
    situations,
    timeouts,
    together,
)
from pydoca.qualify.cases.counts import at
from pydoca.qualify.cases.needs import require

if TYPE_CHECKING:
    import random

    import pydoca
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("CTX-1", title="a context starts and stops again and again, and tells each change", levels=ALL)
@pytest.mark.parametrize("library", lives.LIBRARIES)
def test_lives(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, library: str) -> None:
    if not lives.LIBRARIES[library][0](pydoca_device.info):
        pytest.skip(f"{pydoca_device.name} has no {library}")
    left = lives.lives(pydoca_device, library, at(pydoca_run, smoke=20, quick=100, full=1000))
    pydoca_measure.record(f"context.{library}.descriptors", left, unit="1", max=0)


@pytest.mark.pydoca_case("CTX-2", title="a context that has failed works again, again and again", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_failures(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    times = at(pydoca_run, smoke=5, quick=50, full=500)
    pydoca_measure.record("context.failures", lives.failures(pydoca_device, times), unit="1", min=times)


@pytest.mark.pydoca_case("CTX-3", title="the end of one context leaves the others as they were", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_independent_contexts(pydoca_device: pydoca.Device) -> None:
    independence.contexts(pydoca_device)
    independence.failure(pydoca_device)
    independence.released(pydoca_device)


@pytest.mark.pydoca_case(
    "CTX-4",
    title="tasks made while others are in flight end once each, with data and user data of their own",
    levels=ALL,
)
@pytest.mark.parametrize("library", streams.LIBRARIES)
def test_streams(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, library: str) -> None:
    require(streams.LIBRARIES[library][0](pydoca_device), pydoca_device, library)
    count = at(pydoca_run, smoke=1000, quick=70_000, full=200_000)
    run = streams.run(pydoca_device, library, count)
    pydoca_measure.record(f"context.{library}.tasks", run.tasks, unit="1", min=1)
    pydoca_measure.record(f"context.{library}.growth", max(0, run.growth) / 1024, unit="KiB", better="lower", max=1024)


@pytest.mark.pydoca_case("CTX-5", title="a task that is used again does what it says now", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_reuse(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    rounds = at(pydoca_run, smoke=500, quick=5000, full=50_000)
    pydoca_measure.record("context.reuse", reuse.copies(pydoca_device, rounds, pydoca_random), unit="1", min=rounds)


@pytest.mark.pydoca_case("CTX-6", title="waits end at their time when nothing comes", levels=ALL)
def test_timeouts(pydoca_device: pydoca.Device) -> None:
    timeouts.check(pydoca_device)


@pytest.mark.pydoca_case("CTX-7", title="an event loop awaits tasks in each way, and gives up awaits", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_awaits(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=20, quick=200, full=2000)
    pydoca_measure.record("context.awaited", awaits.copies(pydoca_device, rounds), unit="1", min=rounds)
    if pydoca_device.info.supports("async_sync_event_wait"):
        awaits.cancelled(pydoca_device, rounds)


@pytest.mark.pydoca_case("CTX-8", title="memory is the program's again once its task has ended", levels=ALL)
@pytest.mark.parametrize("library", aftermath.LIBRARIES)
def test_aftermath(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, library: str) -> None:
    require(aftermath.LIBRARIES[library][0](pydoca_device), pydoca_device, library)
    ended = aftermath.check(pydoca_device, library, at(pydoca_run, smoke=5, quick=50, full=500))
    pydoca_measure.record(f"context.{library}.ended", ended, unit="1", min=1)


@pytest.mark.pydoca_case(
    "CTX-9", title="tasks of all libraries at once do what they do alone, in one thread and in several", levels=ALL
)
def test_together(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    require(bool(together.names(pydoca_device)), pydoca_device, "library with tasks")
    count = at(pydoca_run, smoke=300, quick=10_000, full=100_000)
    ended = together.in_one_thread(pydoca_device, count) + together.in_threads(pydoca_device, count)
    pydoca_measure.record("context.together", ended, unit="1", min=2 * count)


@pytest.mark.pydoca_case("CTX-10", title="many objects of one kind at once do what each does alone", levels=ALL)
@pytest.mark.parametrize("kind", many.KINDS)
def test_many(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, kind: str) -> None:
    require(many.KINDS[kind][0](pydoca_device), pydoca_device, kind)
    count = many.check(pydoca_device, kind, at(pydoca_run, smoke=16, quick=150, full=200))
    pydoca_measure.record(f"context.many.{kind.replace(' ', '_')}", count, unit="1", min=1)


@pytest.mark.pydoca_case("CTX-11", title="a task's callback begins the next one", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_callbacks(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    done = streams.in_callbacks(pydoca_device, at(pydoca_run, smoke=300, quick=10_000, full=50_000))
    pydoca_measure.record("context.in_callbacks", done, unit="1", min=1)


@pytest.mark.pydoca_case(
    "CTX-12", title="operations of each library do what they do after failures, flushes and many objects", levels=ALL
)
@pytest.mark.pydoca_needs("dma")
def test_situations(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    done = situations.check(pydoca_device, at(pydoca_run, smoke=3, quick=30, full=300))
    pydoca_measure.record("context.situations", done, unit="1", min=1)
