"""Progress engines and contexts: started, stopped and closed in any order, progressed in every way."""

import select
from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import ContextState, Status
from soak.rules.bufs import Bufs
from soak.world import NUMBER, CallbackError, step

# Statuses that a task may end with if it is in flight when its context or connection ends.
ENDED = {
    Status.SHUTDOWN,
    Status.IO_FAILED,
    Status.CONNECTION_RESET,
    Status.NOT_CONNECTED,
    Status.BAD_STATE,
    Status.DRIVER,
    Status.INVALID_VALUE,
}


class Engines(Bufs):
    """Two engines; other nouns add their contexts with `add_context`."""

    def set_up(self) -> None:
        super().set_up()
        self.engines = [pydoca.ProgressEngine(), pydoca.ProgressEngine()]

    def engine(self, number: int) -> Any:
        return self.engines[number % 2]

    def callback(self, number: int) -> Any:
        """None, or a callback that raises now and then."""
        if number % 3 == 0:
            return None
        raises = number % 3 == 1

        def call(*_: object) -> None:
            if raises and self.random.random() < 0.3:
                raise CallbackError

        return call

    def add_context(self, context: Any, start: bool = True) -> Any:
        if context is not None:
            self.keep("context", context)
            if start:
                self.attempt({Status.ALREADY_EXIST, Status.NOT_SUPPORTED, Status.NOT_CONNECTED}, context.start)
        return context

    def check_all(self) -> None:
        super().check_all()
        for context in self.made["context"]:
            stats = context.stats()
            ended = stats.completed + stats.failed + stats.cancelled
            assert stats.submitted == ended + context.num_inflight_tasks, (context, stats)

    # ---- progress

    @step(number=NUMBER, times=st.integers(1, 30))
    def progress(self, number: int, times: int) -> None:
        for _ in range(times):
            self.attempt((), self.engine(number).progress)

    @step(number=NUMBER)
    def drain(self, number: int) -> None:
        self.attempt((), self.engine(number).drain)

    @step(number=NUMBER)
    def wait_for_anything(self, number: int) -> None:
        self.attempt({Status.TIME_OUT}, self.engine(number).wait, 0.001)

    @step(number=NUMBER)
    def sleep_at_the_handle(self, number: int) -> None:
        """Sleeps until the handle tells of news, whether a device's worker has a task in flight or not."""
        engine = self.engine(number)
        engine.request_notification()
        if select.select([engine.fileno()], [], [], 0.001)[0]:
            engine.clear_notification()
            self.attempt((), engine.drain)
        else:
            engine.clear_notification()

    @step(number=NUMBER)
    def release_thread(self, number: int) -> None:
        self.attempt({Status.IN_USE}, self.engine(number).release_thread)

    @step(number=NUMBER)
    def close_engine_in_use(self, number: int) -> None:
        engine = self.engine(number)
        if engine.num_contexts:
            self.refused((pydoca.InUseError,), engine.close)

    # ---- contexts

    @step(number=NUMBER)
    def start_context(self, number: int) -> None:
        if context := self.pick("context", number):
            can = context.state is ContextState.IDLE and not context.closed
            expected = {Status.ALREADY_EXIST, Status.INVALID_VALUE, Status.BAD_STATE, Status.NOT_CONNECTED}
            self.attempt(expected if can else {Status.BAD_STATE, Status.INVALID_VALUE}, context.start)

    @step(number=NUMBER)
    def stop_context(self, number: int) -> None:
        if context := self.pick("context", number):
            self.attempt({Status.BAD_STATE} if context.closed else (), context.stop)

    @step(number=NUMBER)
    def close_context(self, number: int) -> None:
        if context := self.pick("context", number):
            idle = context.state is ContextState.IDLE
            self.attempt(() if idle else {Status.IN_USE, Status.BAD_STATE}, context.close)

    @step(number=NUMBER)
    def leave_context(self, number: int) -> None:
        """The end of a with block: the context is idle, whatever it did."""
        context = self.pick("context", number)
        if context is None or context.closed:
            return
        self.attempt({Status.TIME_OUT, Status.BAD_STATE} | ENDED, context.__exit__, None, None, None)
        assert context.state is ContextState.IDLE or context.num_inflight_tasks

    @step(number=NUMBER)
    def drop_context(self, number: int) -> None:
        if context := self.pick("context", number):
            self.forget("context", context)

    def close_all(self) -> None:
        for engine in self.engines:
            self.close_engine(engine)
        self.made["context"].clear()
        super().close_all()

    def close_engine(self, engine: Any) -> None:
        """Ends everything on the engine, as a with block does, and ignores errors of callbacks and tasks."""
        self.attempt({*ENDED, Status.TIME_OUT}, engine.run_until, lambda: False, 0.001)
        self.attempt({*ENDED, Status.TIME_OUT, Status.IN_USE}, engine.__exit__, None, None, None)
        for _ in range(20):  # callbacks may raise each time
            self.attempt({Status.IN_USE}, engine.__exit__, None, None, None)
        assert engine.closed, f"{engine!r} does not end: {self.last_refusal}, {engine._contexts()}"
