"""The directory of a run: it is complete after the run's end, and loadable at any moment before."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pydoca.qualify.records import LimitRecord
from pydoca.qualify.results import RunDirectory, counted
from pydoca.qualify.verdicts import Verdict
from qualify.reports.runs import BEGIN, case, correlated, measured, new_run, written
from qualify.reports.test_ocp import artifacts, lines_of


def some_cases(directory: RunDirectory):
    limit = LimitRecord("p50", min=9, n_min=30, marginal=0.01, source="bf3.toml", waived="until 2026-12-31")
    return [
        case("DMA-BW", measured("dma.bw", correlated(100, 0.2, 1), limit=limit, directory=directory)),
        case("SHA-1", verdict=Verdict.SKIPPED, reason="no engine", number=1),
    ]


def test_a_run_is_loaded_as_it_was(tmp_path):
    directory = RunDirectory(tmp_path)
    run = written(tmp_path, some_cases(directory), directory)
    assert RunDirectory.load(tmp_path) == run
    assert run.machine["python"] == run.machine_after["python"]


def test_the_directory_has_every_form_and_their_checksums(tmp_path):
    directory = RunDirectory(tmp_path)
    written(tmp_path, some_cases(directory), directory)
    sums = dict(reversed(line.split("  ")) for line in (tmp_path / "SHA256SUMS").read_text().splitlines())
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {
        "SHA256SUMS", "junit.xml", "machine.json", "report.html", "results.jsonl", "run.json", "state.json",
        "samples/dma.bw.csv", "samples/dma.bw.npz",
    }  # fmt: skip
    assert sums == {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in files - {"SHA256SUMS"}}
    document = json.loads((tmp_path / "run.json").read_text())
    assert (document["verdict"], document["exit_code"], document["seed"]) == ("PASS", 0, 7)
    assert json.loads((tmp_path / "machine.json").read_text())["before"]["python"]


def test_other_bytes_than_utf8_in_a_path_or_an_output_are_kept(tmp_path):
    """A case may print a file name that is not UTF-8, and the name of the run's directory may be one."""
    odd = "caf\udce9"
    run = written(tmp_path, [case("A-1", verdict=Verdict.FAIL, reason=odd, log=odd, node=f"{odd}.py::test_a")])
    assert RunDirectory.load(tmp_path) == run
    assert "caf\ufffd" in (tmp_path / "report.html").read_text()
    for name in ("run.json", "results.jsonl", "junit.xml"):
        assert "caf" in (tmp_path / name).read_text()


def test_each_log_is_a_file_that_the_report_names(tmp_path):
    log = "first line\n" + "x\n" * 500 + "last \x1b[31mline"
    cases = [case("A/../1", verdict=Verdict.FAIL, reason="x", log=log), case("B-1", verdict=Verdict.PASS, number=1)]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/007_old.log").write_text("of a case that was repeated")
    run = written(tmp_path, cases)
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["000_A_.._1.log"]
    text = (tmp_path / "logs/000_A_.._1.log").read_text()
    assert text.startswith(f"FAIL A/../1 {cases[0].node}\n\nfirst line\n")
    assert text.endswith("last \ufffd[31mline")
    assert 'href="logs/000_A_.._1.log"' in (tmp_path / "report.html").read_text()
    assert "logs/000_A_.._1.log" in (tmp_path / "SHA256SUMS").read_text()
    assert RunDirectory.load(tmp_path) == run


def test_what_the_device_counts_is_followed_from_case_to_case(tmp_path, monkeypatch):
    seen = iter(
        [{"errors": 0, "temperature": 50.5}, {"errors": 0, "temperature": 50.5}, {"errors": 3, "temperature": 50.5}]
    )
    monkeypatch.setattr(counted, "counters", lambda device: next(seen))
    written(tmp_path, some_cases(RunDirectory(tmp_path)))
    rows = [line.split(",")[1:] for line in (tmp_path / "counters.csv").read_text().splitlines()]
    assert rows == [
        ["after", "counter", "value"], ["", "errors", "0"], ["", "temperature", "50.5"], ["SHA-1", "errors", "3"],
    ]  # fmt: skip


def test_samples_are_stored_as_they_were_taken(tmp_path):
    directory = RunDirectory(tmp_path)
    series = correlated(500, 0.3, 2)
    name = directory.samples("dma.bw/64 KiB", series, warmup=20, unit="GB/s")
    assert name == "samples/dma.bw_64_KiB"
    found, begin = directory.read_samples(name)
    assert (found.tolist(), begin) == (series.tolist(), 20)
    rows = (tmp_path / f"{name}.csv").read_text().splitlines()
    assert rows[0] == "index,value,warmup"
    assert [float(row.split(",")[1]) for row in rows[1:]] == series.tolist()
    assert [row.split(",")[2] for row in rows[1:]] == ["1"] * 20 + ["0"] * 480


