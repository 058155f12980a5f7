"""The pages that the qualification writes for invented runs with long names; tests and people look at them.

usage: PYTHONPATH=tests/py:tests/py/qualify .venv/bin/python -m qualify.pages DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from pydoca.qualify.fleet.outliers import compare_cards
from pydoca.qualify.fleet.record import CardRecord, FleetRecord, WorkerRecord
from pydoca.qualify.fleet.report.page import fleet_html
from pydoca.qualify.history import compare
from pydoca.qualify.history.page import comparison_html
from pydoca.qualify.records import CaseRecord, LimitRecord, MeasurementRecord, RunRecord
from pydoca.qualify.report import report_html
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict
from qualify.fleet.fleets import card
from qualify.reports.runs import BEGIN, case, correlated, measured, new_run

_LONG = "rdma.write.with_immediate.completion.latency.of_the_first_operation.1048576"
_LIMIT = LimitRecord("p50", min=9, max=2_097_152.5, source="limits-of-the-second-laboratory.toml: limit.dma.bw.*")


def _property(name: str, value: float | None, reason: str) -> MeasurementRecord:
    return MeasurementRecord(name, "", "value", "none", value, None, 1, 0, 0, {}, Verdict.UNJUDGED, reason)


def _cases(directory: RunDirectory, mean: float = 10.0) -> list[CaseRecord]:
    near = LimitRecord("p50", max=mean * 1.01, marginal=0.02, source=_LIMIT.source)
    late = correlated(400, 0.2, 3, mean=2_000_000 * mean, sigma=9e5)
    tail = np.random.default_rng(1).lognormal(size=2_000)
    return [
        case("DMA-BW", measured("dma.bw.65536", correlated(900, 0.5, 1, mean), limit=_LIMIT, directory=directory)),
        case("RDMA-LAT", measured(_LONG, tail, unit="us", stat="p99", directory=directory), number=1),
        case("DMA-LAT", measured("dma.late", late, unit="us", limit=near, directory=directory), number=2),
        case("NEAR-1", measured("near", [mean] * 40, unit="us", limit=near, directory=directory), number=3),
        case("BAD-1", verdict=Verdict.ERROR, reason="broken " * 20, number=4, log="/a/long/path" * 20),
        case("OFF-1", verdict=Verdict.SKIPPED, reason="p0 has no sha: only a BlueField-2 has a SHA engine", number=5),
        case("INV-5", _property("card.profile", None, "not set; no"), _property("a" * 40, 8.0, "8; no"), number=6),
    ]  # fmt: skip


def _run(path: Path, mean: float = 10.0) -> tuple[RunDirectory, RunRecord]:
    directory = RunDirectory(path)
    machine = {"cpu.model": {"value": "An invented processor with a long name @ 2.10 GHz"}, "numa.nodes": {"value": 2},
               "device.pcie.width": {"absent": "the device is simulated, so it has no link"}}  # fmt: skip
    run = new_run(path.name, planned=7, machine=machine, end=BEGIN + 60, exit_code=1, verdict=Verdict.ERROR)
    run.cases, run.machine_after = _cases(directory, mean), machine
    (path / "report.html").write_text(report_html(run, directory.read_samples))
    return directory, run


def _fleet(cards: int = 6) -> FleetRecord:
    """A fleet whose first card failed, and whose last card lies apart."""
    tested = []
    for number in range(cards):
        speed = 10.0 if number < cards - 1 else 5.0
        run = new_run("smoke", serial := f"MT2440X{number:05}-WITH-A-LONG-SERIAL-NUMBER", planned=1, end=BEGIN + 9)
        run.cases = [case("A-1", measured(_LONG, [speed + number / 100] * 3, unit="us"))]
        run.verdict = Verdict.PASS if number else Verdict.FAIL
        tested.append((card(number, serial=serial), run))
    spreads, outliers = compare_cards(tested)
    worker = WorkerRecord("tcp://a-host-of-the-laboratory.example.org:45117", "host0", cards, cards, False)
    return FleetRecord(
        "2026-09-21_fleet", "tcp://a-host-of-the-laboratory.example.org:8786", "smoke", 7, {}, {"pydoca": "0.1.0"},
        BEGIN, BEGIN + 60, [CardRecord(*each) for each in tested], [worker], spreads, outliers, verdict=Verdict.FAIL,
    )  # fmt: skip


def write_pages(folder: Path) -> list[Path]:
    first, second = _run(folder / "first"), _run(folder / "second", 12.0)
    others = {
        "comparison.html": comparison_html(compare(first, second), first, second),
        "fleet.html": fleet_html(_fleet()),
    }
    for name, html in others.items():
        (folder / name).write_text(html)
    return [folder / "first/report.html", *(folder / name for name in others)]


if __name__ == "__main__":
    print("\n".join(map(str, write_pages(Path(sys.argv[1])))))
