"""The statistics of measurements, on series whose answer is known."""

import numpy as np
import pytest

from pydoca.qualify import statistics
from pydoca.qualify.figures import quantity
from pydoca.qualify.records import LimitRecord
from pydoca.qualify.verdicts import Verdict
from qualify.reports.runs import correlated


def test_a_summary_has_what_so_many_samples_allow():
    found = statistics.summary(np.arange(1, 101))
    assert found["count"] == 100
    assert (found["min"], found["max"], found["mean"], found["p50"]) == (1, 100, 50.5, 50.5)
    assert found["stdev"] == pytest.approx(29.0115, abs=1e-4)
    assert found["cv"] == pytest.approx(found["stdev"] / found["mean"])


@pytest.mark.parametrize(("stat", "least"), [("p99", 1_000), ("p999", 10_000), ("stdev", 2), ("cv", 2), ("p50", 1)])
def test_a_statistic_is_not_given_below_its_least_number_of_samples(stat, least):
    samples = np.linspace(1, 2, least)
    assert stat in statistics.summary(samples)
    assert statistics.interval(samples, stat) is not None
    assert stat not in statistics.summary(samples[1:])
    assert statistics.interval(samples[1:], stat) is None
    assert statistics.value_of(samples[1:], stat) is None


def test_the_coefficient_of_variation_has_no_value_around_a_mean_of_0():
    assert "cv" not in statistics.summary([-1.0, 1.0])
    assert statistics.interval([0.0, 0.0], "cv") is None


def test_no_samples_have_no_statistics():
    assert statistics.summary([]) == {"count": 0}
    assert statistics.interval([], "p50") is None
    assert statistics.warmup([]) == statistics.outliers([]) == 0


@pytest.mark.parametrize(
    ("samples", "what"),
    [([1.0, float("nan")], "sample 1 is nan"), ([float("inf")], "sample 0 is inf"), ([[1.0]], "2 dimensions")],
)
def test_samples_that_are_not_finite_numbers_are_named(samples, what):
    with pytest.raises(ValueError, match=what):
        statistics.summary(samples)


def test_an_unknown_statistic_and_a_confidence_beyond_1_are_named():
    with pytest.raises(ValueError, match="'p98' is not one; give one of count"):
        statistics.interval([1, 2], "p98")
    with pytest.raises(ValueError, match="95 is not between 0 and 1"):
        statistics.interval([1, 2], "mean", confidence=95)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("stat", ["mean", "p50"])
def test_the_interval_of_95_percent_covers_the_truth_of_correlated_series(memory, stat):
    trials = 120
    covered = 0
    for seed in range(trials):
        low, high = statistics.interval(correlated(400, memory, seed), stat, 0.95, seed)
        covered += low <= 10 <= high
    # Fewer than 102 of 120 trials with 0.95 each are an accident of one in 100,000. A series with a memory makes any
    # interval of 400 samples a little too short; one that takes samples for independent covers about half.
    assert covered >= 102, f"{covered} of {trials}"


def test_an_interval_for_independent_samples_would_not_cover_a_correlated_series():
    """An interval for independent samples is too short, which is why the statistics use blocks."""
    covered = 0
    for seed in range(120):
        series = correlated(400, 0.8, seed)
        half = 1.96 * series.std(ddof=1) / np.sqrt(len(series))
        covered += abs(series.mean() - 10) <= half
    assert covered < 80


def test_intervals_of_high_percentiles_cover_the_truth_with_few_and_with_many_samples():
    truth = float(np.exp(2.3263))  # the 99th percentile of a log-normal distribution
    for size, trials in ((2_000, 40), (40_000, 40)):
        covered = 0
        for seed in range(trials):
            low, high = statistics.interval(np.random.default_rng(seed).lognormal(size=size), "p99")
            covered += low <= truth <= high
        assert covered >= 31, f"{covered} of {trials} with {size} samples"


