"""Promises of bufs, inventories and pools: edges of sections, references, lists, counts, and effects of refusals."""

from __future__ import annotations

from collections.abc import Callable

import pydoca
from pydoca.qualify.bench import misuse, waiting
from pydoca.qualify.bench.maps import chained
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused, require_value

_SIZE = 4096
_MOST_REFERENCES = 65535
_INVALID = pydoca.InvalidValueError
_NOT_PERMITTED = pydoca.NotPermittedError


def sections(buf: pydoca.Buf) -> tuple[int, ...]:
    """All properties of a buf that are numbers."""
    return buf.head, buf.len, buf.data, buf.data_len, buf.headroom, buf.tailroom


def require_sections(buf: pydoca.Buf, expected: tuple[int, ...], what: str) -> None:
    """Raises DeviceFault unless the buf's properties have these numbers."""
    if sections(buf) != expected:
        raise DeviceFault(f"{what}: the buf tells {sections(buf)}; it must be {expected} (head, len, data, ...)")


def edges(device: pydoca.Device) -> None:
    """A data section extends to the ends of its buf; a refused one leaves the section as it was."""
    with Stand() as stand:
        mmap, inventory = stand.enter_context(device.mmap(pydoca.alloc(_SIZE))), stand.bufs(1)
        begin = mmap.addr + 64
        with duty("a data section within its buf"):
            buf = stand.keep(inventory.get_by_args(mmap, begin, 64, begin + 10, 10))
            for data, size in ((0, 64), (64, 0), (63, 1), (0, 0), (10, 54)):
                buf.set_data(begin + data, size)
                require_sections(buf, (begin, 64, begin + data, size, data, 64 - data - size), f"({data}, {size})")
            buf.data_len = 54
        before = sections(buf)
        for data, size in ((-1, 1), (64, 1), (65, 0), (0, 65), (0, 2**64 - 1), (1, 2**64 - 1), (0, -1)):
            with refused(f"{size} bytes of data at {data:+d} of a buf of 64", _INVALID):
                buf.set_data(begin + data, size)
            require_sections(buf, before, "after a data section that was refused")
        for size in (55, 2**64 - 1, -1):
            with refused(f"{size} bytes of data before a buf's last 54", _INVALID):
                buf.data_len = size
            require_sections(buf, before, "after a length that was refused")


def ranges(device: pydoca.Device) -> None:
    """A buf is the requested range, or all that follows; a refused one does not take an element."""
    with Stand() as stand:
        mmap, inventory = stand.enter_context(device.mmap(pydoca.alloc(_SIZE))), stand.bufs(2)
        begin, end = mmap.addr, mmap.addr + _SIZE
        for addr, size in ((None, None), (begin + 100, None), (None, 100), (end - 1, None), (end - 1, 1)):
            head = begin if addr is None else addr
            length = end - head if size is None else size
            with duty("bufs of a map"):
                with inventory.get_by_addr(mmap, addr, size) as room:
                    require_sections(room, (head, length, head, 0, 0, length), "a destination")
                with inventory.get_by_data(mmap, addr, size) as full:
                    require_sections(full, (head, length, head, length, 0, 0), "a source")
        for data, size in ((-1, 1), (0, 65), (64, 1), (65, 0), (2**63, 2**63), (0, 2**64 - 1)):
            with refused(f"a buf of 64 bytes with {size} at {data:+d}", _INVALID):
                inventory.get_by_args(mmap, begin, 64, begin + data, size)
        with refused("a buf without bytes", _INVALID):
            inventory.get_by_addr(mmap, begin, 0)
        require_told("after refusals", _counts(inventory, mmap), {"elements": 2, "free": 2, "of the map": 0})


def _counts(inventory: pydoca.BufInventory, mmap: pydoca.Mmap) -> dict[str, object]:
    free = inventory.num_free_elements
    return {"elements": inventory.num_elements, "free": free, "of the map": mmap.num_bufs}


def references(device: pydoca.Device) -> None:
    """References are counted one by one up to their limit; close() ends them all, and the properties then raise."""
    with Stand() as stand:
        mmap, inventory = stand.enter_context(device.mmap(pydoca.alloc(_SIZE))), stand.bufs(3)
        with duty("references of a buf"):
            buf, other = inventory.get_by_data(mmap), inventory.get_by_data(mmap)
            for count in range(1, 5):
                require_value(buf.inc_refcount(), count, "the references before one more")
            for count in range(5, 2, -1):
                require_value(buf.dec_refcount(), count, "the references before one less")
            with refused("a list whose head has two references, as the end of another", _NOT_PERMITTED):
                other.chain(buf)
            buf.chain(other)
            require_value(buf.refcount, 2, "the references of a head that got an element")
            for _ in range(_MOST_REFERENCES - 2):
                buf.inc_refcount()
        with refused(f"more than {_MOST_REFERENCES} references", pydoca.TooBigError):
            buf.inc_refcount()
        require_value(buf.refcount, _MOST_REFERENCES, "the references after one too many")
        for _ in range(2):
            buf.close()
        if not buf.is_released or not other.is_released:
            raise DeviceFault("a list was closed, and says that it was not released")
        require_told("after the end of a list", _counts(inventory, mmap), {"elements": 3, "free": 3, "of the map": 0})
        calls: list[Callable[[], object]] = [buf.inc_refcount, buf.dec_refcount, buf.reset_data_len]
        calls += [lambda: buf.data_len, lambda: buf.mmap, lambda: other.next, lambda: inventory.dup(buf)]
        for call in calls:
            with refused("a call of a buf that was released", pydoca.BadStateError):
                call()


