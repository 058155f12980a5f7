"""Launches on the DPA at their limits and ends: all threads at once, the last signal, failures, kernels that stay."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pydoca
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.contracts.engines import require_refused
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import prbs31, view
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, refused, require_value
from pydoca.qualify.bench.zones import require_equal

_THREADS = 4
_LAUNCHES = 8  # launches that are in flight together
_SIZES = (1, 64, 4095, 1 << 16, 1 << 20)


class _Gate:
    """A DPA whose kernel "pass" lets the threads of a launch end one by one, or all at once, as this side opens it."""

    def __init__(self, stand: Stand, device: pydoca.Device) -> None:
        self.dpa = stand.enter_context(pydoca.Dpa(device))
        self.began: list[int] = []
        self._way = stand.enter_context(pydoca.SyncEvent(device, publisher="cpu", subscriber=self.dpa))
        self.dpa.register("pass", self._pass)

    def _pass(self, thread: pydoca.DpaThread, way: pydoca.DpaSyncEvent, first: int) -> None:
        self.began.append(thread.rank)
        way.wait_gt(first + thread.rank, timeout=waiting.PATIENCE)

    def launch(self, num_threads: int, first: int = 0, **options: Any) -> pydoca.DpaRun:
        """Launches threads; the one with rank r ends when the gate is open beyond first + r."""
        return self.dpa.launch("pass", self._way.dpa_handle(self.dpa), first, num_threads=num_threads, **options)

    def open(self, until: int) -> None:
        """Opens the gate for the threads below this number."""
        self._way.update_set(until)

    def require_left(self, threads: int, what: str) -> None:
        """Waits until so many threads have not ended."""
        _until(lambda: self.dpa.num_threads <= threads, what)
        require_value(self.dpa.num_threads, threads, f"{what}: the number of threads")


def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + waiting.PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise DeviceFault(f"{what}: no answer within {waiting.PATIENCE:g} s")
        time.sleep(0.0002)


def signals(device: pydoca.Device, rounds: int) -> int:
    """A launch signals its end when its last thread has ended, and not before; returns how many launches there were."""
    with Stand() as stand, duty("kernels that end one by one"):
        gate = _Gate(stand, device)
        done = stand.enter_context(pydoca.SyncEvent(device, publisher=gate.dpa, subscriber="cpu"))
        tell = done.dpa_handle(gate.dpa)
        for number in range(rounds):
            gate.open(0)
            done.update_set(0)
            signal: dict[str, int] = [{}, {"done_set": 7}, {"done_add": 5}][number % 3]
            told = sum(signal.values()) or 1
            run = gate.launch(_THREADS, done_event=tell, **signal)
            for ended in range(1, _THREADS):
                gate.open(ended)
                gate.require_left(_THREADS - ended, "a launch whose threads end one by one")
                found: dict[str, object] = {"event": done.get(), "done": run.done}
                require_told(f"a launch of which {ended} threads of {_THREADS} have ended", found, _NOT_YET)
            gate.open(_THREADS)
            done.wait_eq_yield(told, timeout=waiting.PATIENCE)
            run.wait(waiting.PATIENCE)
            found = {"event": done.get(), "done": run.done, "threads": gate.dpa.num_threads}
            require_told("a launch that has ended", found, {"event": told, "done": True, "threads": 0})
    return rounds


_NOT_YET: dict[str, object] = {"event": 0, "done": False}


def crowds(device: pydoca.Device) -> int:
    """As many threads as the DPA has run at once, in one launch and in several, and one more is refused.

    Returns how many there were.
    """
    limits = device.info.capabilities.dpa
    assert limits is not None
    most = limits.max_num_threads
    with Stand() as stand, duty(f"kernels in {most} threads"):
        gate = _Gate(stand, device)
        require_refused("the DPA", {"a thread too many": (lambda: gate.launch(most + 1), pydoca.FullError)})
        several = [most // 2, most - most // 2 - 1, 1] if most > 2 else [most]
        for parts in ([most], several):
            gate.began.clear()
            gate.open(0)
            runs = [gate.launch(part) for part in parts if part]
            _until(lambda: len(gate.began) == most, f"the begin of {most} threads")
            require_told("the DPA", {"threads": gate.dpa.num_threads}, {"threads": most})
            calls: Any = {"launch()": (lambda: gate.launch(1), pydoca.FullError)}
            calls["thread()"] = lambda: gate.dpa.thread("pass"), pydoca.FullError
            require_refused("a DPA whose threads all run", calls)
            gate.open(most)
            for run in runs:
                run.wait(waiting.PATIENCE)
            ranks = sorted(rank for part in parts for rank in range(part))
            require_told("the DPA", {"ranks": sorted(gate.began)}, {"ranks": ranks})
    return 2 * most


def together(device: pydoca.Device) -> int:
    """Launches in flight together signal one event, and each gets its own arguments as they are; returns how many."""
    seen: dict[int, tuple[object, ...]] = {}
    values: tuple[object, ...] = (0, -1, 2**70, 1.5, "text", b"bytes", None, True, [1], {"key": 2}, object())

    def keep(thread: pydoca.DpaThread, number: int, gate: pydoca.DpaSyncEvent, *given: object) -> None:
        gate.wait_gt(0, timeout=waiting.PATIENCE)
        seen[number] = given

    with Stand() as stand, duty("launches in flight together"):
        dpa = stand.enter_context(pydoca.Dpa(device))
        dpa.register("keep", keep)
        gate = stand.enter_context(pydoca.SyncEvent(device, publisher="cpu", subscriber=dpa))
        done = stand.enter_context(pydoca.SyncEvent(device, publisher=dpa, subscriber="cpu"))
        ways = gate.dpa_handle(dpa), done.dpa_handle(dpa)
        runs = [
            dpa.launch("keep", number, ways[0], *values[number:], done_event=ways[1]) for number in range(_LAUNCHES)
        ]
        gate.update_set(1)
        done.wait_eq_yield(_LAUNCHES, timeout=waiting.PATIENCE)
        for number, run in enumerate(runs):
            run.wait(waiting.PATIENCE)
            given = seen[number]
            if len(given) != len(values) - number or any(
                one is not other for one, other in zip(given, values[number:], strict=True)
            ):
                raise DeviceFault(f"launch {number} has got the arguments {given}, not {values[number:]}")
        require_value(done.get(), _LAUNCHES, "the signals of launches in flight together")
    return _LAUNCHES


def memory(device: pydoca.Device) -> int:
    """Kernels see what this side has written, and change it, in memory of several sizes; returns how many sizes."""
    seen: list[bytes] = []

    def change(thread: pydoca.DpaThread, source: memoryview, target: memoryview) -> None:
        seen.append(bytes(source))
        target[:] = bytes(source)[::-1]

    with Stand() as stand, duty("kernels that change memory"):
        dpa = stand.enter_context(pydoca.Dpa(device))
        dpa.register("change", change)
        for number, size in enumerate(_SIZES):
            data = prbs31(size, number + 1)
            target = stand.enter_context(pydoca.alloc(size))
            from_, to = stand.enter_context(device.mmap(data.tobytes())), stand.enter_context(device.mmap(target))
            source = dpa.memory(from_)
            require_told(f"memory of {size} bytes", {"read-only": source.readonly}, {"read-only": True})
            dpa.launch("change", source, dpa.memory(to)).wait(waiting.PATIENCE)
            require_told(f"a kernel with {size} bytes", {"seen": seen.pop() == data.tobytes()}, {"seen": True})
            require_equal(view(target), data[::-1], f"{size} bytes that a kernel has written")
    return len(_SIZES)


def relay(device: pydoca.Device, rounds: int) -> int:
    """Two kernels answer each other by events of the DPA, in memory that both change; returns how many rounds."""

    def count(
        thread: pydoca.DpaThread, hear: pydoca.DpaSyncEvent, say: pydoca.DpaSyncEvent, words: memoryview, first: int
    ) -> None:
        for number in range(1, rounds + 1):
            hear.wait_gt(number - first, timeout=waiting.PATIENCE)
            words[0] = (words[0] + 1) % 251
            say.update_add(1)

    with Stand() as stand, duty("two kernels that answer each other"):
        dpa = stand.enter_context(pydoca.Dpa(device))
        dpa.register("count", count)
        events = [stand.enter_context(pydoca.SyncEvent(device, publisher=dpa, subscriber=dpa)) for _ in range(2)]
        ping, pong = (event.dpa_handle(dpa) for event in events)
        array = stand.enter_context(pydoca.alloc(64))
        view(array)[:] = 0
        words = dpa.memory(stand.enter_context(device.mmap(array)))
        ping.update_set(1)
        runs = [dpa.launch("count", ping, pong, words, 1), dpa.launch("count", pong, ping, words, 1)]
        for run in runs:
            run.wait(waiting.PATIENCE)
        require_value(ping.get(), rounds + 1, "the event of a kernel that another one answers")
        require_value(int(view(array)[0]), 2 * rounds % 251, "a byte that two kernels have changed in turns")
    return rounds


def repeated(device: pydoca.Device, rounds: int) -> int:
    """A thread of the DPA runs its kernel once for each notification, and ends as it says; returns how many runs."""
    ran: list[int] = []

    def note(thread: pydoca.DpaThread, last: int) -> None:
        ran.append(thread.rank)
        if len(ran) == last:
            thread.finish()

    with Stand() as stand, duty("a thread of the DPA"):
        dpa = stand.enter_context(pydoca.Dpa(device))
        dpa.register("note", note)
        run = dpa.thread("note", rounds)
        for number in range(rounds):
            require_told("a thread of the DPA", {"runs": len(ran), "done": run.done}, {"runs": number, "done": False})
            run.notify()
            _until(lambda number=number: len(ran) > number, "a thread that was notified")  # type: ignore[misc]
        run.wait(waiting.PATIENCE)
        require_told("a thread that has finished", {"runs": len(ran), "done": run.done}, {"runs": rounds, "done": True})
    return rounds


def failures(device: pydoca.Device, rounds: int) -> int:
    """A kernel that fails is told by its run, the DPA, other runs and events; a new DPA works; returns how many."""
    for number in range(rounds):
        with Stand() as stand:
            gate = _Gate(stand, device)
            dpa = gate.dpa
            _fail(stand, gate, threads=1 + number % 3)
            with duty("the end of a DPA that has failed"):
                dpa.close()
            require_told("a DPA that was closed", {"closed": dpa.closed, "runs": dpa.is_running}, _CLOSED)
    signals(device, 3)
    return rounds


_CLOSED: dict[str, object] = {"closed": True, "runs": False}


def _fail(stand: Stand, gate: _Gate, threads: int) -> None:
    dpa, error, bad = gate.dpa, ValueError("this kernel fails on purpose"), pydoca.BadStateError

    def fail(thread: pydoca.DpaThread) -> None:
        if thread.rank == thread.num_threads - 1:
            raise error

    dpa.register("fail", fail)
    with duty("a kernel before one that fails"):
        done = stand.enter_context(pydoca.SyncEvent(dpa.device, publisher=dpa, subscriber="cpu"))
        gate.open(0)
        other = gate.launch(1)
        require_told("a DPA without a failure", {"failure": dpa.failure, "closed": dpa.closed}, _SOUND)
        run = dpa.launch("fail", num_threads=threads, done_event=done.dpa_handle(dpa))
    try:
        with refused("a kernel that fails", pydoca.IoFailedError):
            run.wait(waiting.PATIENCE)
    finally:
        gate.open(_THREADS)
    with refused("wait() beside a kernel that has failed", pydoca.IoFailedError):
        other.wait(waiting.PATIENCE)
    with refused("a wait for an event of a DPA that has failed", pydoca.IoFailedError):
        done.wait_gt_yield(0, timeout=waiting.PATIENCE)
    if str(error) not in str(dpa.failure):
        raise DeviceFault(f"a kernel has failed with {error!s}, and the DPA tells the failure {dpa.failure!s}")
    require_refused("a DPA that has failed", {"launch()": (lambda: gate.launch(1), bad)})
    require_refused("a DPA that has failed", {"wait()": (lambda: run.wait(0), pydoca.IoFailedError)})


_SOUND: dict[str, object] = {"failure": None, "closed": False}


def closings(device: pydoca.Device) -> None:
    """The end of a DPA ends kernels that wait for ever, for an event and for a notification, and a run tells it."""
    for end in ("stop", "close"):
        with Stand() as stand, duty(f"{end}() of a DPA whose kernels wait"):
            gate = _Gate(stand, device)
            dpa = gate.dpa
            runs = [gate.launch(_THREADS), dpa.thread("pass")]
            _until(lambda: len(gate.began) == _THREADS, "kernels that wait")  # noqa: B023
            stop: Callable[[], None] = getattr(dpa, end)
            stop()
            found: dict[str, object] = {"threads": dpa.num_threads, "runs": dpa.is_running, "closed": dpa.closed}
            found["done"] = [run.done for run in runs]
            expected: dict[str, object] = {"threads": 0, "runs": False, "closed": end == "close", "done": [True, True]}
            require_told(f"a DPA after {end}()", found, expected)
            for run in runs:
                require_refused(f"a run after {end}()", {"wait()": (lambda r=run: r.wait(1), pydoca.ShutdownError)})  # type: ignore[misc]
