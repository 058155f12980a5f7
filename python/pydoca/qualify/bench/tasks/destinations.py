"""Destinations that have data or are too short, for every task that appends to a buf."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import REFUSALS, chained
from pydoca.qualify.bench.patterns import view
from pydoca.qualify.bench.tasks.fills import FILLS, Fill
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import Zoned, require_equal

_GAP = 32  # bytes between two elements of a list
_TOO_SHORT = (*REFUSALS, pydoca.TooBigError, pydoca.ShutdownError, pydoca.ConnectionAbortedError)


class Section(NamedTuple):
    """A buf as a destination, in bytes: the headroom, the data, and the room behind it."""

    headroom: int
    data: int
    room: int


class _Destination:
    """A list of bufs in guarded memory, and the expected content of that memory."""

    def __init__(self, stand: Stand, fill: Fill, sections: list[Section]) -> None:
        self._sections = sections
        self.memory: Zoned = fill.place(stand, sum(sum(each) + _GAP for each in sections))
        self.memory.guard(0, self.memory.capacity)
        inventory, begin = stand.bufs(len(sections)), self.memory.address(0)
        self._bufs: list[pydoca.Buf] = []
        for each in sections:
            data = begin + each.headroom
            self._bufs.append(inventory.get_by_args(self.memory.mmap, begin, sum(each), data, each.data))
            begin += sum(each) + _GAP
        self.buf: pydoca.Buf = stand.keep(chained(self._bufs))
        self.before = self.memory.array.copy()

    def require_result(self, fill: Fill, what: str) -> None:
        """Checks that the result is in the rooms in order, and that nothing else has changed."""
        expected, lengths, rest = self.before.copy(), [], view(fill.result)
        for place, room in self._rooms():
            part, rest = rest[:room], rest[room:]
            expected[place : place + len(part)] = part
            lengths.append(len(part))
        require_equal(self.memory.array, expected, what)
        if self._grown() != (lengths if fill.grows else [0] * len(lengths)):
            raise DeviceFault(f"{what}: {lengths} bytes were written, and data_len has grown by {self._grown()}")

    def require_untouched(self, what: str, *, also_rooms: bool) -> None:
        """Checks that a refused task has changed nothing; one that failed in the device may have written to rooms."""
        expected = self.before.copy()
        for place, room in () if also_rooms else self._rooms():
            expected[place : place + room] = self.memory.array[place : place + room]
        require_equal(self.memory.array, expected, what)
        if also_rooms and any(self._grown()):
            raise DeviceFault(f"{what}: it is refused, and data_len has grown by {self._grown()}")

    def _rooms(self) -> Iterator[tuple[int, int]]:
        """The place in the memory and the length of each room."""
        place = self.memory.address(0) - self.memory.mmap.addr
        for each in self._sections:
            yield place + each.headroom + each.data, each.room
            place += sum(each) + _GAP

    def _grown(self) -> list[int]:
        """The bytes by which the data of each buf has grown."""
        return [buf.data_len - each.data for buf, each in zip(self._bufs, self._sections, strict=True)]


def kinds(device: pydoca.Device) -> list[str]:
    """The tasks that the device has."""
    return [name for name, (is_there, _) in FILLS.items() if is_there(device.info)]


def append(device: pydoca.Device, kind: str) -> int:
    """Checks that a task appends its result to its destination, one buf or a list; returns how many there were.

    kind: "copy", "copy to the host", "digest", "expansion", "read", "receive", "write", "addition" or "exchange".
    """
    with Stand() as stand:
        fill = FILLS[kind][1](stand, device)
        cases = list(_fitting(fill))
        for sections in cases:
            what = f"{kind} to {_said(sections)}"
            with Stand() as place:
                destination = _Destination(place, fill, sections)
                with duty(what):
                    task = fill.make(destination.buf, submit=True)
                    fill.feed()
                    task.wait(timeout=waiting.PATIENCE)
                    task.free()
                destination.require_result(fill, what)
        return len(cases)


def refuse(device: pydoca.Device, kind: str) -> int:
    """Checks that a destination that is too short makes the task fail, however it is submitted.

    kind: "copy", "copy to the host", "digest", "expansion", "read", "receive", "write", "addition" or "exchange".
    Returns how many destinations there were.
    """
    with Stand() as stand:
        cases = list(_too_short(FILLS[kind][1](stand, device)))
    for sections, (how, submit) in itertools.product(cases, _WAYS.items()):
        what = f"{kind} to {_said(sections)}, which is too short ({how})"
        with Stand() as stand:
            fill = FILLS[kind][1](stand, device)
            _require_refusal(fill, _Destination(stand, fill, sections), submit, what)
    return len(cases) * len(_WAYS)


_WAYS: dict[str, Callable[[pydoca.Task], None]] = {
    "at once": lambda _: None,
    "later": lambda task: task.try_submit(),
    "without a check": lambda task: task.submit(),
}


def _require_refusal(fill: Fill, destination: _Destination, submit: Callable[[pydoca.Task], None], what: str) -> None:
    is_submitted = False
    try:
        task = fill.make(destination.buf, submit is _WAYS["at once"])
        submit(task)
        is_submitted = True
        fill.feed()
        task.wait(timeout=waiting.PATIENCE)
    except _TOO_SHORT:
        destination.require_untouched(what, also_rooms=not is_submitted)
        return
    except pydoca.DocaError as error:
        raise DeviceFault(f"{what}: refused with {type(error).__name__} ({error})") from error
    raise DeviceFault(f"{what}: it succeeds")


def _said(sections: list[Section]) -> str:
    return " and ".join(f"{each.room} bytes behind {each.data}" for each in sections)


def _fitting(fill: Fill) -> Iterator[list[Section]]:
    size, unit = len(fill.result), fill.unit
    for data in (0, unit, 3 * unit, 64, 64 + unit):
        yield [Section(0, data, size)]
        yield [Section(5 * unit, data, size + 7 * unit)]
    if fill.longest > 1:
        for data in (0, 1, 13, 64):
            yield [Section(0, data, size // 2), Section(2, data + 1, size - size // 2)]
            yield [Section(3, data, 1), Section(0, 3 * data, size + 5)]
    if fill.longest > 2:
        yield [Section(0, 7, 1), Section(9, 3, size - 2), Section(1, 5, 1)]
    for length in range(2, min(fill.longest, 3) + 1):
        for shapes in itertools.product(_Shape, repeat=length):
            if any(shape is not _Shape.FULL for shape in shapes):
                yield _list_of(shapes, size)


class _Shape(enum.Enum):
    """An element of a list before the task: data without room, data with room, or room without data."""

    FULL = enum.auto()
    PART = enum.auto()
    EMPTY = enum.auto()


def _list_of(shapes: tuple[_Shape, ...], size: int) -> list[Section]:
    """Elements of these shapes with a headroom of their own; the last one with room keeps some of it."""
    open_ = sum(shape is not _Shape.FULL for shape in shapes)
    room = size // open_ + 5
    return [
        Section(3 * place, 0 if shape is _Shape.EMPTY else 13 + place, 0 if shape is _Shape.FULL else room)
        for place, shape in enumerate(shapes)
    ]


def _too_short(fill: Fill) -> Iterator[list[Section]]:
    size = len(fill.result)
    for room in {size - 1, size // 2, 1, 0}:
        for data in (0, size):  # the buf would be long enough from its begin
            if data + room:
                yield [Section(0, data, room)]
    yield [Section(size, 0, size - 1)]
    if fill.longest > 1:
        yield [Section(0, 0, size // 2), Section(0, size, size - size // 2 - 1)]
        yield [Section(0, 0, size - 1), Section(0, size, 0)]
