"""The schema of a line of OCP's Test & Validation output 2.0, of the artifacts that pydoca writes.

It follows json_spec/output in https://github.com/opencomputeproject/ocp-diag-core, and is stricter: an object
has no other members than those named here.
"""

from typing import Any

TEXT, NUMBER, OBJECT = {"type": "string"}, {"type": "number"}, {"type": "object"}
SCALAR = {"type": ["string", "boolean", "number"]}
STATUS = {"enum": ["COMPLETE", "ERROR", "SKIP"]}


def record(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def one_of(kinds: dict[str, Any], **common: Any) -> dict[str, Any]:
    """An object with exactly one of these members."""
    return {"oneOf": [record({**common, name: schema}) for name, schema in kinds.items()]}


VALIDATOR = record(
    {
        "type": {
            "enum": [
                "EQUAL", "NOT_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL",
                "REGEX_MATCH", "REGEX_NO_MATCH", "IN_SET", "NOT_IN_SET",
            ]
        },
        "value": SCALAR,
    },
    name=TEXT,
    metadata=OBJECT,
)  # fmt: skip
SOFTWARE = record(
    {"softwareInfoId": TEXT, "name": TEXT},
    version=TEXT,
    revision=TEXT,
    computerSystem=TEXT,
    softwareType={"enum": ["UNSPECIFIED", "FIRMWARE", "SYSTEM", "APPLICATION"]},
)
HARDWARE = record(
    {"hardwareInfoId": TEXT, "name": TEXT},
    **dict.fromkeys(
        ("version", "revision", "location", "serialNumber", "partNumber", "partType", "manufacturer", "odataId"), TEXT
    ),
)
DUT = record(
    {"id": TEXT},
    hostname=TEXT,
    platformInfos={"type": "array", "items": record({"info": TEXT})},
    softwareInfos={"type": "array", "items": SOFTWARE},
    hardwareInfos={"type": "array", "items": HARDWARE},
    metadata=OBJECT,
)
LOG = record({"severity": {"enum": ["INFO", "DEBUG", "WARNING", "ERROR", "FATAL"]}, "message": TEXT})
ERROR = record({"symptom": TEXT}, message=TEXT, softwareInfoIds={"type": "array", "items": TEXT})
RUN = one_of(
    {
        "testRunStart": record(
            {"name": TEXT, "version": TEXT, "commandLine": TEXT, "parameters": OBJECT, "dutInfo": DUT}, metadata=OBJECT
        ),
        "testRunEnd": record({"status": STATUS, "result": {"enum": ["NOT_APPLICABLE", "PASS", "FAIL"]}}),
        "log": LOG,
        "error": ERROR,
    }
)
STEP = one_of(
    {
        "testStepStart": record({"name": TEXT}),
        "testStepEnd": record({"status": STATUS}),
        "measurement": record(
            {"name": TEXT, "value": SCALAR},
            unit=TEXT,
            validators={"type": "array", "items": VALIDATOR},
            hardwareInfoId=TEXT,
            subcomponent=OBJECT,
            metadata=OBJECT,
        ),
        "diagnosis": record(
            {"verdict": TEXT, "type": {"enum": ["PASS", "FAIL", "UNKNOWN"]}}, message=TEXT, hardwareInfoId=TEXT
        ),
        "file": record(
            {"displayName": TEXT, "uri": TEXT, "isSnapshot": {"type": "boolean"}},
            description=TEXT,
            contentType=TEXT,
            metadata=OBJECT,
        ),
        "extension": record({"name": TEXT, "content": OBJECT}),
        "log": LOG,
        "error": ERROR,
    },
    testStepId=TEXT,
)
LINE = one_of(
    {
        "schemaVersion": record({"major": {"const": 2}, "minor": {"const": 0}}),
        "testRunArtifact": RUN,
        "testStepArtifact": STEP,
    },
    sequenceNumber={"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"},
)
