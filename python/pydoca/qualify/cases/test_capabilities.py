"""CAP: the device does what its capabilities say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pydoca
from pydoca.qualify.bench import capabilities
from pydoca.qualify.bench.waiting import DeviceFault

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

LEVELS = ("quick", "full")


@pytest.mark.pydoca_case("CAP-1", title="each limit can be reached, and not be exceeded", levels=LEVELS)
@pytest.mark.parametrize("limit", capabilities.LIMITS)
def test_limits_are_true(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, limit: str
) -> None:
    if why := capabilities.why_not(pydoca_device, limit, pydoca_run.level):
        pytest.skip(why)
    value = capabilities.value_of(pydoca_device, limit)
    capabilities.LIMITS[limit].check(pydoca_device, value)
    pydoca_measure.record(f"capability.{limit}.true", 1, unit="1", min=1)


@pytest.mark.pydoca_case("CAP-2", title="capabilities and properties are those of the card", levels=("smoke", *LEVELS))
def test_capabilities_are_those_of_the_card(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure
) -> None:
    """A simulated card is compared with its topology, another card with the table [expect] of the limits."""
    shown = pydoca_device.info.to_dict()["capabilities"]
    for name, value in _flat(shown):
        if f"capabilities.{name}" in pydoca_run.expected:
            pydoca_measure.expect(f"capabilities.{name}", value)
    if pydoca_device.info.backend == "sim":
        functions = pydoca.sim.topology()["function"]
        told = pydoca_device.info.to_dict()
        card = next(each for each in functions if (each["name"], each["side"]) == (told["name"], told["side"]))
        here, there = dict(_flat(shown)), dict(_flat(card["capabilities"]))
        for name in sorted((told.keys() & card.keys()) - {"capabilities"}):
            here[name], there[name] = told[name], card[name]
        wrong = {name for name in {**here, **there} if here.get(name) != there.get(name)}
        if wrong:
            listed = ", ".join(f"{name}: {here.get(name)} instead of {there.get(name)}" for name in sorted(wrong))
            raise DeviceFault(f"the device shows something else than its card has: {listed}")
        pydoca_measure.record("capabilities.true", len({**here, **there}), unit="1", min=1)


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        pairs += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(f"{prefix}{key}", value)]
    return pairs
