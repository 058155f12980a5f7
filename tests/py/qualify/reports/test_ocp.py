"""The stream of a run: each line has the form of OCP's Test & Validation 2.0, and the lines contain the whole run."""

import json

import jsonschema
import pytest

from pydoca.qualify.records import LimitRecord
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.results.ocp import whole_stream
from pydoca.qualify.verdicts import ExitCode, Verdict
from qualify.reports.ocp_schema import LINE
from qualify.reports.runs import case, measured, new_run, written

VALIDATOR = jsonschema.Draft202012Validator(LINE)


def lines_of(text: str) -> list[dict]:
    assert text.endswith("\n")
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        VALIDATOR.validate(line)
    assert [line["sequenceNumber"] for line in lines] == list(range(len(lines)))
    return lines


def artifacts(lines: list[dict], kind: str) -> list[dict]:
    found = []
    for line in lines:
        artifact = line.get("testStepArtifact") or line.get("testRunArtifact") or {}
        found += [artifact[kind]] if kind in artifact else []
    return found


@pytest.fixture
def run(tmp_path):
    directory = RunDirectory(tmp_path)
    good = measured("dma.bw", [20.0] * 40, limit=LimitRecord("p50", min=18, n_min=30, source="bf3.toml"))
    slow = measured("dma.lat", [9.0] * 40, unit="us", limit=LimitRecord("p50", max=6), better="lower")
    few = measured("sha.bw", [1.0], limit=LimitRecord("p50", min=1, n_min=30))
    free = measured("pe.wake", [3.0, 4.0], unit="us")
    file = measured("comch.rtt", [5.0, 6.0, 7.0], unit="us", directory=directory)
    cases = [
        case("DMA-BW", good),
        case("DMA-LAT", slow, number=1, log="a log \x1b[31m with \x00 controls"),
        case("SHA-BW", few, number=2, verdict=Verdict.ERROR, reason="the tester: 'caf\u00e9' failed"),
        case("PE-1", free, number=3),
        case("COM-RTT", file, number=4),
        case("SHA-1", verdict=Verdict.SKIPPED, reason="the device has no SHA engine", number=5),
    ]
    return written(tmp_path, cases, directory)


def test_every_line_has_the_form_of_the_format(run, tmp_path):
    lines = lines_of((tmp_path / "results.jsonl").read_text())
    assert lines[0]["schemaVersion"] == {"major": 2, "minor": 0}
    assert "testRunStart" in lines[1]["testRunArtifact"]
    assert lines[-1]["testRunArtifact"]["testRunEnd"] == {"status": "COMPLETE", "result": "FAIL"}
    assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)


def test_the_schema_refuses_what_the_format_does_not_have():
    good = json.loads(whole_stream(new_run()).splitlines()[1])
    VALIDATOR.validate(good)
    for path, value in ((("sequenceNumber",), -1), (("timestamp",), "yesterday"), (("more",), 1)):
        bad = json.loads(json.dumps(good))
        bad[path[0]] = value
        assert not VALIDATOR.is_valid(bad), path
    del good["testRunArtifact"]["testRunStart"]["dutInfo"]
    assert not VALIDATOR.is_valid(good)


def test_each_case_is_a_step_with_a_beginning_and_an_end(run, tmp_path):
    lines = lines_of((tmp_path / "results.jsonl").read_text())
    assert [each["name"].split(":")[0] for each in artifacts(lines, "testStepStart")] == [each.id for each in run.cases]
    ends = [each["status"] for each in artifacts(lines, "testStepEnd")]
    assert ends == ["COMPLETE", "COMPLETE", "ERROR", "COMPLETE", "COMPLETE", "SKIP"]
    steps = [line["testStepArtifact"]["testStepId"] for line in lines if "testStepArtifact" in line]
    assert steps == sorted(steps)
    assert set(steps) == {"0", "1", "2", "3", "4", "5"}


def test_limits_are_validators_and_verdicts_are_diagnoses(run, tmp_path):
    lines = lines_of((tmp_path / "results.jsonl").read_text())
    measurement = artifacts(lines, "measurement")[0]
    assert (measurement["name"], measurement["value"], measurement["unit"]) == ("dma.bw", 20, "GB/s")
    (validator,) = measurement["validators"]
    assert (validator["type"], validator["value"]) == ("GREATER_THAN_OR_EQUAL", 18)
    assert validator["metadata"]["source"] == "bf3.toml"
    kinds = {each["verdict"]: each["type"] for each in artifacts(lines, "diagnosis")}
    assert kinds["dma.bw-pass"] == kinds["DMA-BW-pass"] == "PASS"
    assert kinds["dma.lat-fail"] == kinds["DMA-LAT-fail"] == "FAIL"
    assert kinds["pe.wake-unjudged"] == "UNKNOWN"


def test_errors_of_the_tester_are_errors_and_not_diagnoses(run, tmp_path):
    lines = lines_of((tmp_path / "results.jsonl").read_text())
    messages = [each["message"] for each in artifacts(lines, "error")]
    assert messages == ["sha.bw: 1 sample, and 30 are needed", "the tester: 'caf\u00e9' failed"]
    assert not [each for each in artifacts(lines, "diagnosis") if each["verdict"].startswith(("sha.bw", "SHA"))]
    assert {"severity": "INFO", "message": "skipped: the device has no SHA engine"} in artifacts(lines, "log")


def test_raw_samples_are_files_that_exist(run, tmp_path):
    files = artifacts(lines_of((tmp_path / "results.jsonl").read_text()), "file")
    assert {each["uri"] for each in files} == {"samples/comch.rtt.csv", "samples/comch.rtt.npz"}
    assert all((tmp_path / each["uri"]).is_file() for each in files)


def test_the_stream_can_be_made_again_from_the_records(run, tmp_path):
    assert whole_stream(RunDirectory.load(tmp_path)) == (tmp_path / "results.jsonl").read_text()


@pytest.mark.parametrize(
    ("verdict", "exit_code", "end"),
    [
        (Verdict.PASS, 0, ("COMPLETE", "PASS")),
        (Verdict.MARGINAL, 0, ("COMPLETE", "PASS")),
        (Verdict.FAIL, 1, ("COMPLETE", "FAIL")),
        (Verdict.UNJUDGED, 0, ("COMPLETE", "NOT_APPLICABLE")),
        (Verdict.ERROR, 3, ("ERROR", "NOT_APPLICABLE")),
        (Verdict.SKIPPED, 5, ("SKIP", "NOT_APPLICABLE")),
        (Verdict.INTERRUPTED, ExitCode.INTERRUPTED, ("ERROR", "NOT_APPLICABLE")),
    ],
)
def test_the_last_line_tells_the_result(verdict, exit_code, end):
    run = new_run(end=1_790_000_060.0, verdict=verdict, exit_code=exit_code)
    (found,) = artifacts(lines_of(whole_stream(run)), "testRunEnd")
    assert (found["status"], found["result"]) == end


def test_a_stream_without_an_end_is_not_complete():
    assert "testRunEnd" not in whole_stream(new_run())
