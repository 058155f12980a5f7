"""Several runs together: comparison, golden values, repeatability; the right answer of each test is planted."""

import dataclasses

import numpy as np
import pytest

from pydoca.qualify import history
from pydoca.qualify.history.page import comparison_html
from pydoca.qualify.history.selected import NotSelected
from pydoca.qualify.history.study import WORDS
from pydoca.qualify.limits import Limits
from pydoca.qualify.limits.file import read_limits
from pydoca.qualify.records import LimitRecord, MeasurementRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict
from qualify.reports.page_checks import Page
from qualify.reports.runs import case, correlated, measured, written

LIMIT = LimitRecord("p50", min=15, n_min=30, source="bf3.toml")


def run_of(path, *, serial="S1", limit=LIMIT, repeats=1, verdict=None, **series):
    """A run whose measurements are these series; lists of series are its repeats."""
    directory = RunDirectory(path)
    cases = []
    for name, samples in series.items():
        better, unit = ("lower", "us") if "lat" in name else ("higher", "GB/s")
        for repeat, each in enumerate(samples if isinstance(samples, list) else [samples]):
            bound = limit if better == "higher" else None
            one = measured(name, each, limit=bound, better=better, unit=unit, directory=directory)
            cases.append(case(name.upper(), one, repeat=repeat, number=len(cases), verdict=verdict))
    written(path, cases, directory, id=path.name, serial=serial)
    return directory, RunDirectory.load(path)


def often(mean, sigma, seed):
    """The series of eight repeats."""
    return [correlated(100, 0.5, 10 * seed + k, mean, sigma) for k in range(8)]


def words_of(found):
    return {row.name: row.word for row in found.rows}


def test_two_runs_of_one_device_do_not_differ(tmp_path):
    runs = [
        run_of(tmp_path / f"run{k}", bw=correlated(400, 0.6, k, 20, 0.3), lat=correlated(400, 0.6, k + 9, 3, 0.1))
        for k in range(2)
    ]
    found = history.compare(*runs)
    assert words_of(found) == {"bw": "same", "lat": "same"}
    assert found.regressions == []


def test_a_run_of_worse_values_is_a_regression_of_them_and_of_nothing_else(tmp_path):
    first = run_of(tmp_path / "a", bw=often(20, 0.3, 1), lat=often(3, 0.1, 2))
    second = run_of(tmp_path / "b", bw=often(18.6, 0.3, 3), lat=often(2.5, 0.1, 4))
    found = history.compare(first, second)
    assert words_of(found) == {"bw": "regressed", "lat": "improved"}
    assert found.regressions == ["bw"]
    (row,) = [row for row in found.rows if row.name == "bw"]
    assert row.effect == pytest.approx(-0.07, abs=0.01)
    assert row.p < 0.001
    assert words_of(history.compare(second, first)) == {"bw": "improved", "lat": "regressed"}


@pytest.mark.parametrize(("counts", "said"), [((1, 1), "once"), ((8, 3), "8 times and 3 times")])
def test_runs_that_measured_too_few_times_are_suspected_only(tmp_path, counts, said):
    """The machine may have been busy during all of one run; the run's own samples cannot show that."""
    (few, many), (bw, lat) = counts, (often(18.6, 0.3, 3), often(2.5, 0.1, 4))
    first = run_of(tmp_path / "a", bw=often(20, 0.3, 1)[:few], lat=often(3, 0.1, 2)[:few])
    second = run_of(tmp_path / "b", bw=bw[:many], lat=lat[:many])
    found = history.compare(first, second)
    assert words_of(found) == {"bw": "suspected", "lat": "suspected"}
    assert (found.regressions, found.suspicions) == ([], ["bw"])
    why = f"measured {said}, too few to tell the device from the machine: give both runs --repeat 8 or more"
    assert {row.reason for row in found.rows} == {why}
    text = Page(comparison_html(found, first, second)).text
    assert "SUSPECTED" in text
    assert why in text
    assert (history.compare(second, first).suspicions) == ["lat"]


