"""Sync events, clocks and the DPA: numbers and states that are refused, waits that end in time, and properties."""

from __future__ import annotations

import threading
import time
from typing import Any

import pydoca
from pydoca import ClockType
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.contracts.engines import require_refused, require_time_out
from pydoca.qualify.bench.events import with_tasks
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.rdma.pair import ACCESS
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, require_value

_TOO_LARGE = 2**64
_WORD = 8
_WAITS = {"wait_eq": 8, "wait_gt": 7, "wait_neq": 7}  # these waits do not end while the value is 7


def numbers(device: pydoca.Device) -> None:
    """Waits time out in time, and numbers that are out of range change nothing."""
    with duty("a sync event"), pydoca.SyncEvent(device) as event:
        event.update_set(7)
        calls: Any = {}
        for kind, operand in _WAITS.items():
            for wait in (getattr(event, kind), getattr(event, f"{kind}_yield")):
                require_time_out(f"{wait.__name__}() of a sync event", lambda s, w=wait, o=operand: w(o, timeout=s))  # type: ignore[misc]
                calls[f"{wait.__name__}()"] = lambda w=wait: w(_TOO_LARGE, timeout=0), pydoca.InvalidValueError
                calls[f"the mask of {wait.__name__}()"] = (
                    lambda w=wait: w(7, _TOO_LARGE, timeout=0),
                    pydoca.InvalidValueError,
                )
        for number in (-1, _TOO_LARGE):
            calls[f"update_set({number})"] = lambda n=number: event.update_set(n), pydoca.InvalidValueError
            calls[f"update_add({number})"] = lambda n=number: event.update_add(n), pydoca.InvalidValueError
        require_refused("a number that is out of range", calls)
        require_value(event.get(), 7, "the value of an event after calls that were refused")
        event.wait_eq(0, 0, timeout=waiting.PATIENCE)
        with refused("a wait for another value than 0 of no bits", pydoca.TimeOutError):
            event.wait_neq(0, 0, timeout=0)


def places(device: pydoca.Device) -> None:
    """An event in a buf has the eight bytes of its data, and none before or after them."""
    memory, edge = pydoca.alloc(3 * _WORD), bytes([0xA5] * _WORD)
    words = memoryview(memory)
    with Stand() as stand, duty("a sync event in a buf"):
        mmap = stand.enter_context(device.mmap(memory, access=ACCESS))
        buf = stand.keep(stand.bufs(1).get_by_data(mmap, mmap.addr + _WORD, _WORD))
        words[:] = edge + bytes(_WORD) + edge
        event = pydoca.SyncEvent(device, buf=buf)
        stand.callback(event.close)
        event.start()
        changes: dict[str, tuple[Any, int]] = {
            "update_set()": (lambda: event.update_set(_TOO_LARGE - 1), _TOO_LARGE - 1),
            "update_add()": (lambda: event.update_add(2), 1),
            "wait_eq()": (lambda: event.wait_eq(1, timeout=0), 1),
            "get()": (event.get, 1),
        }
        for name, (change, value) in changes.items():
            change()
            expected: dict[str, object] = {"words": (edge + value.to_bytes(_WORD, "little") + edge).hex()}
            require_told(f"the memory around an event after {name}", {"words": words.tobytes().hex()}, expected)
        event.stop()


def states(device: pydoca.Device) -> None:
    """An event refuses operations before its start and as a context; its stop ends a wait of another thread."""
    event, bad, invalid = pydoca.SyncEvent(device), pydoca.BadStateError, pydoca.InvalidValueError
    calls: Any = {"get()": (event.get, bad), "update_set()": (lambda: event.update_set(1), bad)}
    calls |= {"update_add()": (lambda: event.update_add(1), bad), "wait_eq()": (lambda: event.wait_eq(0), bad)}
    calls |= {"stop()": (event.stop, invalid), "an export": (event.export_to_remote_pci, invalid)}
    require_refused("a sync event that was not started", calls)
    ended: list[pydoca.DocaError] = []

    def wait() -> None:
        try:
            event.wait_eq_yield(1, timeout=waiting.PATIENCE)
        except pydoca.DocaError as error:
            ended.append(error)

    with duty("start and stop a sync event"):
        event.start()
        require_refused("a started sync event", {"as_context()": (event.as_context, bad)})
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.002)
        event.stop()
    thread.join()
    if [type(error) for error in ended] != [bad]:
        raise DeviceFault(f"the stop of a sync event has ended a wait of another thread with {ended}")
    event.close()
    event.close()
    require_told("a sync event", {"closed": event.closed}, {"closed": True})


