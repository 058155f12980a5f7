"""Scenes of awaits that no engine delivers: kernels of a DPA, processes that a program starts."""

import threading
from collections.abc import AsyncIterator
from typing import Any

from scene import Scene, scene, soon

import pydoca
from pydoca import sim


class KernelScene(Scene):
    """A kernel that waits for the program."""

    def __init__(self, pe: pydoca.ProgressEngine, dpa: Any, call: str) -> None:
        super().__init__(pe)
        self._dpa, self._call = dpa, call
        self._go = threading.Event()
        self._run: Any = None
        dpa.register("wait", self._wait)

    def _wait(self, thread: Any) -> None:
        self._go.wait(20)
        if self._call == "thread":
            thread.finish()

    def begin(self) -> Any:
        self._run = getattr(self._dpa, self._call)("wait")
        if self._call == "thread":
            self._run.notify()
        return self._run

    def complete(self) -> None:
        self._go.set()

    async def check(self, results: list[Any]) -> None:
        self.complete()
        assert await soon(self._run) is None
        assert self._dpa.failure is None
        assert await soon(self.begin()) is None


@scene("Dpa.launch", "Dpa.thread")
async def kernel(call: str) -> AsyncIterator[Scene]:
    with pydoca.open_device("03:00.0", side="dpu") as device, pydoca.Dpa(device) as dpa:
        async with pydoca.ProgressEngine() as pe:
            yield KernelScene(pe, dpa, call)


class ProcessScene(Scene):
    """A process that waits for an event."""

    def __init__(self, pe: pydoca.ProgressEngine, event: Any, call: str) -> None:
        super().__init__(pe)
        self._event, self._call = event, call
        blob = event.export_to_remote_pci().hex()
        self._process = sim.spawn(PROGRAM.format(blob=blob), side="dpu", show=False)

    def begin(self) -> Any:
        return self._process if self._call == "spawn" else self._process.__aexit__(None, None, None)

    def complete(self) -> None:
        self._event.update_set(1)

    async def check(self, results: list[Any]) -> None:
        self.complete()
        if self._call == "spawn":
            assert await soon(self._process) == 0
        else:  # the end of its block ends the process, even when a cancellation interrupts that end
            await soon(self._process.__aexit__(None, None, None))
            assert self._process.returncode is not None


PROGRAM = """
import pydoca

with pydoca.open_device("03:00.0") as dev, dev.import_sync_event(bytes.fromhex("{blob}")) as event:
    event.wait_eq(1, timeout=20)
"""


@scene("pydoca.sim.spawn", "Process.__aexit__")
async def process(call: str) -> AsyncIterator[Scene]:
    with pydoca.open_device("0b:00.0", side="host") as host, pydoca.SyncEvent(host, subscriber="remote_pci") as event:
        async with pydoca.ProgressEngine() as pe:
            yield ProcessScene(pe, event, call)
