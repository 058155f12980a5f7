"""Tasks configured one kind at a time: the context has that many, and completions call the function set last."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import REFUSALS
from pydoca.qualify.bench.sha import algorithms
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_Submit = Callable[[object], pydoca.Task]  # it takes the task's user data, and does not submit the task
_COUNT = 3  # a device has more tasks


class _Kind(NamedTuple):
    """One kind of task: an idle context, its setter, a task that succeeds, and one that fails."""

    context: pydoca.Context
    configure: Callable[..., None]
    good: _Submit
    bad: _Submit | None


class _Calls:
    """The arguments with which the callbacks of one configuration were called."""

    def __init__(self) -> None:
        self.good: list[tuple[object, object, object]] = []
        self.bad: list[tuple[object, object, object]] = []

    def succeeded(self, *told: Any) -> None:
        """Notes a completion with success."""
        self.good.append(told)

    def failed(self, *told: Any) -> None:
        """The callback of completions without success."""
        self.bad.append(told)


def check(device: pydoca.Device) -> int:
    """Checks each kind of task that the device has; returns how many there are."""
    found = [make for has, make in _KINDS if has(device.info)]
    for make in found:
        with Stand() as stand:
            _one(stand, make(stand, device))
    return len(found)


def _one(stand: Stand, kind: _Kind) -> None:
    first, last = _Calls(), _Calls()
    kind.context.user_data = last
    what = type(kind.context).__name__
    with duty(f"configure tasks of {what}"):
        kind.configure(first.succeeded, first.failed, 1)
        kind.configure(last.succeeded, last.failed, _COUNT)
        stand.enter_context(kind.context)
        tasks = [kind.good(number) for number in range(_COUNT)]
    with contextlib.suppress(pydoca.NoMemoryError):
        kind.good(_COUNT)
        raise DeviceFault(f"{what} with {_COUNT} tasks has one more")
    for task in tasks:
        with duty(f"a task of {what}"):
            task.submit()
            task.wait(timeout=waiting.PATIENCE)
        task.free()
    good: list[tuple[object, object, object]] = [(task, number, last) for number, task in enumerate(tasks)]
    bad = [_fail(kind.bad, last, what)] if kind.bad else []
    for name, calls, expected in (("success", last.good, good), ("failure", last.bad, bad)):
        if calls != expected:
            raise DeviceFault(f"the callback of {name} of {what} was called with {calls}, and not with {expected}")
    if first.good or first.bad:
        raise DeviceFault(f"a callback of {what} was called that another one has replaced")


def _fail(bad: _Submit, last: object, what: str) -> tuple[object, object, object]:
    task = bad("bad")
    with contextlib.suppress(*REFUSALS):
        task.submit()
        task.wait(timeout=waiting.PATIENCE)
        raise DeviceFault(f"{what}: a result that is longer than its place was written")
    return task, "bad", last


class _Places:
    """A source, a place for results, and one that is too short."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        inventory = stand.bufs(8)
        mmap = stand.enter_context(device.mmap(pydoca.alloc(4096)))
        self.pe = stand.engine()
        self.src = stand.keep(inventory.get_by_data(mmap, mmap.addr, 64))
        self.short = stand.keep(inventory.get_by_addr(mmap, mmap.addr + 1024, 8))
        self._rooms = [
            stand.keep(inventory.get_by_addr(mmap, mmap.addr + 2048 + 64 * place, 64)) for place in range(_COUNT + 1)
        ]

    def room(self, number: object) -> pydoca.Buf:
        """A separate place for each task that succeeds."""
        assert isinstance(number, int)
        return self._rooms[number]


def _copies(stand: Stand, device: pydoca.Device) -> _Kind:
    places = _Places(stand, device)
    dma = pydoca.Dma(places.pe, device, num_tasks=1)

    def task(dst: pydoca.Buf, number: object) -> pydoca.Task:
        return dma.memcpy(places.src, dst, user_data=number, submit=False)

    return _Kind(
        dma,
        dma.set_memcpy_conf,
        lambda number: task(places.room(number), number),
        lambda number: task(places.short, number),
    )


def _digests(stand: Stand, device: pydoca.Device) -> _Kind:
    places, algorithm = _Places(stand, device), algorithms(device)[0]
    sha = pydoca.Sha(places.pe, device, num_tasks=1)
    return _Kind(
        sha,
        sha.set_hash_conf,
        lambda number: sha.hash(places.src, places.room(number), algorithm, user_data=number, submit=False),
        None,
    )


def _messages_in_pieces(stand: Stand, device: pydoca.Device) -> _Kind:
    """Each task has the first piece of a message, of one block."""
    places, algorithm = _Places(stand, device), algorithms(device)[0]
    sha = pydoca.Sha(places.pe, device, num_tasks=1)
    return _Kind(
        sha,
        sha.set_partial_hash_conf,
        lambda number: sha.partial_hash(places.src, places.room(number), algorithm, user_data=number, submit=False),
        None,
    )


def _invalidations(stand: Stand, device: pydoca.Device) -> _Kind:
    places = _Places(stand, device)
    advise = pydoca.MmapAdvise(places.pe, device, num_tasks=1)
    return _Kind(
        advise,
        advise.set_invalidate_cache_conf,
        lambda number: advise.invalidate_cache(places.src, user_data=number, submit=False),
        None,
    )


def _additions(stand: Stand, device: pydoca.Device) -> _Kind:
    event = pydoca.SyncEvent(device)
    stand.callback(event.close)
    context = event.as_context(stand.engine(), num_tasks=1)

    def configure(on_completion: Any, on_error: Any, num_tasks: int) -> None:
        context.set_conf("notify_add", on_completion, on_error, num_tasks)

    return _Kind(context, configure, lambda number: context.notify_add(1, user_data=number, submit=False), None)


_KINDS: list[tuple[Callable[[pydoca.DeviceInfo], bool], Callable[[Stand, pydoca.Device], _Kind]]] = [
    (lambda info: info.supports("dma"), _copies),
    (lambda info: info.supports("sha"), _digests),
    (lambda info: info.supports("sha"), _messages_in_pieces),
    (lambda info: info.supports("mmap_advise"), _invalidations),
    (lambda info: info.supports("sync_event"), _additions),
]
