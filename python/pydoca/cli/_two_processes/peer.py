"""The other half of a command, at the end of a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Coroutine
from types import TracebackType
from typing import Any, Protocol, TypeVar

from pydoca import DocaError, InvalidValueError
from pydoca.cli._errors import PeerError, describe, one_line
from pydoca.cli._two_processes.messages import Failure, Message, decode, encode

_T = TypeVar("_T")
_M = TypeVar("_M")

# Seconds: for work on messages that arrived before the connection ended; for the other half to report that it caused a
# device's error here; for sending the last message.
_LAST_WORK = 0.1
_LAST_CAUSE = 1.0
_LAST_WORD = 1.0


class Link(Protocol):
    """A connection that carries the messages: over comch, or over RDMA."""

    def send(self, data: bytes) -> Awaitable[Any]: ...
    def recv(self) -> Awaitable[bytes]: ...


class Peer:
    """Sends and receives messages, and notices at once when the other half ends. An async context."""

    def __init__(self, link: Link, who: str, work: str) -> None:
        self._link = link
        self._who = who  # "the host process"
        self._work = work  # "copy"
        self._inbox: asyncio.Queue[Message | Exception] = asyncio.Queue()
        self._reader: asyncio.Task[Exception] | None = None

    async def __aenter__(self) -> Peer:
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, exception: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._reader is not None
        if error is not None and not isinstance(error, PeerError):
            await self._tell(error)
        self._reader.cancel()
        await asyncio.wait({self._reader})

    async def send(self, message: Message) -> None:
        try:
            await self._link.send(encode(message))
        except InvalidValueError:
            raise
        except DocaError as error:
            raise await self._cause() or self._lost() from error

    async def receive(self, expected: type[_M]) -> _M:
        """The next message, which must be of this class. Raises PeerError when the other half failed or has ended."""
        message = await self._inbox.get()
        if isinstance(message, Exception):
            self._inbox.put_nowait(message)  # keeps it for the next call
            raise message
        if not isinstance(message, expected):
            got, due = type(message).__name__.lower(), expected.__name__.lower()
            raise InvalidValueError(f"{self._who} sent a message of type {got!r} where {due!r} was expected")
        return message

    async def while_there(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Runs the work. When the other half fails or ends, cancels the work and raises the other half's error."""
        assert self._reader is not None
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task, self._reader}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({task}, timeout=_LAST_WORK)
        finally:
            finished = task.done()
            task.cancel()
            await asyncio.wait({task})
        error = None if task.cancelled() else task.exception()
        if not finished:
            raise self._reader.result()
        if _may_be_the_peers(error) and (cause := await self._cause()):
            raise cause from error
        return task.result()

    async def wait_for_end(self, timeout: float) -> None:
        """Waits until the other half has hung up."""
        assert self._reader is not None
        await asyncio.wait({self._reader}, timeout=timeout)

    async def _cause(self) -> Exception | None:
        """The other half's report of an error here that it may have caused; None if none comes soon."""
        assert self._reader is not None
        await asyncio.wait({self._reader}, timeout=_LAST_CAUSE)
        return self._reader.result() if self._reader.done() else None

    async def _read(self) -> Exception:
        """Fills the inbox until the connection ends; puts the reason there and returns it."""
        end: Exception | None = None
        while end is None:
            try:
                message = decode(await self._link.recv())
            except InvalidValueError as error:
                end = InvalidValueError(f"{self._who} sent something that this version does not understand: {error}")
            except DocaError:
                end = self._lost()
            else:
                if isinstance(message, Failure):
                    end = PeerError(f"{self._who} gave up: {one_line(message.message)}")
                else:
                    self._inbox.put_nowait(message)
        self._inbox.put_nowait(end)
        return end

    async def _tell(self, error: BaseException) -> None:
        text = "interrupted" if isinstance(error, asyncio.CancelledError) else describe(error)
        with contextlib.suppress(DocaError, TimeoutError):
            async with asyncio.timeout(_LAST_WORD):
                await self._link.send(encode(Failure.of(text)))

    def _lost(self) -> PeerError:
        return PeerError(f"{self._who} ended before the {self._work} was complete")


def _may_be_the_peers(error: BaseException | None) -> bool:
    """Whether the other half can have caused the error: its memory goes when it ends."""
    return isinstance(error, DocaError) and not isinstance(error, InvalidValueError)
