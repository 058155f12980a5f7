"""One life of a context of each library: made, used once and ended. A leak is what such a life leaves behind."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

import pydoca
from pydoca import comch
from pydoca.qualify.bench import compress, graphs, maps, messages, waiting
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused
from pydoca.qualify.bench.zones import require_equal

_SIZE = 4096


def cycles(device: pydoca.Device) -> dict[str, Callable[[pydoca.Device], None]]:
    """The lives for the libraries that the device has, by name."""
    return {name: cycle for name, (is_there, cycle) in _CYCLES.items() if is_there(device.info)}


def _copy(device: pydoca.Device) -> None:
    with Stand() as stand:
        pe = stand.engine()
        source, target = (stand.enter_context(pydoca.alloc(_SIZE)) for _ in range(2))
        view(source)[:] = prbs31(_SIZE, 1)
        maps = [stand.enter_context(device.mmap(each)) for each in (source, target)]
        bufs = stand.bufs(2)
        dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        src, dst = stand.keep(bufs.get_by_data(maps[0])), stand.keep(bufs.get_by_addr(maps[1]))
        finish(dma.memcpy(src, dst), "a copy")
        require_equal(view(target), view(source), "a copy")


def _hash(device: pydoca.Device) -> None:
    with Stand() as stand:
        pe = stand.engine()
        bufs = stand.bufs(2)
        digest = stand.enter_context(pydoca.alloc(64))
        text, place = stand.enter_context(device.mmap(b"abc")), stand.enter_context(device.mmap(digest))
        sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        finish(sha.hash(stand.keep(bufs.get_by_data(text)), stand.keep(bufs.get_by_addr(place)), "sha256"), "a digest")
        if bytes(digest)[:32] != hashlib.sha256(b"abc").digest():
            raise DeviceFault("a digest is wrong")


def _connect(device: pydoca.Device) -> None:
    """Two contexts, connected by their details, and one message."""
    with Stand() as stand:
        pe = stand.engine()
        text, place = stand.enter_context(pydoca.alloc(_SIZE)), stand.enter_context(pydoca.alloc(_SIZE))
        view(text)[:] = prbs31(_SIZE, 2)
        bufs = stand.bufs(2)
        one, other = (stand.enter_context(pydoca.Rdma(pe, device, num_tasks=1)) for _ in range(2))
        here, there = one.export(), other.export()
        here.connect(there.details)
        there.connect(here.details)
        source = stand.keep(bufs.get_by_data(stand.enter_context(device.mmap(text))))
        target = stand.keep(bufs.get_by_addr(stand.enter_context(device.mmap(place))))
        received = other.receive(target)
        finish(here.send(source), "a message")
        finish(received, "the receive of a message")
        require_equal(view(place), view(text), "a message")


def _wait(device: pydoca.Device) -> None:
    with Stand() as stand:
        _, context = with_tasks(stand, device, 1)
        waits = context.wait_gt(0) if device.info.supports("async_sync_event_wait") else None
        finish(context.notify_add(1), "an addition")
        if waits is not None:
            finish(waits, "a wait")


def _serve(device: pydoca.Device) -> None:
    """A server without a client."""
    with Stand() as stand:
        pe = stand.engine()
        representor = stand.enter_context(device.open_representor(device.representors()[0]))
        stand.enter_context(comch.Server(pe, device, representor, "pydoca-qualify-life"))


def _invalidate(device: pydoca.Device) -> None:
    with Stand() as stand:
        pe = stand.engine()
        buf = stand.keep(stand.bufs(1).get_by_data(stand.enter_context(device.mmap(pydoca.alloc(_SIZE)))))
        advise = stand.enter_context(pydoca.MmapAdvise(pe, device, num_tasks=1))
        finish(advise.invalidate_cache(buf), "an invalidation of the cache")


def _expand(device: pydoca.Device) -> None:
    with Stand() as stand:
        streams = compress.Streams(stand, device, _SIZE)
        plain = prbs31(_SIZE, 3).tobytes()
        streams.check(plain, compress.deflated(plain, "own codes"), random.Random(1), "an expansion")


def _fail(device: pydoca.Device) -> None:
    """A copy that fails because its destination is too short; its context stops."""
    with Stand() as stand:
        pe, bufs = stand.engine(), stand.bufs(2)
        mmap = stand.enter_context(device.mmap(pydoca.alloc(_SIZE)))
        dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        src, dst = bufs.get_by_data(mmap, mmap.addr, 64), bufs.get_by_addr(mmap, mmap.addr + 64, 32)
        task = dma.memcpy(stand.keep(src), stand.keep(dst), submit=False)
        with refused("a copy of 64 bytes to a place for 32", *maps.REFUSALS):
            task.submit()
            task.wait(timeout=waiting.PATIENCE)


def _run_graph(device: pydoca.Device) -> None:
    """Two copies in a row."""
    with Stand() as stand:
        graphs.Chain(stand, device, 2).run(1)


def _read_clocks(device: pydoca.Device) -> None:
    with pydoca.Clock(device) as clock:
        clock.timestamp(pydoca.ClockType.HOST_MONOTONIC)


def _listen(device: pydoca.Device) -> None:
    """Connects a client with a server at the other end of its link."""
    with both_sides(device) as sides, Stand() as stand:
        link = messages.Link(stand, sides)
        link.at_host.send(b"a message")
        with duty("a message"):
            messages.check(link.at_dpu.recv().wait(timeout=waiting.PATIENCE), b"a message", "a message")


def _import_map(device: pydoca.Device) -> None:
    with both_sides(device) as sides:
        maps.export_cycle(sides)


def _import_event(device: pydoca.Device) -> None:
    """Imports an event, which the other end of the link sets."""
    with (
        both_sides(device) as sides,
        duty("an event of the other side"),
        pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu") as event,
        sides.other(device).import_sync_event(event.export_to_remote_pci()) as imported,
    ):
        imported.update_set(1)
        event.wait_eq(1, timeout=waiting.PATIENCE)


def _has_server(info: pydoca.DeviceInfo) -> bool:
    """Whether a server can start: it is behind a representor, which only physical functions of the DPU have."""
    return info.supports("comch_server") and info.supports("representors")


_CYCLES: dict[str, tuple[Callable[[pydoca.DeviceInfo], bool], Callable[[pydoca.Device], None]]] = {
    "dma": (lambda info: info.capabilities.dma is not None, _copy),
    "failure": (lambda info: info.capabilities.dma is not None, _fail),
    "sha": (lambda info: info.capabilities.sha is not None, _hash),
    "compress": (lambda info: info.capabilities.compress is not None, _expand),
    "rdma": (lambda info: info.capabilities.rdma is not None, _connect),
    "sync_event": (lambda info: info.capabilities.sync_event is not None, _wait),
    "comch": (_has_server, _serve),
    "comch_link": (has_link, _listen),
    "import_map": (has_link, _import_map),
    "import_event": (lambda info: has_link(info) and info.supports("sync_event_export_to_remote_pci"), _import_event),
    "mmap_advise": (lambda info: info.capabilities.mmap_advise is not None, _invalidate),
    "graph": (lambda info: info.capabilities.dma is not None, _run_graph),
    "clock": (lambda info: info.capabilities.clock is not None, _read_clocks),
}
