"""Several peers of one context, each of which gets its own data; and sync events of a network peer."""

from __future__ import annotations

import numpy as np

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.patterns import Bytes, numbers, prbs31
from pydoca.qualify.bench.rdma.pair import ACCESS, Pair, done
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, require_value
from pydoca.qualify.bench.zones import Zoned, require_equal

_SIZE = 256


class _Peer:
    """A context, its connection to the shared context, and its memory as the shared context sees it."""

    def __init__(self, stand: Stand, shared: pydoca.Rdma, device: pydoca.Device, number: int) -> None:
        self.name = f"peer {number}"
        pe = shared.progress_engine
        self.rdma = stand.enter_context(pydoca.Rdma(pe, device, permissions="rdma_read|rdma_write"))
        self.there, self.here = shared.export(), self.rdma.export()
        self.there.connect(self.here.details)
        self.here.connect(self.there.details)
        for end in (self.here, self.there):
            end.established().wait(timeout=waiting.PATIENCE)
        self.memory = Zoned(stand, device, _SIZE, ACCESS)
        self.imported = stand.enter_context(shared.device.import_mmap(self.memory.mmap.export_rdma()))


class _Shared:
    """The context that all peers share, and its memory."""

    def __init__(self, stand: Stand, device: pydoca.Device, peers: int, most: int | None = None) -> None:
        self._inventory, self._bufs, pe = stand.bufs(4), stand.enter_context(Stand()), stand.engine()
        self.memory = Zoned(stand, device, _SIZE, ACCESS)
        with duty(f"connect {peers} peers to one RDMA context"):
            self.rdma = stand.enter_context(pydoca.Rdma(pe, device, max_num_connections=most or peers))
            self.peers = [_Peer(stand, self.rdma, device, number) for number in range(peers)]

    def write(self, peer: _Peer, data: Bytes) -> None:
        """Writes the data to the peer."""
        self.memory.data(0, _SIZE)[:] = data
        what = f"a write to {peer.name}"
        with duty(what):
            task = peer.there.write(self._data(self.memory), self._room(peer.memory, peer.imported))
        done(task, what)
        self._bufs.close()

    def send(self, peer: _Peer, data: Bytes) -> None:
        """Sends the data to the peer, as a message."""
        self.memory.data(0, _SIZE)[:] = data
        what = f"a message to {peer.name}"
        with duty(what):
            receive = peer.rdma.receive(self._room(peer.memory))
            task = peer.there.send(self._data(self.memory))
        done(task, what)
        done(receive, what)
        self._bufs.close()

    def read(self, peer: _Peer) -> None:
        """Reads the peer's memory."""
        self.memory.guard(0, _SIZE)
        what = f"a read from {peer.name}"
        with duty(what):
            task = peer.there.read(self._data(peer.memory, peer.imported), self._room(self.memory))
        done(task, what)
        self._require(peer, what)

    def receive(self, peer: _Peer) -> None:
        """Gets the peer's memory as a message."""
        self.memory.guard(0, _SIZE)
        what = f"a message from {peer.name}"
        with duty(what):
            receive = self.rdma.receive(self._room(self.memory))
            done(peer.here.send(self._data(peer.memory)), what)
        finish(receive, what)
        if receive.connection is not peer.there:
            raise DeviceFault(f"{what}: the device says that it came over another connection")
        receive.free()
        self._require(peer, what)

    def _require(self, peer: _Peer, what: str) -> None:
        require_equal(self.memory.data(0, _SIZE), peer.memory.data(0, _SIZE), what)
        self._bufs.close()

    def _data(self, memory: Zoned, mmap: pydoca.Mmap | None = None) -> pydoca.Buf:
        return self._bufs.keep(self._inventory.get_by_data(mmap or memory.mmap, memory.address(0), _SIZE))

    def _room(self, memory: Zoned, mmap: pydoca.Mmap | None = None) -> pydoca.Buf:
        return self._bufs.keep(self._inventory.get_by_addr(mmap or memory.mmap, memory.address(0), _SIZE))


