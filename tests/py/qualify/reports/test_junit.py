"""JUnit XML of a run, as CI servers read it."""

from xml.etree import ElementTree

import pytest

from pydoca.qualify.records import LimitRecord
from pydoca.qualify.results.junit import junit_xml
from pydoca.qualify.verdicts import Verdict
from qualify.reports.runs import case, measured, new_run


def suite_of(*cases):
    run = new_run(verdict=Verdict.FAIL)
    run.cases += cases
    root = ElementTree.fromstring(junit_xml(run).encode())
    assert root.tag == "testsuites"
    (suite,) = root
    return suite


def properties_of(element):
    return {each.get("name"): each.get("value") for each in element.find("properties")}


def test_the_suite_counts_its_cases():
    suite = suite_of(
        case("A-1", verdict=Verdict.PASS),
        case("A-2", verdict=Verdict.MARGINAL, reason="close"),
        case("A-3", verdict=Verdict.FAIL, reason="slow", log="Traceback"),
        case("A-4", verdict=Verdict.ERROR, reason="broken"),
        case("A-5", verdict=Verdict.SKIPPED, reason="no engine"),
        case("A-6", verdict=Verdict.UNJUDGED),
    )
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert float(suite.get("time")) == pytest.approx(9)
    kinds = [[child.tag for child in each if child.tag != "properties"] for each in suite.findall("testcase")]
    assert kinds == [[], [], ["failure"], ["error"], ["skipped"], []]
    assert suite.find("testcase/failure").get("message") == "slow"
    assert suite.find("testcase/failure").text == "Traceback"
    assert properties_of(suite)["device.serial"] == "MT2440X00001"


def test_a_run_that_has_not_ended_has_a_case_that_is_an_error():
    run = new_run(planned=95)
    run.cases = [case("A-1", verdict=Verdict.PASS)]
    suite = ElementTree.fromstring(junit_xml(run).encode()).find("testsuite")
    assert {name: suite.get(name) for name in ("tests", "errors")} == {"tests": "2", "errors": "1"}
    assert suite.find("testcase/error").get("message") == "INTERRUPTED: not run: 94 of 95 cases"
    assert properties_of(suite)["verdict"] == "INTERRUPTED"


def test_measurements_and_verdicts_are_properties():
    one = measured("dma.bw", [20.0] * 40, limit=LimitRecord("p50", min=18))
    (element,) = suite_of(case("DMA-BW", one)).findall("testcase")
    found = properties_of(element)
    assert found["id"] == "DMA-BW"
    assert found["verdict"] == "PASS"
    assert found["measurement.dma.bw.p50"] == "20.0"
    assert found["measurement.dma.bw.unit"] == "GB/s"
    assert "inside min 18" in found["measurement.dma.bw.reason"]
    assert "--seed 7" in found["again"]


def test_the_name_is_that_of_pytest_and_repeats_differ():
    nodes = suite_of(case("DMA-BW", verdict=Verdict.PASS), case("DMA-BW", verdict=Verdict.PASS, repeat=1))
    names = [(each.get("classname"), each.get("name")) for each in nodes.findall("testcase")]
    assert names == [("cases.test_dma", "test_dma_bw"), ("cases.test_dma", "test_dma_bw #2")]


def test_text_of_any_origin_is_well_formed():
    evil = "]]><failure/> & \x00 \x1b[31m \ud800 \u2028"
    suite = suite_of(case("A-1", verdict=Verdict.FAIL, reason=evil, log=evil, title=evil, node=f"{evil}::{evil}"))
    failure = suite.find("testcase/failure")
    assert "]]><failure/> & \ufffd" in failure.get("message")
    assert failure.text.startswith("]]><failure/>")
    assert len(suite.findall("testcase")) == 1
