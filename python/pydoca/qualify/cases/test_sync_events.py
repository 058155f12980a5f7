"""SYN: sync events within a process, and between the host and the DPU."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import events, remote
from pydoca.qualify.bench.delays import late_waits, tail
from pydoca.qualify.bench.rules import deaths, waits
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun
    from pydoca.qualify.session.pair import Pair

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("sync_event")
ALL = ("smoke", "quick", "full")
QUICK = ("quick", "full")


@pytest.mark.pydoca_case("SYN-1", title="set, add, get and wait within a process are exact", levels=ALL)
def test_operations(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    events.operations(pydoca_device, at(pydoca_run, smoke=5000, quick=100_000, full=1_000_000), pydoca_random)
    events.waits(pydoca_device, at(pydoca_run, smoke=2000, quick=10_000, full=50_000))
    events.refusals(pydoca_device)
    events.wide_tasks(pydoca_device)
    late = late_waits.lateness(pydoca_device, at(pydoca_run, smoke=11, quick=51, full=501))
    pydoca_measure.record("sync_event.late", late, unit="ms", better="lower", max=8)
    share = late_waits.late_share(pydoca_device, at(pydoca_run, smoke=20, quick=60, full=500), 8)
    pydoca_measure.record("sync_event.late.share", share, unit="1", better="lower", max=tail.limit_of(pydoca_device))


@pytest.mark.pydoca_case("SYN-TASK", title="wait tasks end when their value comes", levels=ALL)
@pytest.mark.pydoca_needs("async_sync_event_wait")
def test_tasks(pydoca_device: pydoca.Device, pydoca_run: CaseRun) -> None:
    events.tasks(pydoca_device, at(pydoca_run, smoke=500, quick=10_000, full=100_000))
    events.masked_tasks(pydoca_device)


@pytest.mark.pydoca_case("SYN-WAKE", title="an engine that sleeps is woken by an event of the other side", levels=ALL)
@pytest.mark.pydoca_needs("async_sync_event_wait", "pair", "sim")
def test_wake_ups(pydoca_device: pydoca.Device, sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    other = sides.other(pydoca_device)
    for _ in range(at(pydoca_run, smoke=3, quick=20)):
        events.armed_wait(pydoca_device, other)
    for name, late in late_waits.engine_lateness(pydoca_device, other, at(pydoca_run, smoke=5, quick=21)).items():
        pydoca_measure.record(f"pe.woken.{name}", late, unit="ms", better="lower", max=5)


@pytest.mark.pydoca_case("SYN-2", title="rounds between the host's process and the DPU's", levels=QUICK)
@pytest.mark.pydoca_needs("pair", "sim")
def test_ping_pong(pydoca_device: pydoca.Device, pydoca_pair: Pair, pydoca_measure: Measure) -> None:
    """The device under test owns both events, and the process of the other side answers."""
    other = pydoca_pair.host if pydoca_device.side == pydoca.Side.DPU else pydoca_pair.dpu
    with Stand() as stand:
        partner = events.Partner(stand, pydoca_device)
        call = other.start(remote.answer_pings, other.device, other.side, *partner.blobs)
        try:
            with pydoca_measure("sync_event.rtt", unit="us", stat="p50", better="lower", n_min=500) as round_trip:
                for values in events.ping_pong(partner, round_trip.has_enough):
                    round_trip.extend(values)
        finally:
            partner.end()
        call.result()


@pytest.mark.pydoca_case("SYN-3", title="additions of two processes at once give the exact sum", levels=QUICK)
@pytest.mark.pydoca_needs("pair", "sim")
def test_writers(pydoca_device: pydoca.Device, pydoca_pair: Pair, pydoca_run: CaseRun) -> None:
    """This process is one writer, and the process of the other side is another."""
    other = pydoca_pair.host if pydoca_device.side == pydoca.Side.DPU else pydoca_pair.dpu
    count = at(pydoca_run, quick=20_000, full=1_000_000)
    with (
        duty("an event with two writers"),
        pydoca.SyncEvent(pydoca_device, publisher="remote_pci", subscriber="cpu") as event,
    ):
        call = other.start(remote.add_many, other.device, other.side, event.export_to_remote_pci(), count)
        for _ in range(count):
            event.update_add(1)
        call.result()
        if event.get() != 2 * count:
            raise DeviceFault(f"2 writers added 1, {count} times each; the value is {event.get()}")


@pytest.mark.pydoca_case("SYN-4", title="a wait ends at its time-out, and when the peer dies", levels=QUICK)
@pytest.mark.pydoca_needs("pair", "sim")
def test_ends_of_waits(pydoca_device: pydoca.Device, pydoca_pair: Pair, pydoca_measure: Measure) -> None:
    with pydoca_measure("sync_event.timeout.late", unit="ms", stat="min", better="lower", min=0, max=5000) as late:
        late.extend(events.time_out(pydoca_device, 0.02) * 1e3 for _ in range(5))
    other = pydoca_pair.host if pydoca_device.side == pydoca.Side.DPU else pydoca_pair.dpu
    with Stand() as stand:
        partner = events.Partner(stand, pydoca_device)
        other.start(remote.answer_pings, other.device, other.side, *partner.blobs)
        with duty("a round of sync events"):
            partner.round()
        other.kill()
        begin = time.monotonic()
        try:
            partner.pong.wait_eq_yield(99, timeout=10)
        except (pydoca.ConnectionResetError, pydoca.NotConnectedError):
            pydoca_measure.record("sync_event.peer_death", time.monotonic() - begin, unit="s", better="lower", max=10)
        except pydoca.TimeOutError:
            raise DeviceFault("a wait for a process that was killed 10 s ago goes on") from None


@pytest.mark.pydoca_case(
    "SYN-8", title="each operation of an event whose owner has died gives the documented error", levels=QUICK
)
@pytest.mark.pydoca_needs("pair", "sim")
@pytest.mark.parametrize("how", ["calls", "tasks"])
def test_dead_owner(pydoca_device: pydoca.Device, pydoca_pair: Pair, pydoca_measure: Measure, how: str) -> None:
    other = pydoca_pair.host if pydoca_device.side == pydoca.Side.DPU else pydoca_pair.dpu
    with Stand() as stand:
        blob = other.call(remote.lend_event, other.device, other.side)
        make = deaths.of_event if how == "calls" else deaths.of_event_tasks
        run = make(stand, pydoca_device, blob)
        seconds = deaths.check(run, other.kill, "an event", pydoca.ConnectionResetError)
    pydoca_measure.record(f"sync_event.owner_death.{how}", seconds, unit="s", better="lower", max=10)


@pytest.mark.pydoca_case("SYN-5", title="set, add and get of the other side's event are exact", levels=ALL)
@pytest.mark.pydoca_needs("pair", "sim")
def test_imported_events(pydoca_device: pydoca.Device, sides: Sides, pydoca_measure: Measure) -> None:
    count = events.imported(pydoca_device, sides.other(pydoca_device))
    pydoca_measure.record("sync_event.imported", count, unit="1", min=100)


@pytest.mark.pydoca_case("SYN-6", title="of several waits at once, each ends with its value", levels=ALL)
@pytest.mark.pydoca_needs("async_sync_event_wait")
def test_waits_together(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    rounds = at(pydoca_run, smoke=20, quick=1000, full=10_000)
    ended = waits.together(pydoca_device, rounds, pydoca_random)
    pydoca_measure.record("sync_event.waits", ended, unit="1", min=rounds)


@pytest.mark.pydoca_case("SYN-7", title="the other side's waits end with the value of this side", levels=ALL)
@pytest.mark.pydoca_needs("pair", "sim")
def test_waits_of_the_other_side(
    pydoca_device: pydoca.Device, sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure
) -> None:
    count = at(pydoca_run, smoke=200, quick=5000, full=50_000)
    ended = waits.of_the_other_side(pydoca_device, sides.other(pydoca_device), count)
    pydoca_measure.record("sync_event.other_waits", ended, unit="1", min=count)
