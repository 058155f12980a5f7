"""COM: messages between the host and the DPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pydoca
from pydoca import comch
from pydoca.qualify.bench import messages, remote, resources, waiting
from pydoca.qualify.bench.rules import deaths, ends
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import Stand, duty
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun
    from pydoca.qualify.session.pair import Pair

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("pair", "sim")
ALL = ("smoke", "quick", "full")
QUICK = ("quick", "full")


@pytest.mark.pydoca_case("COM-1", title="a client connects and disconnects, again and again", levels=ALL)
def test_connects(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    count = at(pydoca_run, smoke=50, quick=500, full=1000)
    list(messages.connects(sides, 3))
    before = resources.settled()
    with pydoca_measure("comch.connect", unit="ms", stat="p50", better="lower", max=5000) as connecting:
        for value in messages.connects(sides, count):
            connecting.add(value)
    grown = resources.settled(before) - before
    pydoca_measure.record("comch.leak.descriptors", grown.descriptors, unit="1", max=0)
    pydoca_measure.record("comch.leak.mappings", grown.mappings, unit="1", max=0)
    pydoca_measure.record("comch.leak.threads", grown.threads, unit="1", max=0)


@pytest.mark.pydoca_case(
    "COM-2", title="messages of every length arrive once, in order, unchanged, both ways", levels=ALL
)
def test_lengths(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    limits = sides.host.info.capabilities.comch
    assert limits is not None
    longest = limits.max_msg_size
    step = at(pydoca_run, smoke=37, quick=1)
    lengths = sorted({*range(0, longest + 1, step), 1, 2, 3, longest - 1, longest})
    pydoca_measure.record("comch.messages", messages.lengths(sides, lengths), unit="1", min=2 * len(lengths))


@pytest.mark.pydoca_case("COM-RTT", title="a message and its answer, between two processes", levels=QUICK)
@pytest.mark.parametrize("size", [64, 4080])
def test_round_trip(pydoca_pair: Pair, pydoca_run: CaseRun, pydoca_measure: Measure, size: int) -> None:
    name, count = fresh_name(), at(pydoca_run, quick=2000, full=20_000)
    dpu, host = pydoca_pair.dpu, pydoca_pair.host
    served = dpu.start(remote.serve_messages, dpu.device, dpu.representor, name, count)
    with pydoca_measure(f"comch.rtt.{size}", unit="us", stat="p50", better="lower", n_min=1000) as round_trip:
        try:
            round_trip.extend(np.array(host.call(remote.ask, host.device, name, count, size)))
        except RuntimeError:
            served.result()  # if both ends fail, the server's error has the reason
            raise
    served.result()


@pytest.mark.pydoca_case("COM-RATE", title="rate of messages, both ends in one process", levels=QUICK)
def test_rate(sides: Sides, pydoca_measure: Measure) -> None:
    with pydoca_measure("comch.rate.64", unit="kmsg/s", stat="p50", better="higher", n_min=10) as rate:
        for value in messages.rate(sides, 64, rate.has_enough):
            rate.add(value / 1e3)


@pytest.mark.pydoca_case(
    "COM-3", title="a reader that does not read holds the sender back, and nothing is lost", levels=ALL
)
def test_back_pressure(sides: Sides, pydoca_measure: Measure) -> None:
    pydoca_measure.record("comch.held_back", messages.back_pressure(sides), unit="1", min=1)


@pytest.mark.pydoca_case(
    "COM-4", title="up to 64 clients of one server are served alike, each with its messages", levels=QUICK
)
def test_many_clients(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    limits = sides.dpu.info.capabilities.comch
    assert limits is not None
    fairness = messages.many_clients(sides, min(64, limits.max_clients), at(pydoca_run, quick=20, full=200))
    pydoca_measure.record("comch.fairness", fairness, unit="1", better="higher", min=0.1)


@pytest.mark.pydoca_case("COM-5", title="what one client does wrong leaves the others alone", levels=QUICK)
def test_misbehaving_clients(sides: Sides) -> None:
    messages.misbehaving_clients(sides)


@pytest.mark.pydoca_case("COM-7", title="both ends are told of each connection's beginning and end, once", levels=ALL)
def test_ends(sides: Sides, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    rounds = at(pydoca_run, smoke=6, quick=30, full=300)
    pydoca_measure.record("comch.ends", ends.connections(sides, rounds), unit="1", min=rounds)


@pytest.mark.pydoca_case(
    "COM-8", title="each operation of a connection fails once the process at its other end has died", levels=QUICK
)
def test_dead_peer(pydoca_pair: Pair, pydoca_measure: Measure) -> None:
    name, dpu, host = fresh_name(), pydoca_pair.dpu, pydoca_pair.host
    with pydoca.open_device(host.device, side="host") as device, Stand() as stand:
        dpu.start(remote.serve_messages, dpu.device, dpu.representor, name, 2**31)
        with duty("connect a comch client to its server"):
            link = stand.enter_context(comch.Client(stand.engine(), device, name, timeout=waiting.PATIENCE))
        run = deaths.of_connection(link)
        seconds = deaths.check(run, dpu.kill, "a connection", pydoca.ConnectionResetError)
    pydoca_measure.record("comch.peer_death", seconds, unit="s", better="lower", max=10)


@pytest.mark.pydoca_case("COM-6", title="a representor leads to the function that it is of, and no other", levels=QUICK)
def test_representors(sides: Sides, pydoca_measure: Measure) -> None:
    pydoca_measure.record("comch.representors", messages.representors(sides), unit="1", min=1)
