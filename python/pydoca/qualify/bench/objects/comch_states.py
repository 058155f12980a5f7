"""The properties of both ends of a comch connection, and messages that arrive before its end and are read after it."""

from __future__ import annotations

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.messages import check, message
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.sides import Sides, fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused


def told(sides: Sides) -> None:
    """Server, client, and the connection at both ends."""
    name = fresh_name()
    with Stand() as stand, duty("a comch server and its client"):
        pe = stand.engine()
        server = stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name, user_data="server"))
        client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, user_data="client")
        here = stand.enter_context(client)
        there = server.accept().wait(waiting.PATIENCE)
        there.user_data = "connection"
        found: dict[str, object] = {
            "client of here": here.client,
            "server of there": there.server,
            "connected": (here.is_connected, there.is_connected),
            "connections": list(server.connections),
            "names": (server.name, client.name),
            "user data": (server.user_data, client.user_data, there.user_data),
            "representor": server.representor,
            "connection": client.connection,
        }
        expected: dict[str, object] = {
            "client of here": client,
            "server of there": server,
            "connected": (True, True),
            "connections": [there],
            "names": (name, name),
            "user data": ("server", "client", "connection"),
            "representor": sides.representor,
            "connection": here,
        }
        require_told("a comch connection", found, expected)


def limits(sides: Sides) -> None:
    """Both ends report the smaller of their greatest lengths: such a message arrives, and a longer one is refused."""
    for at_server, at_client in ((128, 512), (512, 128), (256, 256)):
        name, what = fresh_name(), f"a message between ends of {at_server} and {at_client} bytes at most"
        most = min(at_server, at_client)
        with Stand() as stand, duty(what):
            pe = stand.engine()
            server = comch.Server(pe, sides.dpu, sides.representor, name, max_msg_size=at_server)
            stand.enter_context(server)
            client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, max_msg_size=at_client)
            here = stand.enter_context(client)
            there = server.accept().wait(waiting.PATIENCE)
            require_told(what, {"sizes": (here.max_msg_size, there.max_msg_size)}, {"sizes": (most, most)})
            for sender, receiver in ((here, there), (there, here)):
                sender.send(message(1, most)).wait(waiting.PATIENCE)
                check(receiver.recv().wait(waiting.PATIENCE), message(1, most), what)
                with refused(f"{what}, which is too long", pydoca.InvalidValueError):
                    sender.send(bytes(most + 1))


def last_words(sides: Sides, count: int, rounds: int) -> int:
    """One end sends and leaves; the other one, which has not read yet, gets all messages, and then the end.

    Returns how many messages there were.
    """
    for number in range(rounds):
        with Stand() as stand:
            pe, name = stand.engine(), fresh_name()
            with duty("a comch server and its client"):
                server = stand.enter_context(comch.Server(pe, sides.dpu, sides.representor, name))
                client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE)
                stand.callback(client.close)
                here = client.__enter__()
                there = server.accept().wait(waiting.PATIENCE)
            sender, receiver = (here, there) if number % 2 else (there, here)
            texts = [message(place, 64) for place in range(count)]
            for place, text in enumerate(texts):
                with duty(f"message {place} before the end"):
                    sender.send(text).wait(waiting.PATIENCE)
            waiting.until_true(pe, lambda receiver=receiver: receiver.recv_messages == count, "messages before the end")  # type: ignore[misc]
            client.stop() if number % 2 else there.close()
            waiting.until_true(pe, lambda receiver=receiver: not receiver.is_connected, "the end of a connection")  # type: ignore[misc]
            for place, text in enumerate(texts):
                with duty(f"message {place}, read after the end of its connection"):
                    check(receiver.recv().wait(waiting.PATIENCE), text, f"message {place}, read after the end")
            with refused("one message more than were sent", pydoca.ConnectionResetError, pydoca.NotConnectedError):
                receiver.recv().wait(waiting.PATIENCE)
    return rounds * count


def in_flight(sides: Sides, count: int, burst: int) -> int:
    """Sends messages with many in flight at once, each way; returns how many arrived."""
    for back in (False, True):
        arrived: list[bytes] = []
        with Stand() as stand:
            pe, name = stand.engine(), fresh_name()

            def take(_: comch.Connection, text: bytes, __: object, arrived: list[bytes] = arrived) -> None:
                arrived.append(text)

            with duty("a comch server and its client"):
                server = comch.Server(pe, sides.dpu, sides.representor, name, on_message=take, num_send_tasks=burst)
                stand.enter_context(server)
                client = comch.Client(
                    pe, sides.host, name, timeout=waiting.PATIENCE, on_message=take, num_send_tasks=burst
                )
                here = stand.enter_context(client)
                there = server.accept().wait(waiting.PATIENCE)
            sender = there if back else here
            for begin in range(0, count, burst):
                arrived.clear()
                texts = [message(begin + place, 16 + place % 200) for place in range(burst)]
                with duty(f"{burst} messages at once"):
                    sends = [sender.send(text) for text in texts]
                waiting.finish_all(pe, sends, f"{burst} messages at once")
                for send in sends:
                    send.free()
                waiting.until_true(pe, lambda arrived=arrived: len(arrived) >= burst, f"{burst} messages at once")  # type: ignore[misc]
                pe.drain(100)
                for text, expected in zip(arrived, texts, strict=False):
                    check(text, expected, f"one of {burst} messages at once")
                if len(arrived) != burst:
                    raise DeviceFault(f"{burst} messages were sent at once, and {len(arrived)} arrived")
    return 2 * count
