"""Progress engines, contexts and tasks: the values that calls return and count, late waits, and refusals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import pydoca
from pydoca.qualify.bench import dma, waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused
from pydoca.qualify.bench.zones import require_equal

Call = Callable[[], object]
_SIZE, _DEPTH = 64, 8
_SECONDS, _SLACK, _TRIES = 0.005, 0.15, 6  # seconds of a wait, seconds that the best try may be late, tries
_State = pydoca.ContextState


def require_refused(what: str, calls: Mapping[str, tuple[Call, type[pydoca.DocaError]]]) -> None:
    """Checks that each call raises its error."""
    for name, (call, error) in calls.items():
        with refused(f"{what}: {name}", error):
            call()


def require_time_out(what: str, wait: Callable[[float], object]) -> None:
    """Checks that a wait without an event times out: not early, and in the best of several tries hardly late."""
    for seconds in (0.0, _SECONDS):
        late: list[float] = []
        while len(late) < _TRIES and min(late, default=_SLACK) >= _SLACK:
            begin = time.monotonic()
            with refused(f"{what}, which nothing ends", pydoca.TimeOutError):
                wait(seconds)
            late.append(time.monotonic() - begin - seconds)
        if not -0.01 * seconds <= min(late) < _SLACK:
            raise DeviceFault(f"{what} for {seconds} s times out after {seconds + min(late):.3f} s")


class _Batch:
    """Copies that are in flight together; their completions check the numbers of task, context and engine."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        depth = dma.depth_for(device, _DEPTH)
        self.copies = dma.Copies(stand, device, dma.local(stand, device, _SIZE * depth), _SIZE, depth)
        self.pe, self.dma, self.tasks = self.copies.pe, self.copies.dma, self.copies.tasks
        self.seen: list[pydoca.Task] = []
        self._wrong: list[tuple[object, ...]] = []

    def begin(self) -> None:
        """Submits all of them; the last submission posts those that were not posted before."""
        self.seen.clear()
        self.copies.prepare()
        with duty(self.copies.what):
            for task in self.tasks:
                task.submit(pydoca.SubmitFlags.FLUSH if task is self.tasks[-1] else pydoca.SubmitFlags.NONE)
                task.add_done_callback(self._ended)
        self.require("after their submission")

    def _ended(self, task: pydoca.Task) -> None:
        self.seen.append(task)
        left = len(self.tasks) - len(self.seen)
        found = task.done, task.status, task.state, self.pe.num_inflight_tasks, self.dma.num_inflight_tasks
        if found != (True, pydoca.Status.SUCCESS, pydoca.TaskState.IDLE, left, left):
            self._wrong.append((left, *found))

    def require(self, when: str) -> None:
        """Checks that the tasks that have called back are done, and that the others are in flight."""
        left = len(self.tasks) - len(self.seen)
        done = [task in self.seen for task in self.tasks]
        found: dict[str, object] = {"engine": self.pe.num_inflight_tasks, "context": self.dma.num_inflight_tasks}
        found |= {"done": [task.done for task in self.tasks], "callbacks that found other numbers": self._wrong}
        expected = {"engine": left, "context": left, "done": done, "callbacks that found other numbers": []}
        require_told(f"an engine with copies {when}, of which {left} are in flight,", found, expected)


def deliveries(device: pydoca.Device, rounds: int) -> int:
    """Each call that delivers returns how many completions it has delivered. Returns how many there were."""
    with Stand() as stand:
        batch = _Batch(stand, device)
        pe, depth = batch.pe, len(batch.tasks)
        ways: dict[str, tuple[int, Callable[[], int]]] = {
            "progress()": (1, lambda: int(pe.progress())),
            "drain(2)": (2, lambda: pe.drain(2)),
            "drain()": (depth, pe.drain),
            "wait()": (depth, lambda: pe.wait(waiting.PATIENCE)),
        }
        for number in range(rounds):
            name, (most, way) = list(ways.items())[number % len(ways)]
            before = batch.dma.stats().completed
            batch.begin()
            with duty(name):
                _deliver(batch, name, most, way)
            require_equal(batch.copies.ends.target, batch.copies.ends.source, f"copies that {name} delivers")
            _require_rest(batch, before + depth)
    return rounds * depth


