"""`pydoca qualify` report, compare, train and study: the runs that they read, their files, tables and exit codes."""

import json
import subprocess
import sys

import pytest

from pydoca.qualify.limits.file import read_limits
from qualify.reports.page_checks import Page
from qualify.reports.runs import correlated
from qualify.reports.test_history import often, run_of

pytestmark = pytest.mark.slow


@pytest.fixture
def qualify(commands):
    def run(*words, code=0):
        found = commands.run("qualify", *map(str, words))
        assert found.returncode == code, found.stdout + found.stderr
        return found

    return run


@pytest.fixture
def pair(tmp_path):
    """An earlier run, and a worse one."""
    run_of(tmp_path / "first", bw=correlated(300, 0.5, 1, 20, 0.3), lat=correlated(300, 0.5, 2, 3, 0.1))
    run_of(tmp_path / "second", bw=correlated(300, 0.5, 3, 18, 0.3), lat=correlated(300, 0.5, 4, 3, 0.1))
    return tmp_path / "first", tmp_path / "second"


@pytest.fixture
def worse(tmp_path):
    """The same runs, measured eight times each."""
    run_of(tmp_path / "first", bw=often(20, 0.3, 1), lat=often(3, 0.1, 2))
    run_of(tmp_path / "second", bw=often(18, 0.3, 3), lat=often(3, 0.1, 4))
    return tmp_path / "first", tmp_path / "second"


def test_compare_shows_what_differs(qualify, worse):
    lines = qualify("compare", *worse).stdout.splitlines()
    assert lines[0] == "second, compared with first"
    assert [line.split()[:2] for line in lines[3:5]] == [["regressed", "bw"], ["same", "lat"]]
    assert lines[-1] == "1 regressed, 1 same"


def test_compare_fails_on_a_regression_as_large_as_that(qualify, worse):
    qualify("compare", *worse, "--fail-on", "regress:3%", code=1)
    qualify("compare", *worse, "--fail-on", "regress:15 %")
    qualify("compare", *reversed(worse), "--fail-on", "regress:3%")


def test_compare_of_single_runs_suspects(qualify, pair):
    """The command neither passes nor fails a difference that it cannot tell."""
    lines = qualify("compare", *pair, "--fail-on", "regress:3%", code=6).stdout.splitlines()
    assert lines[-1] == "1 suspected, 1 same"
    why = "measured once, too few to tell the device from the machine: give both runs --repeat 8 or more"
    assert f"suspected: {why}" in lines
    found = json.loads(qualify("compare", *reversed(pair), "--fail-on", "regress:3%", "--json").stdout)
    assert (found["regressions"], found["suspicions"]) == ([], [])


def test_compare_writes_json_and_a_page(qualify, worse, tmp_path):
    found = json.loads(qualify("compare", *worse, "--json", "--html", tmp_path / "page.html").stdout)
    assert found["regressions"] == ["bw"]
    assert {row["name"]: row["word"] for row in found["rows"]} == {"bw": "regressed", "lat": "same"}
    assert "REGRESSED" in Page((tmp_path / "page.html").read_text()).text


def select(path, *patterns):
    state = json.loads((path / "state.json").read_text())
    state["run"]["options"]["select"] = patterns
    (path / "state.json").write_text(json.dumps(state))


def test_compare_lists_what_was_not_selected_apart(qualify, tmp_path):
    series = correlated(300, 0.5, 1, 20, 0.3)
    run_of(tmp_path / "first", bw=series, lat=series, gone=series)
    run_of(tmp_path / "second", bw=series)
    select(tmp_path / "second", "BW", "GONE")
    runs = (tmp_path / "first", tmp_path / "second")
    lines = qualify("compare", *runs, "--fail-on", "regress:3%", code=1).stdout.splitlines()
    assert "missing in second: GONE" in lines
    assert "not selected in second (--select BW,GONE): LAT (1 case, 1 measurement)" in lines
    assert lines[-1] == "1 missing, 1 same"
    found = json.loads(qualify("compare", *runs, "--json").stdout)
    assert (found["missing"], found["regressions"]) == (["GONE"], ["gone"])
    assert found["not_selected"]["second"] == {
        "selection": "--select BW,GONE", "cases": ["LAT"], "measurements": ["lat"],
    }  # fmt: skip
    select(tmp_path / "second", "BW")
    qualify("compare", *runs, "--fail-on", "regress:3%")


