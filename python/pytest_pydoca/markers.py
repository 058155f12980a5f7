"""The markers, and which tests are cases of a qualification."""

from __future__ import annotations

import pytest

MARKERS = (
    "pydoca_case(id, title='', levels=(), seconds=None): a case of a qualification: its name in reports, the levels "
    "that have it (all, unless told), and the seconds that it takes unless the level decides",
    "pydoca_needs(*needs): what the device or the machine must have, such as 'dma', 'pair', 'hardware', 'sim', "
    "'verbs', 'root', 'peer', 'baseline' or 'program:ib_write_bw'; else the case is skipped, and the reason told",
)
FIXTURES = frozenset({"pydoca_device", "pydoca_engine", "pydoca_pair", "pydoca_measure", "pydoca_run"})


def add_markers(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def is_case(item: pytest.Item) -> bool:
    """Whether the item has one of the markers, or uses one of the fixtures."""
    if any(item.get_closest_marker(name) for name in ("pydoca_case", "pydoca_needs")):
        return True
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
