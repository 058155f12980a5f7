"""Calls in the wrong state, and arguments beyond a capability: each must be refused with the documented error."""

from __future__ import annotations

from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import prbs31
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused


class Scene:
    """Objects in their usual states, on which each misuse acts."""

    stand: Stand
    device: pydoca.Device
    mmap: pydoca.Mmap
    inventory: pydoca.BufInventory
    bufs: Stand
    pe: pydoca.ProgressEngine
    dma: pydoca.Dma

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.stand, self.device = stand, device
        self.mmap = stand.enter_context(device.mmap(pydoca.alloc(4096)))
        self.inventory, self.bufs, self.pe = stand.bufs(4), stand.enter_context(Stand()), stand.engine()
        self.dma = stand.enter_context(pydoca.Dma(self.pe, device, num_tasks=1))

    def copy(self) -> pydoca.DmaMemcpyTask:
        """A task that is not submitted."""
        src = self.bufs.keep(self.inventory.get_by_data(self.mmap, self.mmap.addr, 64))
        dst = self.bufs.keep(self.inventory.get_by_addr(self.mmap, self.mmap.addr + 64, 64))
        return self.dma.memcpy(src, dst, submit=False)


def _start_twice(scene: Scene) -> None:
    scene.dma.start()


def _configure_while_running(scene: Scene) -> None:
    scene.dma.set_memcpy_conf(None, None, 2)


def _task_before_start(scene: Scene) -> None:
    dma = pydoca.Dma(scene.pe, scene.device, num_tasks=1)
    scene.stand.callback(dma.close)
    buf = scene.bufs.keep(scene.inventory.get_by_data(scene.mmap))
    dma.memcpy(buf, buf)


def _start_without_engine(scene: Scene) -> None:
    pydoca.Dma(None, scene.device, num_tasks=1).start()


def _more_tasks_than_configured(scene: Scene) -> None:
    first = scene.copy()
    scene.copy()
    first.free()


def _close_while_running(scene: Scene) -> None:
    scene.dma.close()


def _submit_twice(scene: Scene) -> None:
    task = scene.copy()
    task.submit(pydoca.SubmitFlags.NONE)
    task.submit()


def _free_twice(scene: Scene) -> None:
    task = scene.copy()
    task.free()
    task.free()


def _result_in_flight(scene: Scene) -> None:
    task = scene.copy()
    task.submit(pydoca.SubmitFlags.NONE)
    task.result()


def _close_engine_with_contexts(scene: Scene) -> None:
    scene.pe.close()


def _stop_map_with_bufs(scene: Scene) -> None:
    scene.bufs.keep(scene.inventory.get_by_data(scene.mmap))
    scene.mmap.stop()


def _start_map_twice(scene: Scene) -> None:
    scene.mmap.start()


def _close_inventory_with_bufs(scene: Scene) -> None:
    scene.bufs.keep(scene.inventory.get_by_data(scene.mmap))
    scene.inventory.close()


def _buf_of_stopped_map(scene: Scene) -> None:
    mmap = scene.stand.enter_context(scene.device.mmap(bytearray(64)))
    mmap.stop()
    scene.inventory.get_by_data(mmap)


def _export_without_permission(scene: Scene) -> None:
    scene.mmap.export_pci()


def _add_device_to_started_map(scene: Scene) -> None:
    scene.mmap.add_device(scene.device)


MISUSES: dict[str, tuple[Callable[[Scene], None], tuple[type[pydoca.DocaError], ...]]] = {
    "start a context twice": (_start_twice, (pydoca.BadStateError,)),
    "configure a running context": (_configure_while_running, (pydoca.BadStateError,)),
    "take a task before the start": (_task_before_start, (pydoca.BadStateError,)),
    "start without an engine": (_start_without_engine, (pydoca.NotConnectedError,)),
    "more tasks than configured": (_more_tasks_than_configured, (pydoca.NoMemoryError,)),
    "close a running context": (_close_while_running, (pydoca.InUseError,)),
    "submit a task in flight": (_submit_twice, (pydoca.BadStateError,)),
    "free a task twice": (_free_twice, (pydoca.BadStateError,)),
    "ask for a result in flight": (_result_in_flight, (pydoca.InProgressError,)),
    "close an engine with contexts": (_close_engine_with_contexts, (pydoca.InUseError,)),
    "stop a map with bufs": (_stop_map_with_bufs, (pydoca.NotPermittedError,)),
    "start a map twice": (_start_map_twice, (pydoca.NotPermittedError,)),
    "close an inventory with bufs": (_close_inventory_with_bufs, (pydoca.InUseError,)),
    "take a buf of a stopped map": (_buf_of_stopped_map, (pydoca.BadStateError,)),
    "export without permission": (_export_without_permission, (pydoca.NotPermittedError, pydoca.NotSupportedError)),
    "add a device to a started map": (_add_device_to_started_map, (pydoca.NotPermittedError, pydoca.AlreadyExistError)),
}


def check(device: pydoca.Device, name: str) -> None:
    """Does one of MISUSES, and then copies to check that the device is usable."""
    misuse, expected = MISUSES[name]
    with Stand() as stand:
        scene = Scene(stand, device)
        with refused(name, *expected):
            misuse(scene)
    works(device)


def works(device: pydoca.Device, size: int = 64) -> None:
    """Copies size bytes."""
    data, target = bytes(prbs31(size, 7)), pydoca.alloc(size)
    with Stand() as stand:
        with duty(f"a copy of {size} bytes"):
            src, dst = stand.enter_context(device.mmap(data)), stand.enter_context(device.mmap(target))
            inventory, pe = stand.bufs(2), stand.engine()
            bufs = stand.keep(inventory.get_by_data(src)), stand.keep(inventory.get_by_addr(dst))
            dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
            dma.memcpy(*bufs).wait(timeout=waiting.PATIENCE)
        if bytes(target) != data:
            raise DeviceFault(f"a copy of {size} bytes has wrong data")
