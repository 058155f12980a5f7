"""The schemas of run.json and of the findings in fleet.json, for programs that read them.

docs/qualification.md describes the same in words.
"""

from typing import Any

from pydoca.qualify.findings import CASE, KINDS, NOT_JUDGED, SKIPPED
from pydoca.qualify.fleet import findings as fleet
from pydoca.qualify.verdicts import ExitCode, Verdict

TEXT, NUMBER, COUNT = {"type": "string"}, {"type": "number"}, {"type": "integer", "minimum": 0}
TEXTS = {"type": "object", "additionalProperties": TEXT}
VERDICT = {"enum": [each.value for each in Verdict]}


def _finding(kinds: list[str], **more: Any) -> dict[str, Any]:
    known = {"kind": {"enum": kinds}, "verdict": VERDICT, "text": TEXT, **more}
    return {"type": "object", "properties": known, "required": list(known), "additionalProperties": False}


_IDS = {"type": "array", "items": TEXT, "minItems": 1}
_OTHERS = [kind for kind in KINDS if kind not in (CASE, NOT_JUDGED, SKIPPED)]
FINDING = {
    "oneOf": [
        _finding([CASE], case=TEXT, node=TEXT, repeat=COUNT),
        _finding([NOT_JUDGED, SKIPPED], cases=_IDS),
        _finding(_OTHERS),
    ]
}
FLEET_FINDINGS = {
    "type": "array",
    "items": {
        "oneOf": [
            _finding([fleet.CARD], card=TEXT, title=TEXT, cases=_IDS),
            _finding([fleet.CARD, fleet.OUTLIER], card=TEXT, title=TEXT),
            _finding([fleet.FLEET]),
        ]
    },
}
_PROPERTIES = {
    "id": TEXT,
    "device": {"type": "object"},
    "level": TEXT,
    "seed": COUNT,
    "options": {"type": "object"},
    "versions": TEXTS,
    "begin": NUMBER,
    "end": {"type": ["number", "null"]},
    "planned": COUNT,
    "findings": {"type": "array", "items": FINDING},
    "verdict": VERDICT,
    "exit_code": {"enum": [*map(int, ExitCode), None]},
}
RUN = {"type": "object", "properties": _PROPERTIES, "required": list(_PROPERTIES), "additionalProperties": False}