def test_compare_of_selections_without_anything_in_common_passes_nothing(qualify, tmp_path):
    series = correlated(300, 0.5, 1, 20, 0.3)
    runs = (tmp_path / "first", tmp_path / "second")
    run_of(runs[0], bw=series)
    run_of(runs[1], lat=series)
    select(runs[0], "BW")
    select(runs[1], "LAT")
    lines = qualify("compare", *runs).stdout.splitlines()
    assert lines[-1] == "nothing is in both runs"
    qualify("compare", *runs, "--fail-on", "regress:3%", code=5)


def test_compare_of_a_selection_judges_common_cases_without_measurements(qualify, tmp_path):
    runs = (tmp_path / "first", tmp_path / "second")
    for path in runs:
        run_of(path, bw=correlated(300, 0.5, 1, 20, 0.3), lat=correlated(300, 0.5, 2, 3, 0.1))
        state = json.loads((path / "state.json").read_text())
        for case in state["cases"]:
            case["measurements"] = []
        (path / "state.json").write_text(json.dumps(state))
    select(runs[1], "BW")
    assert qualify("compare", *runs, "--fail-on", "regress:3%").stdout.splitlines()[-1] == "nothing was measured"
    state = json.loads((runs[1] / "state.json").read_text())
    state["cases"][0]["verdict"] = "FAIL"
    (runs[1] / "state.json").write_text(json.dumps(state))
    qualify("compare", *runs, "--fail-on", "regress:3%", code=1)


def test_compare_says_that_the_levels_differ(qualify, pair):
    path = pair[1] / "state.json"
    state = json.loads(path.read_text())
    state["run"]["level"] = "full"
    path.write_text(json.dumps(state))
    assert "note: the first run is of level quick, the second one of level full" in qualify("compare", *pair).stdout


@pytest.mark.parametrize(
    "words",
    [["compare", "a", "b"], ["report", "a"], ["train", "a", "--out", "x"], ["study", "repeatability", "a"],
     ["limits", "check", "x"]],
)  # fmt: skip
def test_without_numpy_a_command_says_what_to_install(words):
    program = "import sys; sys.modules['numpy'] = None; import pydoca.cli; sys.exit(pydoca.cli.main(sys.argv[1:]))"
    line = [sys.executable, "-P", "-c", program, "qualify", *words]
    run = subprocess.run(line, capture_output=True, text=True, timeout=150)
    assert (run.returncode, run.stderr.count("\n")) == (4, 1), run.stderr
    assert "numpy" in run.stderr
    assert "pip install" in run.stderr


@pytest.mark.parametrize("rule", ["3%", "regress:3", "regress:-1%", "improve:3%", "regress:x%"])
def test_compare_refuses_a_rule_that_it_does_not_know(qualify, pair, rule):
    assert "as in " in qualify("compare", *pair, "--fail-on", rule, code=4).stderr


