"""Runs of invented devices, for the tests of everything that reads runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pydoca.qualify import statistics
from pydoca.qualify.records import CaseRecord, LimitRecord, MeasurementRecord, RunRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import ExitCode, Verdict

BEGIN = 1_790_000_000.0


def correlated(n: int, memory: float, seed: int, mean: float = 10.0, sigma: float = 1.0) -> np.ndarray:
    """A series AR(1); sigma is the deviation of each sample."""
    random = np.random.default_rng(seed)
    noise = random.normal(scale=sigma * np.sqrt(1 - memory**2), size=n)
    series = np.empty(n)
    series[0] = random.normal(scale=sigma)
    for index in range(1, n):
        series[index] = memory * series[index - 1] + noise[index]
    return series + mean


def new_run(id: str = "2026-09-21_p0_quick_7f3a", serial: str = "MT2440X00001", **more: Any) -> RunRecord:
    device = {"name": "p0", "pci_address": "0000:03:00.0", "backend": "sim", "side": "dpu", "serial": serial}
    options = {"command": "pydoca qualify sim:p0 --level quick"}
    versions = {"pydoca": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"}
    return RunRecord(id, device, "quick", 7, options, versions, BEGIN, **more)


def measured(
    name: str,
    samples: Sequence[float] | np.ndarray,
    *,
    unit: str = "GB/s",
    stat: str = "p50",
    limit: LimitRecord | None = None,
    better: str = "higher",
    directory: RunDirectory | None = None,
) -> MeasurementRecord:
    """A measurement, as the fixture records it."""
    begin = statistics.warmup(samples)
    kept = np.asarray(samples, dtype=float)[begin:]
    value, interval = statistics.value_of(kept, stat), statistics.interval(kept, stat)
    verdict, reason = statistics.judge(value, interval, limit, len(kept), unit=unit)
    file = directory.samples(name, samples, warmup=begin, unit=unit) if directory else ""
    return MeasurementRecord(
        name, unit, stat, better, value, interval, len(kept), begin, statistics.outliers(kept),
        statistics.summary(kept), verdict, reason, limit, file,
    )  # fmt: skip


def case(
    id: str, *measurements: MeasurementRecord, verdict: Verdict | None = None, number: int = 0, **more: Any
) -> CaseRecord:
    verdict = verdict or Verdict.of_run(each.verdict for each in measurements)
    node = more.pop("node", f"cases/test_{id.partition('-')[0].lower()}.py::test_{id.lower().replace('-', '_')}")
    reason = more.pop("reason", next((each.reason for each in measurements if each.verdict is verdict), ""))
    title = more.pop("title", f"The case {id}")
    again = f"pydoca qualify sim:p0 --select '{id}' --seed 7"
    return CaseRecord(
        id, title, node, more.pop("repeat", 0), verdict, reason if verdict is not Verdict.PASS else "",
        BEGIN + 2 * number, 1.5, list(measurements), again=again, **more,
    )  # fmt: skip


def written(path: Path, cases: Sequence[CaseRecord], directory: RunDirectory | None = None, **more: Any) -> RunRecord:
    """A complete run in that directory."""
    directory, run = directory or RunDirectory(path), new_run(planned=len(cases), **more)
    directory.begin(run)
    for each in cases:
        directory.case(run, each)
    run.end = BEGIN + 60
    run.verdict = Verdict.of_run(each.verdict for each in cases)
    run.exit_code = ExitCode.of_verdict(run.verdict).value
    directory.end(run)
    return run
