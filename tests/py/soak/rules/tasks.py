"""Tasks of DMA and SHA: whatever happens to them, they end, and a task that succeeded has the right bytes."""

import asyncio
import hashlib
from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import ContextState, Status, TaskState
from soak.rules.engines import ENDED, Engines
from soak.rules.memory import SIZES, Source
from soak.world import FEW, NUMBER, WAIT, is_of_callbacks, step

REFUSED = {Status.NO_MEMORY, Status.BAD_STATE, Status.AGAIN, Status.INVALID_VALUE, Status.NOT_CONNECTED}
HASHES = {"sha1": hashlib.sha1, "sha256": hashlib.sha256, "sha512": hashlib.sha512}


class Work:
    """A task, its destination, and the bytes that its success must leave there."""

    def __init__(self, task: Any, dst: Any, expected: bytes, source: Source) -> None:
        self.task = task
        self.dst = dst
        self.expected = expected
        self.source = source
        self.is_good = True  # nothing in its operands can fail
        self.is_of_thread = False  # another thread submitted it: the submission itself may have failed

    def check(self, is_removed: bool) -> None:
        if not self.task.done or self.task.state is TaskState.FREE:
            return
        status = self.task.status
        if status is Status.SUCCESS:
            assert bytes(self.dst) == self.expected, "the destination has other bytes than the source"
        elif self.is_of_thread and status is Status.BAD_STATE:
            pass
        elif status is not Status.SHUTDOWN and self.is_good and self.source.is_readable:
            assert is_removed, f"{self.task!r} failed with {status.name} although nothing was wrong"