def test_an_interval_is_wider_for_more_confidence_and_repeats_with_its_seed():
    series = correlated(300, 0.3, 1)
    narrow, wide = (statistics.interval(series, "mean", confidence, 5) for confidence in (0.5, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert statistics.interval(series, "mean", 0.5, 5) == narrow
    assert statistics.interval(series, "mean", 0.5, 6) != narrow


def test_extremes_counts_single_and_equal_samples_are_their_own_interval():
    assert statistics.interval([3.0, 1.0, 2.0], "max") == (3, 3)
    assert statistics.interval([3.0, 1.0, 2.0], "count") == (3, 3)
    assert statistics.interval([4.0], "p50") == (4, 4)
    assert statistics.interval([5.0] * 50, "mean") == (5, 5)


def test_blocks_are_as_long_as_the_memory_of_the_samples():
    lengths = [statistics.block_length(correlated(2_000, memory, 3)) for memory in (0.0, 0.5, 0.9)]
    assert lengths[0] <= 3
    assert lengths == sorted(lengths)
    assert lengths[2] > 20


def test_a_slow_beginning_is_the_warm_up():
    random = np.random.default_rng(1)
    samples = 20 + random.normal(scale=0.1, size=1_000)
    assert statistics.warmup(samples) == 0
    samples[:60] -= np.linspace(10, 3, 60)
    assert 60 <= statistics.warmup(samples) <= 100


def test_the_warm_up_is_at_most_a_tenth_of_the_samples():
    assert statistics.warmup(np.linspace(1, 100, 1_000)) == 100
    assert statistics.warmup(np.linspace(1, 100, 49)) == 0


def test_outliers_are_counted_by_robust_statistics():
    samples = np.random.default_rng(2).normal(100, 1, size=500)
    samples[[3, 77, 400]] = [1_000, -1_000, 120]
    assert 3 <= statistics.outliers(samples) <= 5
    assert statistics.robust_sigma(samples) == pytest.approx(1, rel=0.15)


def test_outliers_among_samples_that_are_nearly_all_equal():
    assert statistics.outliers([7.0] * 99 + [9.0]) == 1
    assert statistics.outliers([7.0] * 100) == 0


LIMIT = LimitRecord("p50", min=18, max=32, n_min=30, marginal=0.02, source="bf3.toml")


@pytest.mark.parametrize(
    ("value", "interval", "verdict", "what"),
    [
        (25.0, (24.0, 26.0), Verdict.PASS, "is inside min 18 GB/s, max 32 GB/s (bf3.toml)"),
        (15.0, (14.0, 16.0), Verdict.FAIL, "is below min 18 GB/s (bf3.toml)"),
        (40.0, (39.0, 41.0), Verdict.FAIL, "is above max 32 GB/s"),
        (18.0, (17.0, 19.0), Verdict.MARGINAL, "may be below min 18 GB/s: the interval crosses it"),
        (32.5, (31.0, 34.0), Verdict.MARGINAL, "may be above max 32"),
        (18.2, (18.1, 18.3), Verdict.MARGINAL, "is within 2 % of min 18 GB/s"),
        (31.5, (31.4, 31.6), Verdict.MARGINAL, "is within 2 % of max 32 GB/s"),
        (18.5, None, Verdict.PASS, "is inside"),
        (17.9, None, Verdict.FAIL, "is below min 18 GB/s"),
    ],
)
def test_a_limit_judges_the_interval(value, interval, verdict, what):
    found, reason = statistics.judge(value, interval, LIMIT, 100, unit="GB/s")
    assert found is verdict
    assert what in reason
    assert f"p50 {quantity(value, 'GB/s')} " in reason


def test_a_value_on_its_limit_is_inside():
    assert statistics.judge(0, (0, 0), LimitRecord("p50", max=0, marginal=0.02), 1)[0] is Verdict.PASS
    assert statistics.judge(16, (16, 16), LimitRecord("p50", min=16, max=16, marginal=0.02), 1)[0] is Verdict.PASS


def test_too_few_samples_are_an_error_of_the_tester():
    verdict, reason = statistics.judge(25, (25, 25), LIMIT, 29)
    assert (verdict, reason) == (Verdict.ERROR, "29 samples, and 30 are needed (bf3.toml)")
    verdict, reason = statistics.judge(None, None, LimitRecord("p99", max=6), 999)
    assert (verdict, reason) == (Verdict.ERROR, "999 samples: too few for p99")
    assert statistics.judge(float("nan"), None, LIMIT, 100)[0] is Verdict.ERROR
    assert statistics.judge(float("nan"), None, None, 100)[0] is Verdict.ERROR


def test_without_a_limit_nothing_is_judged():
    for limit in (None, LimitRecord("p50")):
        verdict, reason = statistics.judge(25, (24, 26), limit, 100, unit="GB/s")
        assert (verdict, reason) == (Verdict.UNJUDGED, "25 GB/s; no limit says what is right")


def test_a_waiver_makes_a_failure_marginal_and_nothing_else():
    waived = LimitRecord("p50", min=18, n_min=30, waived="a known defect, until 2026-12-31")
    verdict, reason = statistics.judge(15, (14, 16), waived, 100)
    assert verdict is Verdict.MARGINAL
    assert reason.endswith("is below min 18; waived: a known defect, until 2026-12-31")
    assert statistics.judge(25, (24, 26), waived, 100)[0] is Verdict.PASS
    assert statistics.judge(25, (24, 26), waived, 3)[0] is Verdict.ERROR


def test_planted_distributions_get_their_verdicts():
    planted = {25.0: Verdict.PASS, 15.0: Verdict.FAIL, 18.0: Verdict.MARGINAL}
    for mean, verdict in planted.items():
        samples = correlated(500, 0.5, 3, mean=mean, sigma=0.5)
        value, interval = statistics.value_of(samples, "p50"), statistics.interval(samples, "p50")
        assert statistics.judge(value, interval, LIMIT, 500)[0] is verdict


def test_equal_series_do_not_differ_and_a_shift_does():
    one, other = correlated(400, 0.5, 1), correlated(400, 0.5, 2)
    assert statistics.difference(one, other).p > 0.01
    shifted = statistics.difference(one, other - 1)
    assert shifted.p < 1e-4
    assert shifted.effect == pytest.approx(-0.1, abs=0.03)
    assert shifted.test == "Mann-Whitney U"


def test_correlated_series_of_one_distribution_are_not_told_apart():
    """A test that takes samples for independent finds differences that do not exist."""
    found = [statistics.difference(correlated(500, 0.9, 2 * k), correlated(500, 0.9, 2 * k + 1)).p for k in range(60)]
    assert sum(p < 0.05 for p in found) <= 12


def test_a_longer_tail_is_a_difference_of_its_percentile():
    random = np.random.default_rng(5)
    one, other = random.lognormal(size=4_000), random.lognormal(size=4_000)
    other[::50] *= 20
    assert statistics.difference(one, other, "p50").p > 0.01
    tail = statistics.difference(one, other, "p99")
    assert (tail.test, tail.p < 1e-4, tail.effect > 0.5) == ("Fisher exact", True, True)


def test_single_values_have_an_effect_and_no_significance():
    found = statistics.difference([4.0], [5.0])
    assert (found.effect, found.p) == (0.25, None)
    assert statistics.difference([0.0], [5.0]).effect is None
    assert statistics.difference([0.0], [0.0]).effect == 0


def test_holm_corrects_for_the_number_of_tests():
    assert statistics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert statistics.holm([]) == []
    assert statistics.holm([0.9, 0.8]) == [1, 1]


def planted_study(within: float, between: float, part: float, seed: int = 1):
    random = np.random.default_rng(seed)
    values = {}
    for device in range(6):
        mean = 100 + random.normal(scale=part)
        for session in range(6):
            shift = random.normal(scale=between)
            values[f"device {device}", f"session {session}"] = mean + shift + random.normal(scale=within, size=10)
    return values


def test_a_study_finds_the_planted_spreads():
    found = statistics.repeatability(planted_study(0.5, 1.0, 5.0), tolerance=60)
    assert found.repeatability == pytest.approx(0.5, rel=0.15)
    assert found.reproducibility == pytest.approx(1.0, rel=0.35)
    assert found.parts == pytest.approx(5.0, rel=0.7)
    assert found.percent == pytest.approx(6 * found.gauge / 60 * 100)


@pytest.mark.parametrize(
    ("tolerance", "verdict"), [(100, "good"), (30, "usable"), (5, "unfit"), (None, "no tolerance")]
)
def test_the_verdict_of_a_study_follows_from_the_tolerance(tolerance, verdict):
    assert statistics.repeatability(planted_study(0.5, 0.5, 2.0), tolerance).verdict == verdict


def test_a_study_of_one_device_and_session_has_its_repeatability_only():
    found = statistics.repeatability({("p0", "0"): [1.0, 2.0, 3.0]}, tolerance=6)
    assert (found.repeatability, found.reproducibility, found.parts, found.percent) == (1, 0, 0, 100)


def test_a_study_without_repeats_is_refused():
    with pytest.raises(ValueError, match="p0, 1 has fewer than two repeats"):
        statistics.repeatability({("p0", "0"): [1, 2], ("p0", "1"): [1]})
