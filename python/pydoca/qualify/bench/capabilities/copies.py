"""Limits of the engines that read one buf and fill another: copies and digests; and of the cache's invalidation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

import pydoca
from pydoca.qualify.bench import maps, misuse, waiting
from pydoca.qualify.bench.capabilities.taking import IN_FLIGHT, refuse_more, run, take
from pydoca.qualify.bench.dma import local, pieces
from pydoca.qualify.bench.patterns import noise
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused
from pydoca.qualify.bench.zones import require_equal

_WORD = 8  # bytes of each of many copies
_DIGEST = 32


def copied_bytes(device: pydoca.Device, most: int) -> None:
    """Reaches max_buf_size of DMA."""
    misuse.works(device, most)
    with refused(f"a copy of {most + 1} bytes, one more than the limit", pydoca.InvalidValueError):
        _refusable(partial(misuse.works, device, most + 1))


def copied_elements(device: pydoca.Device, most: int) -> None:
    """Reaches max_buf_list_len of DMA."""
    maps.scatter_lists(device, most, 1)
    with refused(f"a list of {most + 1} bufs, one more than the limit", pydoca.InvalidValueError):
        _refusable(partial(maps.scatter_lists, device, most + 1, 1))


def _refusable(attempt: Callable[[], object]) -> None:
    """Raises the device's error if the bench made it a fault."""
    try:
        attempt()
    except DeviceFault as fault:
        if isinstance(fault.__cause__, pydoca.DocaError):
            raise fault.__cause__ from None
        raise


def copies(device: pydoca.Device, most: int) -> None:
    """Reaches max_num_tasks of DMA."""
    flight = min(most, IN_FLIGHT)
    with Stand() as stand:
        ends = local(stand, device, flight * _WORD)
        src, dst, pe = pieces(stand, ends, _WORD, flight)
        with duty(f"start the DMA engine with {most} tasks"):
            dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=most))
        refuse_more(most, lambda number: pydoca.Dma(pe, device, num_tasks=number), "tasks of DMA")

        def make(number: int) -> pydoca.Task:
            return dma.memcpy(src[number % flight], dst[number % flight], submit=False)

        with Stand() as taken:
            run(dma, take(taken, most, make, "copies")[:flight], "copies")
        require_equal(ends.target, ends.source, f"{flight} copies at a time")


def hashed_bytes(device: pydoca.Device, most: int) -> None:
    """Reaches max_src_buf_size of SHA."""
    data = noise(most + 1, 3).tobytes()
    with Stand() as stand:
        source, digest = stand.enter_context(device.mmap(data)), pydoca.alloc(_DIGEST)
        target, inventory, pe = stand.enter_context(device.mmap(digest)), stand.bufs(2), stand.engine()
        sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        with Stand() as bufs:
            src, dst = inventory.get_by_data(source, source.addr, most), inventory.get_by_addr(target)
            finish(sha.hash(bufs.keep(src), bufs.keep(dst), "sha256"), f"the digest of {most} bytes")
        _require_digest(digest, data[:most], f"{most} bytes")
        with (
            refused(f"a digest of {most + 1} bytes, one more than the limit", pydoca.InvalidValueError),
            Stand() as bufs,
        ):
            src, dst = inventory.get_by_data(source), inventory.get_by_addr(target)
            sha.hash(bufs.keep(src), bufs.keep(dst), "sha256").wait(timeout=waiting.PATIENCE)


def hashed_elements(device: pydoca.Device, most: int) -> None:
    """Reaches max_list_buf_num_elem of SHA."""
    piece = 70
    data = noise((most + 1) * piece, 4).tobytes()
    with Stand() as stand:
        source, digest = stand.enter_context(device.mmap(data)), pydoca.alloc(_DIGEST)
        target, inventory, pe = stand.enter_context(device.mmap(digest)), stand.bufs(most + 2), stand.engine()
        sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))

        def hash_list(count: int) -> None:
            with Stand() as bufs:
                parts = [inventory.get_by_data(source, source.addr + i * piece, piece) for i in range(count)]
                src, dst = bufs.keep(maps.chained(parts)), bufs.keep(inventory.get_by_addr(target))
                sha.hash(src, dst, "sha256").wait(timeout=waiting.PATIENCE)

        with duty(f"a digest of {most} elements"):
            hash_list(most)
        _require_digest(digest, data[: most * piece], f"{most} elements")
        with refused(f"a digest of {most + 1} elements, one more than the limit", pydoca.InvalidValueError):
            hash_list(most + 1)


def digests(device: pydoca.Device, most: int) -> None:
    """Reaches max_num_tasks of SHA."""
    text, flight = b"one of many", min(most, IN_FLIGHT)
    with Stand() as stand:
        memory = stand.enter_context(pydoca.alloc(flight * _DIGEST))
        mmap = stand.enter_context(device.mmap(memory))
        inventory, pe = stand.bufs(flight + 1), stand.engine()
        src = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(text))))
        dst = [stand.keep(inventory.get_by_addr(mmap, mmap.addr + i * _DIGEST, _DIGEST)) for i in range(flight)]
        with duty(f"start the SHA engine with {most} tasks"):
            sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=most))
        refuse_more(most, lambda number: pydoca.Sha(pe, device, num_tasks=number), "tasks of SHA")

        def make(number: int) -> pydoca.Task:
            return sha.hash(src, dst[number % flight], "sha256", submit=False)

        with Stand() as taken:
            run(sha, take(taken, most, make, "digests")[:flight], "digests")
        if bytes(memory) != hashlib.sha256(text).digest() * flight:
            raise DeviceFault(f"{flight} digests at a time: some differ from hashlib's")


def invalidated_bytes(device: pydoca.Device, most: int) -> None:
    """Reaches max_buf_size of the invalidation of the cache."""
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(pydoca.alloc(most + 1)))
        inventory, pe = stand.bufs(2), stand.engine()
        advise = stand.enter_context(pydoca.MmapAdvise(pe, device, num_tasks=1))
        task = advise.invalidate_cache(stand.keep(inventory.get_by_data(mmap, mmap.addr, most)))
        finish(task, f"an invalidation of {most} bytes")
        task.free()
        with refused(f"an invalidation of {most + 1} bytes, one more than the limit", pydoca.InvalidValueError):
            advise.invalidate_cache(stand.keep(inventory.get_by_data(mmap))).wait(timeout=waiting.PATIENCE)


def invalidations(device: pydoca.Device, most: int) -> None:
    """Reaches max_num_tasks of the invalidation of the cache."""
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(pydoca.alloc(64)))
        pe, buf = stand.engine(), stand.keep(stand.bufs(1).get_by_data(mmap))
        with duty(f"start the invalidation of the cache with {most} tasks"):
            advise = stand.enter_context(pydoca.MmapAdvise(pe, device, num_tasks=most))
        refuse_more(most, lambda number: pydoca.MmapAdvise(pe, device, num_tasks=number), "invalidations")
        with Stand() as taken:
            take(taken, most, lambda _: advise.invalidate_cache(buf, submit=False), "invalidations")


def _require_digest(found: pydoca.Memory, message: bytes, what: str) -> None:
    if bytes(found) != hashlib.sha256(message).digest():
        raise DeviceFault(f"the digest of {what} differs from hashlib's")
