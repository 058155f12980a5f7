"""Memory, maps and bufs."""

from __future__ import annotations

import contextlib

import pydoca
from scenes.stack import Stack, scene


@scene
def memory(stack: Stack) -> object:
    return pydoca.alloc(1 << 20)


@scene
def memory_closed(stack: Stack) -> object:
    with pydoca.alloc(64) as memory:
        return memory


@scene
def mmap_new(stack: Stack) -> object:
    return pydoca.Mmap()


@scene
def mmap_stopped(stack: Stack) -> object:
    return pydoca.Mmap(bytearray(4096), devices=[stack.dpu()])


@scene
def mmap_read_only(stack: Stack) -> object:
    return stack.enter_context(stack.dpu().mmap(bytes(100)))


@scene
def mmap_with_bufs(stack: Stack) -> object:
    mmap, inventory = stack.mmap(), stack.inventory()
    bufs = [
        inventory.get_by_args(mmap, mmap.addr + at, size, mmap.addr + at + ahead, data)
        for at, size, ahead, data in [(0, 8192, 128, 4000), (4096, 16384, 0, 16384), (40000, 9000, 1000, 2000)]
    ]
    stack.callback(bufs.clear)
    return mmap


@scene
def mmap_exported(stack: Stack) -> object:
    mmap = stack.mmap(device=stack.host(), access="local_read_write|pci_read_write|rdma_read|rdma_write")
    mmap.export_pci()
    mmap.export_rdma()
    return mmap


@scene
def mmap_imported(stack: Stack) -> object:
    exported = stack.mmap(device=stack.host(), access="pci_read_only")
    return stack.enter_context(stack.dpu().import_mmap(exported.export_pci()))


@scene
def mmap_of_a_dead_peer(stack: Stack) -> object:
    with stack.host().mmap(pydoca.alloc(4096), access="pci_read_write") as exported:
        return stack.enter_context(stack.dpu().import_mmap(exported.export_pci()))


@scene
def mmap_closed(stack: Stack) -> object:
    mmap = stack.mmap()
    mmap.close()
    return mmap


@scene
def mmap_many_bufs(stack: Stack) -> object:
    mmap, inventory = stack.mmap(1 << 20), stack.inventory(10_000)
    bufs = [inventory.get_by_addr(mmap, mmap.addr + 100 * index, 100) for index in range(10_000)]
    stack.callback(bufs.clear)
    return mmap


@scene
def buf(stack: Stack) -> object:
    mmap = stack.mmap()
    return stack.inventory().get_by_args(mmap, mmap.addr, 8192, mmap.addr + 512, 5000)


@scene
def buf_source(stack: Stack) -> object:
    return stack.inventory().get_by_data(stack.mmap())


@scene
def buf_destination(stack: Stack) -> object:
    return stack.inventory().get_by_addr(stack.mmap())


@scene
def buf_chain(stack: Stack) -> object:
    mmap, inventory = stack.mmap(), stack.inventory()
    head = inventory.get_by_args(mmap, mmap.addr, 4096, mmap.addr + 64, 4000)
    for index, size in enumerate((2048, 512), start=1):
        head.chain(inventory.get_by_args(mmap, mmap.addr + index * 8192, size, mmap.addr + index * 8192, size // index))
    return head


@scene
def buf_in_a_chain(stack: Stack) -> object:
    return buf_chain(stack).next  # type: ignore[attr-defined]


@scene
def buf_long_chain(stack: Stack) -> object:
    mmap, inventory = stack.mmap(1 << 20), stack.inventory(10_000)
    head = inventory.get_by_addr(mmap, mmap.addr, 10)
    for index in range(1, 1000):
        head.chain(inventory.get_by_data(mmap, mmap.addr + index * 100, 50))
    return head


@scene
def buf_in_flight(stack: Stack) -> object:
    return stack.held(stack.dma())[0].dst


@scene
def buf_released(stack: Stack) -> object:
    with stack.inventory().get_by_addr(stack.mmap()) as buf:
        return buf


@scene
def inventory(stack: Stack) -> object:
    inventory, mmap = stack.inventory(8), stack.mmap()
    bufs = [inventory.get_by_data(mmap, mmap.addr + 4096 * index, 1000 * (index + 1)) for index in range(3)]
    stack.callback(bufs.clear)
    return inventory


@scene
def inventory_large(stack: Stack) -> object:
    inventory, mmap = stack.inventory(16_384), stack.mmap()
    bufs = [inventory.get_by_addr(mmap, mmap.addr, 8) for _ in range(10_000)]
    stack.callback(bufs.clear)
    return inventory


@scene
def inventory_stopped(stack: Stack) -> object:
    return stack.enter_context(contextlib.closing(pydoca.BufInventory(4, start=False)))


@scene
def inventory_closed(stack: Stack) -> object:
    with pydoca.BufInventory(4) as inventory:
        return inventory


@scene
def pool(stack: Stack) -> object:
    pool = stack.enter_context(pydoca.BufPool(8, 1000, stack.mmap(), element_alignment=64))
    bufs = [pool.alloc() for _ in range(3)]
    stack.callback(bufs.clear)
    return pool