def _deliver(batch: _Batch, name: str, most: int, way: Callable[[], int]) -> None:
    end = time.monotonic() + waiting.PATIENCE
    while len(batch.seen) < len(batch.tasks):
        before = len(batch.seen)
        told, came = way(), len(batch.seen) - before
        if told != came or came > most:
            raise DeviceFault(f"{name} returns {told}, and has delivered {came} completions")
        batch.require(f"during {name}")
        if time.monotonic() > end:
            raise DeviceFault(f"{name} delivers no completion within {waiting.PATIENCE:g} s")


def _require_rest(batch: _Batch, total: int) -> None:
    """Checks that nothing is left to deliver, and that the statistics count all work and each look in vain."""
    pe, before = batch.pe, batch.pe.stats()
    found: dict[str, object] = {"progress": [pe.progress(), pe.progress()], "drain": pe.drain(0) + pe.drain()}
    found |= {"looks in vain": pe.stats().vain_looks - before.vain_looks >= 2, "engine": before[:4]}
    expected = {"progress": [False, False], "drain": 0, "looks in vain": True, "engine": (total, total, 0, 0)}
    require_told(
        "an idle engine", {**found, "context": (*batch.dma.stats(),)}, {**expected, "context": (total, total, 0, 0)}
    )


def silence(device: pydoca.Device) -> None:
    """Completions come only in calls of their own engine: not by time, and not by the progress of another engine."""
    with Stand() as stand:
        batch, other = _Batch(stand, device), _Batch(stand, device)
        batch.begin()
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            if other.pe.drain() or other.pe.progress():
                raise DeviceFault("an engine without tasks in flight delivers something beside another one")
        batch.require("that nobody has progressed")
        require_time_out("wait() of an engine beside another one", other.pe.wait)
        waiting.finish_all(batch.pe, batch.tasks, batch.copies.what)
        batch.require("that were awaited")


def time_outs(device: pydoca.Device) -> None:
    """Each call of an engine or a task that waits times out; the event that it waits for can still come."""
    with Stand() as stand:
        pe = stand.engine()
        require_time_out("wait() of an engine without contexts", pe.wait)
        require_time_out("run_until()", lambda seconds: pe.run_until(lambda: False, seconds))
        if not device.info.supports("async_sync_event_wait"):
            return
        pe, context = with_tasks(stand, device, 2)
        tasks = [context.wait_eq(5), context.wait_eq(6)]
        require_time_out("wait() of an engine with waits in flight", pe.wait)
        require_time_out("run_until() of a task", lambda seconds: pe.run_until(tasks[0], seconds))
        require_time_out("run_until() of tasks", lambda seconds: pe.run_until(tasks, seconds))
        require_time_out("wait() of a task", tasks[0].wait)
        with refused("release_thread() with tasks in flight", pydoca.InUseError):
            pe.release_thread()
        found: dict[str, object] = {"in flight": pe.num_inflight_tasks, "states": [task.status for task in tasks]}
        require_told("after time-outs an engine", found, {"in flight": 2, "states": [pydoca.Status.IN_PROGRESS] * 2})
        tasks[0].cancel()
        require_time_out("run_until() of a task that has failed and one that waits", lambda s: pe.run_until(tasks, s))
        waiting.finish(context.notify_set(6), "the value that a wait waits for")
        with refused("run_until() of a task that has failed and one that has not", pydoca.ShutdownError):
            pe.run_until(tasks, waiting.PATIENCE)
        waiting.require_value(waiting.finish(tasks[1], "a wait that had timed out"), 6, "the value that ended it")


def woken(device: pydoca.Device) -> None:
    """A blocking call goes on soon after another thread has submitted a task, in the best of several tries."""
    with Stand() as stand:
        batch = _Batch(stand, device)
        waits: dict[str, Callable[[pydoca.ProgressEngine, Callable[[], bool]], object]] = {
            "wait()": lambda pe, _: pe.wait(waiting.PATIENCE),
            "run_until()": lambda pe, condition: pe.run_until(condition, waiting.PATIENCE),
        }
        for name, wait in waits.items():
            taken: list[float] = []
            while len(taken) < _TRIES and min(taken, default=_SLACK) >= _SLACK:
                taken.append(_wake_up(batch, wait, name))
            if min(taken) >= _SLACK:
                raise DeviceFault(f"{name} goes on {min(taken):.3f} s after another thread has submitted a copy")