def tasks(device: pydoca.Device) -> None:
    """A context has the configured number of tasks, refuses others, and leaves the event as it was."""
    with Stand() as stand:
        pe, event = stand.engine(), pydoca.SyncEvent(device)
        stand.callback(event.close)
        no_memory, invalid, bad = pydoca.NoMemoryError, pydoca.InvalidValueError, pydoca.BadStateError
        with duty("a sync event with tasks"):
            context = event.as_context(pe, {"get": 2})
            context.set_conf("notify_add", num_tasks=1)
        most = context.max_num_tasks(device.info)
        calls: Any = {"too many tasks": (lambda: context.set_conf("get", num_tasks=most + 1), invalid)}
        require_refused("a context of a sync event", {**calls, "a task": (context.get, bad)})
        with duty("start a sync event with tasks"):
            stand.enter_context(context)
        found: dict[str, object] = {"tasks": [context.num_tasks(kind) for kind in ("get", "notify_set", "notify_add")]}
        found |= {"same": event.as_context() is context, "event": context.event is event, "engine": pe.num_contexts}
        require_told("a sync event", found, {"tasks": [2, 0, 1], "same": True, "event": True, "engine": 1})
        taken: list[pydoca.SyncEventTask] = [context.get(submit=False) for _ in range(2)]
        calls = {
            "a task too many": (context.get, no_memory),
            "no such task": (lambda: context.notify_set(1), no_memory),
        }
        calls |= {"start()": (event.start, bad), "stop()": (event.stop, bad), "get()": (event.get, bad)}
        calls |= {"close()": (event.close, pydoca.InUseError), "cancel()": (taken[0].cancel, bad)}
        calls["a number too large"] = lambda: context.notify_add(_TOO_LARGE), invalid
        calls["settings"] = lambda: context.set_conf("get", num_tasks=1), pydoca.NotPermittedError
        require_refused("a running sync event", calls)
        add = context.notify_add(3)
        require_value(finish(add, "an addition"), 0, "the value before an addition, which nothing but calls refused")
        add.operand = _TOO_LARGE - 1
        add.submit()
        require_value(finish(add, "another addition"), 3, "the value before another addition by the same task")
        taken[0].submit()
        require_value(finish(taken[0], "a read"), 2, "the value of an event to which 3 and then -1 were added")


def wait_tasks(device: pydoca.Device) -> None:
    """Waits in flight keep their settings, end by cancel() at the next progress(), and wait again for another value."""
    calls: list[object] = []
    with Stand() as stand:
        note = {"on_completion": lambda *told: calls.append(told), "on_error": lambda *told: calls.append(told)}
        pe, context = with_tasks(stand, device, 3, **note)
        task, other = context.wait_eq(5, user_data=1), context.wait_eq(6)
        in_use, mask = pydoca.InUseError, pydoca.InvalidValueError
        refusals: Any = {"the operand": (lambda: setattr(task, "operand", 6), in_use), "free()": (task.free, in_use)}
        refusals |= {"the mask": (lambda: setattr(task, "mask", 255), in_use)}
        refusals |= {f"the mask {bits:#x} of another": (lambda b=bits: context.wait_eq(0, b), mask) for bits in _MASKS}
        require_refused("a wait in flight", refusals)
        require_told("an engine with waits", {"in flight": pe.num_inflight_tasks}, {"in flight": 2})
        task.cancel()
        found: dict[str, object] = {"done": task.done, "in flight": pe.num_inflight_tasks, "progress()": pe.progress()}
        found |= {"then": (task.done, task.status, pe.num_inflight_tasks, other.done), "stats": (*context.stats(),)}
        then = True, pydoca.Status.SHUTDOWN, 1, False
        expected: dict[str, object] = {"done": False, "in flight": 2, "progress()": True, "then": then}
        expected |= {"stats": (2, 0, 0, 1), "calls": [(task, 1, None)]}
        require_told("a wait that was cancelled", {**found, "calls": list(calls)}, expected)
        require_refused("a wait that has ended", {"cancel()": (task.cancel, pydoca.BadStateError)})
        task.operand = 9
        task.submit()
        finish(context.notify_set(9), "setting 9")
        require_value(finish(task, "a wait for another value"), 9, "the value that ended it")
        _stop(pe, context, task, other, calls)


_MASKS = (0xFF0F, 0xFFFFFF, 1, 0xFF00FF)  # not 1, 2, 4 or 8 adjacent bytes


def _stop(pe: pydoca.ProgressEngine, context: pydoca.SyncEventContext, *waits: Any) -> None:
    """A task that is freed in flight while its context stops ends without a callback; another one is flushed."""
    task, other, calls = waits
    task.operand = 77
    task.submit()
    calls.clear()
    with duty("the stop of a sync event with waits"):
        told = [context.stop(), context.state]
        task.free()
    waiting.until_true(pe, lambda: other.done, "a wait that is flushed")
    pe.drain()
    found: dict[str, object] = {"stop()": told, "calls": calls, "status": other.status, "task": task.state}
    expected: dict[str, object] = {"stop()": [pydoca.Status.IN_PROGRESS, pydoca.ContextState.STOPPING]}
    expected |= {"calls": [(other, None, None)], "status": pydoca.Status.SHUTDOWN, "task": pydoca.TaskState.FREE}
    require_told("a context that stops with waits in flight", found, expected)
    other.free()
    waiting.until_true(pe, lambda: context.state is pydoca.ContextState.IDLE, "the end of a sync event's context")


