"""A fleet in this process: a scheduler on loopback, workers that are threads, and short tests of cards."""

import asyncio
import json
import secrets
import threading
import xml.etree.ElementTree as ElementTree

import jsonschema
import numpy as np
import pytest

import pydoca
from pydoca.qualify.fleet.cluster import FleetError
from pydoca.qualify.fleet.record import FleetRecord
from pydoca.qualify.results.files import write_checksums
from pydoca.qualify.verdicts import ExitCode, Verdict
from qualify.fleet.fleets import ORDER, outcome, run_in_this_process, run_of, shown, value
from qualify.reports.run_schema import FLEET_FINDINGS

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def machine():
    """Gives the test its own fabric, and restores the usual cards afterwards."""
    before = pydoca.sim.fabric()
    pydoca.sim.set_fabric(f"fleet-{secrets.token_hex(6)}")
    yield
    pydoca.sim.set_fabric(before)
    pydoca.sim.load_topology(pydoca.sim.default_topology())


def cards(count):
    pydoca.sim.load_topology({"card": [{"count": count, "name": "card{}", "ports": 1}]})


def number_of(card):
    return int(card.name.removeprefix("card").removesuffix("-p0"))


def named(record: FleetRecord):
    return {number_of(each.card): each for each in record.cards}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_thousand_cards_have_one_report_and_the_bad_one_is_marked(tmp_path):
    """Each card is opened, on one of four workers that test eight at a time: the first eight wait for one another."""
    cards(1000)
    random = np.random.default_rng(1)
    speeds = 100 + random.normal(size=1000)
    speeds[417] = 80
    running, lock = set(), threading.Lock()
    at_a_time, waits = threading.Barrier(8, timeout=60), iter([True] * 8)

    def tester(card, order):
        with lock:
            assert card.serial not in running, "one card is tested once at a time"
            running.add(card.serial)
            must_wait = next(waits, False)
        if must_wait:
            at_a_time.wait()
        with pydoca.open_device(card.name, side=card.side) as device:
            assert device.is_open
        with lock:
            running.remove(card.serial)
        return outcome(run_of(value("dma.bw", float(speeds[number_of(card)]))))

    fleet = run_in_this_process(tmp_path, tester, workers=4, threads=8)
    record = fleet.record
    assert [number_of(each.card) for each in record.cards] == list(range(1000))
    assert {each.run.verdict for each in record.cards} == {Verdict.PASS}
    assert (record.verdict, record.exit_code) == (Verdict.PASS, ExitCode.PASSED)
    [outlier] = record.outliers
    assert outlier.title.endswith("sim:card417-p0")
    assert (outlier.word, outlier.cards) == ("worse", 1000)
    assert named(record)[417].outliers == 1
    assert sum(each.tested for each in record.workers) == 1000
    assert all(each.tested for each in record.workers), "all workers take part"
    page = (fleet.directory.path / "report.html").read_text()
    assert "1,000" in page
    assert "OUTLIER" in page
    assert len(page) < 2_000_000
    suites = ElementTree.parse(fleet.directory.path / "junit.xml").getroot().findall("testsuite")
    assert len(suites) == 1000
    written = json.loads((fleet.directory.path / "fleet.json").read_text())
    assert len(written["cards"]) == 1000
    assert written["verdict"] == "PASS"


def test_a_worker_that_is_added_while_the_fleet_runs_takes_work(tmp_path):
    """The first two tests wait for each other, so they end only when there are two workers of one thread."""
    cards(6)
    begun, both = threading.Event(), threading.Barrier(2, timeout=40)
    waits = iter([True, True])

    def tester(card, order):
        begun.set()
        if next(waits, False):
            both.wait()
        return outcome(run_of(value("dma.bw", 10.0)))

    async def add(local, fleet):
        await asyncio.to_thread(begun.wait, 40)
        assert len(fleet.coordinator.queue.workers) == 1
        local.scale(2)

    record = run_in_this_process(tmp_path, tester, workers=1, beside=add).record
    assert record.exit_code == ExitCode.PASSED
    assert [each.cards for each in record.workers] == [6, 6]
    assert all(each.tested for each in record.workers)
    assert "6 cards, 0 of them new" in shown(tmp_path)


def test_a_host_that_is_added_brings_its_cards(tmp_path):
    """Workers of one process have the same cards until the topology changes: the second one sees three more."""
    cards(3)
    begun, go_on = threading.Event(), threading.Event()

    def tester(card, order):
        begun.set()
        assert go_on.wait(40)
        return outcome(run_of(value("dma.bw", 10.0)))

    async def add(local, fleet):
        await asyncio.to_thread(begun.wait, 40)
        cards(6)
        local.scale(2)
        while fleet.coordinator.known < 6:
            await asyncio.sleep(0.02)
        go_on.set()

    record = run_in_this_process(tmp_path, tester, workers=1, beside=add).record
    assert sorted(named(record)) == [0, 1, 2, 3, 4, 5]
    assert record.exit_code == ExitCode.PASSED