def _wake_up(batch: _Batch, wait: Callable[[pydoca.ProgressEngine, Callable[[], bool]], object], name: str) -> float:
    batch.copies.prepare()
    before, begin, asleep = batch.dma.stats().completed, time.monotonic(), 0.004  # seconds until the engine sleeps
    thread = threading.Timer(asleep, batch.pe.submit_threadsafe, [batch.tasks[0]])
    thread.start()
    try:
        with duty(f"{name}, and a submission by another thread"):
            while batch.dma.stats().completed == before:
                wait(batch.pe, lambda: batch.dma.stats().completed > before)
        return time.monotonic() - begin - asleep
    finally:
        thread.join()


def submissions(device: pydoca.Device) -> None:
    """A refused submission changes nothing; one of another thread that fails is a failed completion."""
    with Stand() as stand:
        batch, other, strange = _Batch(stand, device), _Batch(stand, device), pydoca.Status.INVALID_VALUE
        task, pe, calls = batch.tasks[0], batch.pe, list[object]()
        src, batch.tasks[0].src = task.src, None
        require_refused("a copy without a source", {"try_submit()": (task.try_submit, pydoca.InvalidValueError)})
        require_refused(
            "submit_threadsafe()",
            {"a task of another engine": (lambda: pe.submit_threadsafe(other.tasks[0]), pydoca.InvalidValueError)},
        )
        found: dict[str, object] = {"state": task.state, "done": task.done, "stats": (*batch.dma.stats(), pe.drain())}
        require_told(
            "a copy that was refused", found, {"state": pydoca.TaskState.IDLE, "done": False, "stats": (0,) * 5}
        )
        pe.submit_threadsafe(task)
        again = {"a task in flight": (lambda: pe.submit_threadsafe(task), pydoca.BadStateError)}
        require_refused("submit_threadsafe()", again)
        task.add_done_callback(calls.append)
        require_refused(
            "a copy without a source", {"wait()": (lambda: task.wait(waiting.PATIENCE), pydoca.InvalidValueError)}
        )
        found = {"status": task.status, "calls": calls, "stats": (*batch.dma.stats(),), "engine": (*pe.stats()[:4],)}
        expected: dict[str, object] = {
            "status": strange,
            "calls": [task],
            "stats": (1, 0, 1, 0),
            "engine": (1, 0, 1, 0),
        }
        require_told("a copy whose submission has failed", found, expected)
        task.src = src
        batch.begin()
        waiting.finish_all(pe, batch.tasks, batch.copies.what)


def callbacks(device: pydoca.Device) -> None:
    """Callbacks of a completion are called once, or at once; they may submit the task again, raise, or free it."""
    with Stand() as stand:
        batch, calls = _Batch(stand, device), list[pydoca.Task]()
        batch.begin()
        task = batch.tasks[0]
        for _ in range(3):
            task.add_done_callback(calls.append)
        removed = [task.remove_done_callback(calls.append), task.remove_done_callback(calls.append)]
        waiting.finish_all(batch.pe, batch.tasks, batch.copies.what)
        task.add_done_callback(calls.append)
        require_told("a task", {"removed": removed, "calls": calls}, {"removed": [3, 0], "calls": [task]})

        def again(done: pydoca.Task) -> None:
            batch.copies.dst[0].reset_data_len()
            done.submit()

        batch.copies.prepare()
        task.submit()
        task.add_done_callback(again)
        again_done = batch.dma.stats().completed + 2
        what = "a copy that its own callback has submitted"
        waiting.until_true(batch.pe, lambda: batch.dma.stats().completed == again_done, what)
        waiting.finish(task, what)
        _raise(batch)


def _raise(batch: _Batch) -> None:
    """A callback frees its task and raises: the call passes the error on, and the other copies complete."""
    task = batch.tasks[0]

    def fail(done: pydoca.Task) -> None:
        done.free()
        raise ValueError("this callback fails on purpose")

    batch.begin()
    task.add_done_callback(fail)
    try:
        batch.pe.run_until(batch.tasks, waiting.PATIENCE)
        raise DeviceFault("a callback has raised, and run_until() does not tell it")
    except ExceptionGroup as group:
        waiting.require_value(len(group.exceptions), 1, "the number of callbacks that have raised")
    waiting.until_true(batch.pe, lambda: len(batch.seen) == len(batch.tasks), "copies beside a callback that raises")
    found: dict[str, object] = {"state": task.state, "in flight": batch.pe.num_inflight_tasks}
    require_told("a task that its callback freed", found, {"state": pydoca.TaskState.FREE, "in flight": 0})


