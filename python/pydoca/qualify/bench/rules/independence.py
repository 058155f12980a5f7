"""Two objects of one kind: the end of one does not change the other."""

from __future__ import annotations

import pydoca
from pydoca.qualify.bench.maps import REFUSALS, Copier
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused
from pydoca.qualify.bench.zones import require_equal

_SIZE = 4096


def imports(sides: Sides, count: int = 3) -> int:
    """Imports of one description, and of two descriptions of the same memory, end one after the other."""
    with Stand() as stand:
        memory, into = pydoca.alloc(_SIZE), pydoca.alloc(_SIZE)
        lent = [stand.enter_context(sides.host.mmap(memory, access="pci_read_only")) for _ in range(2)]
        here, copier = stand.enter_context(sides.dpu.mmap(into)), Copier(stand, sides.dpu)
        with duty("import memory of the host"):
            blobs = [each.export_pci() for each in lent]
            made = [sides.dpu.import_mmap(blobs[place % 2]) for place in range(2 * count)]
        for imported in made:
            stand.callback(imported.close)
        for number, imported in enumerate(made):
            for other in made[number:]:
                view(memory)[:] = prbs31(_SIZE, number + 1)
                with duty(f"a copy by an import after the end of {number} others"):
                    copier.copy(other, here, _SIZE)
                require_equal(view(into), view(memory), f"a copy after the end of {number} other imports")
            imported.close()
    return 2 * count


def withdrawals(sides: Sides) -> None:
    """Memory that is withdrawn cannot be imported; other memory of the same owner can."""
    with Stand() as stand:
        memory = pydoca.alloc(2 * _SIZE)
        kept = stand.enter_context(sides.host.mmap(memory, access="pci_read_only"))
        for end in ("stop", "close"):
            lent = stand.enter_context(sides.host.mmap(memory, access="pci_read_only"))
            blob = lent.export_pci()
            getattr(lent, end)()
            with refused(f"an import of memory that its owner withdrew ({end})", pydoca.NotConnectedError):
                sides.dpu.import_mmap(blob)
        with duty("import memory beside memory that was withdrawn"):
            sides.dpu.import_mmap(kept.export_pci()).close()


def contexts(device: pydoca.Device, count: int = 4) -> None:
    """Copy engines of one progress engine stop one after the other, and the remaining ones copy."""
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(2)
        memory, into = pydoca.alloc(_SIZE), pydoca.alloc(_SIZE)
        maps = [stand.enter_context(device.mmap(each)) for each in (memory, into)]
        src, dst = stand.keep(inventory.get_by_data(maps[0])), stand.keep(inventory.get_by_addr(maps[1]))
        with duty(f"start {count} DMA engines"):
            running = [stand.enter_context(pydoca.Dma(pe, device, num_tasks=1)) for _ in range(count)]
        for number in range(count):
            for dma in running[number:]:
                view(memory)[:] = prbs31(_SIZE, number + 1)
                dst.reset_data_len()
                with duty(f"a copy beside {number} contexts that were stopped"):
                    task = dma.memcpy(src, dst)
                    task.wait(timeout=20)
                    task.free()
                require_equal(view(into), view(memory), f"a copy beside {number} contexts that were stopped")
            running[number].stop()


def failure(device: pydoca.Device, count: int = 3) -> None:
    """One copy engine of a progress engine fails and stops; the others, and their tasks, go on."""
    with Stand() as stand:
        pe, inventory = stand.engine(), stand.bufs(3)
        mmap = stand.enter_context(device.mmap(pydoca.alloc(3 * _SIZE)))
        src = stand.keep(inventory.get_by_data(mmap, mmap.addr, 64))
        room = stand.keep(inventory.get_by_addr(mmap, mmap.addr + _SIZE, 64))
        short = stand.keep(inventory.get_by_addr(mmap, mmap.addr + 2 * _SIZE, 32))
        with duty(f"start {count} DMA engines"):
            running = [stand.enter_context(pydoca.Dma(pe, device, num_tasks=2)) for _ in range(count)]
            tasks = [dma.memcpy(src, room, submit=False) for dma in running]
            for task in tasks:
                stand.callback(task.free)
        for number, dma in enumerate(running[:-1]):
            what = f"beside {number + 1} contexts whose copies have failed"
            bad = dma.memcpy(src, short, submit=False)
            with refused(f"a copy of 64 bytes to a place for 32, {what}", *REFUSALS):
                bad.submit()
                bad.wait(timeout=20)
            bad.free()
            for other, task in zip(running[number + 1 :], tasks[number + 1 :], strict=True):
                if other.state is not pydoca.ContextState.RUNNING:
                    raise DeviceFault(f"a context {what} is {other.state.name}")
                room.reset_data_len()
                with duty(f"a copy {what}"):
                    task.submit()
                    task.wait(timeout=20)


def released(device: pydoca.Device, count: int = 20) -> None:
    """The end of a map gives its callback only its own memory, once."""
    given: list[object] = []
    with Stand() as stand:
        memories = [pydoca.alloc(64) for _ in range(count)]
        with duty("maps with a callback of their end"):
            maps = [pydoca.Mmap(memory, devices=[device], free_callback=given.append) for memory in memories]
            for each in maps:
                stand.callback(each.close)
                each.start()
        for number, (each, memory) in enumerate(zip(maps, memories, strict=True)):
            each.close()
            if len(given) != number + 1 or given[number] is not memory:
                raise DeviceFault(f"the end of map {number} has given {len(given) - number} memories to its callback")