def lists(device: pydoca.Device) -> None:
    """Calls that do not fit a list's shape are refused and leave it; copies of lists have their own numbers."""
    with Stand() as stand:
        maps = [stand.enter_context(device.mmap(pydoca.alloc(_SIZE))) for _ in range(2)]
        inventory = stand.bufs(6)
        with duty("a list of bufs of two maps"):
            bufs = [inventory.get_by_data(maps[i % 2], maps[i % 2].addr + 8 * i, 8 + i) for i in range(3)]
            head, inner, last, alone = stand.keep(chained(bufs)), *bufs[1:], stand.keep(inventory.get_by_addr(maps[0]))
        calls: list[Callable[[], object]] = [inner.inc_refcount, inner.dec_refcount, inner.close]
        calls += [lambda: inner.list_len, lambda: inventory.dup(inner), lambda: inner.unchain(last)]
        calls += [lambda: inner.chain(alone), lambda: alone.chain(inner), lambda: head.chain(head)]
        calls += [lambda: head.chain_tail(inner, alone)]
        for number, call in enumerate(calls):
            with refused(f"call {number} of a later element of a list", _NOT_PERMITTED):
                call()
        for element in (head, alone):
            with refused("a cut where the list has no element", _INVALID):
                head.unchain(element)
        with refused("a copy of a list for which an inventory has too few bufs", pydoca.NoMemoryError):
            inventory.dup(head)
        require_value(inventory.num_free_elements, 2, "the free bufs after a copy that was refused")
        found = [(each.mmap is maps[i % 2], *sections(each)) for i, each in enumerate(head)]
        if found != [(True, *sections(each)) for each in bufs] or head.last is not last:
            raise DeviceFault(f"a list has other elements after calls that were refused: {found}")
        _cut_and_join(inventory, head, last, alone)


def _cut_and_join(inventory: pydoca.BufInventory, head: pydoca.Buf, last: pydoca.Buf, alone: pydoca.Buf) -> None:
    with duty("a list that is cut, copied and joined again"):
        head.unchain(last)
        told: dict[str, object] = {"references": last.refcount, "first": last.is_first, "last": last.is_last}
        require_told("an element that was cut off", told, {"references": 1, "first": True, "last": True})
        alone.chain_tail(alone, last)
        require_told("two lists", {"one": head.list_len, "other": alone.list_len}, {"one": 2, "other": 2})
        with inventory.dup(head) as copy:
            before = [sections(each) for each in head]
            for each in copy:
                each.reset_data_len()
            if [sections(each) for each in head] != before or copy.refcount != 1:
                raise DeviceFault("a copy of a list shares its sections, or has other references than one")
            if [each.mmap for each in copy] != [each.mmap for each in head]:
                raise DeviceFault("a copy of a list of bufs of two maps has other maps")


def inventories(device: pydoca.Device) -> None:
    """A stopped inventory keeps the bufs that are out, and a closed one does not give any."""
    memory = pydoca.alloc(_SIZE)
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(memory))
        for count in (0, -1):
            with refused(f"an inventory of {count} bufs", _INVALID):
                pydoca.BufInventory(count)
        inventory = pydoca.BufInventory(2, start=False)
        stand.callback(inventory.close)
        with refused("a buf of an inventory that was never started", pydoca.BadStateError):
            inventory.get_by_addr(mmap)
        inventory.start()
        memory[:8] = b"contents"
        with inventory.get_by_data(mmap, mmap.addr, 8) as src, inventory.get_by_addr(mmap, mmap.addr + 8, 8) as dst:
            inventory.stop()
            _require_copy(device, src, dst, "a copy by bufs of an inventory that is stopped")
            for call in (lambda: inventory.get_by_addr(mmap), lambda: inventory.expand(1), lambda: inventory.dup(src)):
                with refused("a buf of an inventory that is stopped", pydoca.BadStateError):
                    call()
            with refused("the end of an inventory whose bufs are out", pydoca.InUseError):
                inventory.close()
            require_told("in between", _counts(inventory, mmap), {"elements": 2, "free": 0, "of the map": 2})
        inventory.start()
        _end(inventory, mmap)


