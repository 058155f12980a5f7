"""The measurements of a run by their name, over all of its repeats."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pydoca.qualify.figures import property_text
from pydoca.qualify.records import MeasurementRecord, RunRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.statistics import STATISTICS
from pydoca.qualify.statistics.samples import Array

Runs: TypeAlias = "Sequence[tuple[RunDirectory, RunRecord]]"
Key: TypeAlias = tuple[str, str]  # the name and the statistic


@dataclass
class Metric:
    """One measurement of one run; records are those of its repeats."""

    name: str
    stat: str
    unit: str
    better: str
    records: list[MeasurementRecord] = field(default_factory=list)

    @property
    def is_property(self) -> bool:
        """Whether it is a property of the device, which is compared, and not measured."""
        return self.stat not in STATISTICS

    @property
    def said(self) -> list[str]:
        """What a property is, in the words of the records: it need not be a number."""
        return [property_text(each.reason, each.value) for each in self.records]

    @property
    def values(self) -> list[float]:
        return [each.value for each in self.records if each.value is not None]


def load_runs(paths: Iterable[str | os.PathLike[str]]) -> list[tuple[RunDirectory, RunRecord]]:
    """Raises ValueError for a directory that is not a run's."""
    return [(RunDirectory(path), RunDirectory.load(Path(path))) for path in paths]


def measured_in(run: RunRecord) -> dict[Key, Metric]:
    """The metrics, without properties of the device."""
    return {key: metric for key, metric in metrics_of(run).items() if not metric.is_property}


def metrics_of(run: RunRecord) -> dict[Key, Metric]:
    """The metrics in the order of the run. Raises ValueError where repeats have different units."""
    found: dict[Key, Metric] = {}
    for case in run.cases:
        for record in case.measurements:
            new = Metric(record.name, record.stat, record.unit, record.better)
            metric = found.setdefault((record.name, record.stat), new)
            if metric.unit != record.unit:
                raise ValueError(f"{run.id}: {record.name} is in {metric.unit} and in {record.unit}; give it one unit")
            metric.records.append(record)
    return found


def samples_of(directory: RunDirectory, metric: Metric | None) -> Array:
    """The samples of all repeats without their warm-ups; their values where no samples are stored; empty for None."""
    parts = [_samples(directory, record) for record in metric.records] if metric else []
    return np.concatenate([np.empty(0), *parts])


def _samples(directory: RunDirectory, record: MeasurementRecord) -> Array:
    if record.samples:
        try:
            samples, warmup = directory.read_samples(record.samples)
            return samples[warmup:]
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"{directory.path / record.samples}.npz cannot be read: {error}") from None
    return np.array([] if record.value is None else [record.value])


def part_of(run: RunRecord) -> str:
    """What the device is called in a study: by its serial number, as addresses change."""
    device = run.device
    return str(device.get("serial") or device.get("pci_address") or device.get("name") or "no device")