def test_verdicts_and_codes_follow_the_rules_of_several_devices(tmp_path):
    """The cards: one that failed, one whose tester broke, one whose options pytest refused, one without cases."""
    cards(5)

    def tester(card, order):
        number = number_of(card)
        if number == 1:
            return outcome(run_of(value("dma.bw", 10.0), verdict=Verdict.FAIL))
        if number == 2:
            raise RuntimeError("the tester broke")
        if number == 3:
            return outcome(None, exit_code=4, said="lines\nERROR: limits.toml does not match the device\n")
        if number == 4:
            return outcome(None, exit_code=5)
        return outcome(run_of(value("dma.bw", 10.0)))

    fleet = run_in_this_process(tmp_path, tester, workers=2)
    found = named(fleet.record)
    verdicts = [found[number].run.verdict for number in range(5)]
    assert verdicts == [Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.ERROR, Verdict.SKIPPED]
    assert (fleet.record.verdict, fleet.record.exit_code) == (Verdict.FAIL, ExitCode.FAILED)
    assert "RuntimeError: the tester broke" in found[2].run.cases[0].reason
    assert found[3].run.cases[0].reason == "not tested: limits.toml does not match the device"
    assert any("nothing was tested, which is not a pass" in each for each in fleet.record.findings)
    assert any("outliers are told from 5 equal cards on" in each for each in fleet.record.findings)
    document = json.loads((fleet.directory.path / "fleet.json").read_text())
    assert [each["tested"] for each in document["cards"]] == [True, True, False, False, False]
    jsonschema.validate(document["findings"], FLEET_FINDINGS)
    told = [(each["kind"], each["verdict"], each.get("title", "").partition(" ")[2]) for each in document["findings"]]
    assert told == [
        ("card", "FAIL", "sim:card1-p0"), ("card", "ERROR", "sim:card2-p0"), ("card", "ERROR", "sim:card3-p0"),
        ("fleet", "MARGINAL", ""), ("fleet", "MARGINAL", ""),
    ]  # fmt: skip
    keys = [each["key"] for each in document["cards"]]
    assert [each.get("card") for each in document["findings"]] == [*keys[1:4], None, None]


def test_a_run_that_did_not_end_by_itself_is_an_error_whatever_it_had_found(tmp_path):
    cards(2)

    def tester(card, order):
        run = run_of(value("dma.bw", 10.0))
        if number_of(card) == 1:
            return outcome(run, timed_out=True, left_out=("samples/a.csv",))
        run.exit_code = None
        return outcome(run, exit_code=-11)

    fleet = run_in_this_process(tmp_path, tester, workers=1)
    found = named(fleet.record)
    assert [found[number].run.verdict for number in range(2)] == [Verdict.ERROR] * 2
    assert "pytest ended with -11" in found[0].run.cases[-1].reason
    assert "was ended after" in found[1].run.cases[-1].reason
    assert "not copied from the worker, for its size: samples/a.csv" in found[1].run.findings
    assert fleet.record.exit_code == ExitCode.TESTER_ERROR
    assert "ERROR" in (fleet.directory.path / found[1].directory / "report.html").read_text()


def test_an_interrupt_ends_the_cards_that_have_not_begun(tmp_path):
    """The card under test ends in order; the report has all of them."""
    cards(4)
    begun, go_on = threading.Event(), threading.Event()

    def tester(card, order):
        begun.set()
        assert go_on.wait(40)
        return outcome(run_of(value("dma.bw", 10.0)))

    async def interrupt(local, fleet):
        await asyncio.to_thread(begun.wait, 40)
        fleet.coordinator.interrupt()
        while len(fleet._cards) < 3:
            await asyncio.sleep(0.02)
        go_on.set()

    fleet = run_in_this_process(tmp_path, tester, workers=1, beside=interrupt)
    verdicts = sorted(each.run.verdict.value for each in fleet.record.cards)
    assert verdicts == ["INTERRUPTED", "INTERRUPTED", "INTERRUPTED", "PASS"]
    assert (fleet.record.verdict, fleet.record.exit_code) == (Verdict.INTERRUPTED, ExitCode.INTERRUPTED)
    page = (fleet.directory.path / "report.html").read_text()
    assert "The run was interrupted. Not tested: 3 of 4 cards." in page
    assert "<title>INTERRUPTED: " in page


def test_a_card_that_only_a_lost_worker_had_is_an_error(tmp_path):
    """The scheduler sends the worker away; its successor has another card."""
    cards(1)
    begun, go_on = threading.Event(), threading.Event()

    def tester(card, order):
        begun.set()
        go_on.wait(40)
        return outcome(run_of(value("dma.bw", 10.0)))

    async def lose(local, fleet):
        await asyncio.to_thread(begun.wait, 40)
        pydoca.sim.load_topology({"card": [{"count": 1, "name": "other"}]})
        [address] = fleet.coordinator.queue.workers
        await local.scheduler.remove_worker(address=address, stimulus_id="test", close=True)
        go_on.set()

    fleet = run_in_this_process(tmp_path, tester, workers=1, beside=lose, patience=1.0)
    [each] = [each for each in fleet.record.cards if each.card.name == "card0-p0"]
    assert each.run.verdict is Verdict.ERROR
    assert "no worker had the card for 1 s" in each.run.cases[0].reason
    assert fleet.record.exit_code == ExitCode.TESTER_ERROR


def test_a_fleet_without_the_device_says_so_and_leaves_nothing(tmp_path):
    cards(1)
    order = ORDER.__class__(words=(), level="smoke", seed=1, selectors=("nothing*",))
    with pytest.raises(FleetError, match=r"of 1 worker, none has a device nothing\*"):
        run_in_this_process(tmp_path, lambda card, order: outcome(None), workers=1, order=order)
    assert not list((tmp_path / "runs").iterdir())


def test_the_checksums_are_those_of_all_files(tmp_path):
    cards(1)
    fleet = run_in_this_process(tmp_path, lambda card, order: outcome(run_of(value("a", 1.0))), workers=1)
    before = (fleet.directory.path / "SHA256SUMS").read_text()
    assert len(before.splitlines()) == 4
    write_checksums(fleet.directory.path)
    assert (fleet.directory.path / "SHA256SUMS").read_text() == before
