"""Which card is tested where: the order in which workers get cards, and what a lost worker means for its cards.

Dask's resources and priorities cannot replace it: they count per worker, so two workers of a host would test two
functions of one card at the same time. And Dask gives a worker its cards in advance; when that worker dies, it runs
cards that have ended again, and counts the loss against cards that have not begun, whatever `retries` says.

The queue is independent of Dask and of time: the coordinator calls it for each event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from pydoca.qualify.fleet.cards import Card

MOST_LOSSES = 2  # runs of a card that may be lost with their worker


class State(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    GIVEN_UP = "given up"


@dataclass
class Worker:
    address: str
    name: str
    slots: int  # cards that it tests at a time
    cards: frozenset[str]  # keys
    running: set[str] = field(default_factory=set)
    tested: int = 0
    lost: bool = False


@dataclass
class Entry:
    card: Card
    state: State = State.WAITING
    worker: str = ""  # the address of the one that runs it, or ran it last
    losses: list[str] = field(default_factory=list)  # one sentence for each run that was lost
    stranded_since: float | None = None  # no worker has the card


class CardQueue:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.workers: dict[str, Worker] = {}
        self.gone: list[Worker] = []  # whose address another process has now
        self._busy: set[str] = set()  # serials: the functions of one card are tested one after the other

    def join(self, worker: Worker, cards: Iterable[Card]) -> list[Card]:
        """Returns the cards that were not known."""
        if worker.address in self.workers:
            self.gone.append(self.workers[worker.address])
        self.workers[worker.address] = worker
        new = [card for card in cards if card.key not in self.entries]
        self.entries.update((card.key, Entry(card)) for card in new)
        return new

    def leave(self, address: str) -> list[Entry]:
        """Returns the cards whose runs are lost with the worker; they wait for another one, or are given up."""
        worker = self.workers[address]
        worker.lost = True
        lost = [self.entries[key] for key in sorted(worker.running)]
        for entry in lost:
            self.lose(entry, f"the worker {worker.name} was lost")
        return lost

    def lose(self, entry: Entry, why: str) -> None:
        self._release(entry)
        entry.losses.append(why)
        entry.state = State.GIVEN_UP if len(entry.losses) >= MOST_LOSSES else State.WAITING

    def finish(self, entry: Entry) -> None:
        self._release(entry)
        entry.state = State.DONE
        if entry.worker in self.workers:
            self.workers[entry.worker].tested += 1

    def give_up(self, entry: Entry) -> None:
        self._release(entry)
        entry.state = State.GIVEN_UP

    def assign(self) -> Iterator[tuple[Entry, Worker]]:
        """Cards for all workers that have a free slot; each is running from here on."""
        waiting = [entry for entry in self.entries.values() if entry.state is State.WAITING]
        free = [worker for worker in self.workers.values() if _free(worker)]
        for entry in waiting:
            if not free:
                return
            if entry.card.serial in self._busy:
                continue
            able = [worker for worker in free if entry.card.key in worker.cards]
            if able:
                worker = max(able, key=_free)
                self._start(entry, worker)
                yield entry, worker
                free = [each for each in free if _free(each)]

    def stranded(self, now: float, patience: float) -> list[Entry]:
        """The waiting cards that no worker has had for so many seconds."""
        served = {key for worker in self.workers.values() if not worker.lost for key in worker.cards}
        late = []
        for entry in self.entries.values():
            if entry.state is not State.WAITING or entry.card.key in served:
                entry.stranded_since = None
            elif entry.stranded_since is None:
                entry.stranded_since = now
            elif now - entry.stranded_since >= patience:
                late.append(entry)
        return late

    def is_over(self) -> bool:
        return all(entry.state in (State.DONE, State.GIVEN_UP) for entry in self.entries.values())

    def in_state(self, state: State) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.state is state]

    def _start(self, entry: Entry, worker: Worker) -> None:
        entry.state, entry.worker = State.RUNNING, worker.address
        worker.running.add(entry.card.key)
        self._busy.add(entry.card.serial)

    def _release(self, entry: Entry) -> None:
        if entry.state is State.RUNNING:
            self._busy.discard(entry.card.serial)
            if entry.worker in self.workers:
                self.workers[entry.worker].running.discard(entry.card.key)


def _free(worker: Worker) -> int:
    return 0 if worker.lost else worker.slots - len(worker.running)
