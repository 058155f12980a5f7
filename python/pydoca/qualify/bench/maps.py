"""Memory maps: registration, permissions, bounds, exports that end, buf inventories and lists."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import pydoca
from pydoca import Access
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.dma import Ends, local
from pydoca.qualify.bench.patterns import noise, prbs31, view
from pydoca.qualify.bench.sides import Sides
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused
from pydoca.qualify.bench.zones import require_equal

REFUSALS = (
    pydoca.NotPermittedError,
    pydoca.InvalidValueError,
    pydoca.IoFailedError,
    pydoca.DriverError,
    pydoca.BadStateError,
    pydoca.NotConnectedError,
    pydoca.ConnectionResetError,
)


class Copier:
    """Single copies between any maps, each in its own context: one that fails stops its context."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.device = device
        self._pe = stand.engine()

    def copy(self, src: pydoca.Mmap, dst: pydoca.Mmap, size: int, from_: int = 0, to: int = 0) -> None:
        """Copies once, and raises the device's error."""
        with Stand() as stand:
            inventory = stand.bufs(2)
            source = stand.keep(inventory.get_by_data(src, src.addr + from_, size))
            target = stand.keep(inventory.get_by_addr(dst, dst.addr + to, size))
            dma = stand.enter_context(pydoca.Dma(self._pe, self.device, num_tasks=1))
            dma.memcpy(source, target).wait(timeout=waiting.PATIENCE)


def registrations(device: pydoca.Device, size: int, unaligned: bool = False) -> float:
    """Maps size bytes, copies the last 64 to the first ones, and unmaps; milliseconds of map and unmap per GiB."""
    memory: Any = np.zeros(size + 64, np.uint8)[1:][:size] if unaligned else pydoca.alloc(size)
    array = view(memory)
    array[-64:] = prbs31(64, size)
    with Stand() as stand:
        copier = Copier(stand, device)
        with duty(f"map {size} bytes"):
            begin = time.perf_counter_ns()
            mmap = device.mmap(memory)
            taken = time.perf_counter_ns() - begin
        with mmap, duty(f"copy at the ends of {size} bytes"):
            copier.copy(mmap, mmap, 64, from_=size - 64)
        require_equal(array[:64], array[-64:], f"the ends of a map of {size} bytes")
        begin = time.perf_counter_ns()
        mmap.close()
        taken += time.perf_counter_ns() - begin
    return taken / 1e6 * ((1 << 30) / size)


def read_only_source(device: pydoca.Device, size: int = 4096) -> None:
    """Checks that memory that the program may not write is a source, and never a destination."""
    data = bytes(prbs31(size, 3))
    memory = pydoca.alloc(size)
    with Stand() as stand:
        copier = Copier(stand, device)
        source, target = stand.enter_context(device.mmap(data)), stand.enter_context(device.mmap(memory))
        with duty("copy from read-only memory"):
            copier.copy(source, target, size)
        require_equal(view(memory), view(data), "a copy of read-only memory")
        with refused("a copy to read-only memory", *REFUSALS):
            copier.copy(target, source, size)


def cells(sides: Sides) -> Iterator[tuple[str, bool, bool]]:
    """Tries every operation with every combination of permissions; yields its name, its permission and its success.

    The memory is the host's, as only a host exports over PCIe, and the DPU is the peer.
    """
    flags = [each for each in Access if each not in (Access.LOCAL_READ_ONLY, Access.PCI_RELAXED_ORDERING)]
    for chosen in itertools.product((False, True), repeat=len(flags)):
        access = Access(sum(flag for flag, is_set in zip(flags, chosen, strict=True) if is_set))
        name = str(access.name or "LOCAL_READ_ONLY").lower()
        if Access.PCI_READ_ONLY in access and Access.PCI_READ_WRITE in access:
            yield f"{name}: map", False, not is_refused(partial(sides.host.mmap, bytearray(64), access=access))
        else:
            for operation, allowed, done in _operations(sides.host, sides.dpu, access):
                yield f"{name}: {operation}", allowed, done


