from asyncio import Future
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

from pydoca._core.progress_engine import ProgressEngine

class Awaitable(Coroutine[Any, Any, Any]):
    """An object or event that an engine will deliver. Await it in an event loop, or call wait() without one."""
    def __await__(self) -> Generator[Any, None, Any]: ...
    def send(self, value: Any) -> Any:
        """For asyncio.create_task(): the next step of the asyncio task that it made of this object."""
    def throw(self, *error: Any) -> Any:
        """For asyncio.create_task(): the next step with an error, a cancellation say."""
    def close(self) -> None:
        """For asyncio, which calls it for a coroutine that it does not take: does nothing, as this object goes on."""
    def wait(self, timeout: float | None = ...) -> Any:
        """Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises
        TimeOutError.
        """
    @property
    def _engine(self) -> ProgressEngine: ...
    def _ready(self) -> bool: ...
    def _take(self) -> Any: ...
    def _give_up(self) -> None: ...
    @property
    def _lends_memory(self) -> bool: ...
    def _abandon(self) -> None: ...
    def _quarantine(self) -> bool: ...
    def _use(self) -> None: ...
    def _add_waiter(self, future: Future[Any]) -> None: ...
    def _discard_waiter(self, future: Future[Any]) -> None: ...

_Imported = TypeVar("_Imported")

class Import(Awaitable, Generic[_Imported]):
    """An import that its engine progresses: await it, or call wait(), for the map, the
    event or the connection. One that is dropped before is given up.
    """
    def __await__(self) -> Generator[Any, None, _Imported]: ...
    def wait(self, timeout: float | None = ...) -> _Imported:
        """Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises
        TimeOutError.
        """

class SettledState(Awaitable):
    """The value of with: the context, once it is IDLE or RUNNING."""

class QueuedEvent(Awaitable):
    """An awaitable object of a queue. Its waiters get the objects in the order in which they began to wait."""

def warn_never_awaited(call: str, level: int) -> None: ...
