"""Measurements of a qualification."""

from __future__ import annotations

import numpy as np

from pydoca.qualify import statistics
from pydoca.qualify.records import LimitRecord, MeasurementRecord
from pydoca.qualify.report import Measured
from scenes.stack import Stack, scene


def measured(samples: np.ndarray, unit: str, stat: str, limit: LimitRecord | None, better: str = "higher") -> Measured:
    """A measurement, as a run records it."""
    begin = statistics.warmup(samples)
    warm = samples[begin:]
    value, interval = statistics.value_of(warm, stat), statistics.interval(warm, stat)
    verdict, reason = statistics.judge(value, interval, limit, len(warm), unit=unit)
    record = MeasurementRecord(
        "dma.write.bw.65536", unit, stat, better, value, interval, len(warm), begin, statistics.outliers(warm),
        statistics.summary(warm), verdict, reason, limit,
    )  # fmt: skip
    return Measured(record, samples, begin)


@scene
def measurement(stack: Stack) -> object:
    samples = np.random.default_rng(1).normal(21.5, 0.3, 900)
    samples[:60] -= np.linspace(9, 1, 60)
    limit = LimitRecord("p50", min=18, n_min=30, source="bf3.toml: limit.dma.write.bw.65536")
    return measured(samples, "GB/s", "p50", limit)


@scene
def measurement_of_a_tail(stack: Stack) -> object:
    samples = np.random.default_rng(1).lognormal(1, 0.3, 5_000)
    return measured(samples, "us", "p99", LimitRecord("p99", max=5, n_min=1_000), "lower")


@scene
def measurement_of_few_samples(stack: Stack) -> object:
    return measured(np.array([3.1, 3.3, 2.9, 3.0]), "us", "mean", None, "lower")


@scene
def measurement_of_nothing(stack: Stack) -> object:
    return measured(np.empty(0), "us", "p50", LimitRecord("p50", max=5, n_min=30), "lower")