def test_what_is_not_a_run_is_named(qualify, pair, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for words in (
        ("compare", pair[0], other),
        ("report", other),
        ("train", other, "--out", tmp_path / "x.toml"),
        ("study", "repeatability", other),
    ):
        error = qualify(*words, code=4).stderr
        assert error == f"pydoca: {other} is not the directory of a run: it has no state.json\n"


def test_report_makes_the_reports_anew(qualify, pair):
    run = pair[0]
    before = {name: (run / name).read_bytes() for name in ("report.html", "junit.xml", "results.jsonl", "SHA256SUMS")}
    for name in before:
        (run / name).unlink()
    qualify("report", run, "--html", "--junit", "--ocp")
    assert {name: (run / name).read_bytes() for name in before} == before
    (run / "junit.xml").unlink()
    found = json.loads(qualify("report", run, "--json").stdout)
    assert (found["verdict"], found["exit_code"]) == ("PASS", 0)
    assert found["files"] == [str(run / "report.html"), str(run / "junit.xml")]
    assert (run / "junit.xml").read_bytes() == before["junit.xml"]


def test_report_writes_a_table_of_the_measurements(qualify, pair):
    qualify("report", pair[0], "--csv")
    rows = [line.split(",") for line in (pair[0] / "measurements.csv").read_text().splitlines()]
    assert rows[0][:6] == ["case", "repeat", "measurement", "unit", "statistic", "value"]
    assert [row[2] for row in rows[1:]] == ["bw", "lat"]
    assert float(rows[1][5]) == pytest.approx(20, abs=0.2)


def test_limits_are_checked_against_a_run_its_device_and_its_units(qualify, pair, tmp_path):
    def check(text, code=0):
        file = tmp_path / "limits.toml"
        file.write_text(f"schema = 1\n{text}")
        found = json.loads(qualify("limits", "check", file, "--run", pair[0], "--json", code=code).stdout)
        return found["problems"], found["findings"]

    assert check('[match]\nserial = "S1"\n[limit.bw]\nunit = "MB/s"\nmin = 2\n') == ([], [])
    (problem,), findings = check('[limit.bw]\nunit = "us"\nmin = 2\n', code=4)
    assert "limit.bw: 'us' is a unit of time, and 'GB/s' one of data per time" in problem
    assert findings == []
    (problem,), _ = check('[match]\nserial = "S2"\n', code=4)
    assert "is not for the device of that run: its [match] wants serial 'S2', and the device has 'S1'" in problem
    _, (finding,) = check('[limit.bww]\nunit = "GB/s"\nmin = 2\n')
    assert finding.endswith("no measurement of this run has that name; the nearest one is 'bw'")


def test_train_writes_a_limits_file(qualify, tmp_path):
    runs = [tmp_path / f"good{k}" for k in range(5)]
    for k, path in enumerate(runs):
        run_of(path, serial=f"S{k}", bw=correlated(100, 0, k, 20 + 0.1 * k, 0.2))
    file = tmp_path / "golden.toml"
    table = qualify("train", *runs, "--out", file).stdout
    assert table.splitlines()[-1] == f"1 golden value of 5 runs in {file}"
    (limit,) = read_limits(file).limits
    assert limit.name == "bw"
    assert 15 < limit.min < 20
    found = json.loads(qualify("train", *runs, "--out", file, "--json").stdout)
    assert found["golden"][0]["devices"] == 5
    assert "4 runs are too few" in qualify("train", *runs[:4], "--out", file, code=4).stderr
    assert "vary by more than 0.1 %" in qualify("train", *runs, "--out", file, "--largest-cv", "0.1%", code=4).stderr
    assert "No such file" in qualify("train", *runs, "--out", tmp_path / "none/x.toml", code=4).stderr


def test_study_compares_the_spread_with_the_tolerance(qualify, tmp_path):
    runs = [tmp_path / f"session{k}" for k in range(3)]
    for k, path in enumerate(runs):
        run_of(path, bw=[[20 + 0.01 * k + 0.01 * r] * 2 for r in range(5)])
    assert "good: under 10 %" in qualify("study", "repeatability", *runs).stdout
    assert "not fit to judge" in qualify("study", "repeatability", *runs, "--tolerance", "0.1%", code=1).stdout
    found = json.loads(qualify("study", "repeatability", *runs, "--json").stdout)
    assert (found["measurements"][0]["values"], found["measurements"][0]["verdict"]) == (15, "good")


def test_a_directory_of_runs_is_refused_with_the_runs_that_it_has(qualify, pair, tmp_path):
    (file := tmp_path / "limits.toml").write_text("schema = 1\n")
    errors = qualify("report", tmp_path, code=4).stderr
    assert errors.count("\n") == 1
    assert f"it has no state.json, but has these runs, of which one may be meant: {pair[1]}, {pair[0]}\n" in errors
    run_of(tmp_path / "others/third", bw=correlated(100, 0, 5, 20, 0.3))
    errors = qualify("compare", tmp_path, tmp_path / "others", code=4).stderr
    of_first, of_second = errors.split("; ")
    assert of_first.endswith(f"one may be meant: {pair[1]}, {pair[0]}")
    assert of_second.startswith(f"{tmp_path / 'others'} is not the directory of a run")
    assert of_second.endswith(f"one may be meant: {tmp_path / 'others/third'}\n")
    for words in (("compare", pair[0]), ("limits", "check", file, "--run")):
        assert f"may be meant: {tmp_path / 'others/third'}\n" in qualify(*words, tmp_path / "others", code=4).stderr
    (tmp_path / "none").mkdir()
    assert "these runs" not in qualify("report", tmp_path / "none", code=4).stderr
