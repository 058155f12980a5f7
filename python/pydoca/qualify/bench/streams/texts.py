"""Streams of messages over the PCIe link, each way."""

from __future__ import annotations

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.sides import both_sides, fresh_name
from pydoca.qualify.bench.streams.completions import Completions
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_WINDOW = 16


class Texts:
    """Messages of any length from the host to the DPU or back; each arrives once, in order."""

    context: pydoca.Context
    window: int

    def __init__(self, stand: Stand, device: pydoca.Device, ends: Completions, *, back: bool = False) -> None:
        self.window = _WINDOW
        self._ends, self._arrived = ends, 0
        sides, name, pe = stand.enter_context(both_sides(device)), fresh_name(), stand.engine()
        sends, receives = {"num_send_tasks": 2 * _WINDOW, **ends.callbacks}, {"on_message": self._arrive}
        with duty("connect a comch client to its server"):
            server = comch.Server(pe, sides.dpu, sides.representor, name, **(sends if back else receives))
            stand.enter_context(server)
            client = comch.Client(pe, sides.host, name, timeout=waiting.PATIENCE, **(receives if back else sends))
            at_host = stand.enter_context(client)
            self._sender = server.accept().wait(waiting.PATIENCE) if back else at_host
        self.context = server if back else client
        self._longest = at_host.max_msg_size

    def begin(self, number: int, submit: bool) -> pydoca.Task:
        """Sends a message that repeats the number."""
        return self._sender.send(self._text(number), user_data=number, submit=submit)

    def check(self, number: int, _: pydoca.Task) -> None:
        """Checks that the receiver is not further behind than two windows."""
        if self._arrived < number - 2 * _WINDOW:
            raise DeviceFault(f"message {number} was sent, and {self._arrived} have arrived")

    def _arrive(self, _: comch.Connection, text: bytes, __: object) -> None:
        if text != self._text(self._arrived):
            self._ends.fail(DeviceFault(f"message {self._arrived} has arrived as {len(text)} bytes: {text[:8]!r}"))
        self._arrived += 1

    def _text(self, number: int) -> bytes:
        """The text of a message: most are short, and one of eight has any length."""
        length = 4 * (1 + number % 16) if number % 8 else 1 + number * 37 % self._longest
        return (number.to_bytes(4, "little") * (1 + length // 4))[:length]
