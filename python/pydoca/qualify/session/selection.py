"""The choice among the collected cases: those that run, and why others do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest

import pydoca
from pydoca._text.nearest import did_you_mean
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
    seconds: float = 0.0  # the time of its measurements

    @property
    def estimate(self) -> float:
        return 0.0 if self.skip else estimate(self.seconds)


def select(
    item: pytest.Item, info: pydoca.DeviceInfo | None, settings: Settings, spelled: Callable[[str], str]
) -> Selected:
    """Gives the item its skip, and its id for -k. Raises pytest.UsageError."""
    needs = needs_of(item)
    try:
        reasons = [why_not(need, info, settings) for need in needs]
    except UnknownNeed as error:
        raise pytest.UsageError(f"{item.nodeid}: pydoca_needs: {error}") from None
    skip = spelled("; ".join(reason for reason in reasons if reason))
    selected = Selected(mark_of(item), node_of(item), info, needs, skip)
    item.stash[KEY] = selected
    item.extra_keyword_matches.add(selected.mark.id)
    if skip:
        item.add_marker(pytest.mark.skip(reason=skip))
    return selected


def is_of_level(item: pytest.Item, level: str) -> bool:
    levels = item.stash[KEY].mark.levels
    return not levels or level in levels


def not_selected(cases: list[pytest.Item], level: str, patterns: tuple[str, ...]) -> set[pytest.Item]:
    """The cases without one of these ids. Raises pytest.UsageError for an id that no case of the level has."""
    chosen: set[pytest.Item] = set()
    for pattern in patterns:
        found = [item for item in cases if _has_id(item, pattern)]
        if not found:
            known = sorted({item.stash[KEY].mark.id for item in cases})
            raise pytest.UsageError(
                f"--pydoca-select: no case has the id {pattern!r}{did_you_mean(pattern, known)} "
                "(a pattern has a *; --pydoca-plan lists the cases)"
            )
        if not any(is_of_level(item, level) for item in found):
            levels = dict.fromkeys(each for item in found for each in item.stash[KEY].mark.levels)
            raise pytest.UsageError(
                f"--pydoca-select: {pattern!r} is not a case of level {level}: choose "
                f"--pydoca-level={' or '.join(levels)}"
            )
        chosen.update(found)
    return {item for item in cases if item not in chosen}


def _has_id(item: pytest.Item, pattern: str) -> bool:
    return fnmatchcase(item.stash[KEY].mark.id.lower(), pattern.lower())


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
