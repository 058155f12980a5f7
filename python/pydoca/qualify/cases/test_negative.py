"""NEG, FLT: misuse and failures end in the documented error, and the device stays usable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import dma, engines, events, misuse, remote
from pydoca.qualify.bench.rules import flushes, refusals
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.cases.counts import at
from pydoca.qualify.cases.needs import require

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun
    from pydoca.qualify.session.pair import Pair

ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("NEG-1", title="a call in the wrong state gives the documented error", levels=ALL)
@pytest.mark.pydoca_needs("dma")
@pytest.mark.parametrize("name", list(misuse.MISUSES))
def test_wrong_state(pydoca_device: pydoca.Device, name: str) -> None:
    misuse.check(pydoca_device, name)


@pytest.mark.pydoca_case("NEG-3", title="what a library does not take has the documented error", levels=ALL)
def test_refusals(pydoca_device: pydoca.Device) -> None:
    refusals.names(pydoca_device)


@pytest.mark.pydoca_case("NEG-4", title="what the PCIe link does not take has the documented error", levels=ALL)
@pytest.mark.pydoca_needs("pair", "sim")
def test_refusals_of_the_link(sides: Sides) -> None:
    refusals.link(sides)


@pytest.mark.pydoca_case("FLT-1", title="the peer is killed under load, and a new one works", levels=("quick", "full"))
@pytest.mark.pydoca_needs("pair", "sim", "sync_event")
def test_killed_peer(
    pydoca_device: pydoca.Device,
    pydoca_pair: Pair,
    pydoca_run: CaseRun,
    pydoca_random: random.Random,
    pydoca_measure: Measure,
) -> None:
    other = pydoca_pair.host if pydoca_device.side == pydoca.Side.DPU else pydoca_pair.dpu
    kills = at(pydoca_run, quick=3, full=20)
    for number in range(kills):
        with Stand() as stand:
            partner = events.Partner(stand, pydoca_device)
            other.start(remote.answer_pings, other.device, other.side, *partner.blobs)
            with duty(f"rounds with peer {number}"):
                for _ in range(pydoca_random.randint(1, 200)):
                    partner.round()
            other.kill()
            try:
                partner.pong.wait_eq_yield(2**63, timeout=10)
            except (pydoca.ConnectionResetError, pydoca.NotConnectedError):
                pass
            except pydoca.TimeOutError:
                raise DeviceFault(f"10 s after peer {number} was killed, a wait for it goes on") from None
        other.restart()
    pydoca_measure.record("fault.kills", kills, unit="1", min=kills)


@pytest.mark.pydoca_case("FLT-2", title="a context that stops flushes its tasks, each once", levels=ALL)
@pytest.mark.pydoca_needs("dma")
def test_stop_in_flight(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    stops = at(pydoca_run, smoke=5, quick=100, full=1000)
    depth = dma.depth_for(pydoca_device, 16)
    ended = sum(sum(engines.stop_in_flight(pydoca_device, depth)) for _ in range(stops))
    pydoca_measure.record("fault.ended", ended, unit="1", min=depth * stops, max=depth * stops)


@pytest.mark.pydoca_case("FLT-3", title="the device comes back after its driver was bound again", levels=("full",))
@pytest.mark.pydoca_needs("hardware", "root")
def test_reset() -> None:
    pytest.skip("an operator does this: unbind the driver and bind it again, then run level smoke")


@pytest.mark.pydoca_case("FLT-4", title="the link comes back after it was down", levels=("full",))
@pytest.mark.pydoca_needs("hardware", "root")
def test_link_flap() -> None:
    pytest.skip("an operator does this: set the interface down and up again, then run level smoke")


@pytest.mark.pydoca_case("FLT-5", title="a device that was removed gives errors, and comes back", levels=ALL)
@pytest.mark.pydoca_needs("sim", "dma")
def test_surprise_removal(pydoca_run: CaseRun) -> None:
    info = pydoca_run.require_device()
    with pydoca.open_device(info) as device:
        pydoca.sim.remove_device(device)
        try:
            if not device.removed:
                raise DeviceFault("a device that was removed does not say so")
            try:
                misuse.works(device)
            except DeviceFault as error:
                if not isinstance(error.__cause__, pydoca.DocaError):
                    raise
            else:
                raise DeviceFault("a device that was removed still copies")
        finally:
            pydoca.sim.restore_device(info)
    with duty("open the device after it came back"), pydoca.open_device(info) as device:
        misuse.works(device)


@pytest.mark.pydoca_case(
    "FLT-6", title="what waits for a peer or a value ends once, with an error, when its context stops", levels=ALL
)
@pytest.mark.parametrize("library", flushes.LIBRARIES)
def test_flushes(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, library: str) -> None:
    require(flushes.LIBRARIES[library][0](pydoca_device), pydoca_device, library)
    stops = at(pydoca_run, smoke=2, quick=20, full=200)
    flushed = sum(flushes.check(pydoca_device, library) for _ in range(stops))
    pydoca_measure.record(f"fault.flushed.{library}", flushed, unit="1", min=stops)