def _operations(device: pydoca.Device, peer: pydoca.Device, access: Access) -> Iterator[tuple[str, bool, bool]]:
    pci = Access.PCI_READ_ONLY in access or Access.PCI_READ_WRITE in access
    with Stand() as stand:
        memory = stand.enter_context(lend(device, pydoca.alloc(64), access))
        spare, theirs = (stand.enter_context(each.mmap(pydoca.alloc(64))) for each in (device, peer))
        here, there = Copier(stand, device), Copier(stand, peer)
        yield "local read", True, _moves(here, memory, spare, memory.memory, spare.memory)
        local_write = Access.LOCAL_READ_WRITE in access
        yield "local write", local_write, _moves(here, spare, memory, spare.memory, memory.memory)
        exported = not is_refused(memory.export_pci)
        yield "export to the other side", pci, exported
        if exported:
            imported = stand.enter_context(peer.import_mmap(memory.export_pci()))
            yield "read by the other side", pci, _moves(there, imported, theirs, memory.memory, theirs.memory)
            can_write = Access.PCI_READ_WRITE in access
            yield "write by the other side", can_write, _moves(there, theirs, imported, theirs.memory, memory.memory)
        if device.info.supports("mmap_export_rdma"):
            rdma = access & (Access.RDMA_READ | Access.RDMA_WRITE | Access.RDMA_ATOMIC)
            yield "export to the network", bool(rdma), not is_refused(memory.export_rdma)


def lend(device: pydoca.Device, memory: pydoca.Memory, access: Access) -> pydoca.Mmap:
    """The map whose permissions are tested."""
    return device.mmap(memory, access=access)


def is_refused(attempt: Callable[[], object]) -> bool:
    """Tells whether the call raises an error of a forbidden access."""
    try:
        attempt()
    except REFUSALS:
        return True
    return False


_stamps = itertools.count(1)


def _moves(copier: Copier, src: pydoca.Mmap, dst: pydoca.Mmap, source: Any, target: Any) -> bool:
    """Tells whether the copy is done; a refused one must change nothing."""
    from_, to = view(source), view(target)
    from_[:] = prbs31(64, next(_stamps))
    to[:] = 0
    try:
        copier.copy(src, dst, 64)
    except REFUSALS:
        if to.any():
            raise DeviceFault("a copy that was refused has changed its destination") from None
        return False
    require_equal(to, from_, "a permitted copy")
    return True


def bounds(device: pydoca.Device, size: int = 4096) -> int:
    """Checks that bufs outside of their map are refused, and that the device stays usable; returns how many."""
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(pydoca.alloc(size)))
        inventory, copier = stand.bufs(2), Copier(stand, device)
        begin, end = mmap.addr, mmap.addr + size
        ranges = [
            (begin - 1, 1), (begin - 1, size), (begin, size + 1), (end, 1), (end - 1, 2), (begin + 64, size),
            (begin, 2**63), (2**64 - 64, 64), (2**64 - 64, 128), (0, 64),
        ]  # fmt: skip
        for addr, length in ranges:
            with refused(
                f"a buf of {length} bytes at {addr - begin:+d}", pydoca.InvalidValueError, pydoca.NoMemoryError
            ):
                stand.keep(inventory.get_by_addr(mmap, addr, length))
        stand.keep(inventory.get_by_addr(mmap, end - 1, 1)).close()
        with duty("a copy after refused bounds"):
            copier.copy(mmap, mmap, 64, from_=size - 64)
        return len(ranges)


def exhaust_inventory(device: pydoca.Device, elements: int = 64) -> None:
    """An inventory gives all its elements, refuses the next one, and gives all again after their return."""
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(pydoca.alloc(4096)))
        inventory = stand.bufs(elements)
        for _ in range(3):
            with duty(f"take {elements} bufs"):
                taken = [inventory.get_by_addr(mmap) for _ in range(elements)]
            with refused(f"buf {elements + 1} of {elements}", pydoca.NoMemoryError):
                inventory.get_by_addr(mmap)
            for buf in taken:
                buf.close()
            if inventory.num_free_elements != elements:
                raise DeviceFault(f"{inventory.num_free_elements} of {elements} bufs came back")


