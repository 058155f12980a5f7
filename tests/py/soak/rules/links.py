"""Comch: a server and a client in one process. Messages arrive once each, in order, as they were sent."""

import asyncio
import itertools
from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import ContextState, Status, comch
from soak.rules.engines import ENDED
from soak.rules.sync_events import SyncEvents
from soak.world import NUMBER, WAIT, callbacks_may_raise, step

MESSAGES = (0, 1, 64, 1000, 4080)
GONE = {Status.CONNECTION_RESET, Status.NOT_CONNECTED, Status.SHUTDOWN, Status.BAD_STATE}


NAMES = itertools.count()


class Way:
    """One direction of a link."""

    def __init__(self, sender: Any, receiver: Any) -> None:
        self.sender = sender
        self.receiver = receiver
        self.sent: list[tuple[Any, bytes]] = []  # tasks and messages, from the next one to receive on

    def take(self, message: bytes) -> None:
        assert self.sent, f"{len(message)} bytes arrived that were not sent"
        assert message == self.sent.pop(0)[1], "another message arrived than the next one"


class Link:
    def __init__(self, server: Any, client: Any, accepted: Any, connection: Any) -> None:
        self.contexts = server, client
        self.ends = accepted, connection
        self.ways = Way(connection, accepted), Way(accepted, connection)


class Links(SyncEvents):
    def set_up(self) -> None:
        super().set_up()
        self.makers["link"] = self.add_link

    @step(engine=NUMBER, queue=st.integers(1, 20), callback=NUMBER)
    def make_link(self, engine: int, queue: int, callback: int) -> None:
        self.add_link(engine, queue, callback)

    def add_link(self, engine: int, queue: int = 8, callback: int = 0) -> None:
        name = f"soak-{next(NAMES)}"
        options = {"num_send_tasks": queue, "recv_queue_size": queue}
        callbacks = {"on_completion": self.callback(callback), "on_disconnect": self.callback(callback + 1)}
        pe = self.engine(engine)
        server = comch.Server(pe, self.dpu, self.rep, name, **options, **callbacks)
        client = comch.Client(self.engine(engine // 2), self.host, name, **options)
        for context in (server, client):
            self.keep("context", context)
            context.start()
        accepting = server.accept()
        self.attempt((), self.both_until, lambda: client.state is not ContextState.STARTING, "a link")
        accepted = self.accept(accepting)
        self.keep("link", Link(server, client, accepted, client.connection))

    def accept(self, accepting: Any) -> Any:
        end = None
        while end is None:  # a callback's error may end the wait
            end = self.attempt((), accepting.wait, WAIT)
        return end

    def both_until(self, condition: Any, what: str) -> None:
        self.until(condition, what, self.progress_both)

    def progress_both(self) -> None:
        for engine in self.engines:
            with callbacks_may_raise():
                engine.progress()

    @step(number=NUMBER, way=st.integers(0, 1), size=st.sampled_from(MESSAGES), count=st.integers(1, 8))
    def send(self, number: int, way: int, size: int, count: int) -> None:
        link = self.pick("link", number)
        if link is None:
            return
        direction = link.ways[way]
        for _ in range(count):
            message = self.content(size)
            task = self.attempt(GONE | {Status.NO_MEMORY}, direction.sender.send, message)
            if task is not None:
                direction.sent.append((task, message))

    @step(number=NUMBER, way=st.integers(0, 1))
    def receive_all(self, number: int, way: int) -> None:
        """Checks that all sent messages arrive, as long as both ends are connected."""
        link = self.pick("link", number)
        if link is None:
            return
        direction = link.ways[way]
        while direction.sent and all(end.is_connected for end in link.ends):
            message = self.attempt(GONE | {Status.TIME_OUT}, direction.receiver.recv().wait, WAIT)
            self.progress_both()
            if message is not None:
                direction.take(message)

    @step(number=NUMBER, way=st.integers(0, 1), turns=st.integers(0, 3), anew=st.booleans())
    def receive_and_give_up(self, number: int, way: int, turns: int, anew: bool) -> None:
        """Cancels a receive, which must not take a message."""
        if link := self.pick("link", number):
            direction = link.ways[way]
            if message := self.run(self.receive_or_cancel(direction.receiver, turns), anew):
                direction.take(message[0])

    async def receive_or_cancel(self, end: Any, turns: int) -> list[bytes]:
        try:
            waiting = asyncio.ensure_future(end.recv())
            for _ in range(turns):
                await asyncio.sleep(0)
            waiting.cancel()
            return [await waiting]
        except asyncio.CancelledError:
            return []
        except pydoca.DocaError as error:
            if error.status not in GONE:
                raise
            return []

    @step(number=NUMBER)
    def send_too_much(self, number: int) -> None:
        link = self.pick("link", number)
        if link is not None:
            end = link.ends[0]
            self.refused((pydoca.DocaError,), end.send, bytes(end.max_msg_size + 1))
            self.refused((TypeError, pydoca.DocaError), end.send, "text")

    @step(number=NUMBER, end=st.integers(0, 1))
    def close_link(self, number: int, end: int) -> None:
        if link := self.pick("link", number):
            self.attempt(ENDED, link.ends[end].close)
            assert not link.ends[end].is_connected
            self.refused(
                (pydoca.NotConnectedError, pydoca.ConnectionResetError, pydoca.BadStateError), link.ends[end].send, b""
            )

    @step(number=NUMBER)
    def drop_link(self, number: int) -> None:
        if link := self.pick("link", number):
            self.forget("link", link)
