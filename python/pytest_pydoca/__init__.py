"""pydoca's fixtures for pytest. A package of its own: pytest imports it at every start, and pydoca only where it is used."""

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
        plan = rules[0] if len(rules) == 1 and isinstance(rules[0], FaultPlan) else FaultPlan(*rules, seed=seed)  # type: ignore[arg-type]
        plan.install()
        self.plan = plan
        return plan

    def remove(self) -> None:
        """Removes the plan; a FaultPlanWarning tells of rules that have met nothing."""
        if (plan := self.plan) is not None:
            self.plan = None
            plan.remove()


@pytest.fixture
def pydoca_faults() -> Iterator[FaultInjection]:
    """Call it with rules, or a plan, before the test opens devices: ``pydoca_faults(FaultRule("fail", nth=2))``."""
    injection = FaultInjection()
    yield injection
    injection.remove()
