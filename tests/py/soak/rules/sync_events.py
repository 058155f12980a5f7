"""Sync events: values that the model knows, in both modes, from both sides."""

from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import ContextState, Status
from soak.rules.engines import ENDED
from soak.rules.memory import BLOB_ERRORS
from soak.rules.threads import Threads
from soak.world import NUMBER, STATE, WAIT, step

WORD = 1 << 64
VALUE = st.one_of(st.integers(0, 300), st.integers(0, WORD - 1))


class Event:
    """An event of the synchronous mode, its importers, and its value."""

    def __init__(self, event: Any) -> None:
        self.event = event
        self.imports: list[Any] = []
        self.value = 0
        self.is_over = False  # stopped or closed

    def handle(self, number: int) -> Any:
        """The event of the owner or of an importer."""
        return [self.event, *self.imports][number % (1 + len(self.imports))]


class Counter:
    """An event of the asynchronous mode, to which every task adds."""

    def __init__(self, event: Any, context: Any) -> None:
        self.event = event
        self.context = context
        self.adds: list[Any] = []
        self.waits: list[Any] = []
        self.total = 0  # the sum of all submitted additions


class SyncEvents(Threads):
    def set_up(self) -> None:
        super().set_up()
        self.makers |= {"event": self.add_event, "counter": self.add_counter}

    # ---- the synchronous mode

    @step(number=NUMBER)
    def make_event(self, number: int) -> None:
        self.add_event(number)

    def add_event(self, number: int) -> None:
        owner, other = (self.host, "dpu") if number % 2 else (self.dpu, "host")
        publisher, subscriber = ("remote_pci", "cpu") if number & 2 else ("cpu", "remote_pci")
        memory = pydoca.alloc(8) if number & 4 else None
        event = pydoca.SyncEvent(owner, publisher=publisher, subscriber=subscriber, memory=memory)
        self.refused((pydoca.BadStateError,), event.get)
        event.start()
        model = self.keep("event", Event(event))
        if number & 8:
            importer = self.dpu if other == "dpu" else self.host
            imported = self.attempt(BLOB_ERRORS, importer.import_sync_event, event.export_to_remote_pci())
            if imported is not None:
                imported.start()
                model.imports.append(imported)

    def event_handle(self, number: int, which: int) -> tuple[Event, Any, set[Status]] | None:
        model = self.pick("event", number)
        if model is None:
            return None
        return model, model.handle(which), STATE if model.is_over else set()

    @step(number=NUMBER, which=NUMBER)
    def get_event(self, number: int, which: int) -> None:
        if found := self.event_handle(number, which):
            model, handle, expected = found
            value = self.attempt(expected, handle.get)
            assert value in (None, model.value)

    @step(number=NUMBER, which=NUMBER, value=VALUE)
    def set_event(self, number: int, which: int, value: int) -> None:
        if found := self.event_handle(number, which):
            model, handle, expected = found
            self.attempt(expected, handle.update_set, value)
            if not model.is_over:
                model.value = value

    @step(number=NUMBER, which=NUMBER, value=VALUE)
    def add_to_event(self, number: int, which: int, value: int) -> None:
        if found := self.event_handle(number, which):
            model, handle, expected = found
            before = self.attempt(expected, handle.update_add, value)
            assert before in (None, model.value)
            if not model.is_over:
                model.value = (model.value + value) % WORD

    @step(number=NUMBER, which=NUMBER, value=VALUE, verb=st.sampled_from(["eq", "neq", "gt"]), spin=st.booleans())
    def wait_for_event(self, number: int, which: int, value: int, verb: str, spin: bool) -> None:
        found = self.event_handle(number, which)
        if found is None:
            return
        model, handle, expected = found
        holds = {"eq": model.value == value, "neq": model.value != value, "gt": model.value > value}[verb]
        wait = getattr(handle, f"wait_{verb}" + ("" if spin else "_yield"))
        if not holds:
            # A process that had imported the event may have been the last one that could change it.
            expected = {*expected, Status.TIME_OUT} | (set() if model.imports else {Status.NOT_CONNECTED})
        self.attempt(expected, wait, value, timeout=WAIT if holds else 0.0005)

    @step(number=NUMBER, bad=st.sampled_from([-1, WORD, 1.5, "1", None]))
    def use_event_badly(self, number: int, bad: Any) -> None:
        if found := self.event_handle(number, 0):
            self.refused((TypeError, OverflowError, pydoca.DocaError), found[1].update_set, bad)

    @step(number=NUMBER, close=st.booleans())
    def end_event(self, number: int, close: bool) -> None:
        model = self.pick("event", number)
        if model is None:
            return
        self.attempt(STATE if model.is_over else (), model.event.close if close else model.event.stop)
        model.is_over = True

    @step(number=NUMBER, which=NUMBER)
    def close_import(self, number: int, which: int) -> None:
        model = self.pick("event", number)
        if model is not None and model.imports:
            model.imports.pop(which % len(model.imports)).close()

    @step(number=NUMBER)
    def drop_event(self, number: int) -> None:
        if model := self.pick("event", number):
            self.forget("event", model)

    # ---- the asynchronous mode

    @step(engine=NUMBER, tasks=st.integers(1, 20), callback=NUMBER)
    def make_counter(self, engine: int, tasks: int, callback: int) -> None:
        self.add_counter(engine, tasks, callback)

    def add_counter(self, engine: int, tasks: int = 8, callback: int = 0) -> None:
        event = pydoca.SyncEvent(self.dpu, publisher="cpu", subscriber="cpu")
        options = {"on_completion": self.callback(callback), "on_error": self.callback(callback + 1)}
        context = self.attempt(STATE, event.as_context, self.engine(engine), tasks, **options)
        if context is not None:
            self.refused((pydoca.DocaError,), event.get)
            self.keep("counter", Counter(event, self.add_context(context)))

    @step(number=NUMBER, value=st.integers(0, 5), count=st.integers(1, 5))
    def add_to_counter(self, number: int, value: int, count: int) -> None:
        if counter := self.pick("counter", number):
            for _ in range(count):
                task = self.attempt({Status.NO_MEMORY, Status.BAD_STATE}, counter.context.notify_add, value)
                if task is not None:
                    counter.adds.append((task, value))

    @step(number=NUMBER, above=st.integers(0, 3))
    def wait_for_counter(self, number: int, above: int) -> None:
        if counter := self.pick("counter", number):
            value = (counter.total + above) % 254
            task = self.attempt(
                {Status.NO_MEMORY, Status.BAD_STATE, Status.NOT_SUPPORTED}, counter.context.wait_gt, value
            )
            if task is not None:
                counter.waits.append((task, value))

    @step(number=NUMBER)
    def cancel_wait(self, number: int) -> None:
        counter = self.pick("counter", number)
        if counter is not None and counter.waits:
            task, _ = counter.waits.pop(number % len(counter.waits))
            self.attempt({Status.BAD_STATE}, task.cancel)

    @step(number=NUMBER)
    def settle_counter(self, number: int) -> None:
        """Checks that the value of each addition is a sum of additions before it, and that no value occurs twice."""
        counter = self.pick("counter", number)
        if counter is None:
            return
        for task, value in counter.adds:
            self.attempt(ENDED, task.wait, WAIT)
            if task.done and task.state is not pydoca.TaskState.FREE and task.status is Status.SUCCESS:
                assert task.result() == counter.total, f"an addition saw {task.result()}, not {counter.total}"
                counter.total += value
        counter.adds.clear()
        if counter.context.state is ContextState.RUNNING:
            self.check_waits(counter)

    def check_waits(self, counter: Counter) -> None:
        due = [
            task for task, value in counter.waits if counter.total > value and task.state is pydoca.TaskState.SUBMITTED
        ]
        for task in due:
            self.attempt(ENDED, task.wait, WAIT)
        counter.waits = [(task, value) for task, value in counter.waits if task not in due]

    @step(number=NUMBER)
    def drop_counter(self, number: int) -> None:
        if counter := self.pick("counter", number):
            self.forget("counter", counter)
