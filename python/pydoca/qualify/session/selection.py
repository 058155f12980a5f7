"""Which of the collected cases run, and why others do not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import pydoca
from pydoca.qualify.session.levels import estimate, seconds_of_a_case
from pydoca.qualify.session.marks import CaseMark, mark_of, needs_of, node_of
from pydoca.qualify.session.needs import UnknownNeed, why_not
from pydoca.qualify.session.settings import Settings
from pytest_pydoca.markers import is_case

KEY = pytest.StashKey["Selected"]()


@dataclass
class Selected:
    """A case of the plan."""

    mark: CaseMark
    node: str
    info: pydoca.DeviceInfo | None
    needs: tuple[str, ...]
    skip: str  # why it is skipped; empty: it runs
    seconds: float = 0.0  # for its measurements

    @property
    def estimate(self) -> float:
        return 0.0 if self.skip else estimate(self.seconds)


def select(item: pytest.Item, info: pydoca.DeviceInfo | None, settings: Settings) -> Selected:
    """Gives the item its skip, and its id for -k. Raises pytest.UsageError."""
    needs = needs_of(item)
    try:
        reasons = [why_not(need, info, settings) for need in needs]
    except UnknownNeed as error:
        raise pytest.UsageError(f"{item.nodeid}: pydoca_needs: {error}") from None
    skip = "; ".join(reason for reason in reasons if reason)
    selected = Selected(mark_of(item), node_of(item), info, needs, skip)
    item.stash[KEY] = selected
    item.extra_keyword_matches.add(selected.mark.id)
    if skip:
        item.add_marker(pytest.mark.skip(reason=skip))
    return selected


def is_of_level(item: pytest.Item, level: str) -> bool:
    levels = item.stash[KEY].mark.levels
    return not levels or level in levels


def cases_of(items: list[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if is_case(item)]


def share_time(items: list[pytest.Item], level: str, duration: float | None) -> None:
    """Divides the time of the level among the cases that run on one device, as devices may run side by side."""
    running = [item.stash[KEY] for item in items if not item.stash[KEY].skip]
    for info in {each.info for each in running}:
        own = [each for each in running if each.info == info]
        share = seconds_of_a_case(level, len(own), duration)
        for each in own:
            each.seconds = each.mark.seconds or share
