"""A fleet's run from its order to its reports."""

from __future__ import annotations

import asyncio
import contextlib
import platform
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TextIO

from pydoca.qualify.figures import plural, share
from pydoca.qualify.fleet import worker
from pydoca.qualify.fleet.cluster import LOCAL, Cluster, FleetError, connect
from pydoca.qualify.fleet.coordinator import Coordinator, Tester
from pydoca.qualify.fleet.directory import FleetDirectory
from pydoca.qualify.fleet.order import Order
from pydoca.qualify.fleet.outliers import LEAST, compare_cards, kinds_not_judged
from pydoca.qualify.fleet.progress import FleetProgress
from pydoca.qualify.fleet.queue import Entry
from pydoca.qualify.fleet.record import CardRecord, FleetRecord, WorkerRecord, exit_code_of
from pydoca.qualify.fleet.worker import Outcome
from pydoca.qualify.machine import models_in_force
from pydoca.qualify.verdicts import ExitCode, Verdict

_PACKAGES = ("pydoca", "dask", "distributed", "pytest", "numpy", "scipy")


@dataclass(frozen=True)
class Where:
    scheduler: str = LOCAL  # or its address
    workers: int = 2  # processes of a local cluster
    out: Path = Path("runs")
    patience: float = 60.0  # seconds for a worker to come that has a card


def conduct(order: Order, where: Where, *, stream: TextIO | None = None) -> tuple[FleetRecord, Path]:
    """Tests all cards, writes everything, and returns the record with its directory. Raises FleetError."""
    return asyncio.run(_conduct(order, where, stream or sys.stdout))


async def _conduct(order: Order, where: Where, stream: TextIO) -> tuple[FleetRecord, Path]:
    async with connect(where.scheduler, where.workers) as cluster:
        fleet = Fleet(order, cluster, where.out, stream, patience=where.patience)
        with _sigint(fleet.coordinator.interrupt):
            await fleet.run()
        return fleet.record, fleet.directory.path


class Fleet:
    """One run: the coordinator's news become records, lines and files."""

    def __init__(
        self,
        order: Order,
        cluster: Cluster,
        out: Path,
        stream: TextIO,
        *,
        patience: float = 60.0,
        tester: Tester = worker.run_card,
    ) -> None:
        self.record: FleetRecord = FleetRecord(
            id=f"{time.strftime('%Y-%m-%dT%H-%M-%S')}_fleet_{order.level}_{secrets.token_hex(2)}",
            scheduler=cluster.where,
            level=order.level,
            seed=order.seed,
            options=order.options,
            versions=_versions(),
            begin=time.time(),
        )
        self.directory: FleetDirectory = FleetDirectory(Path(out, self.record.id).absolute(), order)
        self._order, self._stream = order, stream
        self._cards: dict[str, CardRecord] = {}
        self._progress: FleetProgress | None = None
        self.coordinator: Coordinator = Coordinator(
            cluster,
            order,
            tested=self._tested,
            given_up=self._given_up,
            tell=self._tell,
            patience=patience,
            tester=tester,
        )

    async def run(self) -> None:
        self.directory.begin(self.record)
        self._progress = FleetProgress(self._stream, f"fleet, level {self._order.level}")
        try:
            await self.coordinator.run()
        except FleetError as error:
            if not self.coordinator.known:
                self._discard()
                raise
            self._scheduler_lost(str(error))
        finally:
            self._progress.close()
        self._end()

    def _tested(self, entry: Entry, outcome: Outcome) -> None:
        interrupted = self.coordinator.interrupted
        self._add(entry, self.directory.card(entry.card, outcome, interrupted=interrupted))

    def _given_up(self, entry: Entry, why: str) -> None:
        verdict = Verdict.ERROR if why else Verdict.INTERRUPTED
        run = self.directory.missing(entry.card, why or "the run was interrupted before", verdict=verdict)
        self._add(entry, CardRecord(entry.card, run))

    def _add(self, entry: Entry, card: CardRecord) -> None:
        known = self.coordinator.queue.workers.get(entry.worker)
        card.worker, card.losses = known.name if known else "", list(entry.losses)
        self._cards[entry.card.key] = card
        if self._progress is not None:
            self._progress.card(card, self.coordinator.known)

    def _tell(self, text: str) -> None:
        if self._progress is not None:
            self._progress.tell(text, self.coordinator.known)

    def _scheduler_lost(self, why: str) -> None:
        self.coordinator.findings.append(why)
        for entry in self.coordinator.queue.entries.values():
            if entry.card.key not in self._cards:
                self._given_up(entry, why)

    def _discard(self) -> None:
        (self.directory.path / "fleet.json").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.directory.path.rmdir()

    def _end(self) -> None:
        """The verdict, by the rules of a run with several devices; then the reports."""
        record, queue = self.record, self.coordinator.queue
        record.cards = [self._cards[key] for key in queue.entries if key in self._cards]
        record.workers = [
            WorkerRecord(each.name, each.name.partition(" ")[0], len(each.cards), each.tested, each.lost)
            for each in (*queue.gone, *queue.workers.values())
        ]
        record.spreads, record.outliers = compare_cards((each.card, each.run) for each in record.cards)
        for each in record.cards:
            each.outliers = sum(outlier.card == each.card.key for outlier in record.outliers)
        record.findings = [*self.coordinator.findings, *_beside_verdicts(record)]
        interrupted = self.coordinator.interrupted
        verdict = Verdict.of_run(each.run.verdict for each in record.cards)
        record.verdict = Verdict.INTERRUPTED if interrupted else verdict
        code = exit_code_of((each.run for each in record.cards), interrupted=interrupted)
        record.exit_code, record.end = int(code), time.time()
        self.directory.end(record)


def _beside_verdicts(fleet: FleetRecord) -> Iterator[str]:
    """What the verdicts of the cards do not say."""
    for each in fleet.workers:
        if each.lost:
            yield f"the worker {each.name} was lost; it had tested {plural(each.tested, 'card')}"
    models = Counter(each for card in fleet.cards for each in models_in_force(card.run.machine))
    for text, count in models.items():
        yield f"on {share(count, len(fleet.cards), 'card')} {text}"
    for card in fleet.cards:
        if card.losses and card.was_tested:
            yield f"{card.card.title}: {'; '.join(card.losses)}; it was tested again, by {card.worker}"
        elif card.run.exit_code == ExitCode.NOTHING_TESTED:
            yield f"{card.card.title}: nothing was tested, which is not a pass"
    for kind, count in kinds_not_judged(fleet.spreads).items():
        yield f"outliers are told from {LEAST} equal cards on; measured of {kind}: {plural(count, 'card')}"


@contextlib.contextmanager
def _sigint(act: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls act, in the main thread only; in another one the caller handles it."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    try:
        loop.add_signal_handler(signal.SIGINT, act)
    except (ValueError, RuntimeError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
