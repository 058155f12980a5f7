"""The life of a context of each library: it starts and stops repeatedly, reports each change, and works again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pydoca
from pydoca import comch
from pydoca.qualify.bench import maps, resources, waiting
from pydoca.qualify.bench.sides import fresh_name
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused

_State = pydoca.ContextState
_Make = Callable[[Stand, pydoca.ProgressEngine, pydoca.Device, Any], pydoca.Context]


class Changes:
    """The changes of state that a context has reported."""

    def __init__(self) -> None:
        self.told: list[tuple[pydoca.ContextState, pydoca.ContextState]] = []
        self.wrong: str = ""

    def changed(self, owner: object, context: pydoca.Context, before: _State, after: _State) -> None:
        """The callback; the context has this object as its user data."""
        self.told.append((before, after))
        if owner is not self or context.state is not after:
            self.wrong = f"the change to {after.name} is told when the state is {context.state.name}"

    def require(self, what: str) -> None:
        """Raises DeviceFault unless the changes lead from IDLE to RUNNING and back to IDLE; then clears them."""
        states = [_State.IDLE, *(after for _, after in self.told)]
        follow = all(before is state for (before, _), state in zip(self.told, states, strict=False))
        if self.wrong or not follow or states[-1] is not _State.IDLE or states.count(_State.RUNNING) != 1:
            raise DeviceFault(f"{what}: its changes of state were {[after.name for after in states]}; {self.wrong}")
        self.told.clear()


def lives(device: pydoca.Device, name: str, cycles: int) -> int:
    """Starts and stops a context of one of LIBRARIES repeatedly; returns how many descriptors are left open."""
    with Stand() as stand:
        pe, changes = stand.engine(), Changes()
        with duty(f"make a context of {name}"):
            context = LIBRARIES[name][1](stand, pe, device, changes)
        stand.callback(context.close)
        before = 0
        for number in range(cycles):
            what = f"start and stop {name}, time {number}"
            with duty(what):
                context.start()
                pe.run_until(lambda: context.state is _State.RUNNING, timeout=waiting.PATIENCE)
                context.stop()
                pe.run_until(lambda: context.state is _State.IDLE, timeout=waiting.PATIENCE)
            changes.require(what)
            before = resources.descriptors() if number == 2 else before
        return resources.descriptors() - before


def times(device: pydoca.Device, name: str, cycles: int) -> NDArray[np.int64]:
    """Nanoseconds of each start of a context of one of LIBRARIES, which stops after it."""
    taken = np.empty(cycles, np.int64)
    with Stand() as stand:
        pe = stand.engine()
        with duty(f"make a context of {name}"):
            context = LIBRARIES[name][1](stand, pe, device, Changes())
        stand.callback(context.close)
        for number in range(cycles):
            with duty(f"start and stop {name}, time {number}"):
                begin = time.perf_counter_ns()
                context.start()
                pe.run_until(lambda: context.state is _State.RUNNING, timeout=waiting.PATIENCE)
                taken[number] = time.perf_counter_ns() - begin
                context.stop()
                pe.run_until(lambda: context.state is _State.IDLE, timeout=waiting.PATIENCE)
    return taken


def failures(device: pydoca.Device, times: int) -> int:
    """A copy fails, and its context stops by itself; it starts again, and copies. Returns how often."""
    with Stand() as stand:
        pe, changes, inventory = stand.engine(), Changes(), stand.bufs(4)
        memory = pydoca.alloc(4096)
        mmap = stand.enter_context(device.mmap(memory))
        dma = pydoca.Dma(pe, device, num_tasks=2, on_state_changed=changes.changed, user_data=changes)
        stand.callback(dma.close)
        src = stand.keep(inventory.get_by_data(mmap, mmap.addr, 64))
        short = stand.keep(inventory.get_by_addr(mmap, mmap.addr + 1024, 32))
        room = stand.keep(inventory.get_by_addr(mmap, mmap.addr + 2048, 64))
        for number in range(times):
            what = f"failure {number}"
            with duty(f"{what}: start the context"):
                dma.start()
            memory[:64] = bytes([number % 251 + 1]) * 64
            _copy(dma, src, room, what)
            if memory[2048:2112] != memory[:64]:
                raise DeviceFault(f"{what}: a copy before it has wrong data")
            task = dma.memcpy(src, short, submit=False)
            with refused(f"{what}: a copy of 64 bytes to a place for 32", *maps.REFUSALS):
                task.submit()
                task.wait(timeout=waiting.PATIENCE)
            task.free()
            waiting.until_true(pe, lambda: dma.state is _State.IDLE, f"{what}: the end of its context")
            if dma.failure is pydoca.Status.SUCCESS:
                raise DeviceFault(f"{what}: the context stopped, and says that nothing has failed")
            changes.require(what)
    return times


def _copy(dma: pydoca.Dma, src: pydoca.Buf, dst: pydoca.Buf, what: str) -> None:
    dst.reset_data_len()
    with duty(f"{what}: a copy before it"):
        task = dma.memcpy(src, dst)
        task.wait(timeout=waiting.PATIENCE)
        task.free()


def _options(changes: Changes) -> dict[str, Any]:
    return {"on_state_changed": changes.changed, "user_data": changes}


def _dma(_: Stand, pe: pydoca.ProgressEngine, device: pydoca.Device, changes: Changes) -> pydoca.Context:
    return pydoca.Dma(pe, device, num_tasks=1, **_options(changes))


def _sha(_: Stand, pe: pydoca.ProgressEngine, device: pydoca.Device, changes: Changes) -> pydoca.Context:
    return pydoca.Sha(pe, device, num_tasks=1, **_options(changes))


def _rdma(_: Stand, pe: pydoca.ProgressEngine, device: pydoca.Device, changes: Changes) -> pydoca.Context:
    return pydoca.Rdma(pe, device, num_tasks=1, **_options(changes))


def _advise(_: Stand, pe: pydoca.ProgressEngine, device: pydoca.Device, changes: Changes) -> pydoca.Context:
    return pydoca.MmapAdvise(pe, device, num_tasks=1, **_options(changes))


def _compress(_: Stand, pe: pydoca.ProgressEngine, device: pydoca.Device, changes: Changes) -> pydoca.Context:
    return pydoca.Compress(pe, device, num_tasks=1, **_options(changes))


def _server(stand: Stand, pe: pydoca.ProgressEngine, device: pydoca.Device, changes: Changes) -> pydoca.Context:
    representor = stand.enter_context(device.open_representor(device.representors()[0]))
    return comch.Server(pe, device, representor, fresh_name(), **_options(changes))


LIBRARIES: dict[str, tuple[Callable[[pydoca.DeviceInfo], bool], _Make]] = {
    "dma": (lambda info: info.supports("dma"), _dma),
    "sha": (lambda info: info.supports("sha"), _sha),
    "rdma": (lambda info: info.supports("rdma"), _rdma),
    "mmap_advise": (lambda info: info.supports("mmap_advise"), _advise),
    "compress": (lambda info: info.supports("compress"), _compress),
    "comch": (lambda info: info.supports("comch_server") and info.supports("representors"), _server),
}
