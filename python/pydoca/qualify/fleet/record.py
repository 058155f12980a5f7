"""What a fleet came to: plain data, which its reports are made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydoca.qualify.fleet.cards import Card
from pydoca.qualify.fleet.outliers import Outlier, Spread
from pydoca.qualify.records import CaseRecord, RunRecord
from pydoca.qualify.verdicts import ExitCode, Verdict

NOT_TESTED = "FLEET"  # the id of the case that stands for a card that was not tested
_TITLE = "the card is tested"
_WORST = (
    ExitCode.FAILED, ExitCode.TESTER_ERROR, ExitCode.USAGE, ExitCode.INTERRUPTED, ExitCode.INCOMPLETE,
    ExitCode.PASSED, ExitCode.NOTHING_TESTED,
)  # fmt: skip


@dataclass
class CardRecord:
    card: Card
    run: RunRecord  # a card that was not tested has one case, which says why
    directory: str = ""  # a path below the fleet's; empty: none came back
    worker: str = ""
    losses: list[str] = field(default_factory=list)  # a text for each lost run, with its worker
    outliers: int = 0  # measurements that are unlike those of equal cards

    @property
    def was_tested(self) -> bool:
        return not any(case.id == NOT_TESTED for case in self.run.cases)


@dataclass
class WorkerRecord:
    name: str
    host: str
    cards: int  # that it has
    tested: int
    lost: bool


@dataclass
class FleetRecord:
    id: str
    scheduler: str  # where it is, or what kind of local cluster
    level: str
    seed: int
    options: dict[str, Any]
    versions: dict[str, str]
    begin: float
    end: float | None = None
    cards: list[CardRecord] = field(default_factory=list)
    workers: list[WorkerRecord] = field(default_factory=list)
    spreads: list[Spread] = field(default_factory=list)
    outliers: list[Outlier] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    verdict: Verdict = Verdict.INTERRUPTED  # changes when it has ended
    exit_code: int | None = None


def not_tested(
    card: Card, level: str, seed: int, reason: str, *, at: float, verdict: Verdict, log: str = ""
) -> RunRecord:
    """The run of a card of which nothing came back: ERROR, INTERRUPTED, or SKIPPED where no case was chosen."""
    why = f"not tested: {reason}"
    of_case = Verdict.SKIPPED if verdict is Verdict.INTERRUPTED else verdict
    case = CaseRecord(NOT_TESTED, _TITLE, "", 0, of_case, why, at, 0.0, log=log)
    return RunRecord(
        id=f"{card.title}, not tested",
        device=device_of(card),
        level=level,
        seed=seed,
        options={},
        versions={},
        begin=at,
        end=at,
        machine={"hostname": {"value": card.host}},
        cases=[case],
        planned=1,
        verdict=verdict,
        exit_code=int(ExitCode.of_verdict(verdict)),
    )


def device_of(card: Card) -> dict[str, Any]:
    """The card in the form of `RunRecord.device`."""
    return {
        "name": card.name,
        "pci_address": card.pci_address,
        "backend": card.backend,
        "side": card.side,
        "serial": card.key.rpartition("/")[2],
        "profile": card.profile,
        "part": card.part,
        "firmware": card.firmware,
    }


def exit_code_of(runs: Iterable[RunRecord], *, interrupted: bool) -> ExitCode:
    """Follows the rules of a run with several devices. A card in use, or refused otherwise, stays USAGE."""
    if interrupted:
        return ExitCode.INTERRUPTED
    codes = {ExitCode(run.exit_code) for run in runs if run.exit_code is not None}
    return next((code for code in _WORST if code in codes), ExitCode.NOTHING_TESTED)
