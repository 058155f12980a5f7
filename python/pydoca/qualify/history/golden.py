"""Golden values: what good devices do, as limits for others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pydoca._display.frame.escaping import printable
from pydoca.qualify.figures import bound_text, cv_text, plural, quantity, stat_text
from pydoca.qualify.history.metrics import Key, Metric, Runs, measured_in, part_of
from pydoca.qualify.records import LimitRecord, RunRecord
from pydoca.qualify.statistics import robust_sigma
from pydoca.qualify.verdicts import Verdict

FEWEST = 5  # runs
LARGEST_CV = 0.05
SIGMAS = 4
_Z = 1.96  # the quantile of an interval of 95 %
_MATCHED = ("backend", "profile", "part")


class NotGolden(ValueError):
    """These runs say nothing of what is usual."""


@dataclass(frozen=True)
class Golden:
    name: str
    unit: str
    stat: str
    min: float | None
    max: float | None
    median: float
    sigma: float
    cv: float
    values: int
    devices: int


def train(runs: Runs, *, fewest: int = FEWEST, largest_cv: float = LARGEST_CV, leave_out: bool = False) -> list[Golden]:
    """Limits of median - 4 sigma, median + 4 sigma, or both, as `better` says; a narrower limit of the runs stays.

    Raises NotGolden for too few runs, for runs that did not pass, and for values that vary more than largest_cv;
    leave_out leaves these values out.
    """
    _check_runs([run for _, run in runs], fewest)
    metrics = [(run, measured_in(run)) for _, run in runs]
    names = list(dict.fromkeys(key for _, found in metrics for key in found))
    trained = [_golden(key, [(run, found[key]) for run, found in metrics if key in found]) for key in names]
    complete = [each for each in trained if each is not None and each.values >= fewest]
    unstable = [each for each in complete if each.cv > largest_cv]
    if unstable and not leave_out:
        told = ", ".join(f"{each.name} ({stat_text(each.stat)}: CV {cv_text(each.cv)})" for each in unstable)
        raise NotGolden(
            f"these values vary by more than {bound_text(largest_cv, '', 'cv')} from run to run, so no limit would "
            f"mean anything: {told}; find the cause, or leave them out"
        )
    golden = [each for each in complete if each.cv <= largest_cv]
    if not golden:
        raise NotGolden(f"no measurement has {plural(fewest, 'value')} or more that agree")
    return golden


def _check_runs(runs: Sequence[RunRecord], fewest: int) -> None:
    if len(runs) < fewest:
        are = "is" if len(runs) == 1 else "are"
        raise NotGolden(f"{plural(len(runs), 'run')} {are} too few: golden values need {fewest} or more")
    if twice := [run.id for index, run in enumerate(runs) if run.id in {each.id for each in runs[:index]}]:
        raise NotGolden(f"{twice[0]} is given twice; give each run once")
    for run in runs:
        if run.verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED) or run.exit_code is None:
            said = "has not ended" if run.exit_code is None else f"came to {run.verdict.value}"
            raise NotGolden(f"{run.id} {said}; golden values come from good runs only")


def _golden(key: Key, found: Sequence[tuple[RunRecord, Metric]]) -> Golden | None:
    """None for what is not a number, or is not measured."""
    values = np.array([value for _, metric in found for value in metric.values])
    if not len(values):
        return None
    metric = found[0][1]
    if {other.unit for _, other in found} != {metric.unit}:
        raise NotGolden(f"{metric.name} has different units in these runs")
    median, sigma = float(np.median(values)), _sigma(values, [other for _, other in found])
    low, high = _bounds(metric.better, median, sigma, [record.limit for _, each in found for record in each.records])
    cv = float(values.std(ddof=1) / abs(values.mean())) if len(values) > 1 and values.mean() else 0.0
    devices = len({part_of(run) for run, _ in found})
    return Golden(metric.name, metric.unit, key[1], low, high, median, sigma, cv, len(values), devices)


def _sigma(values: np.ndarray[tuple[int], np.dtype[np.float64]], metrics: Sequence[Metric]) -> float:
    """The deviation from run to run, and not less than the uncertainty within one run."""
    ends = [record.interval for metric in metrics for record in metric.records if record.interval]
    within = float(np.median([(high - low) / 2 for low, high in ends])) / _Z if ends else 0.0
    return max(robust_sigma(values), within)


def _bounds(
    better: str, median: float, sigma: float, limits: Sequence[LimitRecord | None]
) -> tuple[float | None, float | None]:
    low = None if better == "lower" else median - SIGMAS * sigma
    high = None if better == "higher" else median + SIGMAS * sigma
    mins = [limit.min for limit in limits if limit is not None and limit.min is not None]
    maxs = [limit.max for limit in limits if limit is not None and limit.max is not None]
    low = max(mins + ([low] if low is not None else []), default=None)
    high = min(maxs + ([high] if high is not None else []), default=None)
    return low, high


def golden_toml(golden: Sequence[Golden], runs: Runs) -> str:
    """A limits file."""
    devices = len({part_of(run) for _, run in runs})
    lines = [
        f"# Golden values of {plural(len(runs), 'run')} on {plural(devices, 'device')}:",
        *(f"#   {printable(run.id)}" for _, run in runs),
        "schema = 1",
        f"name = {_text('golden values')}",
        *_match([run for _, run in runs]),
    ]
    for each in golden:
        lines += ["", *_limit(each)]
    return "\n".join(lines) + "\n"


def _match(runs: Sequence[RunRecord]) -> list[str]:
    """The file is for such devices as these, where they are all alike."""
    common = {key: {str(run.device.get(key) or "") for run in runs} for key in _MATCHED}
    same = {key: values.pop() for key, values in common.items() if len(values) == 1}
    lines = [f"{key} = {_text(value)}" for key, value in same.items() if value]
    return ["", "[match]", *lines] if lines else []


def _limit(each: Golden) -> list[str]:
    known, of = (("min", each.min), ("max", each.max)), (each.unit, each.stat)
    return [
        f"[limit.{_text(each.name)}]",
        f"# median {quantity(each.median, *of)}, sigma {quantity(each.sigma, *of)}, CV {cv_text(each.cv)}; "
        f"{plural(each.values, 'value')} of {plural(each.devices, 'device')}",
        f"unit = {_text(each.unit)}",
        f"stat = {_text(each.stat)}",
        *(f"{name} = {float(bound)!r}" for name, bound in known if bound is not None),
    ]


def _text(value: str) -> str:
    """A basic string of TOML, which has JSON's escapes."""
    return json.dumps(printable(value), ensure_ascii=False)