def scatter_lists(
    device: pydoca.Device, longest: int, seed: int, memory: Callable[[Stand, int], Ends] | None = None
) -> int:
    """Copies from and to lists of 1 to longest elements, whose places are in random order; returns the copies.

    The memory is on the device's own side, or the memory of memory(stand, size).
    """
    piece = 96
    size = piece * longest
    order = np.random.default_rng(seed)
    counts = sorted(count for count in {1, 2, 3, longest // 2, longest - 1, longest} if 1 <= count <= longest)
    with Stand() as stand:
        src, dst, source, target = memory(stand, size) if memory else local(stand, device, size)
        src_array, dst_array = (each.reshape(longest, piece) for each in (source, target))
        src_array[:] = noise(size, seed).reshape(longest, piece)
        inventory, bufs, pe = stand.bufs(2 * longest), stand.enter_context(Stand()), stand.engine()
        with duty("start the DMA engine"):
            dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        for count in counts:
            from_, to = order.permutation(longest)[:count], order.permutation(longest)[:count]
            dst_array[:] = 0
            sources = [inventory.get_by_data(src, src.addr + int(i) * piece, piece) for i in from_]
            targets = [inventory.get_by_addr(dst, dst.addr + int(i) * piece, piece) for i in to]
            what = f"a copy between lists of {count} elements"
            with duty(what):
                task = dma.memcpy(bufs.keep(chained(sources)), bufs.keep(chained(targets)))
            finish(task, what)
            task.free()
            bufs.close()
            require_equal(dst_array[to].ravel(), src_array[from_].ravel(), what)
            _require_untouched(dst_array, to, what)
    return len(counts)


def chained(bufs: list[pydoca.Buf]) -> pydoca.Buf:
    """Chains all bufs to a list; returns its head."""
    for buf in bufs[1:]:
        bufs[0].chain(buf)
    return bufs[0]


def _require_untouched(array: Any, written: Any, what: str) -> None:
    others = np.ones(len(array), bool)
    others[written] = False
    if array[others].any():
        raise DeviceFault(f"{what}: other elements were written")


def withdrawn(sides: Sides, how: str) -> float:
    """The host withdraws memory ("stop" or "close"): the DPU's next copy fails, without data; seconds until then."""
    with Stand() as stand:
        theirs = view(memory := pydoca.alloc(4096))
        theirs[:] = 0x5A
        lent = stand.enter_context(sides.host.mmap(memory, access="local_read_write|pci_read_write"))
        into = pydoca.alloc(4096)
        here = stand.enter_context(sides.dpu.mmap(into))
        copier = Copier(stand, sides.dpu)
        with duty("import memory of the host"):
            imported = stand.enter_context(sides.dpu.import_mmap(lent.export_pci()))
            copier.copy(imported, here, 4096)
        require_equal(view(into), theirs, "a copy of the host's memory")
        view(into)[:] = 0
        lent.stop() if how == "stop" else lent.close()
        begin = time.monotonic()
        with refused(f"a copy of memory that its owner withdrew ({how})", *REFUSALS):
            copier.copy(imported, here, 4096)
        taken = time.monotonic() - begin
        if view(into).any():
            raise DeviceFault(f"data of memory that its owner withdrew ({how}) arrived")
        return taken


def export_cycle(sides: Sides, size: int = 4096) -> None:
    """Memory of the host is mapped, exported, imported, read by the DPU, and released."""
    memory, into = pydoca.alloc(size), pydoca.alloc(size)
    view(memory)[:] = prbs31(size, next(_stamps))
    with (
        Stand() as stand,
        duty("a cycle of export and import"),
        sides.host.mmap(memory, access="pci_read_only") as lent,
        sides.dpu.import_mmap(lent.export_pci()) as imported,
        sides.dpu.mmap(into) as here,
    ):
        Copier(stand, sides.dpu).copy(imported, here, size)
        require_equal(view(into), view(memory), "memory of the host")


def garbled_blobs(sides: Sides, count: int, seed: int) -> int:
    """Descriptions with wrong bytes are refused, or describe the same memory; the device stays usable."""
    rng = np.random.default_rng(seed)
    with Stand() as stand:
        lent = stand.enter_context(sides.host.mmap(pydoca.alloc(4096), access="pci_read_only"))
        blob = view(lent.export_pci())
        refusals = 0
        for number in range(count):
            garbled = blob.copy()
            garbled[rng.integers(0, len(blob))] ^= 1 << int(rng.integers(0, 8))
            cut = garbled[: rng.integers(0, len(blob))] if number % 4 == 0 else garbled
            try:
                sides.dpu.import_mmap(cut.tobytes()).close()
            except pydoca.DocaError:
                refusals += 1
    export_cycle(sides)
    return refusals