def _end(inventory: pydoca.BufInventory, mmap: pydoca.Mmap) -> None:
    """Ends an inventory; before that, a buf that the program drops comes back."""
    dropped = inventory.get_by_addr(mmap)
    require_value(mmap.num_bufs, 1, "the bufs of a map")
    del dropped
    require_told("without bufs", _counts(inventory, mmap), {"elements": 2, "free": 2, "of the map": 0})
    for _ in range(2):
        inventory.close()
    require_value(inventory.num_elements, 0, "the bufs of an inventory that is closed")
    for call in (inventory.start, lambda: inventory.get_by_addr(mmap)):
        with refused("a call of an inventory that is closed", pydoca.BadStateError):
            call()


def _require_copy(device: pydoca.Device, src: pydoca.Buf, dst: pydoca.Buf, what: str) -> None:
    with Stand() as stand, duty(what):
        dma = stand.enter_context(pydoca.Dma(stand.engine(), device, num_tasks=1))
        dma.memcpy(src, dst).wait(timeout=waiting.PATIENCE)
    if bytes(memoryview(dst)) != bytes(memoryview(src)) or len(dst) != len(src):
        raise DeviceFault(f"{what}: the destination shows {len(dst)} bytes, which are not those of the source")


def pools(device: pydoca.Device) -> None:
    """A pool's elements lie in its map, come back as they were at first, and fit to the last byte."""
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(memory := pydoca.alloc(_SIZE)))
        for count, size, alignment in ((0, 8, 1), (8, 0, 1), (1, 8, 0), (1, 8, 3)):
            with refused(f"a pool of {count} times {size} at {alignment}", _INVALID):
                pydoca.BufPool(count, size, mmap, element_alignment=alignment)
        for count, size, alignment in ((1, _SIZE + 1, 1), (65, 64, 1), (41, 100, 1), (17, 8, 256)):
            with refused(f"a pool of {count} times {size} at {alignment}", pydoca.InitializationError):
                pydoca.BufPool(count, size, mmap, element_alignment=alignment)
        for count, size in ((1, _SIZE), (64, 64), (2, 1000), (_SIZE, 1)):
            with duty(f"a pool of {count} times {size}"), pydoca.BufPool(count, size, mmap) as pool:
                _all_elements(pool, mmap)
        with pydoca.BufPool(2, 100, mmap) as pool, pool.alloc() as src, pool.alloc() as dst:
            memory[:_SIZE] = bytes(range(256)) * (_SIZE // 256)
            src.data_len = 100
            _require_copy(device, src, dst, "a copy between bufs of a pool")
        _pool_states(mmap)
    misuse.works(device)


def _all_elements(pool: pydoca.BufPool, mmap: pydoca.Mmap) -> None:
    bufs = [pool.alloc() for _ in range(pool.num_elements)]
    heads = sorted(buf.head for buf in bufs)
    if heads[0] < mmap.addr or heads[-1] + pool.element_size > mmap.addr + mmap.len or len({*heads}) < len(heads):
        raise DeviceFault(f"the bufs of a pool are not pieces of its map: {heads[:3]} ...")
    with refused("a buf of a pool whose bufs are all out", pydoca.EmptyError):
        pool.alloc()
    for end in (pool.stop, pool.close):
        with refused("the end of a pool whose bufs are out", pydoca.InUseError):
            end()
    for buf in bufs:
        buf.set_data(buf.head + buf.len, 0)
    require_value(mmap.num_bufs, len(bufs), "the bufs of a map with a pool")
    chained(bufs).close()
    require_value(pool.num_free_elements, len(bufs), "the free bufs of a pool after the end of a list of all")
    with pool.alloc() as again:
        size = pool.element_size
        require_sections(again, (again.head, size, again.head, 0, 0, size), "a buf that a pool gives again")
        require_told("a buf that a pool gives again", {"list": again.list_len}, {"list": 1})
    require_value(mmap.num_bufs, 0, "the bufs of a map whose pool has all of its bufs")


def _pool_states(mmap: pydoca.Mmap) -> None:
    with Stand() as stand, duty("a pool that stops and starts"):
        pool = pydoca.BufPool(2, 100, mmap, start=False)
        stand.callback(pool.close)
        pool.set_element_alignment(1024)
        pool.start()
        with refused("another alignment of a pool that is started", pydoca.BadStateError):
            pool.set_element_alignment(1)
        with pool.alloc() as one, pool.alloc() as other:
            if one.head % 1024 or other.head % 1024:
                raise DeviceFault("the bufs of a pool are not at multiples of its new alignment")
        pool.stop()
        for wrong in (0, 3, 1023):
            with refused(f"an alignment of {wrong}", _INVALID):
                pool.set_element_alignment(wrong)
        require_value(pool.element_alignment, 1024, "the alignment of a pool after one that was refused")
        mmap.stop()
        with refused("the start of a pool whose map is stopped", pydoca.BadStateError):
            pool.start()
        mmap.start()
        pool.start()
        pool.close()
        require_told("a closed pool", {"n": pool.num_elements, "is": pool.is_started}, {"n": 0, "is": False})