def test_a_second_series_of_a_name_does_not_replace_the_first(tmp_path):
    directory = RunDirectory(tmp_path)
    names = [directory.samples("a", [number]) for number in range(3)]
    assert names == ["samples/a", "samples/a-2", "samples/a-3"]
    assert [directory.read_samples(name)[0].tolist() for name in names] == [[0], [1], [2]]


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "/", "", "a" * 500, "\u00e4\x00b"])
def test_no_name_of_a_measurement_leaves_the_directory(tmp_path, name):
    folder = tmp_path / "run"
    directory = RunDirectory(folder)
    folder.mkdir()
    found = directory.samples(name, [1.0])
    assert (folder / f"{found}.npz").resolve().parent == folder / "samples"
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_values_that_json_does_not_know_become_null(tmp_path):
    run = new_run()
    run.options = {"path": Path("/x"), "count": np.int64(3), "value": float("nan"), "several": (1, 2)}
    RunDirectory(tmp_path).begin(run)
    options = RunDirectory.load(tmp_path).options
    assert options == {"path": "/x", "count": 3, "value": None, "several": [1, 2]}


def test_a_run_goes_on_where_it_ended(tmp_path):
    first, *others = some_cases(RunDirectory(tmp_path))
    run = new_run(planned=2)
    begun = RunDirectory(tmp_path)
    begun.begin(run)
    begun.case(run, first)
    with (tmp_path / "results.jsonl").open("a") as stream:
        stream.write('{"sequenceNumber": 99, "half of a line')  # a power cut leaves such a line
    again = RunDirectory(tmp_path)
    resumed = RunDirectory.load(tmp_path)
    again.begin(resumed)
    for each in others:
        again.case(resumed, each)
    resumed.end, resumed.verdict, resumed.exit_code = BEGIN + 60, Verdict.PASS, 0
    again.end(resumed)
    lines = lines_of((tmp_path / "results.jsonl").read_text())
    assert len(artifacts(lines, "testRunStart")) == len(artifacts(lines, "testRunEnd")) == 1
    assert len(artifacts(lines, "testStepStart")) == 2
    assert [each.id for each in RunDirectory.load(tmp_path).cases] == ["DMA-BW", "SHA-1"]


def test_a_complete_run_that_goes_on_has_one_end(tmp_path):
    directory = RunDirectory(tmp_path)
    written(tmp_path, some_cases(directory), directory)
    run, again = RunDirectory.load(tmp_path), RunDirectory(tmp_path)
    again.begin(run)
    again.case(run, case("PE-1", verdict=Verdict.PASS, number=5))
    again.end(run)
    lines = lines_of((tmp_path / "results.jsonl").read_text())
    assert len(artifacts(lines, "testRunEnd")) == 1
    assert len(artifacts(lines, "testStepStart")) == 3


WRITER = """
import sys
from qualify.reports.runs import case, measured, new_run
from pydoca.qualify.results import RunDirectory, counted

directory, run = RunDirectory(sys.argv[1]), new_run()
directory.begin(run)
print("begun", flush=True)
for number in range(100_000):
    one = measured("m", [1.0, 2.0, 3.0])
    directory.case(run, case(f"CASE-{number}", one, number=number, log="x" * 4000))
"""


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.11, 0.23, 0.4])
def test_a_killed_writer_leaves_a_run_that_can_be_loaded_and_goes_on(tmp_path, delay):
    line = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n{WRITER}"]
    writer = subprocess.Popen([*line, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "begun\n"
        time.sleep(delay)
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    assert writer.returncode == -signal.SIGKILL
    run = RunDirectory.load(tmp_path)
    assert [each.id for each in run.cases] == [f"CASE-{number}" for number in range(len(run.cases))]
    known = len(run.cases)
    again = RunDirectory(tmp_path)
    again.begin(run)
    again.case(run, case(f"CASE-{known}", verdict=Verdict.PASS, number=known))
    steps = artifacts(lines_of((tmp_path / "results.jsonl").read_text()), "testStepStart")
    assert [each["name"].split(":")[0] for each in steps] == [f"CASE-{number}" for number in range(known + 1)]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "is not the directory of a run: it has no state.json"),
        ("{", "is not JSON"),
        ('{"schema": 9}', "schema 1"),
    ],
)
def test_a_directory_that_is_not_a_run_is_named(tmp_path, content, what):
    if content is not None:
        (tmp_path / "state.json").write_text(content)
    with pytest.raises(ValueError, match=what):
        RunDirectory.load(tmp_path)


def test_a_run_of_a_later_version_is_loaded_without_what_this_one_does_not_know(tmp_path):
    directory = RunDirectory(tmp_path)
    run = written(tmp_path, some_cases(directory), directory)
    state = json.loads((tmp_path / "state.json").read_text())
    state["run"]["more"] = state["cases"][0]["more"] = state["cases"][0]["measurements"][0]["more"] = 1
    (tmp_path / "state.json").write_text(json.dumps(state))
    assert RunDirectory.load(tmp_path) == run
