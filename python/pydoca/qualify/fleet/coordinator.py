"""One fleet's run, in an event loop: looks at the workers, gives them cards, takes what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca.qualify.figures import duration, plural
from pydoca.qualify.fleet import process, waits, worker
from pydoca.qualify.fleet.cards import Card
from pydoca.qualify.fleet.cluster import Cluster, FleetError
from pydoca.qualify.fleet.order import Order
from pydoca.qualify.fleet.queue import CardQueue, Entry, State, Worker
from pydoca.qualify.fleet.worker import Description, Outcome

TICK = 0.5  # seconds between two looks at the workers
GRACE = 60.0  # seconds for the runs to end after Ctrl-C
_RETURN = 10.0  # seconds for the directories of runs that were killed to come back
_DESCRIBE = 60.0  # seconds for a worker to tell its cards

Tester = Callable[[Card, Order], Outcome]
News = Callable[[str], None]


class Coordinator:
    """tested() and given_up() are called once for each card, in the loop's thread."""

    def __init__(
        self,
        cluster: Cluster,
        order: Order,
        *,
        tested: Callable[[Entry, Outcome], None],
        given_up: Callable[[Entry, str], None],
        tell: News,
        patience: float = 60.0,
        tester: Tester = worker.run_card,
    ) -> None:
        self.queue: CardQueue = CardQueue()
        self.refused: dict[str, str] = {}  # workers that are not used, and why
        self.findings: list[str] = []
        self.interrupted: bool = False
        self._cluster, self._client, self._order = cluster, cluster.client, order
        self._tested, self._given_up, self._tell = tested, given_up, tell
        self._patience, self._tester = patience, tester
        self._descriptions: dict[str, Description] = {}
        self._describing: dict[str, asyncio.Task[None]] = {}
        self._runs: dict[asyncio.Task[Outcome], tuple[Entry, Any]] = {}
        self._wake = asyncio.Event()
        self._begin = self._last_contact = time.monotonic()
        self._interrupted_at: float | None = None
        self._at_once = False

    async def run(self) -> None:
        """Runs until every card has its result. Raises FleetError without cards, and when the scheduler is lost."""
        try:
            if self._order.waits:
                waits.listen(self._client, self._tell_wait)
            while not await self._step():
                await self._pause()
        finally:
            await self._drop_all()

    async def _step(self) -> bool:
        """Whether all cards have their results."""
        await self._look_at_workers()
        self._take_finished()
        self._give_up_stranded()
        if self.interrupted:
            await self._wind_up()
        else:
            self._start_runs()
        return self._is_over()

    def interrupt(self) -> None:
        """Ctrl-C: no further card begins, and those under test end after their sample. Twice: they end at once."""
        self._at_once = self.interrupted
        self.interrupted = True
        if self._interrupted_at is None:
            self._interrupted_at = time.monotonic()
            self._tell("Ctrl-C: the cards under test end after their sample; Ctrl-C again ends them at once")
        self._wake.set()

    @property
    def known(self) -> int:
        return len(self.queue.entries)

    # -- workers ----------------------------------------------------------------------------------------------------

    async def _look_at_workers(self) -> None:
        slots = await self._slots()
        for address in [each for each in self._descriptions if each not in slots]:
            await self._lose_worker(address)
        for address in [each for each in self.refused if each not in slots]:
            del self.refused[address]
        for address in slots:
            if address not in self._descriptions and address not in self._describing and address not in self.refused:
                self._describing[address] = asyncio.create_task(self._describe(address, slots[address]))

    async def _slots(self) -> dict[str, int]:
        """The number of tasks that each worker runs at a time."""
        try:
            found = await asyncio.wait_for(self._client.nthreads(), self._patience)
            self._last_contact = time.monotonic()
            return {str(address): int(count) for address, count in found.items()}
        except (TimeoutError, OSError, RuntimeError, ValueError) as error:
            if time.monotonic() - self._last_contact < self._patience:
                return {address: self.queue.workers[address].slots for address in self._descriptions}
            raise FleetError(
                f"the scheduler at {self._cluster.where} was lost: {error or type(error).__name__}"
            ) from None

    async def _describe(self, address: str, slots: int) -> None:
        try:
            answers = await asyncio.wait_for(
                self._client.run(
                    worker.describe,
                    self._order.selectors,
                    self._order.backend,
                    self._cluster.is_local,
                    workers=[address],
                    on_error="return",
                ),
                _DESCRIBE,
            )
            self._join(address, slots, answers[address])
        except Exception as error:
            self._refuse(address, f"{type(error).__name__}: {error}")
        finally:
            del self._describing[address]
            self._wake.set()

    def _join(self, address: str, slots: int, answer: Description | BaseException) -> None:
        if isinstance(answer, BaseException):
            self._refuse(address, f"{type(answer).__name__}: {answer}")
            return
        if answer.version != pydoca.__version__:
            self._refuse(address, f"it has pydoca {answer.version}, not {pydoca.__version__}: install the same version")
            return
        self._descriptions[address] = answer
        name = f"{answer.host} {address.rpartition('/')[2]}"
        keys = frozenset(card.key for card in answer.cards)
        new = self.queue.join(Worker(address, name, max(1, slots), keys), answer.cards)
        self._tell(f"worker {name}: {plural(len(answer.cards), 'card')}, {len(new)} of them new, {slots} at a time")

    def _refuse(self, address: str, why: str) -> None:
        self.refused[address] = why
        text = f"the worker {address} is not used: {why}"
        self.findings.append(text)
        self._tell(text)

    async def _lose_worker(self, address: str) -> None:
        del self._descriptions[address]
        gone = self.queue.workers[address]
        runs = {entry.card.key: (task, future) for task, (entry, future) in self._runs.items()}
        lost = self.queue.leave(address)
        self._tell(f"worker {gone.name} was lost, with {plural(len(lost), 'card')} under test")
        for entry in lost:
            task, future = runs[entry.card.key]
            await self._forget(task, future)
            self._after_loss(entry)

    # -- cards ------------------------------------------------------------------------------------------------------

    def _start_runs(self) -> None:
        for entry, where in self.queue.assign():
            future = self._client.submit(
                self._tester,
                entry.card,
                self._order,
                key=f"pydoca-{entry.card.key}-{len(entry.losses)}-{time.monotonic_ns()}",
                workers=[where.address],
                allow_other_workers=False,
                resources={entry.card.resource: 1},
                retries=0,
                pure=False,
            )
            self._runs[asyncio.create_task(_result(future))] = entry, future

    def _take_finished(self) -> None:
        for task in [each for each in self._runs if each.done()]:
            entry, _ = self._runs.pop(task)
            error = None if task.cancelled() else task.exception()
            if task.cancelled() or type(error).__name__ == "KilledWorker":
                self.queue.lose(entry, f"its task was lost: {error or 'cancelled by the scheduler'}")
                self._after_loss(entry)
            elif error is not None:
                self.queue.give_up(entry)
                self._given_up(entry, f"the worker could not run it: {type(error).__name__}: {error}")
            else:
                self._take(entry, task.result())

    def _take(self, entry: Entry, outcome: Outcome) -> None:
        described = self._descriptions.get(entry.worker)
        if described is not None and described.process != outcome.process:
            entry.losses.append(f"the worker at {entry.worker} was lost, and another one at its address ran it again")
        self.queue.finish(entry)
        self._tested(entry, outcome)

    def _after_loss(self, entry: Entry) -> None:
        if entry.state is State.GIVEN_UP:
            self._given_up(entry, f"its run was lost {plural(len(entry.losses), 'time')}: {'; '.join(entry.losses)}")
        else:
            self._tell(f"{entry.card.title}: {entry.losses[-1]}; it is tested again")

    def _give_up_stranded(self) -> None:
        for entry in self.queue.stranded(time.monotonic(), self._patience):
            self.queue.give_up(entry)
            before = f"{'; '.join(entry.losses)}, and " if entry.losses else ""
            self._given_up(entry, f"{before}no worker had the card for {duration(self._patience)}")

    def _tell_wait(self, key: str, line: str) -> None:
        for entry, future in self._runs.values():
            if future.key == key:
                self._tell(f"{entry.card.host}: {line}")

    # -- the end ----------------------------------------------------------------------------------------------------

    async def _wind_up(self) -> None:
        """After Ctrl-C; again at each tick, for runs that were about to begin."""
        for entry in self.queue.in_state(State.WAITING):
            self.queue.give_up(entry)
            self._given_up(entry, "")
        assert self._interrupted_at is not None
        late = time.monotonic() - self._interrupted_at > GRACE
        act = process.kill_all if self._at_once or late else process.interrupt_all
        with contextlib.suppress(Exception):  # a worker that does not answer is lost soon
            await asyncio.wait_for(self._client.run(act, workers=list(self._descriptions), on_error="ignore"), 5.0)
        if self._runs and (late or self._at_once):
            await self._take_killed()

    async def _take_killed(self) -> None:
        """Their directories have the cases that had ended."""
        await asyncio.wait(self._runs, timeout=_RETURN)
        self._take_finished()
        for task, (entry, future) in list(self._runs.items()):
            await self._forget(task, future)
            self.queue.give_up(entry)
            self._given_up(entry, "")

    def _is_over(self) -> bool:
        if self._runs or (self._describing and not self.interrupted):
            return False
        if self.interrupted:
            return True
        if self.queue.entries:
            return self.queue.is_over()
        self._require_cards()
        return False

    def _require_cards(self) -> None:
        """Workers may still come, but not for ever."""
        if self._descriptions or self.refused or time.monotonic() - self._begin >= self._patience:
            wanted = " ".join(self._order.selectors)
            what = f"a device {wanted}" if wanted else "a device"
            why = "; ".join(self.refused.values())
            workers = (
                f"of {plural(len(self._descriptions), 'worker')}, none has {what}"
                if not why
                else f"no worker is used: {why}"
            )
            raise FleetError(f"{workers}; `pydoca devices` on a host lists its devices")

    async def _pause(self) -> None:
        ends = [*self._runs, asyncio.ensure_future(self._wake.wait())]
        await asyncio.wait(ends, timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
        ends[-1].cancel()
        self._wake.clear()

    async def _forget(self, task: asyncio.Task[Outcome], future: Any) -> None:
        self._runs.pop(task, None)
        task.cancel()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._client.cancel([future], force=True), 5.0)
        await asyncio.gather(task, return_exceptions=True)

    async def _drop_all(self) -> None:
        for description in self._describing.values():
            description.cancel()
        await asyncio.gather(*self._describing.values(), return_exceptions=True)
        for task, (_, future) in list(self._runs.items()):
            await self._forget(task, future)


async def _result(future: Any) -> Outcome:
    outcome: Outcome = await future
    return outcome
