"""The older forms of reports, as the rows of today, so that older revisions can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

FLOOR_OF_AWAITS = "await a future that is done"  # older reports print it as a figure of its own
NAMES = {  # the present names of renamed figures
    "await a graph of 4 copies of 64 B": (
        "await a graph of 4 copies of 64 B, against the await of one and the work of three"
    ),
    "99th percentile of a round trip beside RDMA writes": (
        "99th percentile of a comch round trip beside RDMA writes, above that without"
    ),
    "write 64 B, posted and polled": "rdma write 64 B, posted and polled, above libibverbs",
}


def rows(report: str, text: str) -> Iterator[dict[str, Any]]:
    """The rows of a report. Raises KeyError when a row lacks what a figure needs."""
    for row in _objects(text):
        if "compared" in row:
            yield row
        elif "microseconds" in row:
            yield from _of_comch(row)
        elif row["name"] != FLOOR_OF_AWAITS:
            yield _completed(report, row)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a text: an array of objects, one object, or one a line."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = [json.loads(line) for line in text.splitlines()]
    yield from found if isinstance(found, list) else [found]


def _completed(report: str, row: Mapping[str, Any]) -> dict[str, Any]:
    value, floor = row["value"], row["floor"]
    score = row.get("of_floor", row.get("added", row.get("score", value - floor)))
    ratio = abs(score - value / floor)
    is_difference = abs(score - (value - floor)) < min(ratio, abs(score - floor / value))
    return {
        "name": _name(report, row["name"]),
        "unit": row["unit"],
        "value": value,
        "floor": floor,
        "score": score,
        "compared": "difference" if is_difference else "ratio",
        "rule": row.get("rule", "<="),
        "target": None if "of_floor" in row else row.get("target"),
        "ok": row["ok"],
    }


def _name(report: str, name: str) -> str:
    if report in ("rdma_perftest.py", "rdma_pyverbs.py"):
        return f"{name}, against {report[5:-3]}"
    return NAMES.get(name, name)


def _of_comch(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    times = row["microseconds"]
    where = "one core" if "," not in row["cpus"] else f"{len(row['cpus'].split(','))} cores"
    for way, score in row["ratios"].items():
        yield {
            "name": f"comch round trip of 64 B, {way}, {where}, against a socket's",
            "unit": "us",
            "value": times[way],
            "floor": times["socket"],
            "score": score,
            "compared": "ratio",
            "rule": "<=",
            "target": None,
            "ok": True,
        }
