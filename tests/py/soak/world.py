"""The parts that the rules of every noun use: made objects, calls that may be refused, and the end of a run.

A rule's arguments are plain numbers; the rule maps them to the objects that exist when it runs. So what Hypothesis
draws does not depend on the time that threads and devices take, and a seed draws the same rules again.
"""

import contextlib
import functools
import gc
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import pydoca
from pydoca import DocaError, Status

COUNTS: Counter[str] = Counter()
STEP_LIMIT = 60  # seconds; a step takes milliseconds, but the machine may be busy
WAIT = 30.0  # seconds in which an expected event must come
NUMBER = st.integers(0, 255)
FEW = 6  # objects of a kind at a time

# Statuses of an object that is in another state than the verb needs, or that others still use.
STATE = {Status.BAD_STATE, Status.NOT_PERMITTED, Status.IN_USE, Status.INVALID_VALUE}


class CallbackError(Exception):
    """An error that callbacks raise: the engine must pass it on, and go on."""


class Trace:
    """The steps of the run in a file, since a process that crashed cannot tell them."""

    def __init__(self) -> None:
        path = os.environ.get("PYDOCA_SOAK_TRACE")
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC) if path else None
        self.seed = 0  # the seed of the batch

    def clear(self) -> None:
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.lseek(self._fd, 0, os.SEEK_SET)
            self.add(f"seed {self.seed}")

    def add(self, text: str) -> None:
        if self._fd is not None:
            os.write(self._fd, f"{text}\n".encode())


TRACE = Trace()


def step(**arguments: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """A rule that is traced, counted and bounded in time."""

    def decorate(function: Callable[..., None]) -> Any:
        @functools.wraps(function)
        def traced(self: Any, **values: Any) -> None:
            COUNTS["steps"] += 1
            TRACE.add(f"{function.__name__} {values}")
            signal.alarm(STEP_LIMIT)
            function(self, **values)
            self.check_all()

        return rule(**arguments)(traced)

    return decorate


def is_of_callbacks(error: BaseException) -> bool:
    if isinstance(error, ExceptionGroup):
        return all(is_of_callbacks(each) for each in error.exceptions)
    return isinstance(error, CallbackError)


@contextlib.contextmanager
def callbacks_may_raise() -> Iterator[None]:
    """Accepts errors of the rules' callbacks: the engine passes them on to the call that ran the callbacks."""
    try:
        yield
    except (CallbackError, ExceptionGroup) as error:
        if not is_of_callbacks(error):
            raise


def open_descriptors() -> dict[str, int]:
    """The number of descriptors of this process, by what they refer to."""
    kinds: Counter[str] = Counter()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            kinds[os.readlink(entry).split(":[")[0]] += 1
    return dict(kinds)


class World(RuleBasedStateMachine):
    """The objects of a run, by kind."""

    def __init__(self) -> None:
        super().__init__()
        TRACE.clear()
        COUNTS["runs"] += 1
        self.made: dict[str, list[Any]] = defaultdict(list)
        self.checks: list[Callable[[], None]] = []
        self.is_removed = False  # a device was taken away in this run: calls that use it fail with DRIVER
        self.random = random.Random(0)
        self.makers: dict[str, Callable[[int], object]] = {}
        self.last_refusal = ""

    @initialize(number=st.integers(0, 1 << 30))
    def begin(self, number: int) -> None:
        """Seeds the random choices that are not arguments, such as contents."""
        self.random.seed(number)
        self.set_up()

    def set_up(self) -> None:
        """Makes what a noun's rules need; Hypothesis would call several initializers in any order."""

    def check_all(self) -> None:
        """Checks what holds after every step; nouns extend this."""

    # ---- objects

    def keep(self, kind: str, thing: Any) -> Any:
        """Adds an object; beyond a few, the oldest is dropped."""
        if thing is not None:
            self.made[kind].append(thing)
            if len(self.made[kind]) > FEW:
                del self.made[kind][0]
        return thing

    def pick(self, kind: str, number: int) -> Any:
        """One of the objects of a kind; a new one if there is none, or None if that is refused."""
        things = self.made[kind]
        if not things and kind in self.makers:
            self.makers[kind](number)
        return things[number % len(things)] if things else None

    def forget(self, kind: str, thing: Any) -> None:
        with contextlib.suppress(ValueError):
            self.made[kind].remove(thing)

    # ---- calls

    def attempt(self, expected: Iterable[Status], call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """The result of the call; None if it was refused with one of the expected statuses, or if callbacks raised."""
        COUNTS["operations"] += 1
        try:
            with callbacks_may_raise():
                return call(*arguments, **keywords)
        except DocaError as error:
            if not self.is_expected(error, expected):
                raise
            self.last_refusal = repr(error)
            COUNTS["refused"] += 1
        return None

    def is_expected(self, error: DocaError, expected: Iterable[Status]) -> bool:
        return error.status in expected or (self.is_removed and error.status in (Status.DRIVER, Status.NOT_FOUND))

    def refused(self, errors: tuple[type[BaseException], ...], call: Callable[..., Any], *arguments: Any) -> None:
        """A call with bad arguments: it must be refused, with one of these exceptions."""
        COUNTS["operations"] += 1
        try:
            result = call(*arguments)
        except errors:
            COUNTS["refused"] += 1
        else:
            raise AssertionError(f"{call}{arguments} was not refused, and returned {result!r}")

    def until(self, condition: Callable[[], object], what: str, step: Callable[[], object]) -> None:
        end = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < end, f"waited {WAIT:g} s for {what}, which did not come"
            step()

    # ---- the end of a run

    def teardown(self) -> None:
        """Drops everything in a random order; then nothing may be left."""
        signal.alarm(STEP_LIMIT)
        TRACE.add("teardown")
        self.close_all()
        for check in self.checks:
            check()
        kinds = [kind for kind in self.made if self.made[kind]]
        self.random.shuffle(kinds)
        for kind in kinds:
            self.random.shuffle(self.made[kind])
            self.made[kind].clear()
        self.checks.clear()
        gc.collect()
        if self.is_removed:
            with contextlib.suppress(DocaError):
                pydoca.sim.restore_device("p1")
        signal.alarm(0)

    def close_all(self) -> None:
        """Closes objects that need an order; nouns that have such objects extend this."""
