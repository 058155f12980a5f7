"""Random calls on bufs of an inventory and of a pool, compared with a model: sections, lists, references."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pydoca
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused

_ELEMENTS = 24
_PIECE = 128


@dataclass
class _Model:
    """The expected properties of a buf; its list has the numbers of the bufs behind it."""

    head: int
    length: int
    data: int
    data_len: int
    references: int = 1
    after: list[int] = field(default_factory=list)
    is_inner: bool = False


class _Walk:
    def __init__(self, stand: Stand, device: pydoca.Device, rng: random.Random) -> None:
        self._rng = rng
        self._mmap = stand.enter_context(device.mmap(pydoca.alloc(_ELEMENTS * _PIECE)))
        self._inventory = stand.bufs(_ELEMENTS)
        self._bufs: dict[int, tuple[pydoca.Buf, _Model]] = {}
        self._count = 0
        stand.callback(self._release_all)

    def step(self) -> None:
        choice = self._rng.choice(
            (self._dup, self._get, self._get, self._set, self._chain, self._unchain, self._refer, self._drop)
        )
        with duty(f"step {self._count}, {choice.__name__.strip('_')}"):
            choice()
        self._count += 1
        self._check()

    def _any_head(self) -> tuple[int, pydoca.Buf, _Model] | None:
        heads = [(number, *each) for number, each in self._bufs.items() if not each[1].is_inner]
        return self._rng.choice(heads) if heads else None

    def _get(self) -> None:
        begin, size = self._rng.randrange(_ELEMENTS) * _PIECE, self._rng.randint(1, _PIECE)
        head = self._mmap.addr + begin
        if len(self._bufs) == _ELEMENTS:
            with refused("one buf more than the inventory has", pydoca.NoMemoryError):
                self._inventory.get_by_addr(self._mmap, head, size)
            return
        data = self._rng.randint(0, size)
        data_len = self._rng.randint(0, size - data)
        way = self._rng.randrange(3)
        if way == 0:
            made, model = self._inventory.get_by_addr(self._mmap, head, size), _Model(head, size, head, 0)
        elif way == 1:
            made, model = self._inventory.get_by_data(self._mmap, head, size), _Model(head, size, head, size)
        else:
            made = self._inventory.get_by_args(self._mmap, head, size, head + data, data_len)
            model = _Model(head, size, head + data, data_len)
        self._bufs[self._count * 1000] = made, model

    def _dup(self) -> None:
        """A list is copied, element by element."""
        found = self._any_head()
        if found is None or len(self._bufs) + 1 + len(found[2].after) > _ELEMENTS:
            return
        _, buf, model = found
        made: pydoca.Buf | None = self._inventory.dup(buf)
        models = [model, *(self._bufs[i][1] for i in model.after)]
        numbers = [self._count * 1000 + place for place in range(len(models))]
        for number, each in zip(numbers, models, strict=True):
            if made is None:
                raise DeviceFault(f"step {self._count}: a copy of a list of {len(models)} bufs has fewer")
            self._bufs[number] = made, _Model(each.head, each.length, each.data, each.data_len, is_inner=True)
            made = made.next
        head = self._bufs[numbers[0]][1]
        head.is_inner, head.after = False, numbers[1:]

    def _set(self) -> None:
        if (found := self._any_head()) is not None:
            _, buf, model = found
            if self._rng.random() < 0.3:
                buf.reset_data_len()
                model.data_len = 0
                return
            begin = self._rng.randint(0, model.length)
            model.data, model.data_len = model.head + begin, self._rng.randint(0, model.length - begin)
            buf.set_data(model.data, model.data_len)

    def _chain(self) -> None:
        one, other = self._any_head(), self._any_head()
        if one is None or other is None or one[0] == other[0] or one[2].references > 1 or other[2].references > 1:
            return
        one[1].chain(other[1])
        one[2].after += [other[0], *other[2].after]
        other[2].after.clear()
        other[2].is_inner = True

    def _unchain(self) -> None:
        found = self._any_head()
        if found is None or not found[2].after:
            return
        _, buf, model = found
        place = self._rng.randrange(len(model.after))
        first = model.after[place]
        buf.unchain(self._bufs[first][0])
        split = self._bufs[first][1]
        split.after, split.is_inner = model.after[place + 1 :], False
        del model.after[place:]

    def _refer(self) -> None:
        found = self._any_head()
        if found is None or found[2].after:
            return
        _, buf, model = found
        if model.references > 1 and self._rng.random() < 0.6:
            buf.dec_refcount()
            model.references -= 1
        else:
            buf.inc_refcount()
            model.references += 1

    def _drop(self) -> None:
        found = self._any_head()
        if found is None or found[2].references > 1:
            return
        number, buf, model = found
        buf.dec_refcount()
        for each in (number, *model.after):
            del self._bufs[each]

    def _check(self) -> None:
        free = self._inventory.num_free_elements
        if free != _ELEMENTS - len(self._bufs):
            raise DeviceFault(f"step {self._count}: {free} bufs are free, and {len(self._bufs)} of {_ELEMENTS} taken")
        for number, (buf, model) in self._bufs.items():
            self._require(number, buf, model)

    def _require(self, number: int, buf: pydoca.Buf, model: _Model) -> None:
        found = (buf.head, buf.len, buf.data, buf.data_len, buf.headroom, buf.tailroom)
        room = model.data - model.head
        expected = (model.head, model.length, model.data, model.data_len, room, model.length - room - model.data_len)
        if found != expected:
            raise DeviceFault(
                f"step {self._count}: buf {number} is {found} and must be {expected} (head, len, data, ...)"
            )
        if not model.is_inner:
            self._require_list(number, buf, model)

    def _require_list(self, number: int, buf: pydoca.Buf, model: _Model) -> None:
        chain, each = [], buf.next
        while each is not None:
            chain.append((each.head, each.data_len))
            each = each.next
        expected = [(self._bufs[i][1].head, self._bufs[i][1].data_len) for i in model.after]
        last = self._bufs[model.after[-1]][0] if model.after else buf
        flags = (buf.is_first, last.is_last, buf.is_in_list, buf.last.head)
        if flags != (True, True, bool(model.after), last.head):
            raise DeviceFault(f"step {self._count}: buf {number} of a list of {1 + len(model.after)} tells {flags}")
        if chain != expected or buf.list_len != 1 + len(chain) or buf.refcount != model.references:
            told = f"{buf.list_len} elements, {buf.refcount} references"
            raise DeviceFault(
                f"step {self._count}: the list of buf {number} is {chain} ({told}), and must be {expected}"
            )

    def _release_all(self) -> None:
        for buf, model in self._bufs.values():
            if not model.is_inner:
                for _ in range(model.references):
                    buf.dec_refcount()


def walk(device: pydoca.Device, steps: int, rng: random.Random) -> int:
    """Makes random calls; returns how many."""
    with Stand() as stand:
        walker = _Walk(stand, device, rng)
        for _ in range(steps):
            walker.step()
    return steps


def pools(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """A pool gives each of its elements once, with its size and alignment, and again after its return."""
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(pydoca.alloc(_ELEMENTS * 256)))
        pool = stand.enter_context(pydoca.BufPool(_ELEMENTS, 100, mmap, element_alignment=64))
        taken: list[pydoca.Buf] = []
        for number in range(rounds):
            if taken and (len(taken) == _ELEMENTS or rng.random() < 0.5):
                taken.pop(rng.randrange(len(taken))).dec_refcount()
            else:
                with duty(f"buf {number} of a pool"):
                    taken.append(pool.alloc())
            _require_apart(pool, taken, number)
        for buf in taken:
            buf.dec_refcount()
    return rounds


def told(device: pydoca.Device) -> None:
    """An inventory and a pool have their configured properties, and refuse bufs while they are stopped."""
    with Stand() as stand:
        mmap = stand.enter_context(device.mmap(pydoca.alloc(4096)))
        inventory = stand.enter_context(pydoca.BufInventory(3, user_data="inventory"))
        pool = stand.enter_context(pydoca.BufPool(4, 100, mmap, element_alignment=32, user_data="pool"))
        of_inventory: dict[str, object] = {"elements": inventory.num_elements, "user_data": inventory.user_data}
        require_told("an inventory", of_inventory, {"elements": 3, "user_data": "inventory"})
        found: dict[str, object] = {"elements": pool.num_elements, "element_size": pool.element_size}
        found |= {"alignment": pool.element_alignment, "mmap": pool.mmap, "user_data": pool.user_data}
        expected: dict[str, object] = {"elements": 4, "element_size": 100, "alignment": 32}
        require_told("a pool", found, {**expected, "mmap": mmap, "user_data": "pool"})
        _require_stops(inventory, lambda: inventory.get_by_addr(mmap), "an inventory")
        _require_stops(pool, pool.alloc, "a pool")
        with duty("an inventory that grows"):
            inventory.expand(5)
            for _ in range(8):
                stand.keep(inventory.get_by_addr(mmap))
        with refused("one buf more than an inventory that has grown has", pydoca.NoMemoryError):
            inventory.get_by_addr(mmap)


def _require_stops(of: pydoca.BufInventory | pydoca.BufPool, take: Callable[[], pydoca.Buf], name: str) -> None:
    of.stop()
    with refused(f"a buf of {name} that is stopped", pydoca.BadStateError):
        take()
    with duty(f"{name} that starts again"):
        of.start()
        take().dec_refcount()


def _require_apart(pool: pydoca.BufPool, taken: list[pydoca.Buf], number: int) -> None:
    heads = sorted(buf.head for buf in taken)
    if any(head % 64 for head in heads) or any(b - a < 100 for a, b in itertools.pairwise(heads)):
        raise DeviceFault(f"step {number}: the bufs of a pool overlap, or are not aligned: {heads}")
    if any((buf.len, buf.data_len) != (100, 0) for buf in taken[-1:]):
        raise DeviceFault(
            f"step {number}: a buf of a pool has {taken[-1].len} bytes, {taken[-1].data_len} of them data"
        )
    if pool.num_free_elements != _ELEMENTS - len(taken):
        raise DeviceFault(f"step {number}: a pool has {pool.num_free_elements} free bufs, {len(taken)} are taken")
