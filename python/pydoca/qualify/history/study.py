"""How well the tester repeats its measurements: gauge repeatability and reproducibility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pydoca.qualify.history.metrics import Key, Metric, Runs, measured_in, part_of
from pydoca.qualify.statistics import repeatability

CONSTANT = "constant"  # counts of errors, for example
WORDS = {
    "good": "under 10 % of the tolerance: fit to judge",
    "usable": "10 to 30 % of the tolerance: fit with a note",
    "unfit": "above 30 % of the tolerance: not fit to judge",
    "no tolerance": "no limit, or values that lie on it: nothing to compare the spread with",
    CONSTANT: "each device gave one value, every time: nothing is known of the tester's spread",
}


@dataclass(frozen=True)
class Study:
    """Standard deviations in the measurement's unit."""

    name: str
    stat: str
    unit: str
    devices: int
    sessions: int
    values: int
    mean: float
    repeatability: float
    reproducibility: float
    parts: float
    tolerance: float | None
    percent: float | None  # %R&R: six gauge sigmas as a part of the tolerance
    verdict: str  # a key of WORDS


def study(runs: Runs, *, tolerance: float | None = None) -> list[Study]:
    """tolerance is a part of the mean; without it, a measurement's limits are its tolerance.

    Each run is a session, and its repeats are those of the study. Raises ValueError where there are no repeats.
    """
    metrics = [(part_of(run), run.id, measured_in(run)) for _, run in runs]
    names = list(dict.fromkeys(key for _, _, found in metrics for key in found))
    studies = [
        _study(key, [(part, session, found[key]) for part, session, found in metrics if key in found], tolerance)
        for key in names
    ]
    known = [each for each in studies if each is not None]
    if not known:
        raise ValueError(
            "no measurement has two repeats in a run: a study needs runs with repeats, such as "
            "'pydoca qualify DEVICE --repeat 30' makes"
        )
    return known


def _study(key: Key, found: Sequence[tuple[str, str, Metric]], tolerance: float | None) -> Study | None:
    values = {(part, session): metric.values for part, session, metric in found if len(metric.values) >= 2}
    if not values:
        return None
    metric = found[0][2]
    mean = float(np.mean([value for repeats in values.values() for value in repeats]))
    width = _tolerance(metric, mean) if tolerance is None else abs(mean) * tolerance
    result = repeatability(values, width or None)
    is_constant = all(len(set(repeats)) == 1 for repeats in values.values()) and not result.reproducibility
    return Study(
        name=metric.name,
        stat=key[1],
        unit=metric.unit,
        devices=len({part for part, _ in values}),
        sessions=len(values),
        values=sum(map(len, values.values())),
        mean=mean,
        repeatability=result.repeatability,
        reproducibility=result.reproducibility,
        parts=result.parts,
        tolerance=width or None,
        percent=None if is_constant else result.percent,
        verdict=CONSTANT if is_constant else result.verdict,
    )


def _tolerance(metric: Metric, mean: float) -> float | None:
    """Between both limits; with one, twice the distance of the mean from it."""
    limit = next((record.limit for record in metric.records if record.limit is not None), None)
    if limit is None:
        return None
    if limit.min is not None and limit.max is not None:
        return limit.max - limit.min
    bound = limit.min if limit.min is not None else limit.max
    return None if bound is None else 2 * abs(mean - bound)
