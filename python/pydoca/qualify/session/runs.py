"""The run of each device: its record, its directory, its verdict."""

from __future__ import annotations

import platform
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pydoca.qualify.figures import plural
from pydoca.qualify.findings import Finding, findings_of
from pydoca.qualify.machine import inventory, models_in_force
from pydoca.qualify.names import shared_names
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.session.levels import overrun
from pydoca.qualify.session.settings import Settings
from pydoca.qualify.session.target import Target
from pydoca.qualify.verdicts import ExitCode, Verdict

if TYPE_CHECKING:
    from pydoca.qualify.results import RunDirectory

_PACKAGES = ("pydoca", "pytest", "numpy", "scipy", "pytest-xdist")
DEFAULT_OUT = "runs"
_SHOWN = 10  # ids in a sentence
_JUDGED = (Verdict.PASS, Verdict.MARGINAL, Verdict.UNJUDGED)


class Run:
    """One device's run, from its first case to its verdict."""

    def __init__(
        self, target: Target, settings: Settings, level: str, seed: int, spelled: Callable[[str], str]
    ) -> None:
        """spelled: replaces the options in a text by those of the program that started the run."""
        self.target = target
        self._settings, self._spelled = settings, spelled
        self.record: RunRecord = target.before or RunRecord(
            id=_new_id(target, level),
            device=target.to_dict(),
            level=level,
            seed=seed,
            options=settings.to_dict(),
            versions=_versions(),
            begin=time.time(),
        )
        if target.directory is None and settings.is_recorded:
            target.directory = Path(settings.out or DEFAULT_OUT, self.record.id).absolute()
        self._directory = _open(target.directory) if target.directory else None
        self._begin = 0.0
        self.has_begun: bool = False

    def begin(self) -> None:
        self._begin = time.monotonic()  # the device may have been waited for
        if self.target.before is None:
            self.record.begin = time.time()
        self.record.end = self.record.exit_code = None
        self.record.verdict = Verdict.INTERRUPTED
        if self._directory is not None:
            self.record.machine = self.record.machine or inventory(self.record.device)
            self.record.findings = models_in_force(self.record.machine)
            self._directory.begin(self.record)
        self.has_begun = True

    def add(self, case: CaseRecord) -> CaseRecord:
        """Returns the case as it is recorded."""
        case = replace(case, reason=self._spelled(case.reason))
        if self._directory is not None:
            with self._kept():
                self._directory.case(self.record, case)
        else:
            self.record.cases.append(case)
        return case

    def end(self, *, interrupted: bool = False, tester_failed: bool = False) -> None:
        """Sets the verdict and the exit code, and writes all reports."""
        record = self.record
        verdicts = [case.verdict for case in record.cases] + ([Verdict.ERROR] if tester_failed else [])
        record.verdict = Verdict.INTERRUPTED if interrupted else Verdict.of_run(verdicts)
        strict, unjudged = self._strictness(), self._unjudged()
        if strict:
            record.verdict = Verdict.FAIL
        elif unjudged and record.verdict in _JUDGED:
            record.verdict = Verdict.INCOMPLETE
        record.exit_code = int(ExitCode.of_verdict(record.verdict))
        record.findings = [self._spelled(text) for text in strict + unjudged + self._findings()]
        record.end = time.time()
        if self._directory is not None:
            with self._kept():
                self._directory.end(record)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Ends a run that cannot be written, on a full disk for example: the tester's failure, not the device's."""
        try:
            yield
        except OSError as error:
            place = error.filename or self.target.directory
            text = f"pydoca: {place}: {error.strerror}: nothing more of this run can be kept"
            pytest.exit(text, returncode=int(ExitCode.TESTER_ERROR))

    @property
    def is_complete(self) -> bool:
        """Whether each planned case has a record."""
        return len(self.record.cases) >= self.record.planned

    def findings(self) -> list[Finding]:
        return findings_of(self.record)

    def _measured(self) -> list[str]:
        return [each.name for case in self.record.cases for each in case.measurements]

    def _unjudged(self) -> list[str]:
        """The limits and expectations that keep a run from PASS: they have judged nothing, and were not excused."""
        found = self.target.limits.unjudged(self._measured(), self._settings.allow_unmet)
        return [f"{text} (--pydoca-allow-unmet={name} allows that)" for name, text in found.items()]

    def _findings(self) -> list[str]:
        late = overrun(self.record.level, time.monotonic() - self._begin) if self._settings.repeat == 1 else ""
        late = "" if self._settings.duration else late
        told = models_in_force(self.record.machine) + shared_names(self.record.cases)
        return told + self.target.limits.findings(self._measured()) + ([late] if late else [])

    def _strictness(self) -> list[str]:
        """The reasons why a run fails that would have passed without the strict switches."""
        if ExitCode.of_verdict(self.record.verdict) not in (ExitCode.PASSED, ExitCode.NOTHING_TESTED):
            return []
        switches = (
            ("--pydoca-strict-skips", self._settings.strict_skips, Verdict.SKIPPED, "skipped"),
            ("--pydoca-strict-marginal", self._settings.strict_marginal, Verdict.MARGINAL, "marginal"),
        )
        return [
            f"{option} fails the run: {_listed(ids)} {'are' if len(ids) > 1 else 'is'} {what}"
            for option, is_on, verdict, what in switches
            if is_on and (ids := [case.id for case in self.record.cases if case.verdict is verdict])
        ]


def _listed(ids: list[str]) -> str:
    names = list(dict.fromkeys(ids))
    more = f" and {plural(len(names) - _SHOWN, 'other')}" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _open(path: Path) -> RunDirectory:
    from pydoca.qualify.results import RunDirectory

    return RunDirectory(path)


def _new_id(target: Target, level: str) -> str:
    """The id "2026-11-20T10-41-07_03-00.0_full_7f3a": ids sort by time, and every file system takes them."""
    info = target.info
    address = (info.pci_addr.removeprefix("0000:") or info.name) if info else "no-device"
    device = re.sub(r"[^A-Za-z0-9.]+", "-", address)
    return f"{time.strftime('%Y-%m-%dT%H-%M-%S')}_{device}_{level}_{secrets.token_hex(2)}"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
