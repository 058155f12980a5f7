"""A run as a stream of JSON lines: Open Compute Project, Test & Validation, output format 2.0.

A case is a test step; a measurement is a measurement with validators and a diagnosis; raw samples are files. All times
are those of the records, so the same run gives the same lines again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pydoca.qualify.machine import hostname
from pydoca.qualify.records import CaseRecord, LimitRecord, MeasurementRecord, RunRecord
from pydoca.qualify.report.words import named
from pydoca.qualify.results.codec import to_json
from pydoca.qualify.verdicts import Verdict

_HARDWARE = "device"
_STATUS = {
    Verdict.SKIPPED: "SKIP",
    Verdict.ERROR: "ERROR",
    Verdict.INTERRUPTED: "ERROR",
}  # any other verdict: COMPLETE
# MARGINAL is a pass with a warning, as in the exit code.
_TYPES = {Verdict.PASS: "PASS", Verdict.MARGINAL: "PASS", Verdict.FAIL: "FAIL"}
_RESULTS = {**_TYPES, Verdict.UNJUDGED: "NOT_APPLICABLE"}
_SUFFIXES = {".csv": "text/csv", ".npz": "application/zip"}


class Stream:
    """Numbers the lines of one file."""

    def __init__(self) -> None:
        self._sequence = self._step = 0

    def begin(self, run: RunRecord) -> str:
        version = self._line(run.begin, {"schemaVersion": {"major": 2, "minor": 0}})
        return version + self._line(run.begin, {"testRunArtifact": {"testRunStart": _run_start(run)}})

    def case(self, case: CaseRecord) -> str:
        """All lines of the case, which is over."""
        step, end = str(self._step), case.begin + case.seconds
        self._step += 1
        artifacts = [(case.begin, {"testStepStart": {"name": f"{named(case)}: {case.title}"}})]
        artifacts += [(end, artifact) for artifact in _step(case)]
        artifacts.append((end, {"testStepEnd": {"status": _STATUS.get(case.verdict, "COMPLETE")}}))
        lines = [self._line(at, {"testStepArtifact": {"testStepId": step, **artifact}}) for at, artifact in artifacts]
        return "".join(lines)

    def end(self, run: RunRecord) -> str:
        """The last line, which completes the stream."""
        status = _STATUS.get(run.verdict, "COMPLETE")
        result = _RESULTS.get(run.verdict, "NOT_APPLICABLE") if status == "COMPLETE" else "NOT_APPLICABLE"
        at = run.begin if run.end is None else run.end
        return self._line(at, {"testRunArtifact": {"testRunEnd": {"status": status, "result": result}}})

    def _line(self, at: float, artifact: Mapping[str, Any]) -> str:
        line = {"sequenceNumber": self._sequence, "timestamp": _timestamp(at), **artifact}
        self._sequence += 1
        return to_json(line) + "\n"


def whole_stream(run: RunRecord) -> str:
    """The lines of a run, from its records; without the last one while it has no end."""
    stream = Stream()
    lines = [stream.begin(run), *(stream.case(case) for case in run.cases)]
    return "".join([*lines, stream.end(run)] if run.end is not None else lines)


def _timestamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _run_start(run: RunRecord) -> dict[str, Any]:
    return {
        "name": f"pydoca qualify, level {run.level}",
        "version": str(run.versions.get("pydoca", "")),
        "commandLine": str(run.options.get("command", "")),
        "parameters": {**run.options, "seed": run.seed, "level": run.level},
        "dutInfo": _dut(run),
        "metadata": {"run": run.id, "planned": run.planned},
    }


def _dut(run: RunRecord) -> dict[str, Any]:
    software = [
        {"softwareInfoId": name, "name": name, "version": str(version), "softwareType": "APPLICATION"}
        for name, version in run.versions.items()
    ]
    return {
        "id": str(run.device.get("serial") or run.device.get("pci_address") or run.device.get("name") or "unknown"),
        "hostname": hostname(run.machine),
        "softwareInfos": software,
        "hardwareInfos": [_hardware(run.device)],
    }


def _hardware(device: Mapping[str, Any]) -> dict[str, str]:
    keys = {
        "location": "pci_address",
        "serialNumber": "serial",
        "partNumber": "part",
        "partType": "profile",
        "version": "firmware",
    }
    known = {key: str(device[name]) for key, name in keys.items() if device.get(name)}
    return {"hardwareInfoId": _HARDWARE, "name": str(device.get("name", "device")), **known}


def _step(case: CaseRecord) -> Iterator[dict[str, Any]]:
    for measurement in case.measurements:
        yield from _measurement(measurement)
    if case.verdict is Verdict.SKIPPED:
        yield _log("INFO", f"skipped: {case.reason}")
    elif case.verdict is Verdict.ERROR:
        yield {"error": {"symptom": "tester-error", "message": case.reason or "the tester failed"}}
    else:
        yield _diagnosis(case.id, case.verdict, case.reason)
    if case.log and case.verdict in (Verdict.FAIL, Verdict.ERROR):
        yield _log("ERROR", case.log)
    if case.again:
        yield {"extension": {"name": "pydoca", "content": {"again": case.again, "repeat": case.repeat}}}


def _measurement(measurement: MeasurementRecord) -> Iterator[dict[str, Any]]:
    if measurement.value is not None:
        yield {"measurement": _value(measurement)}
    if measurement.samples:
        yield from (_file(measurement, suffix) for suffix in _SUFFIXES)
    if measurement.verdict is Verdict.ERROR:
        yield {"error": {"symptom": "no-verdict", "message": f"{measurement.name}: {measurement.reason}"}}
    else:
        yield _diagnosis(measurement.name, measurement.verdict, measurement.reason)


def _value(measurement: MeasurementRecord) -> dict[str, Any]:
    details = {
        "statistic": measurement.stat,
        "samples": measurement.n,
        "warmup": measurement.warmup,
        "outliers": measurement.outliers,
        "statistics": measurement.statistics,
    }
    if measurement.interval:
        details["interval"] = list(measurement.interval)
    return {
        "name": measurement.name,
        "value": measurement.value,
        "unit": measurement.unit,
        "validators": list(_validators(measurement.limit)),
        "hardwareInfoId": _HARDWARE,
        "metadata": details,
    }


def _validators(limit: LimitRecord | None) -> Iterator[dict[str, Any]]:
    if limit is None:
        return
    for name, kind, bound in (
        ("min", "GREATER_THAN_OR_EQUAL", limit.min),
        ("max", "LESS_THAN_OR_EQUAL", limit.max),
    ):
        if bound is not None:
            more = {"waived": limit.waived} if limit.waived else {}
            details = {"source": limit.source, "statistic": limit.stat, "marginal": limit.marginal, **more}
            yield {"name": name, "type": kind, "value": bound, "metadata": details}


def _file(measurement: MeasurementRecord, suffix: str) -> dict[str, Any]:
    return {
        "file": {
            "displayName": f"samples of {measurement.name}",
            "uri": f"{measurement.samples}{suffix}",
            "contentType": _SUFFIXES[suffix],
            "isSnapshot": False,
        }
    }


def _diagnosis(name: str, verdict: Verdict, reason: str) -> dict[str, Any]:
    kind = _TYPES.get(verdict, "UNKNOWN")
    message = {"message": reason} if reason else {}
    return {
        "diagnosis": {
            "verdict": f"{name}-{verdict.value.lower()}",
            "type": kind,
            **message,
            "hardwareInfoId": _HARDWARE,
        }
    }


def _log(severity: str, message: str) -> dict[str, Any]:
    return {"log": {"severity": severity, "message": message}}
