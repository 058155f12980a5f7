"""The findings of a run: the page, run.json and the terminal show the same."""

import json

import jsonschema
import pytest

from pydoca.qualify.findings import findings_of
from pydoca.qualify.records import LimitRecord
from pydoca.qualify.report import report_html
from pydoca.qualify.results import RunDirectory
from pydoca.qualify.verdicts import Verdict
from qualify.reports.page_checks import Page
from qualify.reports.run_schema import RUN
from qualify.reports.runs import case, measured, new_run, written


def some_run():
    run = new_run(planned=9, machine={"cpu.governor": {"value": "performance"}}, findings=["a limit met nothing"])
    run.machine_after = {"cpu.governor": {"value": "powersave"}}
    low = measured("low", [1.0] * 40, limit=LimitRecord("p50", min=9))
    node = "cases/test_n.py::test_misuse[twice]"
    run.cases = [
        case("NEAR-1", measured("near", [9.01] * 40, limit=LimitRecord("p50", min=9, marginal=0.02))),
        case("BAD-1", low, node=node, repeat=2),
        case("BAD-2", verdict=Verdict.ERROR, reason="broken <tag>"),
        case("GOOD-1", verdict=Verdict.PASS),
        case("FREE-1", measured("bw", [10.0] * 40)),
        *(case(f"OFF-{number}", verdict=Verdict.SKIPPED, reason="no engine") for number in (1, 2)),
    ]
    return run


def document_of(path):
    document = json.loads((path / "run.json").read_text())
    jsonschema.Draft202012Validator(RUN).validate(document)
    return document


def test_findings_have_a_kind_a_verdict_a_text_and_their_case():
    assert [each.to_dict() for each in findings_of(some_run())] == [
        {"kind": "case", "verdict": "FAIL", "text": "low: p50 1 GB/s is below min 9 GB/s", "case": "BAD-1",
         "node": "cases/test_n.py::test_misuse[twice]", "repeat": 2},
        {"kind": "case", "verdict": "ERROR", "text": "broken <tag>", "case": "BAD-2",
         "node": "cases/test_bad.py::test_bad_2", "repeat": 0},
        {"kind": "case", "verdict": "MARGINAL", "text": "near: p50 9.010 GB/s is within 2 % of min 9 GB/s",
         "case": "NEAR-1", "node": "cases/test_near.py::test_near_1", "repeat": 0},
        {"kind": "not_judged", "verdict": "UNJUDGED", "text": "1 case measured values that no limit judges.",
         "cases": ["FREE-1"]},
        {"kind": "skipped", "verdict": "SKIPPED", "text": "2 cases did not run: no engine",
         "cases": ["OFF-1", "OFF-2"]},
        {"kind": "not_run", "verdict": "SKIPPED", "text": "2 planned cases did not run: not tested is not passed."},
        {"kind": "run", "verdict": "MARGINAL", "text": "a limit met nothing"},
        {"kind": "machine", "verdict": "MARGINAL",
         "text": "The machine changed during the run: cpu.governor was performance, and is powersave."},
    ]  # fmt: skip


def test_the_page_shows_each_finding(tmp_path):
    run = some_run()
    text = Page(report_html(run, RunDirectory(tmp_path).read_samples)).text
    for finding in findings_of(run):
        assert finding.text in text
        assert all(case in text for case in finding.cases)


def test_the_file_of_a_run_has_all_findings_also_where_the_page_has_the_first_ones(tmp_path):
    cases = [case(f"BAD-{number}", verdict=Verdict.FAIL, reason="slow", number=number) for number in range(80)]
    written(tmp_path, cases)
    text = (tmp_path / "report.html").read_text()
    assert "and 20 more; run.json has all." in text
    assert [each["case"] for each in document_of(tmp_path)["findings"]] == [each.id for each in cases]


@pytest.mark.parametrize("ended", [True, False])
def test_an_old_run_without_them_gets_them_with_its_reports(tmp_path, ended):
    run = written(tmp_path, [case("BAD-1", verdict=Verdict.FAIL, reason="slow"), case("GOOD-1", verdict=Verdict.PASS)])
    state = json.loads((tmp_path / "state.json").read_text())
    old = {**json.loads((tmp_path / "run.json").read_text()), "findings": ["as texts"]}
    (tmp_path / "run.json").write_text(json.dumps(old))
    if ended:
        del state["run"]["findings"]
        (tmp_path / "state.json").write_text(json.dumps(state))
    loaded = RunDirectory.load(tmp_path)
    assert loaded.findings == run.findings == []
    RunDirectory(tmp_path).report(loaded)
    (finding,) = document_of(tmp_path)["findings"]
    assert (finding["kind"], finding["case"], finding["text"]) == ("case", "BAD-1", "slow")


def test_a_run_that_goes_on_says_what_has_not_run_yet(tmp_path):
    RunDirectory(tmp_path).begin(new_run(planned=2))
    assert [each["kind"] for each in document_of(tmp_path)["findings"]] == ["not_run"]
