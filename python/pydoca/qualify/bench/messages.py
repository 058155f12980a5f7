"""Comch: messages of every length with their content and order, back-pressure, connections, many clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import prbs31
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused, until_true

BATCH = 64
WINDOW = 32  # messages in flight


class Link:
    """A server and a client of one process, and both ends of their connection."""

    pe: pydoca.ProgressEngine
    server: comch.Server
    client: comch.Client
    at_host: comch.Connection
    at_dpu: comch.Connection

    def __init__(self, stand: Stand, sides: Sides, *, client: int | None = None, **options: int) -> None:
        name = fresh_name()
        self.pe = stand.engine()
        with duty("connect a comch client to its server"):
            server = comch.Server(self.pe, sides.dpu, sides.representor, name, **options)  # type: ignore[arg-type]
            self.server = stand.enter_context(server)
            self.client = comch.Client(self.pe, sides.host, name, timeout=waiting.PATIENCE, **options)  # type: ignore[arg-type]
            self.at_host = stand.enter_context(self.client)
            self.at_dpu = self.server.accept().wait(timeout=waiting.PATIENCE)


def message(number: int, length: int) -> bytes:
    """A message that starts with its number, if it is long enough."""
    head = number.to_bytes(4, "little")
    return (head + _BODY[number % 251 :][: max(0, length - 4)])[:length]


_BODY = prbs31(1 << 16).tobytes()


def _receive(connection: comch.Connection, what: str) -> bytes:
    with duty(what):
        return connection.recv().wait(timeout=waiting.PATIENCE)


def check(got: bytes, expected: bytes, what: str) -> None:
    """Raises DeviceFault unless a message has the expected length and bytes."""
    if got == expected:
        return
    if len(got) != len(expected):
        raise DeviceFault(f"{what}: {len(got)} bytes arrived instead of {len(expected)}: one was lost, doubled or cut")
    first = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
    raise DeviceFault(f"{what}: byte {first} of {len(got)} is {got[first]:#04x} instead of {expected[first]:#04x}")


def lengths(sides: Sides, all_lengths: list[int]) -> int:
    """Sends a message of each length, both ways, and checks content, order and number; returns how many."""
    with Stand() as stand:
        link = Link(stand, sides)
        for way, sender, receiver in (
            ("host to DPU", link.at_host, link.at_dpu),
            ("DPU to host", link.at_dpu, link.at_host),
        ):
            for begin in range(0, len(all_lengths), WINDOW):
                _window(sender, receiver, begin, all_lengths[begin : begin + WINDOW], way)
            _require_no_more(link.pe, receiver, len(all_lengths), way)
            counts = (sender.sent_messages, sender.sent_bytes, receiver.recv_bytes)
            if counts != (len(all_lengths), sum(all_lengths), sum(all_lengths)):
                raise DeviceFault(f"{way}: the counters of messages and bytes are {counts}")
    return 2 * len(all_lengths)


def _window(sender: comch.Connection, receiver: comch.Connection, begin: int, some: list[int], way: str) -> None:
    texts = [message(begin + i, length) for i, length in enumerate(some)]
    with duty(f"send {len(texts)} messages from {way}"):
        sends = [sender.send(text) for text in texts]
    for i, text in enumerate(texts):
        what = f"message {begin + i} of {len(text)} bytes from {way}"
        check(_receive(receiver, what), text, what)
    for send in sends:
        waiting.finish(send, f"send from {way}")


def _require_no_more(pe: pydoca.ProgressEngine, receiver: comch.Connection, count: int, way: str) -> None:
    pe.drain(100)
    if receiver.recv_messages != count:
        raise DeviceFault(f"{way}: {receiver.recv_messages} messages arrived, and {count} were sent")


def round_trips(sides: Sides, size: int, until: Callable[[], bool]) -> Iterator[NDArray[np.float64]]:
    """Microseconds of a message and its answer, both ends in this process; BATCH samples at a time."""
    with Stand() as stand:
        link = Link(stand, sides)
        number = 0
        while not until():
            batch = np.empty(BATCH)
            with duty("a message and its answer"):
                for i in range(BATCH):
                    number += 1
                    batch[i] = _round_trip(link, message(number, size)) / 1e3
            yield batch


def _round_trip(link: Link, text: bytes) -> int:
    begin = time.perf_counter_ns()
    link.at_host.send(text)
    arrived = link.at_dpu.recv().wait(waiting.PATIENCE)
    link.at_dpu.send(arrived)
    back = link.at_host.recv().wait(waiting.PATIENCE)
    taken = time.perf_counter_ns() - begin
    check(back, text, "a message and its answer")
    return taken


def rate(sides: Sides, size: int, until: Callable[[], bool]) -> Iterator[float]:
    """Messages a second from host to DPU, in windows; both ends in this process."""
    with Stand() as stand:
        link = Link(stand, sides)
        texts = [message(i, size) for i in range(WINDOW)]
        while not until():
            with duty("a window of messages"):
                begin = time.perf_counter_ns()
                for text in texts:
                    link.at_host.send(text)
                got = [link.at_dpu.recv().wait(waiting.PATIENCE) for _ in texts]
                taken = time.perf_counter_ns() - begin
            for i, (text, arrived) in enumerate(zip(texts, got, strict=True)):
                check(arrived, text, f"message {i} of a window")
            yield WINDOW * 1e9 / taken


def back_pressure(sides: Sides, queue: int = 4, messages: int = 512) -> int:
    """A reader that does not read holds the sender back, and nothing is lost; returns how many messages waited."""
    comch_limits = sides.host.info.capabilities.comch
    messages = min(messages, comch_limits.max_send_tasks if comch_limits else messages)
    with Stand() as stand:
        link = Link(stand, sides, recv_queue_size=queue, num_send_tasks=messages)
        texts = [message(i, 64) for i in range(messages)]
        with duty(f"send {messages} messages to a reader that does not read"):
            sends = [link.at_host.send(text) for text in texts]
        for _ in range(1000):
            link.pe.drain(100)
        waiting_sends = sum(not send.done for send in sends)
        with refused("one more send than tasks", pydoca.NoMemoryError):
            link.at_host.send(b"one more")
        if link.at_dpu.recv_messages > queue or not waiting_sends:
            taken = f"{link.at_dpu.recv_messages} are at the reader, {waiting_sends} wait at the sender"
            raise DeviceFault(f"{messages} messages to a reader with room for {queue}: {taken}")
        for i, text in enumerate(texts):
            what = f"message {i} after the reader began to read"
            check(_receive(link.at_dpu, what), text, what)
        for send in sends:
            waiting.finish(send, "a send that was held back")
        return waiting_sends


def connects(sides: Sides, count: int) -> Iterator[float]:
    """Milliseconds from a client's start to its connection, `count` times to one server, with a message each way.

    The messages of each connection are its first ones, whatever came over those before, and its counters begin at 0.
    """
    name = fresh_name()
    with Stand() as stand:
        pe = stand.engine()
        with duty("start a comch server"):
            server = stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name))
        for number in range(count):
            text, answer = message(number, 64), message(number + count, 80)
            with duty(f"connection {number}"):
                begin = time.perf_counter_ns()
                with comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE) as link:
                    taken = time.perf_counter_ns() - begin
                    link.send(text).wait(waiting.PATIENCE)
                    accepted = server.accept().wait(waiting.PATIENCE)
                    check(accepted.recv().wait(waiting.PATIENCE), text, f"the message of connection {number}")
                    accepted.send(answer).wait(waiting.PATIENCE)
                    check(_receive(link, "an answer"), answer, f"the answer of connection {number}")
                    _require_counts(link, (text, answer), f"the client of connection {number}")
                    _require_counts(accepted, (answer, text), f"the server of connection {number}")
            until_true(pe, lambda: not server.connections, f"the end of connection {number}")
            yield taken / 1e6


def _require_counts(end: comch.Connection, texts: tuple[bytes, bytes], what: str) -> None:
    """Checks that an end has counted one message each way, the sent and the received one."""
    found = end.sent_messages, end.sent_bytes, end.recv_messages, end.recv_bytes
    if found != (1, len(texts[0]), 1, len(texts[1])):
        raise DeviceFault(f"{what} has sent and received a message, and counts (messages, bytes, both ways) {found}")


def many_clients(sides: Sides, clients: int, messages: int) -> float:
    """Each client sends its messages at once, and the server answers each; every message reaches its receiver.

    A client sends no more messages than the server has tasks for their answers. Returns fairness: the least number of a
    client's messages that were served by half-time, over the greatest.
    """
    name, desk, limits = fresh_name(), _Desk(), sides.dpu.info.capabilities.comch
    assert limits is not None
    messages = min(messages, limits.max_send_tasks // clients)
    with Stand() as stand:
        pe = stand.engine()
        with duty(f"a server with {clients} clients"):
            tasks = clients * messages
            server = comch.Server(pe, sides.dpu, sides.representor, name, on_message=desk.answer, num_send_tasks=tasks)
            stand.enter_context(server)
            settings = {"num_send_tasks": messages, "recv_queue_size": messages}
            links = [
                stand.enter_context(comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, **settings))  # type: ignore[arg-type]
                for _ in range(clients)
            ]
            for number in range(messages):
                for client, link in enumerate(links):
                    link.send(_named(client, number))
        total = clients * messages
        until_true(pe, lambda: desk.total >= total // 2, "half of all messages")
        fairness = min(desk.arrived.get(i, 0) for i in range(clients)) / max(desk.arrived.values())
        until_true(pe, lambda: desk.total >= total, "all messages of all clients")
        if len(server.connections) != clients or set(desk.arrived.values()) != {messages}:
            raise DeviceFault(f"the clients were not served alike: {desk.arrived}")
        for client, link in enumerate(links):
            for number in range(messages):
                what = f"answer {number} for client {client}"
                check(_receive(link, what), _answer(client, number), what)
        for link in links:
            _require_no_more(pe, link, messages, "DPU to host")
    return fairness


def _named(client: int, number: int) -> bytes:
    return message(client << 16 | number, 64)


def _answer(client: int, number: int) -> bytes:
    return message(client << 16 | number, 80)


class _Desk:
    """The clients that a server knows from their messages."""

    def __init__(self) -> None:
        self.arrived: dict[int, int] = {}  # the key is the client
        self.total = 0

    def answer(self, connection: comch.Connection, text: bytes, _: object) -> None:
        """Checks that a connection stays with the client whose message came over it first."""
        if connection.user_data is None:
            connection.user_data = int.from_bytes(text[:4], "little") >> 16
        client: int = connection.user_data
        number = self.arrived.get(client, 0)
        check(text, _named(client, number), f"message {number} on the connection of client {client}")
        connection.send(_answer(client, number))
        self.arrived[client] = number + 1
        self.total += 1


def representors(sides: Sides) -> int:
    """Only the function of a representor reaches the server behind it.

    Returns the number of representors whose function this process sees.
    """
    functions = {info.pci_addr: info for info in pydoca.devices(side="host") if info.supports("comch_client")}
    shown = [info for info in sides.dpu.representors() if info.pci_addr in functions]
    for place, info in enumerate(shown):
        own, other = (functions[shown[(place + by) % len(shown)].pci_addr] for by in (0, 1))
        with Stand() as stand:
            name, pe = fresh_name(), stand.engine()
            with duty(f"a server behind {info.name}"):
                representor = stand.enter_context(sides.dpu.open_representor(info))
                server = stand.enter_context(comch.Server(pe, sides.dpu, representor, name))
            _reach(pe, server, own, f"a client on {own.name} of a server behind {info.name}")
            if other is not own:
                _miss(pe, name, other, f"a client on {other.name} of a server behind {info.name}, of {own.name}")
    _namesakes(sides, shown, [functions[info.pci_addr] for info in shown])
    return len(shown)


def _namesakes(sides: Sides, shown: list[pydoca.RepresentorInfo], functions: list[pydoca.DeviceInfo]) -> None:
    """Servers of one name run behind all representors at once, and each function reaches its own."""
    with Stand() as stand:
        name, pe = fresh_name(), stand.engine()
        servers: list[comch.Server] = []
        for info in shown:
            with duty(f"a server behind {info.name}, beside {len(servers)} of the same name"):
                representor = stand.enter_context(sides.dpu.open_representor(info))
                servers.append(stand.enter_context(comch.Server(pe, sides.dpu, representor, name)))
        for server, function in zip(servers, functions, strict=True):
            _reach(pe, server, function, f"a client on {function.name}, beside servers of the same name")


def _reach(pe: pydoca.ProgressEngine, server: comch.Server, info: pydoca.DeviceInfo, what: str) -> None:
    text = message(1, 64)
    with (
        duty(what),
        pydoca.open_device(info) as device,
        comch.Client(pe, device, server.name, timeout=waiting.PATIENCE) as link,
    ):
        link.send(text)
        check(server.accept().wait(waiting.PATIENCE).recv().wait(waiting.PATIENCE), text, what)


def _miss(pe: pydoca.ProgressEngine, name: str, info: pydoca.DeviceInfo, what: str) -> None:
    is_missed = refused(what, pydoca.TimeOutError, pydoca.NotFoundError)
    with pydoca.open_device(info) as device, Stand() as stand, is_missed:
        stand.enter_context(comch.Client(pe, device, name, timeout=0.05))


def misbehaving_clients(sides: Sides) -> None:
    """A client's wrong calls are refused, and another client's connection goes on."""
    with Stand() as stand:
        link = Link(stand, sides)
        most = link.at_host.max_msg_size
        with refused(f"a message of {most + 1} bytes, one more than max_msg_size", pydoca.InvalidValueError):
            link.at_host.send(bytes(most + 1))
        with refused("a second server of the same name", pydoca.AlreadyExistError):
            comch.Server(link.pe, sides.dpu, sides.representor, link.server.name).start()
        with refused("a connection to a server that does not exist", pydoca.TimeOutError, pydoca.NotFoundError):
            stand.enter_context(comch.Client(link.pe, sides.host, fresh_name(), timeout=0.05))
        with duty("a client that leaves at once"):
            comch.Client(link.pe, sides.host, link.server.name, timeout=waiting.PATIENCE).__enter__().close()
        text = message(1, most)
        link.at_host.send(text)
        check(_receive(link.at_dpu, "a message of the other client"), text, "a message of the other client")
