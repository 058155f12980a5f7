"""Limits of comch: messages, names, queues, clients."""

from __future__ import annotations

from functools import partial

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.capabilities.taking import refuse_more, take
from pydoca.qualify.bench.messages import Link, check, message
from pydoca.qualify.bench.sides import Sides, both_sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused, until_true

_REFUSALS = (
    pydoca.TimeOutError,
    pydoca.ConnectionAbortedError,
    pydoca.ConnectionResetError,
    pydoca.NotPermittedError,
    pydoca.FullError,
)


def bytes_of_message(device: pydoca.Device, most: int) -> None:
    """Reaches max_msg_size, both ways."""
    with both_sides(device) as sides, Stand() as stand:
        link = Link(stand, sides, max_msg_size=most)
        text = message(1, most)
        for sender, receiver in ((link.at_host, link.at_dpu), (link.at_dpu, link.at_host)):
            with duty(f"a message of {most} bytes"):
                sender.send(text)
                check(receiver.recv().wait(waiting.PATIENCE), text, f"a message of {most} bytes")
            with refused(f"a message of {most + 1} bytes, one more than the limit", pydoca.InvalidValueError):
                sender.send(bytes(most + 1))
        refuse_more(most, lambda number: _server(link.pe, sides, max_msg_size=number), "bytes of a message")


def bytes_of_name(device: pydoca.Device, most: int) -> None:
    """Reaches max_name_len, with the NUL that ends it."""
    with both_sides(device) as sides, Stand() as stand:
        name, pe = fresh_name().ljust(most - 1, "x"), stand.engine()
        with duty(f"a server whose name has {most - 1} characters"):
            server = stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name))
            stand.enter_context(comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE))
            server.accept().wait(waiting.PATIENCE)
        with refused(f"a name of {most} characters, one more than the limit", pydoca.InvalidValueError):
            comch.Server(pe, sides.dpu, sides.representor, name + "x").start()


def waiting_messages(device: pydoca.Device, most: int) -> None:
    """max_recv_queue_size: as many messages wait for a reader, and the sender is not held back."""
    limits = device.info.capabilities.comch
    assert limits is not None
    with both_sides(device) as sides, Stand() as stand:
        link = Link(stand, sides, recv_queue_size=most, num_send_tasks=min(most, limits.max_send_tasks))
        for number in range(most):
            what = f"message {number} of {most} that wait"
            with duty(what):
                link.at_host.send(message(number, 64)).wait(timeout=waiting.PATIENCE)
        until_true(link.pe, lambda: link.at_dpu.recv_messages == most, f"{most} messages that wait")
        for number in range(most):
            what = f"message {number} of {most} that waited"
            with duty(what):
                check(link.at_dpu.recv().wait(waiting.PATIENCE), message(number, 64), what)
        refuse_more(most, lambda number: _server(link.pe, sides, recv_queue_size=number), "messages that wait")


def sends(device: pydoca.Device, most: int) -> None:
    """max_send_tasks of both ends."""
    with both_sides(device) as sides, Stand() as stand:
        link = Link(stand, sides, num_send_tasks=most)
        for end in (link.at_host, link.at_dpu):
            with Stand() as taken:
                take(taken, most, partial(_send, end), "sends")
        refuse_more(most, lambda number: _server(link.pe, sides, num_send_tasks=number), "sends")


def _send(end: comch.Connection, number: int) -> comch.SendTask:
    return end.send(message(number, 64), submit=False)


def clients(device: pydoca.Device, most: int) -> None:
    """max_clients: as many are connected at a time; one more is refused, until one leaves."""
    with both_sides(device) as sides, Stand() as stand:
        name, pe = fresh_name(), stand.engine()
        with duty(f"a server with {most} clients"):
            server = stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name))
            last = [_client(stand, pe, sides, name, waiting.PATIENCE) for _ in range(most)][-1]
        until_true(pe, lambda: len(server.connections) == most, f"{most} clients")
        with refused(f"client {most + 1}, one more than the limit", *_REFUSALS):
            _client(stand, pe, sides, name, 0.2)
        if len(server.connections) != most:
            raise DeviceFault(f"a server with {most} clients has {len(server.connections)} after one more was refused")
        last.close()
        until_true(pe, lambda: len(server.connections) < most, "the end of a client")
        with duty("a client in the place of one that left"):
            _client(stand, pe, sides, name, waiting.PATIENCE)


def _client(stand: Stand, pe: pydoca.ProgressEngine, sides: Sides, name: str, patience: float) -> comch.Connection:
    return stand.enter_context(comch.Client(pe, sides.host, name, timeout=patience))


def _server(pe: pydoca.ProgressEngine, sides: Sides, **options: int) -> comch.Server:
    return comch.Server(pe, sides.dpu, sides.representor, fresh_name(), **options)  # type: ignore[arg-type]
