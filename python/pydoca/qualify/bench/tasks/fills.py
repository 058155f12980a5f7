"""The tasks that append their result to a buf, each with the expected result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca.qualify.bench.compress import deflated
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.rdma.pair import Pair, see
from pydoca.qualify.bench.sides import has_link, names_of_link
from pydoca.qualify.bench.waiting import Stand, duty
from pydoca.qualify.bench.zones import Zoned

_SIZE = 100  # bytes of a copy or a message
_ELEMENTS = 8


class Fill:
    """A kind of task that appends its result to a buf in memory of the device."""

    grows: bool = True  # whether the destination's data_len grows; that of a peer's memory does not
    longest: int = 1  # most elements of a list of destinations
    unit: int = 1  # the destination's place is a multiple of this many bytes
    result: bytes
    device: pydoca.Device

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.device = device

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        """Allocates the task, and submits it on request. Raises the device's error."""
        raise NotImplementedError

    def feed(self) -> None:
        """Starts what a submitted task waits for, such as a message."""

    def place(self, stand: Stand, capacity: int) -> Zoned:
        """Memory for destinations."""
        return Zoned(stand, self.device, capacity)


class _Copy(Fill):
    """A copy within the device's own side."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        super().__init__(stand, device)
        self.result, self.longest = prbs31(_SIZE, 11).tobytes(), pydoca.Dma.max_buf_list_len(device.info)
        pe, inventory = stand.engine(), stand.bufs(1)
        with duty("start the DMA engine"):
            self._dma = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        self._src = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(self.result))))

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        return self._dma.memcpy(self._src, dst, submit=submit)


class _CopyAcross(_Copy):
    """A copy by the DPU to memory of the host."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        names = names_of_link(device)
        assert names is not None
        self._host = stand.enter_context(pydoca.open_device(names[0], side="host"))
        super().__init__(stand, stand.enter_context(pydoca.open_device(names[1], side="dpu")))

    def place(self, stand: Stand, capacity: int) -> Zoned:
        return Zoned.lent(stand, self._host, self.device, capacity)


class _Digest(Fill):
    """The digest of a message."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        super().__init__(stand, device)
        message = prbs31(_SIZE, 12).tobytes()
        self.result = hashlib.sha256(message).digest()
        pe, inventory = stand.engine(), stand.bufs(1)
        with duty("start the SHA engine"):
            self._sha = stand.enter_context(pydoca.Sha(pe, device, num_tasks=1))
        self._src = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(message))))

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        return self._sha.hash(self._src, dst, "sha256", submit=submit)


class _Expansion(Fill):
    """The plain data of a DEFLATE stream."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        super().__init__(stand, device)
        self.result = prbs31(_SIZE, 14).tobytes()
        self.longest = pydoca.Compress.max_decompress_deflate_buf_list_len(device.info)
        pe, inventory = stand.engine(), stand.bufs(1)
        with duty("start the compression engine"):
            self._compress = stand.enter_context(pydoca.Compress(pe, device, num_tasks=1))
        self._src = stand.keep(inventory.get_by_data(stand.enter_context(device.mmap(deflated(self.result, "runs")))))

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        return self._compress.decompress_deflate(self._src, dst, submit=submit)


class _Rdma(Fill):
    """A connection, and a message in the memory of the peer."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        super().__init__(stand, device)
        limits = device.info.capabilities.rdma
        assert limits is not None
        self.result, self.longest = prbs31(_SIZE, 13).tobytes(), self._longest(limits)
        lists: dict[str, Any] = {
            "max_send_buf_list_len": min(_ELEMENTS, limits.max_send_buf_list_len),
            "receive_dst_buf_list_len": min(_ELEMENTS, limits.max_recv_buf_list_len),
        }
        self._pair = Pair(stand, device, device, _SIZE, **lists)
        for end in (self._pair.here, self._pair.theirs):
            end.data(0, _SIZE)[:] = prbs31(_SIZE, 13)

    def _longest(self, limits: pydoca.RdmaCapabilities) -> int:
        """Elements of a list of destinations."""
        return 1

    def _theirs(self, size: int) -> pydoca.Buf:
        return self._pair.data(self._pair.there, self._pair.theirs.address(0), size)


class _Read(_Rdma):
    """A read of the peer's memory."""

    def _longest(self, limits: pydoca.RdmaCapabilities) -> int:
        return min(_ELEMENTS, limits.max_send_buf_list_len)

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        return self._pair.ab.read(self._theirs(_SIZE), dst, submit=submit)


class _Receive(_Rdma):
    """A message of the peer."""

    def _longest(self, limits: pydoca.RdmaCapabilities) -> int:
        return min(_ELEMENTS, limits.max_recv_buf_list_len)

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        return self._pair.a.receive(dst, submit=submit)

    def feed(self) -> None:
        theirs = self._pair.theirs
        message = self._pair.data(theirs.mmap, theirs.address(0), _SIZE)
        self._pair.ba.send(message).add_done_callback(see)


class _Write(_Rdma):
    """A write to the peer's memory: the destination is remote."""

    grows = False

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        here = self._pair.here
        return self._pair.ab.write(self._pair.data(here.mmap, here.address(0), _SIZE), dst, submit=submit)

    def place(self, stand: Stand, capacity: int) -> Zoned:
        zoned = Zoned(stand, self.device, capacity, "local_read_write|rdma_write")
        with duty("import memory of the peer"):
            zoned.mmap = stand.enter_context(self.device.import_mmap(zoned.mmap.export_rdma()))
        return zoned


class _Add(_Rdma):
    """The old value of an addition in the peer's memory."""

    unit = 8

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        super().__init__(stand, device)
        self.result = self.result[:8]

    def _word(self) -> pydoca.Buf:
        self._pair.theirs.data(0, 8)[:] = view(self.result)
        return self._theirs(8)

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        return self._pair.ab.atomic_fetch_add(self._word(), dst, 1, submit=submit)


class _Swap(_Add):
    """The old value of an exchange in the peer's memory."""

    def make(self, dst: pydoca.Buf, submit: bool) -> pydoca.Task:
        return self._pair.ab.atomic_cmp_swp(self._word(), dst, 1, 2, submit=submit)


def _has_atomics(info: pydoca.DeviceInfo) -> bool:
    return info.supports("rdma") and info.supports("rdma_atomics")


FILLS: dict[str, tuple[Callable[[pydoca.DeviceInfo], bool], Callable[[Stand, pydoca.Device], Fill]]] = {
    "copy": (lambda info: info.supports("dma"), _Copy),
    "copy to the host": (lambda info: info.supports("dma") and has_link(info), _CopyAcross),
    "digest": (lambda info: info.supports("sha"), _Digest),
    "expansion": (lambda info: info.supports("compress"), _Expansion),
    "read": (lambda info: info.supports("rdma"), _Read),
    "receive": (lambda info: info.supports("rdma"), _Receive),
    "write": (lambda info: info.supports("rdma"), _Write),
    "addition": (_has_atomics, _Add),
    "exchange": (_has_atomics, _Swap),
}
