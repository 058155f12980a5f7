"""A device under test, as one run knows it before its first case."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pydoca
from pydoca.qualify.limits import Limits
from pydoca.qualify.limits.facts import facts_of
from pydoca.qualify.limits.file import LimitsError
from pydoca.qualify.session.choice import ChoiceError, choose, devices, label
from pydoca.qualify.session.lock import DeviceLock, InUse
from pydoca.qualify.session.pair.other_end import check_other_end
from pydoca.qualify.session.settings import Settings

if TYPE_CHECKING:
    from pydoca.qualify.records import RunRecord


@dataclass
class Target:
    info: pydoca.DeviceInfo | None  # None: cases that use none
    limits: Limits
    lock: DeviceLock | None
    directory: Path | None = None  # None: nothing is written
    finished: set[tuple[str, int]] = field(default_factory=set)  # cases of the run that is resumed, and their repeats
    before: RunRecord | None = None  # the run that is resumed

    @property
    def label(self) -> str:
        return label(self.info) if self.info else ""

    def to_dict(self) -> dict[str, Any]:
        """The object for `RunRecord.device`."""
        info = self.info
        if info is None:
            return {}
        facts = facts_of(info)
        return {
            "name": info.name,
            "pci_address": info.pci_addr,
            "backend": info.backend,
            "side": info.side.name.lower(),
            "serial": info.vuid,
            "profile": info.profile,
            "vendor": facts["vendor"],
            "part": facts["part"],
            "interface": info.iface_name,
            "ibdev": info.ibdev_name,
            "firmware": facts["firmware"],
        }


def targets_of(settings: Settings) -> list[Target]:
    """The targets. Raises pytest.UsageError for names, limits and devices that do not fit."""
    try:
        if settings.resume:
            return [_resumed(settings)]
        infos = devices(settings.backend)
        check_other_end(None, settings)
        chosen = [choose(selector, infos) for selector in settings.devices]
        if twice := [info for index, info in enumerate(chosen) if info in chosen[:index]]:
            raise ChoiceError(f"the device {label(twice[0])} is chosen twice")
        return [new_target(info, settings) for info in chosen] or [new_target(None, settings)]
    except (ChoiceError, LimitsError, InUse) as error:
        raise pytest.UsageError(str(error)) from None


def new_target(info: pydoca.DeviceInfo | None, settings: Settings) -> Target:
    if info is not None:
        check_other_end(info, settings)
    facts = facts_of(info) if info else {}
    limits = Limits.load(settings.limits, settings.baseline, facts, force=settings.limits_force)
    return Target(info, limits, DeviceLock(info) if info else None)


def _resumed(settings: Settings) -> Target:
    from pydoca.qualify.results import RunDirectory

    assert settings.resume is not None
    try:
        run = RunDirectory.load(settings.resume)
    except (ValueError, OSError) as error:
        raise ChoiceError(f"--pydoca-resume: {error}") from None
    target = new_target(_same_device(run, settings), with_options_of(run, settings))
    target.directory, target.before = Path(settings.resume), run
    run.cases[:] = [case for case in run.cases if not is_interrupted(case)]
    target.finished = {(case.node, case.repeat) for case in run.cases}
    return target


def is_interrupted(case: Any) -> bool:
    from pydoca.qualify.session.outcome import INTERRUPTED

    return bool(case.reason == INTERRUPTED)


def _same_device(run: RunRecord, settings: Settings) -> pydoca.DeviceInfo | None:
    """The resumed run's device, found by its serial number: addresses and names change when a machine starts again."""
    if not run.device:
        return None
    infos = devices(settings.backend)
    serial = run.device.get("serial", "")
    found = [info for info in infos if info.vuid == serial] if serial else []
    if not found:
        raise ChoiceError(
            f"--pydoca-resume: the run was on {run.device.get('name')} with the serial number {serial!r}, and this "
            "machine has no such device"
        )
    for selector in settings.devices:
        if choose(selector, infos) != found[0]:
            raise ChoiceError(f"--pydoca-resume: the run was on {label(found[0])}, not on {selector!r}")
    return found[0]


def with_options_of(run: RunRecord, settings: Settings) -> Settings:
    """The settings, with those of the resumed run where the command line has none; a contradiction is refused."""
    given: dict[str, Any] = {**run.options, "level": run.level, "seed": run.seed}
    changed: dict[str, Any] = {}
    defaults = Settings()
    for name in ("level", "seed", "select", "limits", "limits_force", "baseline", "repeat", "duration", "rep", "peer"):
        before = given.get(name, getattr(defaults, name))
        before = tuple(before) if isinstance(before, list) else before
        now = getattr(settings, name)
        if now == getattr(defaults, name):
            changed[name] = before
        elif now != before:
            option = f"--pydoca-{name.replace('_', '-')}"
            raise ChoiceError(f"--pydoca-resume: the run has {option} {before!r}, not {now!r}; leave the option out")
    return dataclasses.replace(settings, **changed)
