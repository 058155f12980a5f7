"""RDMA from and to lists of bufs at places in random order: the data has the order of the list."""

from __future__ import annotations

import random
from typing import Any

import pydoca
from pydoca.qualify.bench.maps import chained
from pydoca.qualify.bench.patterns import noise, view
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.waiting import Stand, duty, finish
from pydoca.qualify.bench.zones import Zoned, require_equal

_ROOM = 512  # bytes of an element, at most
_MOST = 8  # elements
_Pieces = list[tuple[int, int]]  # place and length of each


class _Lists:
    """Two connected contexts, and lists in the memory of both."""

    def __init__(self, stand: Stand, device: pydoca.Device, rng: random.Random) -> None:
        limits = device.info.capabilities.rdma
        assert limits is not None
        self._sent = min(_MOST, limits.max_send_buf_list_len)
        self._received = min(_MOST, limits.max_recv_buf_list_len)
        settings: dict[str, Any] = {"max_send_buf_list_len": self._sent, "receive_dst_buf_list_len": self._received}
        self._pair, self._rng = Pair(stand, device, device, _MOST * _ROOM, **settings), rng

    def write(self, size: int, what: str) -> None:
        """Writes a list to one piece of the peer's memory."""
        here, theirs = self._pair.here, self._pair.theirs
        from_, to = self._pieces(size, self._sent), [(0, size)]
        before = self._fill()
        with duty(what):
            task = self._pair.ab.write(
                self._list(here, from_), self._pair.room(self._pair.there, theirs.address(0), size)
            )
        finish(task, what)
        task.free()
        self._require(here, from_, theirs, to, before, what)

    def read(self, size: int, what: str) -> None:
        """Reads one piece of the peer's memory into a list."""
        here, theirs = self._pair.here, self._pair.theirs
        from_, to = [(0, size)], self._pieces(size, self._sent)
        before = self._fill()
        with duty(what):
            src = self._pair.data(self._pair.there, theirs.address(0), size)
            task = self._pair.ab.read(src, self._list(here, to, is_room=True))
        finish(task, what)
        task.free()
        self._require(theirs, from_, here, to, before, what)

    def message(self, size: int, what: str) -> None:
        """Sends a list to a list of the peer."""
        here, theirs = self._pair.here, self._pair.theirs
        from_, to = self._pieces(size, self._sent), self._pieces(size, self._received)
        before = self._fill()
        with duty(what):
            receive = self._pair.b.receive(self._list(theirs, to, is_room=True))
            send = self._pair.ab.send(self._list(here, from_))
        finish(send, what)
        finish(receive, what)
        send.free()
        receive.free()
        self._require(here, from_, theirs, to, before, what)

    def _pieces(self, size: int, most: int) -> _Pieces:
        """Pieces of size bytes together, at places in random order."""
        count = self._rng.randint(1, min(most, size))
        cuts = [0, *sorted(self._rng.sample(range(1, size), count - 1)), size]
        places = self._rng.sample(range(_MOST), count)
        return [(places[i] * _ROOM, cuts[i + 1] - cuts[i]) for i in range(count)]

    def _list(self, memory: Zoned, pieces: _Pieces, *, is_room: bool = False) -> pydoca.Buf:
        inventory = self._pair.inventory
        get = inventory.get_by_addr if is_room else inventory.get_by_data
        return self._pair.bufs.keep(chained([get(memory.mmap, memory.address(at), size) for at, size in pieces]))

    def _fill(self) -> dict[Zoned, bytes]:
        """Writes new data at both ends."""
        for zoned in (self._pair.here, self._pair.theirs):
            zoned.array[:] = noise(len(zoned.array), self._rng.getrandbits(32))
        return {zoned: zoned.array.tobytes() for zoned in (self._pair.here, self._pair.theirs)}

    def _require(
        self, source: Zoned, from_: _Pieces, target: Zoned, to: _Pieces, before: dict[Zoned, bytes], what: str
    ) -> None:
        """Checks that the destination's pieces have the source's bytes in order, and that all else is unchanged."""
        data = b"".join(source.data(*piece).tobytes() for piece in from_)
        found = target.array.copy()
        target.array[:] = view(before[target])
        for place, size in to:
            target.data(place, size)[:] = view(data[:size])
            data = data[size:]
        require_equal(found, target.array, f"{what} from {len(from_)} pieces to {len(to)}")
        require_equal(source.array, view(before[source]), f"the source of {what}")
        self._pair.bufs.close()


def check(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Makes writes, reads and messages of 1 to 512 bytes; returns how many there were."""
    with Stand() as stand:
        lists = _Lists(stand, device, rng)
        for number in range(rounds):
            for name, transfer in (("write", lists.write), ("read", lists.read), ("message", lists.message)):
                transfer(size := rng.randint(1, _ROOM), f"{name} {number} of {size} bytes")
    return 3 * rounds
