"""Messages as an iteration: receives that are posted again and again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Self

from pydoca._core import Buf, ContextState, Rdma, RdmaTask
from pydoca._errors import AgainError, InUseError, InvalidValueError, ShutdownError


def free_all(tasks: Iterable[RdmaTask]) -> None:
    for task in tasks:
        task.free()


class Receives:
    """Receives of an `Rdma`, in the order in which messages fill them.

    A message that has come stays for the next iteration when one is left or cancelled. The iteration ends when the
    context stops. Only one step may wait at a time: a second one raises `InUseError`.
    """

    def __init__(self, rdma: Rdma, bufs: Iterable[Buf]) -> None:
        self._rdma = rdma
        self._posted: deque[RdmaTask] = deque()
        self._given: RdmaTask | None = None
        self._waits = False
        self._post(self._tasks_for(bufs))

    def _tasks_for(self, bufs: Iterable[Buf]) -> list[RdmaTask]:
        """A task for each buf, or none at all: a posted receive cannot be taken back."""
        tasks: list[RdmaTask] = []
        seen: set[int] = set()
        try:
            for buf in bufs:
                if buf is not None and id(buf) in seen:
                    raise InUseError(f"receives: {buf!r} is given twice; each message needs a buf of its own")
                seen.add(id(buf))
                tasks.append(self._rdma.receive(buf, submit=False))
            if not tasks:
                raise InvalidValueError("receives: there is no buf to receive into")
        except BaseException:
            free_all(tasks)
            raise
        return tasks

    def _post(self, tasks: list[RdmaTask]) -> None:
        waiting = deque(tasks)
        try:
            while waiting:
                waiting[0].try_submit()
                self._posted.append(waiting.popleft())
        except BaseException:
            free_all(waiting)
            raise

    def clear(self) -> None:
        """Releases all bufs, once the context has stopped."""
        self._posted.clear()
        self._given = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RdmaTask:
        if self._waits:
            raise InUseError("receives: another step of this iteration waits for a message; await one at a time")
        self._post_again()
        if not self._posted:
            raise StopAsyncIteration
        task = self._posted[0]
        self._waits = True
        try:
            await task
        except ShutdownError:
            self._posted.clear()
            raise StopAsyncIteration from None
        except Exception:
            self._given = self._posted.popleft()
            raise
        finally:
            self._waits = False
        self._given = self._posted.popleft()
        return task

    def _post_again(self) -> None:
        task = self._given
        if task is None or self._rdma.state is not ContextState.RUNNING:
            return
        if task.dst is not None:
            for element in task.dst:
                element.reset_data_len()
        try:
            task.submit()
        except AgainError:
            return  # the task stays the given one: the next step tries again
        self._given = None
        self._posted.append(task)
