"""A progress engine's numbers of contexts and tasks, its notification handle, and its moves between threads."""

from __future__ import annotations

import asyncio
import select
import threading

import pydoca
from pydoca.qualify.bench import dma, waiting
from pydoca.qualify.bench.maps import Copier
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused
from pydoca.qualify.bench.zones import require_equal

_SIZE = 64


def counts(device: pydoca.Device, contexts: int = 4) -> None:
    """Waits of several sync events are in flight; each in turn ends, is cancelled, or is flushed."""
    with Stand() as stand:
        pe = stand.engine()
        events = [pydoca.SyncEvent(device) for _ in range(contexts)]
        for event in events:
            stand.callback(event.close)
        with duty(f"{contexts} sync events with tasks"):
            running = [stand.enter_context(event.as_context(pe, num_tasks=8)) for event in events]
            waits = [[context.wait_eq(5) for _ in range(number + 1)] for number, context in enumerate(running)]
        left = [len(tasks) for tasks in waits]
        _require_counts(pe, running, left, "waits in flight")
        for number, context in enumerate(running[:-1]):
            with duty("the end of waits"):
                if number % 2:
                    for task in waits[number]:
                        task.cancel()
                else:
                    context.notify_set(5)
            waiting.until_true(pe, lambda number=number: all(task.done for task in waits[number]), "the end of waits")  # type: ignore[misc]
            pe.drain(100)
            left[number] = 0
            _require_counts(pe, running, left, f"after the waits of context {number}")
        running[-1].stop()
        pe.drain(100)
        ended = pe.stats()
        done = sum(len(tasks) for tasks in waits[0:-1:2])
        total = sum(map(len, waits)) + len(waits[0:-1:2])
        expected: dict[str, object] = {"submitted": total, "completed": done + len(waits[0:-1:2])}
        require_told("an engine", {"submitted": ended.submitted, "completed": ended.completed}, expected)
        if ended.cancelled + ended.failed != total - ended.completed:
            raise DeviceFault(f"an engine whose waits were cancelled and flushed counts {ended}")
        for tasks in waits:
            for task in tasks:
                task.free()


def _require_counts(
    pe: pydoca.ProgressEngine, running: list[pydoca.SyncEventContext], left: list[int], what: str
) -> None:
    found = {"all": pe.num_inflight_tasks, "each": [context.num_inflight_tasks for context in running]}
    require_told(
        f"an engine with {what}",
        {**found, "contexts": pe.num_contexts},
        {"all": sum(left), "each": left, "contexts": len(running)},
    )


def failures(device: pydoca.Device) -> None:
    """Copies succeed, and one fails: the statistics of context and engine and the task show each result."""
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(3)
        mmap = stand.enter_context(device.mmap(pydoca.alloc(4 * _SIZE)))
        context = pydoca.Dma(pe, device, num_tasks=2)
        with duty("start the DMA engine"):
            stand.enter_context(context)
            src = stand.keep(inventory.get_by_data(mmap, mmap.addr, _SIZE))
            room = stand.keep(inventory.get_by_addr(mmap, mmap.addr + _SIZE, _SIZE))
            short = stand.keep(inventory.get_by_addr(mmap, mmap.addr + 2 * _SIZE, _SIZE // 2))
            waiting.finish(context.memcpy(src, room), "a copy")
            task = context.memcpy(src, short, submit=False)
        try:
            task.submit()
        except pydoca.DocaError:
            task.free()
            return  # it is refused before it is submitted
        with refused("a copy to a place that is too short", pydoca.DocaError):
            task.wait(timeout=waiting.PATIENCE)
        for name, found in (("a context", context.stats()), ("its engine", pe.stats())):
            require_told(
                f"{name} with a copy that failed",
                {"completed": found.completed, "failed": found.failed},
                {"completed": 1, "failed": 1},
            )
        if task.status is pydoca.Status.SUCCESS:
            raise DeviceFault("a copy that failed tells SUCCESS")
        task.free()


def handle(device: pydoca.Device, rounds: int) -> int:
    """The handle is readable when a completion is pending, and not after it was cleared and all were taken."""
    with Stand() as stand:
        copies = dma.Copies(stand, device, dma.local(stand, device, _SIZE), _SIZE, 1)
        poll = select.poll()
        poll.register(copies.pe.notification_handle, select.POLLIN)
        for number in range(rounds):
            copies.prepare()
            copies.pe.request_notification()
            with duty("a copy with an armed engine"):
                copies.tasks[0].submit()
            if not poll.poll(1000 * waiting.PATIENCE):
                raise DeviceFault(f"round {number}: a copy has ended, and the armed handle is not readable")
            copies.pe.clear_notification()
            if poll.poll(0):
                raise DeviceFault(f"round {number}: the handle was cleared, and is readable")
            waiting.finish(copies.tasks[0], "a copy with an armed engine")
            copies.pe.request_notification()
            if poll.poll(0):
                raise DeviceFault(f"round {number}: nothing is pending, and the armed handle is readable")
            copies.pe.clear_notification()
    return rounds


def moves(device: pydoca.Device) -> None:
    """A context is connected later; the engine is released by one thread and used by another one."""
    failures: list[BaseException] = []
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(2)
        mmap = stand.enter_context(device.mmap(pydoca.alloc(2 * _SIZE)))
        src = stand.keep(inventory.get_by_data(mmap, mmap.addr, _SIZE))
        dst = stand.keep(inventory.get_by_addr(mmap, mmap.addr + _SIZE, _SIZE))
        context = pydoca.Dma(None, device, num_tasks=1)
        with duty("connect a context to an engine"):
            pe.connect(context)
            stand.enter_context(context)

        def copy(seed: int) -> None:
            array = view(mmap.memory)
            array[:_SIZE] = prbs31(_SIZE, seed)
            dst.reset_data_len()
            task = context.memcpy(src, dst)
            waiting.finish(task, "a copy by an engine that has moved")
            task.free()
            require_equal(array[_SIZE:], array[:_SIZE], "a copy by an engine that has moved")

        def work() -> None:
            try:
                copy(2)
                pe.release_thread()
            except BaseException as error:
                failures.append(error)

        copy(1)
        pe.release_thread()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        for failure in failures:
            raise DeviceFault(f"an engine in another thread: {failure}") from failure
        copy(3)


def awaited_imports(sides: Sides) -> None:
    """An event loop imports a map and an event of the other side."""

    async def work() -> None:
        memory, into = pydoca.alloc(_SIZE), pydoca.alloc(_SIZE)
        view(memory)[:] = prbs31(_SIZE, 4)
        with Stand() as stand:
            lent = stand.enter_context(sides.host.mmap(memory, access="pci_read_only"))
            here = stand.enter_context(sides.dpu.mmap(into))
            event = stand.enter_context(pydoca.SyncEvent(sides.host, publisher="remote_pci", subscriber="cpu"))
            async with pydoca.ProgressEngine() as pe:
                imported = stand.enter_context(await pe.import_mmap(sides.dpu, lent.export_pci()))
                there = stand.enter_context(await pe.import_sync_event(sides.dpu, event.export_to_remote_pci()))
            there.update_set(3)
            waiting.require_value(event.get(), 3, "an event that an awaited import has set")
            Copier(stand, sides.dpu).copy(imported, here, _SIZE)
        require_equal(view(into), view(memory), "a copy by an awaited import")

    with duty("imports of an event loop"):
        asyncio.run(work())