def several(device: pydoca.Device, peers: int, rounds: int) -> int:
    """One context writes or sends to each of its peers, reads from it, and gets its message; all data is right.

    Returns the number of transfers.
    """
    with Stand() as stand:
        shared = _Shared(stand, device, peers)
        for number in range(rounds):
            written = {peer: prbs31(_SIZE, number * peers + place + 1) for place, peer in enumerate(shared.peers)}
            for peer, data in written.items():
                (shared.write if number % 2 else shared.send)(peer, data)
            for peer, data in written.items():
                require_equal(peer.memory.data(0, _SIZE), data, f"the data for {peer.name}")
                shared.read(peer)
                shared.receive(peer)
    return 3 * rounds * peers


def successors(device: pydoca.Device, count: int) -> int:
    """Peers of one context come when others have gone: each sends and gets its own data; returns how many there were.

    One peer stays from one round to the next, so that the connections of two peers are used in turns.
    """
    with Stand() as stand:
        shared = _Shared(stand, device, 0, most=2)
        before: tuple[_Peer, Stand] | None = None
        for number in range(count):
            here = stand.enter_context(Stand())
            with duty(f"the connection of peer {number}"):
                peer = _Peer(here, shared.rdma, device, number)
            for each in (before[0], peer) if before else (peer,):
                data = prbs31(_SIZE, 2 * number + 1 + (each is peer))
                shared.send(each, data)
                require_equal(each.memory.data(0, _SIZE), data, f"the data for {each.name}, the first for {peer.name}")
                shared.receive(each)
            if before:
                with duty(f"the end of {before[0].name}"):
                    for end in (before[0].there, before[0].here):
                        end.disconnect().wait(waiting.PATIENCE)
                    before[1].close()
            before = peer, here
    return count


class _Event:
    """A sync event, and a peer that has imported it."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self._pair = Pair(stand, device, device, 64)
        with duty("a sync event of a network peer"):
            self._event = stand.enter_context(pydoca.SyncEvent(device, publisher="remote_net", subscriber="cpu"))
            self._there = stand.enter_context(device.import_sync_event_remote_net(self._event.export_to_remote_net()))

    def set(self, number: int) -> None:
        """The peer sets the event."""
        what, pair = f"setting {number:#x}", self._pair
        pair.here.data(0, 8).view(np.uint64)[0] = number
        with duty(what):
            src = pair.data(pair.here.mmap, pair.here.address(0), 8)
            done(pair.ab.remote_net_sync_event_notify_set(self._there, src), what)
        self._require(self._event.get(), number, f"the event after {what}")

    def add(self, number: int, before: int) -> None:
        """The peer adds to the event."""
        what = f"an addition of {number:#x}"
        with duty(what):
            found = done(self._pair.ab.remote_net_sync_event_notify_add(self._there, self._result(), number), what)
        self._require(found, before, f"the value before {what}")
        self._require(self._event.get(), (before + number) % 2**64, f"the event after {what}")

    def get(self, expected: int) -> None:
        """The peer reads the event."""
        what = f"a read of {expected:#x}"
        with duty(what):
            found = done(self._pair.ab.remote_net_sync_event_get(self._there, self._result()), what)
        result = int(self._pair.here.data(0, 8).view(np.uint64)[0])
        self._require(result, expected, f"the memory of the result of {what}")
        self._require(found, expected, what)

    def _result(self) -> pydoca.Buf:
        return self._pair.room(self._pair.here.mmap, self._pair.here.address(0), 8)

    def _require(self, found: int, expected: int, what: str) -> None:
        self._pair.bufs.close()
        require_value(found, expected, what)


def events(device: pydoca.Device) -> int:
    """A peer sets, adds to and reads an event with numbers of every width; returns how many operations there were."""
    wide = numbers()
    with Stand() as stand:
        event = _Event(stand, device)
        for number in wide:
            event.set(number)
            event.add(number, number)
            event.get(2 * number % 2**64)
    return 3 * len(wide)