def clocks(device: pydoca.Device) -> None:
    """Each clock by its number and its name, two clocks together, refusals, and the end."""
    with duty("read clocks"), pydoca.Clock(device) as clock, pydoca.Clock(device) as other:
        found = [each for each in ClockType if pydoca.Clock.is_supported(device.info, each)]
        for each in ClockType:
            if each in found:
                name: Any = str(each.name).lower()
                times = [one.timestamp(which) for which in (each, name) for one in (clock, other, clock)]
                if times != sorted(times):
                    raise DeviceFault(f"{each.name} tells {times} one after the other")
            else:
                require_refused(f"{each.name}", {"": (lambda e=each: clock.timestamp(e), pydoca.NotSupportedError)})  # type: ignore[misc]
        nic, host = ([each for each in found if (each < 8) is is_nic] for is_nic in (True, False))
        for pair in ((one, other) for one in host for other in nic):
            before = [clock.timestamp(each) for each in pair]
            begin, both = time.monotonic_ns(), clock.crosstimestamp(*pair)
            taken, after = time.monotonic_ns() - begin, [clock.timestamp(each) for each in pair]
            if not (before[0] <= both.host <= after[0] and before[1] <= both.nic <= after[1]):
                raise DeviceFault(f"{pair} read together tell {both.host}, {both.nic}, between {before} and {after}")
            if not 0 <= both.accuracy <= taken:
                raise DeviceFault(f"{pair} were read together within {taken} ns, and {both.accuracy} ns apart")
        two: Any = {f"two of {each[0].name}": (lambda e=each: clock.crosstimestamp(e[0], e[0])) for each in (nic, host)}
        require_refused("clocks together", {name: (call, pydoca.InvalidValueError) for name, call in two.items()})
    clock.close()
    require_refused("a closed clock", {"a time": (lambda: clock.timestamp(found[0]), pydoca.BadStateError)})
    require_told("a clock", {"closed": clock.closed, "device": clock.device}, {"closed": True, "device": device})


def kernels(device: pydoca.Device) -> None:
    """Launches wait for their event, signal their end, count their threads, and are refused in the wrong state."""
    dpa, ran, bad = pydoca.Dpa(device), list[tuple[int, int]](), pydoca.BadStateError

    def note(thread: pydoca.DpaThread) -> None:
        ran.append((thread.rank, thread.num_threads))

    dpa.register("note", note)
    dpa.register("wait", lambda thread, event: event.wait_eq(99))
    calls: Any = {"launch()": (lambda: dpa.launch("note"), bad)}
    calls["a name that exists"] = lambda: dpa.register("note", print), pydoca.AlreadyExistError
    require_refused("a DPA that was not started", calls)
    with Stand() as stand, duty("kernels on the DPA"):
        stand.enter_context(dpa)
        asked = stand.enter_context(pydoca.SyncEvent(device, publisher="cpu", subscriber=dpa))
        done = stand.enter_context(pydoca.SyncEvent(device, publisher=dpa, subscriber="cpu"))
        ask, tell = asked.dpa_handle(dpa), done.dpa_handle(dpa)
        calls = {"start()": (dpa.start, bad), "a name": (lambda: dpa.launch("none"), pydoca.NotFoundError)}
        calls["no threads"] = lambda: dpa.launch("note", num_threads=0), pydoca.InvalidValueError
        calls["two ends"] = (
            lambda: dpa.launch("note", done_event=tell, done_set=1, done_add=1),
            pydoca.InvalidValueError,
        )
        require_refused("a DPA that runs", calls)
        run = dpa.launch("note", num_threads=2, wait_event=ask, wait_threshold=4, done_event=tell, done_set=9)
        asked.update_set(4)
        require_time_out("wait() of a kernel that its event keeps waiting", run.wait)
        found: list[object] = [run.done, dpa.num_threads, list(ran), done.get()]
        asked.update_set(5)
        run.wait(waiting.PATIENCE)
        done.wait_eq_yield(9, timeout=waiting.PATIENCE)
        found += [run.done, sorted(ran), done.get()]
        dpa.launch("note", num_threads=3, done_event=tell, done_add=5).wait(waiting.PATIENCE)
        done.wait_eq_yield(14, timeout=waiting.PATIENCE)
        expected = [False, 2, [], 0, True, [(0, 2), (1, 2)], 9]
        require_told("the DPA and its launches", {"it": found}, {"it": expected})
        _end(dpa, dpa.launch("wait", ask))


def _end(dpa: pydoca.Dpa, run: pydoca.DpaRun) -> None:
    """The stop of the DPA ends the waits of its kernels; it cannot start again."""
    with refused("a wait for a kernel that waits", pydoca.TimeOutError):
        run.wait(0)
    dpa.stop()
    calls: Any = {
        "launch()": (lambda: dpa.launch("note"), pydoca.BadStateError),
        "start()": (dpa.start, pydoca.BadStateError),
    }
    require_refused("a DPA that was stopped", calls)
    found: dict[str, object] = {"done": run.done, "threads": dpa.num_threads, "running": dpa.is_running}
    require_told("a DPA that was stopped", found, {"done": True, "threads": 0, "running": False})