def test_an_effect_below_the_threshold_does_not_count_however_sure_it_is(tmp_path):
    first = run_of(tmp_path / "a", bw=correlated(2000, 0, 1, 20, 0.1))
    second = run_of(tmp_path / "b", bw=correlated(2000, 0, 2, 19.8, 0.1))
    (row,) = history.compare(first, second).rows
    assert (row.word, row.reason) == ("same", "a real difference, and a small one")
    assert history.compare(first, second, threshold=0.005).suspicions == ["bw"]


def test_many_metrics_without_a_difference_raise_no_alarm(tmp_path):
    runs = [
        run_of(tmp_path / f"run{k}", **{f"bw{m}": correlated(60, 0, 100 * k + m, 20, 2) for m in range(40)})
        for k in range(2)
    ]
    found = history.compare(*runs, threshold=0)
    assert (found.regressions, found.suspicions) == ([], [])


def test_a_measurement_that_is_missing_or_has_another_unit_is_a_regression(tmp_path):
    series = correlated(100, 0, 1, 20, 0.3)
    first = run_of(tmp_path / "a", bw=series, bw2=series, bw3=series)
    second = run_of(tmp_path / "b", bw=series, bw2=series, bw4=series)
    second[1].cases[1].measurements[0] = dataclasses.replace(second[1].cases[1].measurements[0], unit="MB/s")
    found = history.compare(first, second)
    assert words_of(found) == {"bw": "same", "bw2": "missing", "bw3": "missing", "bw4": "new"}
    assert found.regressions == ["bw2", "bw3"]
    assert "in GB/s, the second one in MB/s" in found.rows[0].reason


def test_what_a_selection_left_out_is_not_missing(tmp_path):
    series = correlated(100, 0, 1, 20, 0.3)
    first = run_of(tmp_path / "a", bw=series, bw2=series, lat=series)
    second = run_of(tmp_path / "b", bw=series, bw4=series)
    second[1].options["select"] = ["BW*"]
    found = history.compare(first, second)
    assert words_of(found) == {"bw": "same", "bw2": "missing", "bw4": "new"}
    assert found.not_selected == {
        "first": NotSelected(), "second": NotSelected("--select BW*", ("LAT",), ("lat",)),
    }  # fmt: skip
    assert (found.missing, found.regressions) == (["BW2"], ["bw2"])
    assert found.left_out_texts == ["not selected in b (--select BW*): LAT (1 case, 1 measurement)"]
    other = history.compare(second, first)
    assert words_of(other) == {"bw": "same", "bw4": "missing", "bw2": "new"}
    assert other.not_selected["first"].cases == ("LAT",)
    for each, runs in ((found, (first, second)), (other, (second, first))):
        text = Page(comparison_html(each, *runs)).text
        assert "run--select BW* left out LAT (1 case, 1 measurement)" in text
        assert "Cases that the second run does not have" in text


def test_a_measurement_of_a_case_that_was_selected_is_missing(tmp_path):
    """The measurement is missing even if another case that records it was left out."""
    series = correlated(100, 0, 1, 20, 0.3)
    first, second = run_of(tmp_path / "a", bw=series, bw2=series), run_of(tmp_path / "b", bw=series)
    first[1].cases[0].measurements.append(first[1].cases[1].measurements[0])
    second[1].options["select"] = ["BW"]
    assert history.compare(first, second).regressions == ["bw2"]


def test_an_expression_has_left_out_what_a_complete_run_does_not_have(tmp_path):
    series = correlated(100, 0, 1, 20, 0.3)
    first, second = run_of(tmp_path / "a", bw=series, lat=series), run_of(tmp_path / "b", bw=series)
    second[1].options["expression"] = "bw and not lat"
    found = history.compare(first, second)
    assert found.not_selected["second"] == NotSelected("--select 'bw and not lat'", ("LAT",), ("lat",))
    assert found.regressions == []
    second[1].planned = 2  # the run was interrupted, and may have been about to start the case
    assert history.compare(first, second).regressions == ["lat"]


