"""Scenes of imports: the exporting process is stopped until the scene lets the import complete."""

import atexit
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from scene import Scene, scene, soon

import pydoca
from export_owner import Owner

KINDS = {"import_mmap": "own", "import_sync_event": "event", "import_sync_event_remote_net": "net"}


class Owners:
    """One process that serves many scenes, since starting it takes longer than a scene."""

    def __init__(self) -> None:
        self._owner: Owner | None = None
        self._unused: list[bytes] = []  # the details of its connections that no scene has used
        atexit.register(self._end)

    def _end(self) -> None:
        if self._owner is not None:
            self._owner.end()

    @contextmanager
    def lend(self, num_connections: int = 0) -> Iterator[tuple[Owner, list[bytes]]]:
        """Gives the process and the details of num_connections of its connections."""
        if self._owner is None or len(self._unused) < num_connections:
            self._end()
            self._owner = Owner()
            self._unused = list(self._owner.details)
        try:
            yield self._owner, [self._unused.pop() for _ in range(num_connections)]
        finally:
            self._owner.go_on()


OWNERS = Owners()


class ImportScene(Scene):
    def __init__(self, pe: pydoca.ProgressEngine, device: pydoca.Device, owner: Owner, call: str) -> None:
        super().__init__(pe)
        self._device, self._owner, self._call = device, owner, call

    def _arguments(self) -> tuple[pydoca.Device, bytes]:
        return self._device, self._owner.blobs[KINDS[self._call]]

    def begin(self) -> Any:
        self._owner.freeze()
        return getattr(self.pe, self._call)(*self._arguments())

    def complete(self) -> None:
        """Waits for a second import: the owner answers in order, so the first import has its answer by then."""
        self._owner.go_on()
        device, blob = self._arguments()
        getattr(device, self._call)(blob).close()

    async def check(self, results: list[Any]) -> None:
        self.complete()
        for imported in results:
            imported.close()
        results.clear()
        (await soon(getattr(self.pe, self._call)(*self._arguments()))).close()


@scene(*(f"ProgressEngine.{call}" for call in KINDS))
async def imports(call: str) -> AsyncIterator[Scene]:
    with pydoca.open_device("03:00.0", side="dpu") as device, OWNERS.lend() as (owner, _):
        async with pydoca.ProgressEngine() as pe:
            yield ImportScene(pe, device, owner, call)


class ConnectScene(Scene):
    num_connections = 6

    def __init__(self, pe: pydoca.ProgressEngine, rdma: pydoca.Rdma, owner: Owner, details: list[bytes]) -> None:
        super().__init__(pe)
        self._rdma, self._owner, self._details = rdma, owner, iter(details)

    def begin(self) -> Any:
        self._owner.freeze()
        return self._rdma.export().begin_connect(next(self._details))

    def complete(self) -> None:
        self._owner.go_on()
        self._rdma.export().connect(next(self._details))

    async def check(self, results: list[Any]) -> None:
        self.complete()
        assert all(connection.is_connected for connection in results)
        results.clear()
        connection = await soon(self._rdma.export().begin_connect(next(self._details)))
        assert connection.is_connected


@scene("RdmaConnection.begin_connect")
async def connects(_call: str) -> AsyncIterator[Scene]:
    with pydoca.open_device("03:00.1", side="dpu") as device, OWNERS.lend(ConnectScene.num_connections) as lent:
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device, max_num_connections=16) as rdma:
            yield ConnectScene(pe, rdma, *lent)
