"""Operations of every library work, whatever else has happened to the device meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pydoca
from pydoca.qualify.bench.rules import flushes, lives
from pydoca.qualify.bench.tasks.operations import operations
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty

_MAPS = 64
_CONTEXTS = 16


def check(device: pydoca.Device, rounds: int) -> int:
    """Runs operations that were made before each situation, and others that are made in it; returns how many."""
    done = 0
    for what, begin in SITUATIONS.items():
        with Stand() as stand:
            before = operations(stand, device)
            _run(before, rounds, f"before {what}")
            begin(stand, device)
            _run(before, rounds, f"made before {what}")
            with Stand() as inner:
                _run(operations(inner, device), rounds, f"made after {what}")
            _run(before, rounds, f"made before {what}, and after the end of others")
            done += 4 * rounds * len(before)
    return done


def _run(found: dict[str, Callable[[], int]], rounds: int, what: str) -> None:
    for name, run_one in found.items():
        try:
            for _ in range(rounds):
                run_one()
        except DeviceFault as fault:
            raise DeviceFault(f"{name}, {what}: {fault}") from fault


def _failures(_: Stand, device: pydoca.Device) -> None:
    lives.failures(device, 3)


def _flushes(_: Stand, device: pydoca.Device) -> None:
    for name, (has, _make) in flushes.LIBRARIES.items():
        if has(device):
            flushes.check(device, name)


def _many(stand: Stand, device: pydoca.Device) -> None:
    with duty(f"{_MAPS} maps and {_CONTEXTS} contexts"):
        pe = stand.engine()
        for _ in range(_MAPS):
            stand.enter_context(device.mmap(pydoca.alloc(4096)))
        for _ in range(_CONTEXTS):
            stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))


def _opened_again(_: Stand, device: pydoca.Device) -> None:
    with duty("open the device once more"), pydoca.open_device(device.info) as other, Stand() as stand:
        _run(operations(stand, other), 1, "of a device that was opened once more")


def _neighbours(stand: Stand, device: pydoca.Device) -> None:
    """Other functions of the same side, whose operations take turns with the device's."""
    mine = operations(stand, device)
    for info in pydoca.devices(side=device.side):
        is_other = info.backend == device.info.backend and info.name != device.name
        if is_other and info.supports("dma") and info.func_type is device.info.func_type:
            with duty(f"open {info.name}"):
                theirs = operations(stand, stand.enter_context(pydoca.open_device(info)))
            for name in theirs:
                for number in range(3):
                    _run({name: theirs[name]}, 1 + number, f"of {info.name}, in turns with those of {device.name}")
                    _run({name: mine[name]} if name in mine else {}, 1, f"in turns with those of {info.name}")


def _in_a_thread(_: Stand, device: pydoca.Device) -> None:
    faults: list[BaseException] = []

    def work() -> None:
        try:
            with Stand() as stand:
                _run(operations(stand, device), 1, "of a thread that ends")
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    for fault in faults:
        raise DeviceFault(str(fault)) from fault


SITUATIONS: dict[str, Callable[[Stand, pydoca.Device], None]] = {
    "copies that fail": _failures,
    "contexts that stop with tasks in flight": _flushes,
    "many maps and contexts": _many,
    "the use of other functions of the same side": _neighbours,
    "the end of another handle of the device": _opened_again,
    "the end of a thread that used the device": _in_a_thread,
}
