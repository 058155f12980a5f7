"""The fixture `pydoca_faults`: fault plans for a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pydoca.faults import FaultPlan, FaultRule


class FaultInjection:
    """Puts fault plans in force, one after the other; the last one until the test ends."""

    def __init__(self) -> None:
        self.plan: FaultPlan | None = None

    def __call__(self, *rules: FaultPlan | FaultRule | Mapping[str, Any], seed: int = 0) -> FaultPlan:
        """Removes the plan before, and puts this plan, or the one of these rules, in force."""
        from pydoca.faults import FaultPlan

        self.remove()
        given = [rule for rule in rules if isinstance(rule, FaultPlan)]
        plan = given[0] if given and len(rules) == 1 else FaultPlan(*_without_plans(rules), seed=seed)
        plan.install()
        self.plan = plan
        return plan

    def remove(self) -> None:
        """Removes the plan; a FaultPlanWarning tells of rules that have met nothing."""
        if (plan := self.plan) is not None:
            self.plan = None
            plan.remove()


def _without_plans(rules: tuple[Any, ...]) -> list[Any]:
    from pydoca.faults import FaultPlan

    if any(isinstance(rule, FaultPlan) for rule in rules):
        raise ValueError("pydoca_faults: give one plan, or rules; one plan can be in force at a time")
    return list(rules)


@pytest.fixture
def pydoca_faults() -> Iterator[FaultInjection]:
    """Call it with rules, or a plan, before the test opens devices: ``pydoca_faults(FaultRule("fail", nth=2))``."""
    injection = FaultInjection()
    yield injection
    injection.remove()
