"""The records of a run: plain data, which `state.json` of its directory holds, and every report is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydoca.qualify.verdicts import Verdict


@dataclass(frozen=True)
class LimitRecord:
    """The limit in force, in the measurement's unit."""

    stat: str  # "p50": min max mean p50 p90 p99 p999 stdev cv count
    min: float | None = None
    max: float | None = None
    n_min: int = 1
    marginal: float = 0.0  # a fraction of the limit: a value that is so close to it is MARGINAL
    source: str = ""  # "bf3.toml: limit.dma.write.bw"
    waived: str = ""  # why a failure is not one, and until when


@dataclass(frozen=True)
class MeasurementRecord:
    name: str  # "dma.write.bw.65536"
    unit: str
    stat: str  # the statistic that `value` is
    better: str  # "higher", "lower" or "none"
    value: float | None  # None: no sample
    interval: tuple[float, float] | None  # the confidence interval of `value`
    n: int  # samples, without those of the warm-up
    warmup: int  # the number of samples before, which count as warm-up
    outliers: int  # the outliers among the n samples, which stay in
    statistics: dict[str, float]  # all that n allows: min, max, mean, p50, p90, p99, p999, stdev, cv
    verdict: Verdict
    reason: str  # one sentence: the value, the limit and where that comes from
    limit: LimitRecord | None = None
    samples: str = ""  # the file below the run's directory, without suffix: "samples/dma.write.bw.65536"


@dataclass(frozen=True)
class CaseRecord:
    id: str  # "DMA-BW"
    title: str
    node: str  # pytest's: "cases/test_dma.py::test_bandwidth[65536]"
    repeat: int  # the number of the repeat, from 0
    verdict: Verdict
    reason: str  # why it failed or was skipped; empty when it passed
    begin: float  # seconds since the epoch, at its start
    seconds: float
    measurements: list[MeasurementRecord] = field(default_factory=list)
    log: str = ""  # what it wrote, and a failure's traceback
    again: str = ""  # the command that repeats just this case, with its seed


@dataclass
class RunRecord:
    id: str  # the name of its directory
    device: dict[str, Any]  # name, pci_address, backend, side, serial, profile
    level: str
    seed: int
    options: dict[str, Any]  # the options as given: limits, baseline, repeat, duration, ...
    versions: dict[str, str]  # pydoca, python, pytest, numpy, scipy, commit
    begin: float
    end: float | None = None  # None: it was killed, or still runs
    machine: dict[str, Any] = field(default_factory=dict)
    machine_after: dict[str, Any] = field(default_factory=dict)
    cases: list[CaseRecord] = field(default_factory=list)
    planned: int = 0  # cases of the plan, with repeats
    findings: list[str] = field(default_factory=list)  # remarks about the run: a limit that met nothing, for example
    verdict: Verdict = Verdict.INTERRUPTED  # holds until the run has ended
    exit_code: int | None = None
