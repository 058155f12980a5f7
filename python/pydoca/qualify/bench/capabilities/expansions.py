"""Limits of the engine that expands DEFLATE streams."""

from __future__ import annotations

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.capabilities.taking import IN_FLIGHT, refuse_more, run, take
from pydoca.qualify.bench.compress import deflated
from pydoca.qualify.bench.maps import REFUSALS, chained
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.waiting import Stand, duty, refused
from pydoca.qualify.bench.zones import require_equal

_PLAIN = prbs31(64, 11)


class _Expansions:
    """A stream of 64 bytes of plain data with zeros behind it, which are ignored, and room for the data."""

    def __init__(self, stand: Stand, device: pydoca.Device, size: int, places: int = 1, num_tasks: int = 1) -> None:
        stream = deflated(_PLAIN.tobytes(), "own codes")
        self._room = stand.enter_context(pydoca.alloc(places * _PLAIN.size))
        self.array = view(self._room).reshape(places, _PLAIN.size)
        self._src = stand.enter_context(device.mmap(stream.ljust(size, b"\0")))
        self._dst = stand.enter_context(device.mmap(self._room))
        self.length = len(stream)
        self.pe, self._inventory = stand.engine(), stand.bufs(self._src.len + places + 1)
        with duty(f"start the compression engine with {num_tasks} tasks"):
            self.engine = stand.enter_context(pydoca.Compress(self.pe, device, num_tasks=num_tasks))

    def source(self, bufs: Stand, ends: list[int]) -> pydoca.Buf:
        """A list of bufs that end at these places."""
        get, begins = self._inventory.get_by_data, [0, *ends[:-1]]
        pairs = zip(begins, ends, strict=True)
        return bufs.keep(chained([get(self._src, self._src.addr + begin, end - begin) for begin, end in pairs]))

    def target(self, bufs: Stand, place: int = 0) -> pydoca.Buf:
        """Room for plain data."""
        size = _PLAIN.size
        return bufs.keep(self._inventory.get_by_addr(self._dst, self._dst.addr + place * size, size))

    def expand(self, ends: list[int]) -> None:
        """Expands the stream once, from a list; raises the device's error."""
        self.array[:] = 0
        with Stand() as bufs:
            task = self.engine.decompress_deflate(self.source(bufs, ends), self.target(bufs), submit=False)
            bufs.callback(task.free)
            task.submit()
            task.wait(timeout=waiting.PATIENCE)
        require_equal(self.array[0], _PLAIN, f"plain data of a list of {len(ends)} bufs")


def expanded_bytes(device: pydoca.Device, most: int) -> None:
    """Reaches decompress_deflate_max_buf_size."""
    with Stand() as stand:
        expansions = _Expansions(stand, device, most + 1)
        with duty(f"a source of {most} bytes"):
            expansions.expand([most])
        with refused(f"a source of {most + 1} bytes, one more than the limit", *REFUSALS):
            expansions.expand([most + 1])


def expanded_elements(device: pydoca.Device, most: int) -> None:
    """Reaches decompress_deflate_max_buf_list_len."""
    with Stand() as stand:
        expansions = _Expansions(stand, device, most + 1)
        with duty(f"a list of {most} bufs"):
            expansions.expand([*range(1, most), max(most, expansions.length)])
        with refused(f"a list of {most + 1} bufs, one more than the limit", *REFUSALS):
            expansions.expand([*range(1, most + 1), max(most + 1, expansions.length)])


def expansions(device: pydoca.Device, most: int) -> None:
    """Reaches max_num_tasks of the engine."""
    flight = min(most, IN_FLIGHT)
    with Stand() as stand:
        made = _Expansions(stand, device, 1, flight, most)
        refuse_more(most, lambda number: pydoca.Compress(made.pe, device, num_tasks=number), "tasks of Compress")
        source, targets = made.source(stand, [made.length]), [made.target(stand, place) for place in range(flight)]

        def make(number: int) -> pydoca.Task:
            return made.engine.decompress_deflate(source, targets[number % flight], submit=False)

        with Stand() as taken:
            run(made.engine, take(taken, most, make, "expansions")[:flight], "expansions")
        for place in range(flight):
            require_equal(made.array[place], _PLAIN, f"{flight} expansions at a time: number {place}")