def test_a_case_that_passed_and_is_missing_is_a_regression(tmp_path):
    series = correlated(100, 0, 1, 20, 0.3)
    first, second = run_of(tmp_path / "a", bw=series), run_of(tmp_path / "b", bw=series)
    first[1].cases += [case("A-1", verdict=Verdict.PASS), case("A-2", verdict=Verdict.SKIPPED, reason="no engine")]
    found = history.compare(first, second)
    assert (found.missing, found.regressions) == (["A-1", "A-2"], ["A-1"])
    second[1].options["select"] = ["BW"]
    found = history.compare(first, second)
    assert (found.missing, found.regressions, found.not_selected["second"].cases) == ([], [], ("A-1", "A-2"))


def test_single_values_that_differ_are_not_judged(tmp_path):
    first, second = (run_of(tmp_path / name, limit=None, bw=[[value]]) for name, value in (("a", 4.0), ("b", 5.0)))
    (row,) = history.compare(first, second).rows
    assert (row.word, row.effect, row.p) == ("untested", 0.25, None)
    assert "too few samples" in row.reason


def test_so_few_samples_that_even_a_complete_separation_could_be_chance_are_untested(tmp_path):
    low, high = [1.0, 1.1, 1.2, 1.3, 1.4], [2.0, 2.1, 2.2, 2.3, 2.4]
    names = [f"bw{k}" for k in range(10)]  # five and five would be enough for one measurement, but not among ten
    first = run_of(tmp_path / "a", limit=None, **{name: [low] for name in names})
    second = run_of(tmp_path / "b", limit=None, **{name: [high] for name in names})
    for row in history.compare(first, second).rows:
        assert (row.word, row.reason) == ("untested", "too few samples to tell a difference from chance")
    many = run_of(tmp_path / "c", limit=None, **{name: [correlated(200, 0, 1, 1.2, 0.1)] for name in names})
    more = run_of(tmp_path / "d", limit=None, **{name: [correlated(200, 0, 2, 1.2, 0.1)] for name in names})
    assert set(words_of(history.compare(many, more)).values()) == {"same"}


def test_runs_that_are_not_alike_are_compared_with_a_note(tmp_path):
    series = correlated(100, 0, 1, 20, 0.3)
    first, second = run_of(tmp_path / "a", bw=series), run_of(tmp_path / "b", bw=series)
    assert history.compare(first, second).notes == []
    second[1].level, second[1].verdict, second[1].planned = "full", Verdict.INTERRUPTED, 7
    found = history.compare(first, second)
    assert found.notes[0].startswith("the first run is of level quick, the second one of level full")
    assert found.notes[1] == "the second run was interrupted after 1 of 7 cases"
    page = Page(comparison_html(found, first, second))
    for note in found.notes:
        assert note in page.text


def test_repeats_tell_what_is_usual_between_them(tmp_path):
    """Each repeat is some per cent higher or lower as a whole, so its samples alone would prove a difference."""
    random = np.random.default_rng(8)

    def repeats(mean, seed):
        return [correlated(100, 0, seed + k, mean * (1 + 0.03 * random.normal()), 0.05) for k in range(10)]

    first = run_of(tmp_path / "a", bw=repeats(20, 0))
    same, worse = run_of(tmp_path / "b", bw=repeats(20, 20)), run_of(tmp_path / "c", bw=repeats(17, 40))
    (row,) = history.compare(first, same, threshold=0).rows
    assert (row.word, row.test) == ("same", "Mann-Whitney U of repeats")
    assert history.compare(first, worse).regressions == ["bw"]


def test_a_case_that_passes_no_longer_is_a_regression(tmp_path):
    series = correlated(100, 0, 1, 20, 0.3)
    first, second = (run_of(tmp_path / name, bw=series, verdict=verdict) for name, verdict in (
        ("a", Verdict.PASS), ("b", Verdict.FAIL),
    ))  # fmt: skip
    found = history.compare(first, second)
    assert found.verdicts == [("BW", "PASS", "FAIL")]
    assert found.regressions == ["BW"]
    assert history.compare(second, first).regressions == []