def stops(device: pydoca.Device, rounds: int) -> int:
    """A context stops while it has tasks, refuses calls that need a running one, starts again; returns how often."""
    with Stand() as stand:
        batch, told = _Batch(stand, device), list[tuple[object, ...]]()
        context, pairs = batch.dma, [(task.src, task.dst) for task in batch.tasks]
        context.user_data, context.on_state_changed = batch, lambda *change: told.append(change)
        for number in range(rounds):
            batch.begin()
            waiting.finish_all(batch.pe, batch.tasks, batch.copies.what)
            told.clear()
            states = [context.stop(), context.state, context.stop()]
            _require_stopping(batch)
            for task in batch.tasks:
                task.free()
            waiting.until_true(batch.pe, lambda: context.state is _State.IDLE, "the end of a context without tasks")
            changes = [(batch, context, *pair) for pair in ((2, 3), (3, 0), (0, 2))]
            found: dict[str, object] = {
                "stop()": states,
                "changes": told,
                "freed": {task.state for task in batch.tasks},
            }
            found |= {"failure": context.failure, "completed": context.stats().completed, "start()": context.start()}
            expected: dict[str, object] = {
                "stop()": [pydoca.Status.IN_PROGRESS, _State.STOPPING, pydoca.Status.IN_PROGRESS]
            }
            expected |= {"changes": changes, "freed": {pydoca.TaskState.FREE}, "failure": pydoca.Status.SUCCESS}
            expected |= {"completed": (number + 1) * len(batch.tasks), "start()": pydoca.Status.SUCCESS}
            require_told("a context that has stopped", found, expected)
            batch.tasks[:] = [context.memcpy(*pair, submit=False) for pair in pairs]
        for task in batch.tasks:
            task.free()
        require_told("a context", {"stop()": context.stop()}, {"stop()": pydoca.Status.SUCCESS})
    return rounds


def _require_stopping(batch: _Batch) -> None:
    before = batch.dma.stats()
    calls: dict[str, tuple[Call, type[pydoca.DocaError]]] = {
        "submit()": (batch.tasks[0].submit, pydoca.BadStateError),
        "one more task": (lambda: batch.dma.memcpy(None, None, submit=False), pydoca.BadStateError),
        "start()": (batch.dma.start, pydoca.BadStateError),
        "close()": (batch.dma.close, pydoca.InUseError),
    }
    require_refused("a context that stops", calls)
    batch.require("in a context that stops")
    require_told("a context that stops", {"stats": batch.dma.stats()}, {"stats": before})


def ends(device: pydoca.Device) -> None:
    """Engines count the connected contexts that are not closed, keep their numbers, and cannot be used once closed."""
    pe, other = pydoca.ProgressEngine(), pydoca.ProgressEngine()
    contexts = [pydoca.Dma(None, device, num_tasks=1), pydoca.Dma(pe, device, num_tasks=1)]
    found: list[object] = [pe.num_contexts, contexts[0].progress_engine]
    with duty("connect a context to an engine"):
        pe.connect(contexts[0])
    found += [pe.num_contexts, contexts[0].progress_engine is pe, other.num_contexts]
    with refused("the connection of a context that has an engine", pydoca.NotPermittedError):
        other.connect(contexts[0])
    for context in contexts:
        with refused("the end of an engine with a context", pydoca.InUseError):
            pe.close()
        for _ in range(2):
            context.close()
        found += [pe.num_contexts, context.closed, pe.closed]
    for _ in range(2):
        pe.close()
        other.close()
    require_told("an engine", {"it": found}, {"it": [1, None, 2, True, 0, 1, True, False, 0, True, False]})
    calls = {"progress()": pe.progress, "wait()": lambda: pe.wait(0), "arming": pe.request_notification}
    require_refused("a closed engine", {name: (call, pydoca.BadStateError) for name, call in calls.items()})
    require_refused("a closed context", {"start()": (contexts[0].start, pydoca.BadStateError)})
    require_told("a closed engine", {"closed": pe.closed, "contexts": pe.num_contexts}, {"closed": True, "contexts": 0})
