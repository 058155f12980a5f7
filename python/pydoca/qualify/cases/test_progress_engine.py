"""PE: wake-ups, idle cost, and completions that must all come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import engines
from pydoca.qualify.bench.delays import tail
from pydoca.qualify.bench.relations import growth, setups, siblings, sizes, speeds, usual
from pydoca.qualify.bench.rules import idle, notifications, wakes
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.tasks import late
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("dma")
ALL = ("smoke", "quick", "full")
QUICK = ("quick", "full")


@pytest.mark.pydoca_case(
    "PE-1", title="an engine that sleeps is woken by the device, and by another thread", levels=ALL
)
def test_wake_ups(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    size = min(1 << 20, pydoca.Dma.max_buf_size(pydoca_device.info))
    enough = 32 if pydoca_run.level == "smoke" else 200
    with pydoca_measure(f"pe.wake.{size}", unit="us", stat="p50", better="lower", n_min=enough // 2) as device:
        for values in engines.wake_ups(pydoca_device, lambda: len(device) >= enough, size):
            device.extend(values)
    with pydoca_measure("pe.wake.thread", unit="us", stat="p50", better="lower", n_min=enough // 2) as thread:
        for values in engines.cross_thread(pydoca_device, lambda: len(thread) >= enough):
            thread.extend(values)
    pydoca_measure.record("pe.wake.seen", len(device) + len(thread), unit="1", min=2 * enough)


@pytest.mark.pydoca_case("PE-2", title="an engine that waits takes no time of the CPU, in any wait", levels=ALL)
def test_idle_cpu(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    seconds = at(pydoca_run, smoke=100, quick=400, full=4000) / 1000
    for name, used in idle.shares(pydoca_device, seconds).items():
        pydoca_measure.record(f"pe.idle_cpu.{name}", 100 * used, unit="%", better="lower", max=10)


@pytest.mark.pydoca_case("PE-3", title="of many completions, none is lost and none comes twice", levels=ALL)
def test_completions(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    count = at(pydoca_run, smoke=20_000, quick=300_000, full=1_000_000)
    pydoca_measure.record("pe.completions", engines.completions(pydoca_device, count), unit="1", min=1)


@pytest.mark.pydoca_case(
    "PE-5", title="a small operation of each library takes less than a quarter of a millisecond", levels=ALL
)
def test_usual_times(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    for name, taken in usual.times(pydoca_device).items():
        most = 1000 if name == "graph" else 250  # it has two copies and two functions
        pydoca_measure.record(f"pe.usual.{name}", taken, unit="us", better="lower", max=most)


@pytest.mark.pydoca_case(
    "PE-4", title="no operation of any library is late, now and then or at intervals", levels=QUICK, seconds=1
)
def test_late_operations(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    seconds = pydoca_run.seconds * at(pydoca_run, quick=1, full=10)
    found = late.shares(pydoca_device, seconds, pydoca_run.must_stop)
    for name, share in found.items():
        pydoca_measure.record(f"pe.late.{name}", share, unit="1", better="lower", max=tail.limit_of(pydoca_device))


@pytest.mark.pydoca_case(
    "PE-6", title="operations of each library wake their engine, whenever it was armed", levels=ALL
)
def test_wake_ups_by_libraries(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    libraries = wakes.asleep(pydoca_device, at(pydoca_run, smoke=10, quick=500, full=5000))
    pydoca_measure.record("pe.wake.libraries", libraries, unit="1", min=1)
    rounds = at(pydoca_run, smoke=2, quick=10, full=100)
    pydoca_measure.record("pe.wake.whenever", notifications.whenever(pydoca_device, rounds), unit="1", min=rounds)
    pydoca_measure.record("pe.wake.several", notifications.several(pydoca_device, rounds), unit="1", min=rounds)
    if has_link(pydoca_device):
        with both_sides(pydoca_device) as sides:
            woken = notifications.connections(sides, rounds)
            pydoca_measure.record("pe.wake.connections", woken, unit="1", min=rounds)


@pytest.mark.pydoca_case("PE-7", title="contexts, connections and imports are made and ended soon", levels=ALL)
def test_setups(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    for name, taken in setups.times(pydoca_device).items():
        pydoca_measure.record(f"pe.setup.{name}", taken, unit="ms", better="lower", max=100)


@pytest.mark.pydoca_case("PE-8", title="the first operation after a rest of the device is not late", levels=QUICK)
def test_rests(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    for name, taken in wakes.after_rests(pydoca_device, 3).items():
        pydoca_measure.record(f"pe.rested.{name}", taken, unit="ms", better="lower", max=3)


@pytest.mark.pydoca_case(
    "PE-9", title="no way or size of an operation, and none of several objects, is far slower than another", levels=ALL
)
def test_speeds(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    for name, ratio in speeds.ratios(pydoca_device).items():
        pydoca_measure.record(f"pe.ratio.{name}", ratio, unit="1", better="lower", max=4)
    for name, ratio in siblings.ratios(pydoca_device).items():
        pydoca_measure.record(f"pe.siblings.{name}", ratio, unit="1", better="lower", max=4)
    largest = at(pydoca_run, smoke=1 << 20, quick=1 << 22, full=1 << 24)
    for name, ratio in sizes.ratios(pydoca_device, largest).items():
        pydoca_measure.record(f"pe.size.{name}", ratio, unit="1", better="lower", max=2)


@pytest.mark.pydoca_case(
    "PE-10", title="operations and starts leave nothing behind, and do not become slower", levels=QUICK
)
def test_growth(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    count = at(pydoca_run, quick=3000, full=30_000)
    for name, grown in growth.of_operations(pydoca_device, count).items():
        pydoca_measure.record(f"pe.growth.{name}.resident", grown.resident / 1024, unit="KiB", max=1024)
        pydoca_measure.record(f"pe.growth.{name}.descriptors", grown.descriptors, unit="1", max=0)
        pydoca_measure.record(f"pe.growth.{name}.time", grown.slowdown, unit="1", better="lower", max=3)
    for name, slowdown in growth.of_starts(pydoca_device, 40).items():
        pydoca_measure.record(f"pe.growth.{name}.start", slowdown, unit="1", better="lower", max=4)