def test_properties_of_the_device_are_compared_as_they_are(tmp_path):
    def record(name, reason, value=None):
        return MeasurementRecord(name, "", "value", "none", value, None, 1, 0, 0, {}, Verdict.UNJUDGED, reason)

    runs = []
    for name, speed in (("a", "'32 GT/s'"), ("b", "'16 GT/s'")):
        said = [record("speed", f"{speed}; no limits file expects a value"), record("width", "16; no limit", 16.0)]
        directory = RunDirectory(tmp_path / name)
        runs.append((directory, written(tmp_path / name, [case("INV-3", *said)], directory)))
    found = history.compare(*runs)
    assert words_of(found) == {"speed": "changed", "width": "same"}
    assert found.rows[0].reason == "32 GT/s in the first run, 16 GT/s in the second one"
    assert [row.texts for row in found.rows] == [("32 GT/s", "16 GT/s"), ("16", "16")]
    assert found.regressions == []
    with pytest.raises(history.NotGolden, match="no measurement has 1 value or more"):
        history.train(runs[:1], fewest=1)


def test_a_missing_file_of_samples_is_named(tmp_path):
    runs = [run_of(tmp_path / name, bw=correlated(100, 0, 1, 20, 0.3)) for name in "ab"]
    (tmp_path / "b/samples/bw.npz").unlink()
    with pytest.raises(ValueError, match=r"b/samples/bw.npz cannot be read"):
        history.compare(*runs)


def test_the_page_of_a_comparison_is_complete_and_escaped(tmp_path):
    first = run_of(tmp_path / "a", bw=often(20, 0.3, 1))
    second = run_of(tmp_path / "<script>b", bw=often(15, 0.3, 3))
    second[1].machine["kernel.release"] = {"value": "<b>6.1"}
    page = Page(comparison_html(history.compare(first, second), first, second))
    assert "script" not in page.tags
    assert page.tags.count("svg") == 1
    assert "REGRESSED" in page.text
    assert "<script>b" in page.text
    assert "<b>6.1" in page.text


def good_runs(tmp_path, count=6, spread=0.1, **more):
    return [
        run_of(
            tmp_path / f"good{k}", serial=f"S{k % 3}",
            bw=correlated(200, 0.3, k, 20 + spread * (k - 2), 0.2), lat=correlated(200, 0.3, k, 3, 0.05), **more,
        )
        for k in range(count)
    ]  # fmt: skip


def test_golden_values_are_a_limits_file_that_narrows_the_limits(tmp_path):
    runs = good_runs(tmp_path)
    golden = history.train(runs)
    by_name = {each.name: each for each in golden}
    assert by_name["bw"].median == pytest.approx(20, abs=0.15)
    assert by_name["bw"].min == pytest.approx(by_name["bw"].median - 4 * by_name["bw"].sigma)
    assert by_name["bw"].max is None
    assert by_name["lat"].min is None
    assert by_name["lat"].max > 3
    assert (by_name["bw"].values, by_name["bw"].devices) == (6, 3)
    file = tmp_path / "golden.toml"
    file.write_text(history.golden_toml(golden, runs))
    baseline = read_limits(file)
    assert baseline.match == {"backend": ("sim",)}
    limit = Limits([], baseline).limit_of("bw", "MB/s", "p50", _own())
    assert limit.min == pytest.approx(1000 * by_name["bw"].min)


def _own():
    from pydoca.qualify.limits import OwnLimit

    return OwnLimit()


def test_a_limit_of_the_specification_that_is_narrower_stays(tmp_path):
    runs = good_runs(tmp_path, limit=LimitRecord("p50", min=19.6, n_min=30))
    assert {each.name: each.min for each in history.train(runs)}["bw"] == 19.6


def test_a_golden_value_is_not_narrower_than_the_uncertainty_of_a_run(tmp_path):
    runs = [run_of(tmp_path / f"good{k}", bw=correlated(60, 0, 1, 20, 1)) for k in range(5)]
    (golden,) = history.train(runs)
    assert golden.sigma > 0.05


def test_too_few_runs_are_refused(tmp_path):
    with pytest.raises(history.NotGolden, match="4 runs are too few: golden values need 5 or more"):
        history.train(good_runs(tmp_path, 4))
    runs = good_runs(tmp_path / "more", 4)
    with pytest.raises(history.NotGolden, match="good0 is given twice"):
        history.train([*runs, runs[0]])


def test_values_that_do_not_agree_are_refused_or_left_out(tmp_path):
    runs = good_runs(tmp_path, spread=2.0)
    with pytest.raises(history.NotGolden, match=r"vary by more than 5 % from run to run.*bw \(p50: CV 1\d %\)"):
        history.train(runs)
    assert [each.name for each in history.train(runs, leave_out=True)] == ["lat"]


