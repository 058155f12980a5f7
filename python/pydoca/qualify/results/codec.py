"""The records of a run as JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from pydoca.qualify.records import CaseRecord, LimitRecord, MeasurementRecord, RunRecord
from pydoca.qualify.verdicts import Verdict


def to_json(document: Any, *, indent: int | None = None) -> str:
    """Strict JSON: a number that is not finite is null; a path or another object is its text."""
    return json.dumps(_plain(document), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return _plain(value.item()) if hasattr(value, "item") else str(value)  # NumPy's numbers


def case_to_dict(case: CaseRecord) -> dict[str, Any]:
    return asdict(case)


def run_to_dict(run: RunRecord) -> dict[str, Any]:
    """The run without its cases."""
    return {each.name: getattr(run, each.name) for each in fields(run) if each.name != "cases"}


def run_from_dict(document: Mapping[str, Any], cases: list[Mapping[str, Any]]) -> RunRecord:
    known = _known(RunRecord, document)
    known["verdict"] = Verdict(known["verdict"])
    return RunRecord(**{**known, "cases": [case_from_dict(case) for case in cases]})


def case_from_dict(document: Mapping[str, Any]) -> CaseRecord:
    known = _known(CaseRecord, document)
    known["verdict"] = Verdict(known["verdict"])
    known["measurements"] = [_measurement_from_dict(each) for each in known.get("measurements", ())]
    return CaseRecord(**known)


def _measurement_from_dict(document: Mapping[str, Any]) -> MeasurementRecord:
    known = _known(MeasurementRecord, document)
    known["verdict"] = Verdict(known["verdict"])
    known["interval"] = tuple(known["interval"]) if known["interval"] and None not in known["interval"] else None
    known["statistics"] = {name: value for name, value in known["statistics"].items() if value is not None}
    known["limit"] = LimitRecord(**_known(LimitRecord, known["limit"])) if known.get("limit") else None
    return MeasurementRecord(**known)


def _known(record: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that the record knows; a later version may have written more."""
    names = {each.name for each in fields(record)}
    return {name: value for name, value in document.items() if name in names}
