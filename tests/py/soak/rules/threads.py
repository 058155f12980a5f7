"""Other threads and forked children: their permitted uses, refusals, and the objects that they drop."""

import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import DocaError, Status, TaskState
from soak.rules.tasks import Tasks
from soak.world import NUMBER, STEP_LIMIT, World, step

WAYS_TO_LEAVE = ("_exit", "exit", "drop and exit", "exception")


def leave(way: str) -> None:
    """Ends the process as a program does, from any depth of the stack."""
    if way == "_exit":
        os._exit(0)
    if way == "exception":
        try:
            raise RuntimeError("a child that fails")
        except RuntimeError as error:
            sys.last_value = error  # Python sets this for an uncaught exception: it keeps the frames
    ctypes.pythonapi.Py_Exit(1 if way == "exception" else 0)  # this ends the interpreter, as sys.exit() does at the top


def in_thread(call: Callable[[], Any]) -> None:
    """Runs the call in a thread, and raises the error that it raises there."""
    errors: list[BaseException] = []

    def body() -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


class Threads(Tasks):
    @step(number=NUMBER, source=NUMBER, count=st.integers(1, 4))
    def submit_from_threads(self, number: int, source: int, count: int) -> None:
        works = [self.make_copy(number, source + place, place, submit=False) for place in range(count)]
        for work in works:
            if work is not None and work.task is not None:
                engine = work.task.context.progress_engine
                in_thread(lambda engine=engine, task=work.task: engine.submit_threadsafe(task))
                work.is_of_thread = True
                self.keep_work(work)

    @step(number=NUMBER)
    def use_from_another_thread(self, number: int) -> None:
        engine = self.engine(number)
        self.attempt((), engine.progress)  # the engine belongs to this thread now
        calls = [engine.progress, engine.drain, engine.close]
        if work := self.pick("work", number):
            # The thread could submit the task if its engine had no owner, and the task's dst has its data already.
            self.attempt({Status.BAD_STATE}, work.task.context.progress_engine.progress)
            calls += [work.task.submit, work.task.free] if work.task.state is not TaskState.FREE else []
        in_thread(lambda: self.refused_there(calls, engine))

    def refused_there(self, calls: list[Callable[[], Any]], engine: Any) -> None:
        for call in calls:
            if getattr(call, "__self__", None) is engine:
                self.refused((pydoca.WrongThreadError,), call)
            else:
                with contextlib.suppress(DocaError):
                    call()

    @step(kind=NUMBER, number=NUMBER)
    def drop_in_another_thread(self, kind: int, number: int) -> None:
        kinds = sorted(self.made)
        if kinds:
            things = self.made[kinds[kind % len(kinds)]]
            held = [things.pop(number % len(things))] if things else []
            in_thread(held.clear)

    @step()
    def collect_garbage(self) -> None:
        gc.collect()

    # ---- forks

    @step(number=NUMBER, use=NUMBER, way=st.sampled_from(WAYS_TO_LEAVE))
    def fork(self, number: int, use: int, way: str) -> None:
        pid = os.fork()
        if pid == 0:
            self.be_child(number, use, way)
        end = time.monotonic() + STEP_LIMIT / 2
        while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.kill(pid, signal.SIGABRT)
                os.waitpid(pid, 0)
                raise AssertionError(f"a forked child does not end: {number=}, {use=}, {way=}")
            time.sleep(0.001)
        status = os.waitstatus_to_exitcode(ended[1])
        expected = {"exception": 1}.get(way, 0)
        assert status == expected, f"a forked child ended with {status}"

    def be_child(self, number: int, use: int, way: str) -> None:
        """Runs the child and never returns: the child must not go on with the parent's run."""
        try:
            signal.alarm(STEP_LIMIT // 2)
            self.makers.clear()
            self.use_inherited(number, use)
            if use & 8:
                use_own_device()
            if way == "drop and exit":
                self.drop_inherited()
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        leave(way)

    def use_inherited(self, number: int, use: int) -> None:
        """Uses the parent's objects: the calls are refused, and the parent notices nothing."""
        engine = self.engine(number)
        for call in (engine.progress, engine.drain):
            self.refused((pydoca.ForkedError,), call)
        engine.close()  # the child releases the engine in its own process only
        for kind in sorted(self.made) if use & 1 else ():
            for thing in self.made[kind]:
                with contextlib.suppress(DocaError, AttributeError, TypeError):
                    thing.close()
        if use & 2 and (work := self.pick("work", number)):
            self.refused((DocaError,), work.task.submit)

    def drop_inherited(self) -> None:
        for name in list(vars(self)):
            if name not in vars(World) and isinstance(getattr(self, name), list | dict):
                getattr(self, name).clear()
        gc.collect()


def use_own_device() -> None:
    """Opens devices in a child, which is then a process like any other."""
    with (
        pydoca.open_device("03:00.0", side="dpu") as device,
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, num_tasks=2) as dma,
        pydoca.BufInventory(2) as inventory,
        device.mmap(bytes(range(250)) * 400) as source,
        device.mmap(bytearray(100_000)) as target,
    ):
        dst = inventory.get_by_addr(target)
        dma.memcpy(inventory.get_by_data(source), dst).wait(STEP_LIMIT / 4)
        assert bytes(dst) == bytes(source)
        del dst