def test_runs_that_failed_or_have_not_ended_are_not_golden(tmp_path):
    runs = good_runs(tmp_path)
    runs[2][1].verdict = Verdict.FAIL
    with pytest.raises(history.NotGolden, match="good2 came to FAIL"):
        history.train(runs)
    runs[2][1].verdict, runs[3][1].exit_code = Verdict.PASS, None
    with pytest.raises(history.NotGolden, match="good3 has not ended"):
        history.train(runs)


def test_golden_values_of_any_name_are_read_back(tmp_path):
    names = ['a "quoted" name', "back\\slash", "dots.and.more", "umlaut \u00e4", "line\nbreak"]
    runs = [run_of(tmp_path / f"good{k}", limit=None, **{name: [[20.0 + k]] for name in names}) for k in range(5)]
    golden = history.train(runs, largest_cv=1)
    file = tmp_path / "golden.toml"
    file.write_text(history.golden_toml(golden, runs))
    assert {each.name for each in read_limits(file).limits} == set(names)


def studied(tmp_path, within, between):
    random = np.random.default_rng(4)
    runs = []
    for session in range(6):
        mean = 20 + random.normal(scale=between)
        repeats = [[mean + random.normal(scale=within)] * 2 for _ in range(8)]
        limit = LimitRecord("p50", min=18, max=22)
        runs.append(run_of(tmp_path / f"session{session}", limit=limit, bw=repeats))
    return runs


@pytest.mark.parametrize(
    ("within", "between", "verdict"), [(0.01, 0.02, "good"), (0.1, 0.03, "usable"), (0.3, 0.4, "unfit")]
)
def test_a_study_compares_the_spread_with_the_limits(tmp_path, within, between, verdict):
    (found,) = history.study(studied(tmp_path, within, between))
    assert (found.verdict, found.tolerance, found.sessions, found.values) == (verdict, 4, 6, 48)
    assert found.repeatability == pytest.approx(within, rel=0.3)
    assert found.percent == pytest.approx(150 * np.hypot(found.repeatability, found.reproducibility))


def test_a_tolerance_can_be_given_and_one_limit_is_half_of_one(tmp_path):
    runs = studied(tmp_path, 0.1, 0.03)
    (found,) = history.study(runs, tolerance=0.1)
    assert found.tolerance == pytest.approx(0.1 * found.mean)
    one = [run_of(tmp_path / "one", bw=[[20.0, 20.0], [20.2, 20.2]], limit=LimitRecord("p50", max=21))]
    (found,) = history.study(one)
    assert found.tolerance == pytest.approx(2 * (21 - found.mean))
    free = [run_of(tmp_path / "free", lat=[[3.0, 3.0], [3.1, 3.1]])]
    assert history.study(free)[0].verdict == "no tolerance"


def test_values_that_never_differ_say_nothing_of_the_spread(tmp_path):
    counts, limit = [[0.0], [0.0]], LimitRecord("p50", max=0)
    run = run_of(tmp_path / "a", errors=counts, messages=[[232.0], [232.0]], limit=limit)
    for found in history.study([run]):
        assert (found.verdict, found.percent) == ("constant", None)
    other = run_of(tmp_path / "b", errors=[[1.0], [1.0]], limit=limit)  # it is constant in each session only
    assert {found.name: found.verdict for found in history.study([run, other])} == {
        "errors": "unfit", "messages": "constant",
    }  # fmt: skip


def test_a_study_of_values_on_their_only_limit_says_so(tmp_path):
    (found,) = history.study([run_of(tmp_path / "a", bw=[[14.0], [16.0]], limit=LimitRecord("p50", min=15))])
    assert (found.verdict, found.tolerance) == ("no tolerance", None)
    assert "values that lie on it" in WORDS[found.verdict]


def test_runs_without_repeats_are_no_study(tmp_path):
    with pytest.raises(ValueError, match="no measurement has two repeats in a run"):
        history.study([run_of(tmp_path / "a", bw=correlated(100, 0, 1, 20, 0.3))])
