"""What a process has exported or connected, after its death: each operation ends with the documented error."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial

import pydoca
from pydoca import comch
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import Copier
from pydoca.qualify.bench.messages import message
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import Zoned

_LONGEST = 10.0  # seconds until a death is known
_BRIEF = 0.05  # seconds of a wait that nothing ends, if the death is not known
Operations = dict[str, Callable[[], object]]


def check(operations: Operations, kill: Callable[[], None], what: str, *errors: type[pydoca.DocaError]) -> float:
    """Runs each operation, kills the other process, and checks that each one then raises one of these errors.

    The operations succeed before. Returns the seconds until the last one fails.
    """
    for name, run in operations.items():
        with duty(f"{name} of {what}"):
            run()
    kill()
    begin = time.monotonic()
    for name, run in operations.items():
        _require_end(run, errors, begin, f"{name} of {what} whose process was killed")
    seconds = time.monotonic() - begin
    for name, run in operations.items():  # a device that has told it once must not forget it
        _require_end(run, errors, begin - _LONGEST, f"{name} of {what} whose process was killed, once more")
    return seconds


def _require_end(
    run: Callable[[], object], errors: tuple[type[pydoca.DocaError], ...], begin: float, what: str
) -> None:
    names = " or ".join(each.__name__ for each in errors)
    while True:
        is_late = time.monotonic() >= begin + min(_LONGEST, waiting.PATIENCE)
        try:
            run()
        except errors:
            return
        except pydoca.TimeOutError:
            pass
        except pydoca.DocaError as other:
            raise DeviceFault(f"{what}: {type(other).__name__} ({other}), not {names}") from other
        if is_late:
            raise DeviceFault(f"{what}: no {names} after {time.monotonic() - begin:.1f} s")
        time.sleep(0.001)


def of_event(stand: Stand, device: pydoca.Device, blob: bytes) -> Operations:
    """Every operation of a sync event of another process."""
    with duty("import a sync event"):
        event = stand.enter_context(device.import_sync_event(blob))
        event.update_set(1)
    waits = (event.wait_eq, event.wait_gt, event.wait_neq, event.wait_eq_yield, event.wait_gt_yield)
    found: Operations = {
        "get": event.get,
        "update_set": lambda: event.update_set(1),
        "update_add": lambda: event.update_add(0),
        "wait_neq_yield": lambda: event.wait_neq_yield(0, timeout=_BRIEF),
    }
    for wait, value in zip(waits, (1, 0, 0, 1, 0), strict=True):
        found[wait.__name__] = _with_arguments(wait, value)
    return found


def _with_arguments(wait: Callable[..., None], value: int) -> Callable[[], None]:
    return lambda: wait(value, timeout=_BRIEF)


def of_event_tasks(stand: Stand, device: pydoca.Device, blob: bytes) -> Operations:
    """Every task of a sync event of another process."""
    with duty("import a sync event with tasks"):
        event = device.import_sync_event(blob)
        stand.callback(event.close)
        context = stand.enter_context(event.as_context(stand.engine(), num_tasks=1))
    found: dict[str, Callable[[], pydoca.Task]] = {
        "a task get": context.get,
        "a task notify_set": lambda: context.notify_set(1),
        "a task notify_add": lambda: context.notify_add(0),
    }
    if device.info.supports("async_sync_event_wait"):
        # The value of the first wait is there. That of the later ones never comes: only the death ends them.
        values = itertools.chain([0], itertools.repeat(2))
        context.notify_set(0).wait(timeout=waiting.PATIENCE)
        found = {"a task wait_eq": lambda: context.wait_eq(next(values)), **found}
    return {name: partial(_finish, make, name) for name, make in found.items()}


def _finish(make: Callable[[], pydoca.Task], name: str) -> object:
    task = make()
    try:
        return task.wait(timeout=waiting.PATIENCE)
    except pydoca.TimeOutError:
        raise DeviceFault(f"{name}: no answer within {waiting.PATIENCE:g} s") from None
    finally:
        if task.done:
            task.free()


def of_memory(stand: Stand, device: pydoca.Device, blob: bytes, size: int) -> Operations:
    """Copies from and to memory of another process."""
    copier, here = Copier(stand, device), stand.enter_context(device.mmap(pydoca.alloc(size)))
    with duty("import memory"):
        there = stand.enter_context(device.import_mmap(blob))
    return {
        "a copy from the memory": lambda: copier.copy(there, here, size),
        "a copy to the memory": lambda: copier.copy(here, there, size),
    }


def of_connection(link: comch.Connection) -> Operations:
    """Messages to and from another process, which sends each one back."""
    return {
        "send": lambda: link.send(message(0, 64)).wait(timeout=waiting.PATIENCE),
        "recv": lambda: link.recv().wait(timeout=waiting.PATIENCE),
    }


def of_rdma(link: pydoca.RdmaConnection, here: Zoned, there: pydoca.Mmap, size: int, stand: Stand) -> Operations:
    """Tasks that access memory of the process at the other end."""
    inventory = stand.bufs(2)

    def run(begin: Callable[..., pydoca.Task], *, to_peer: bool) -> object:
        with Stand() as bufs:
            own = here.mmap, here.address(0), size
            theirs = there, there.addr, size
            src, dst = (own, theirs) if to_peer else (theirs, own)
            pair = bufs.keep(inventory.get_by_data(*src)), bufs.keep(inventory.get_by_addr(*dst))
            return _finish(lambda: begin(*pair), "an RDMA task")

    return {"a read": partial(run, link.read, to_peer=False), "a write": partial(run, link.write, to_peer=True)}
