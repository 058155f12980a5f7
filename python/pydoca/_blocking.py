"""Calls for programs without an event loop: with blocks of contexts and engines, and waits for several tasks.

An error keeps the frames that it came through. A function that may raise therefore deletes its names of tasks first: a
task that lived as long as the error would keep its slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydoca._callbacks import require_plain_function
from pydoca._core import Context, ContextState, ProgressEngine, Task
from pydoca._progress import Meter, Progress

_CLOSE_TIMEOUT = 5.0  # seconds that leaving a context waits for its tasks


def enter_context(self: Context) -> Any:
    """Starts it, unless it is started, and waits until it is RUNNING."""
    if self.state is ContextState.IDLE:
        self.start()
    try:
        return self._settled().wait()
    except BaseException:
        leave_context(self)
        raise


def leave_context(self: Context, *_: object) -> None:
    """Stops it, frees its tasks, progresses until it is IDLE (5 s at most, then TimeOutError), and closes it.

    Then raises what callbacks have raised first."""
    engine = self.progress_engine
    raised: list[BaseException] = []
    if engine is not None and not self.closed and not engine._is_forked():
        _go_on(raised, self._begin_leaving)
        while not _is_idle(self):
            _go_on(raised, engine._block_until, lambda: _is_idle(self), _CLOSE_TIMEOUT, f"close {self._kind}")
    self.close()
    if raised:
        raise raised[0]


def _is_idle(context: Context) -> bool:
    return context.state is ContextState.IDLE


def _go_on(raised: list[BaseException], call: Callable[..., object], *arguments: object) -> None:
    """Notes what callbacks raise in the call; an interrupt and errors of the call itself end the caller."""
    try:
        call(*arguments)
    except ExceptionGroup as error:
        raised.append(error)


def leave_engine(self: ProgressEngine, *_: object) -> None:
    """Stops and closes the contexts that are still open, newest first, then closes the engine."""
    context = fault = None
    for context in [] if self._is_forked() else reversed(self._contexts()):
        try:
            leave_context(context)
        except BaseException as error:
            fault = error if fault is None else fault
    try:
        if fault is None or not self.num_contexts:
            self.close()
        if fault is not None:
            raise fault
    finally:
        del context, fault


def require_seconds(timeout: object) -> None:
    """Raises TypeError, which names the argument, unless it is a number or None."""
    if timeout is not None and not hasattr(timeout, "__float__"):
        raise TypeError(f"timeout must be a number of seconds, or None, not {type(timeout).__name__}") from None


def run_until(
    self: ProgressEngine,
    what: Task | Iterable[Task] | Callable[[], object],
    timeout: float | None = None,
    *,
    progress: Progress = None,
) -> None:
    """Progresses until a task, or every task of an iterable, has completed, or until a predicate is true.

    When all have completed, raises the first failed task's error. timeout in seconds, None for no limit
    (TimeOutError). progress, of an iterable's tasks: as for gather().
    """
    try:
        if isinstance(what, Task):
            what.wait(timeout)
        elif callable(what):
            require_plain_function("run_until", what)
            self._block_until(what, timeout, "run until the predicate holds")
        elif isinstance(what, Iterable):
            _run_until_done(self, list(what), timeout, progress)
        else:
            raise _not_tasks(what)
    except TypeError:
        require_seconds(timeout)
        raise
    finally:
        del what


def _run_until_done(engine: ProgressEngine, tasks: list[Task], timeout: float | None, progress: Progress) -> None:
    """Each wait ends with the completion of the submission that is in flight at its beginning."""
    pending = []
    try:
        for task in tasks:
            if not isinstance(task, Task):
                raise _not_tasks(task)
            task._require_submitted("run until")
            pending.append((task, task._completions))
        meter = Meter(progress, len(tasks))
        if progress:
            pending.reverse()  # the first ones complete first; without a bar one look at the last is enough

        def is_done() -> bool:
            while pending and (pending[-1][0].done or pending[-1][0]._completions != pending[-1][1]):
                pending.pop()
                meter.advance()
                meter.require_no_failure()
            return not pending

        try:
            engine._block_until(is_done, timeout, "run until the tasks are done")
        finally:
            meter.close()
        if (error := first_failure(tasks)) is not None:
            raise error
    finally:
        pending.clear()
        tasks.clear()
        task = error = None  # type: ignore[assignment]


def first_failure(tasks: list[Task]) -> BaseException | None:
    """Asks every task for its outcome, so that none counts as unseen."""
    failure = None
    for task in tasks:
        error = task._outcome()
        failure = failure if failure is not None else error
    return failure


def _not_tasks(what: object) -> TypeError:
    return TypeError(f"run_until takes a Task, an iterable of Tasks, or a predicate, not {type(what).__name__}")