class Tasks(Engines):
    def set_up(self) -> None:
        super().set_up()
        self.work_inventory = pydoca.BufInventory(256)
        self.runner: asyncio.Runner | None = None
        self.loop_errors: list[BaseException] = []
        self.makers |= {
            "dma": self.add_dma,
            "sha": self.add_sha,
            "work": lambda n: self.keep_work(self.make_copy(n, n, n)),
        }

    # ---- contexts

    @step(engine=NUMBER, device=NUMBER, tasks=st.integers(1, 40), callback=NUMBER)
    def make_dma(self, engine: int, device: int, tasks: int, callback: int) -> None:
        self.add_dma(engine, device, tasks, callback)

    def add_dma(self, engine: int, device: int = 0, tasks: int = 16, callback: int = 0) -> None:
        options = {"on_completion": self.callback(callback), "on_error": self.callback(callback + 1)}
        pe = self.engine(engine)
        dma = self.attempt((), pydoca.Dma, pe, self.device(device), num_tasks=tasks, **options)
        if dma is not None:
            dma.ordered_completions = callback % 2 == 0
            dma.on_state_changed = self.callback(callback + 2)
            self.keep("dma", self.add_context(dma))

    @step(engine=NUMBER, device=NUMBER, tasks=st.integers(1, 20), callback=NUMBER)
    def make_sha(self, engine: int, device: int, tasks: int, callback: int) -> None:
        self.add_sha(engine, device, tasks, callback)

    def add_sha(self, engine: int, device: int = 0, tasks: int = 8, callback: int = 0) -> None:
        options = {"on_completion": self.callback(callback), "on_error": self.callback(callback + 1)}
        make = {"num_tasks": tasks, **options}
        sha = self.attempt({Status.NOT_SUPPORTED}, pydoca.Sha, self.engine(engine), self.device(device), **make)
        self.keep("sha", self.add_context(sha))

    @step(number=NUMBER, tasks=st.integers(0, 50))
    def configure(self, number: int, tasks: int) -> None:
        if dma := self.pick("dma", number):
            idle = dma.state is ContextState.IDLE and not dma.closed
            expected = {Status.INVALID_VALUE} if tasks == 0 else set()
            self.attempt(
                expected if idle else {Status.BAD_STATE, Status.INVALID_VALUE}, dma.set_memcpy_conf, num_tasks=tasks
            )

    # ---- submission

    def destination(self, device: Any, size: int, kind: int) -> Any:
        """A buf of new memory that only the task keeps."""
        memory = pydoca.alloc(size) if kind % 2 else bytearray(size)
        mmap = self.attempt((), device.mmap, memory)
        return None if mmap is None else self.attempt({Status.NO_MEMORY}, self.work_inventory.get_by_addr, mmap)

    def source_buf(self, source: Source, pieces: int) -> Any:
        """The source as data, in one buf or in a list."""
        inventory, mmap, size = self.work_inventory, source.mmap, len(source.content)
        expected = {Status.NO_MEMORY, Status.BAD_STATE}
        cut = size // 3 if pieces % 3 == 0 else 0
        first = self.attempt(expected, inventory.get_by_data, mmap, None, cut or None)
        if first is not None and cut:
            rest = self.attempt(expected, inventory.get_by_data, mmap, mmap.addr + cut)
            if rest is None:
                return None
            first.chain(rest)
        return first

    def sources_of(self, device: Any) -> list[Source]:
        """The sources of the device; there is at least one unless the device was removed."""
        sources = [source for source in self.made["source"] if source.device == device]
        if not sources and (source := self.add_source(self.random.choice(SIZES), self.random.randrange(3), device)):
            sources.append(source)
        return sources

    def keep_work(self, work: Work | None) -> None:
        if work is not None and work.task is not None:
            self.made["work"].append(work)
            if len(self.made["work"]) > 4 * FEW:
                del self.made["work"][0]

    def make_copy(self, number: int, source: int, kind: int, submit: bool = True) -> Work | None:
        dma = self.pick("dma", number)
        if dma is None or dma.closed:
            return None
        sources = self.sources_of(dma.device)
        if not sources:
            return None
        chosen = sources[source % len(sources)]
        src = self.source_buf(chosen, kind)
        dst = self.destination(dma.device, len(chosen.content), kind)
        if src is None or dst is None:
            return None
        task = self.attempt(REFUSED, dma.memcpy, src, dst, submit=submit)
        return Work(task, dst, chosen.content, chosen)

    @step(number=NUMBER, source=NUMBER, kind=NUMBER, count=st.integers(1, 8))
    def copy(self, number: int, source: int, kind: int, count: int) -> None:
        for place in range(count):
            self.keep_work(self.make_copy(number, source + place, kind + place))

    @step(number=NUMBER, source=NUMBER, algorithm=st.sampled_from(sorted(HASHES)))
    def hash(self, number: int, source: int, algorithm: str) -> None:
        sha = self.pick("sha", number)
        if sha is None or sha.closed:
            return
        sources = self.sources_of(sha.device)
        if not sources:
            return
        chosen = sources[source % len(sources)]
        src, dst = self.source_buf(chosen, 1), self.destination(sha.device, 64, source)
        if src is not None and dst is not None:
            task = self.attempt(REFUSED, sha.hash, src, dst, algorithm)
            self.keep_work(Work(task, dst, HASHES[algorithm](chosen.content).digest(), chosen))

    @step(number=NUMBER, source=NUMBER, kind=NUMBER)
    def submit_unchecked(self, number: int, source: int, kind: int) -> None:
        """Gives bad operands, which only the device notices: the task fails, and its context stops."""
        work = self.make_copy(number, source, 1, submit=False)
        if work is None or work.task is None:
            return
        work.is_good = False
        if kind % 2:
            work.task.dst = None
        else:
            self.attempt(STATE_OF_BUF, work.dst.set_data, work.dst.head + work.dst.len, 0)
        self.attempt(REFUSED, work.task.submit)
        self.keep_work(work)

    @step(number=NUMBER, flush=st.booleans())
    def submit_again(self, number: int, flush: bool) -> None:
        work = self.pick("work", number)
        if work is None or work.task.state is not TaskState.IDLE:
            return
        if work.is_good:
            work.dst.reset_data_len()
        flags = pydoca.SubmitFlags.FLUSH if flush else pydoca.SubmitFlags.NONE
        self.attempt(REFUSED, work.task.try_submit, flags)
        if work.task.state is not TaskState.SUBMITTED:
            self.forget("work", work)  # its status is that of the run before, whose bytes are gone

    @step(number=NUMBER)
    def flush(self, number: int) -> None:
        if (dma := self.pick("dma", number)) and not dma.closed:
            self.attempt({Status.BAD_STATE}, dma.flush_tasks)

    # ---- verbs of tasks

    @step(number=NUMBER)
    def check_work(self, number: int) -> None:
        if work := self.pick("work", number):
            work.check(self.is_removed)

    @step(number=NUMBER)
    def change_in_flight(self, number: int) -> None:
        work = self.pick("work", number)
        if work is not None and work.is_good and work.task.state is TaskState.SUBMITTED:
            self.refused((pydoca.InUseError,), setattr, work.task, "dst", None)
            self.refused((pydoca.InUseError, pydoca.BadStateError), work.task.submit)
            self.refused((pydoca.DocaError,), work.dst.reset_data_len)

    @step(number=NUMBER)
    def wait_for_task(self, number: int) -> None:
        work = self.pick("work", number)
        if work is None:
            return
        if work.task.state is TaskState.SUBMITTED and work.task.context.state is ContextState.RUNNING:
            work.task.context.flush_tasks()
        self.attempt(ENDED | {Status.TIME_OUT}, work.task.wait, 0.05)
        work.check(self.is_removed)

    @step(number=NUMBER)
    def free_task(self, number: int) -> None:
        if work := self.pick("work", number):
            self.attempt({Status.IN_USE, Status.BAD_STATE}, work.task.free)
            self.forget("work", work)

    @step(number=NUMBER, callback=NUMBER)
    def add_done_callback(self, number: int, callback: int) -> None:
        work, call = self.pick("work", number), self.callback(callback)
        if work is not None and call is not None:
            self.attempt(ENDED, work.task.add_done_callback, call)

    @step(number=NUMBER)
    def drop_work(self, number: int) -> None:
        """Drops a task, in flight or not: the engine keeps it, its bufs and their memory until it has completed."""
        if work := self.pick("work", number):
            self.forget("work", work)

    # ---- awaits

    def run(self, coroutine: Any, anew: bool) -> Any:
        """Runs the coroutine in the loop of the run, or in a new one, which the engines follow."""
        if anew and self.runner:
            self.runner.close()
            self.runner = None
        if self.runner is None:
            self.runner = asyncio.Runner()
            self.runner.get_loop().set_exception_handler(self.note_loop_error)
        result = self.runner.run(coroutine)
        assert not self.loop_errors, self.loop_errors
        return result

    def note_loop_error(self, _: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None or not is_of_callbacks(error):
            self.loop_errors.append(error or AssertionError(context))

    @step(number=NUMBER, count=st.integers(1, 6), turns=st.integers(0, 4), cancels=NUMBER, anew=st.booleans())
    def await_tasks(self, number: int, count: int, turns: int, cancels: int, anew: bool) -> None:
        """Awaits tasks, and cancels some of the awaits after some turns: each bit of the number decides on one."""
        works = [self.pick("work", number + place) for place in range(count)]
        works = [work for work in works if work is not None and work.task.state is not TaskState.FREE]
        self.run(self.await_all([work.task for work in works], turns, cancels), anew)
        for work in works:
            work.check(self.is_removed)

    async def await_all(self, tasks: list[Any], turns: int, cancels: int) -> None:
        for task in tasks:
            if task.context.state is ContextState.RUNNING:
                task.context.flush_tasks()
        awaits = [asyncio.ensure_future(self.outcome(task)) for task in tasks]
        for _ in range(turns):
            await asyncio.sleep(0)
        for place, each in enumerate(awaits):
            if cancels >> place & 1:
                each.cancel()
        if awaits:
            _, pending = await asyncio.wait(awaits, timeout=WAIT)
            assert not pending, f"awaits that do not end: {pending}"
            errors = [each.exception() for each in awaits if not each.cancelled() and each.exception()]
            assert not errors, errors

    async def outcome(self, task: Any) -> None:
        try:
            await task
        except pydoca.DocaError as error:
            if not self.is_expected(error, ENDED | {Status.IN_USE}):
                raise

    def close_all(self) -> None:
        self.finish_work()
        super().close_all()
        self.made["work"].clear()
        if self.runner:
            self.runner.close()

    def finish_work(self) -> None:
        """Tasks on contexts that run are done soon, and are checked."""
        for work in self.made["work"]:
            if work.task.state is TaskState.SUBMITTED and work.task.context.state is ContextState.RUNNING:
                work.task.context.flush_tasks()
                self.attempt(ENDED, work.task.wait, WAIT)
            work.check(self.is_removed)


STATE_OF_BUF = {Status.IN_USE, Status.INVALID_VALUE, Status.BAD_STATE}
