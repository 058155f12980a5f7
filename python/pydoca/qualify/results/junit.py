"""A run as JUnit XML, in the form that pytest calls xunit2, for CI servers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pydoca._display.frame.escaping import printable
from pydoca.qualify.figures import share
from pydoca.qualify.machine import hostname
from pydoca.qualify.records import CaseRecord, MeasurementRecord, RunRecord
from pydoca.qualify.verdicts import Verdict

# The verdicts' words in the format. A MARGINAL or UNJUDGED case has passed; its properties tell more.
_ELEMENTS = {Verdict.FAIL: "failure", Verdict.ERROR: "error", Verdict.SKIPPED: "skipped"}

# The case that represents the run: its name, and its message, with what is left to run.
_NOT_PASSED = {
    Verdict.INTERRUPTED: ("the run ends", "{}"),
    Verdict.INCOMPLETE: ("every limit judges", "limits or expectations have judged nothing; report.html names them"),
}


def junit_xml(*runs: RunRecord) -> str:
    """A suite for each run."""
    root = Element("testsuites", name="pydoca qualify")
    for run in runs:
        _suite(root, run)
    indent(root)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, run: RunRecord) -> None:
    suite = SubElement(root, "testsuite", _counts(run))
    properties = SubElement(suite, "properties")
    for name, value in _run_properties(run):
        SubElement(properties, "property", name=name, value=printable(value))
    for case in run.cases:
        _case(suite, case)
    if run.verdict in _NOT_PASSED:
        _the_run(suite, run)


def _the_run(suite: Element, run: RunRecord) -> None:
    """Adds a case for a run that did not pass as a whole: a server looks at cases only."""
    name, message = _NOT_PASSED[run.verdict]
    element = SubElement(suite, "testcase", classname="pydoca.qualify", name=name, time="0.000")
    left = f"not run: {share(max(0, run.planned - len(run.cases)), run.planned, 'case')}"
    SubElement(element, "error", message=f"{run.verdict.value}: {message.format(left)}")


def _counts(run: RunRecord) -> dict[str, str]:
    verdicts = [case.verdict for case in run.cases]
    begin = datetime.fromtimestamp(run.begin, UTC).isoformat(timespec="seconds")
    unended = run.verdict in _NOT_PASSED
    return {
        "name": printable(run.id),
        "tests": str(len(verdicts) + unended),
        "failures": str(verdicts.count(Verdict.FAIL)),
        "errors": str(verdicts.count(Verdict.ERROR) + unended),
        "skipped": str(verdicts.count(Verdict.SKIPPED)),
        "time": f"{sum(case.seconds for case in run.cases):.3f}",
        "timestamp": begin,
        "hostname": printable(hostname(run.machine)),
    }


def _run_properties(run: RunRecord) -> Iterator[tuple[str, str]]:
    yield "verdict", run.verdict.value
    yield "level", run.level
    yield "seed", str(run.seed)
    for name, value in run.device.items():
        yield f"device.{name}", str(value)
    for name, value in run.versions.items():
        yield f"version.{name}", str(value)
    for finding in run.findings:
        yield "finding", finding


def _case(suite: Element, case: CaseRecord) -> None:
    names = {"classname": _class_name(case), "name": _name(case), "time": f"{case.seconds:.3f}"}
    element = SubElement(suite, "testcase", {name: printable(value) for name, value in names.items()})
    properties = SubElement(element, "properties")
    for name, value in _case_properties(case):
        SubElement(properties, "property", name=printable(name), value=printable(value))
    if kind := _ELEMENTS.get(case.verdict):
        cause = SubElement(element, kind, message=printable(case.reason))
        cause.text = printable(case.log) if kind != "skipped" else None
    elif case.log:
        SubElement(element, "system-out").text = printable(case.log)


def _class_name(case: CaseRecord) -> str:
    return case.node.partition("::")[0].removesuffix(".py").replace("/", ".")


def _name(case: CaseRecord) -> str:
    name = case.node.partition("::")[2] or case.id
    return f"{name} #{case.repeat + 1}" if case.repeat else name


def _case_properties(case: CaseRecord) -> Iterator[tuple[str, str]]:
    yield "id", case.id
    yield "title", case.title
    yield "verdict", case.verdict.value
    if case.again:
        yield "again", case.again
    for measurement in case.measurements:
        yield from _measurement_properties(measurement)


def _measurement_properties(measurement: MeasurementRecord) -> Iterator[tuple[str, str]]:
    name = f"measurement.{measurement.name}"
    if measurement.value is not None:
        yield f"{name}.{measurement.stat}", f"{measurement.value!r}"
    yield f"{name}.unit", measurement.unit
    yield f"{name}.n", str(measurement.n)
    yield f"{name}.verdict", measurement.verdict.value
    yield f"{name}.reason", measurement.reason
