"""Promises of copies and their tasks: lists over several maps, counts, failures, locks in flight, ends."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pydoca
from pydoca.qualify.bench import dma, waiting
from pydoca.qualify.bench.contracts.bufs import require_sections, sections
from pydoca.qualify.bench.maps import REFUSALS, chained
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.patterns import Bytes, noise, prbs31, view
from pydoca.qualify.bench.sides import both_sides, has_link
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty, finish, refused, require_value, until_true
from pydoca.qualify.bench.zones import Zoned, require_equal

_SIZE = 64
_PIECES = 512  # bytes of a map's memory, in lists
_REWRITES = 16  # bytes of each invalidation of the cache
_InUse = pydoca.InUseError
_State = pydoca.TaskState
_FLUSH, _NONE = pydoca.SubmitFlags.FLUSH, pydoca.SubmitFlags.NONE


class _Scene:
    """A copy engine, and bufs in memory of its device."""

    def __init__(self, stand: Stand, device: pydoca.Device, num_tasks: int, **options: Any) -> None:
        self.pe, self.inventory, self._bufs = stand.engine(), stand.bufs(2 * num_tasks + 8), stand
        memory = stand.enter_context(pydoca.alloc(4096))
        self.mmap, self.array = stand.enter_context(device.mmap(memory)), view(memory)
        self.array[:2048] = prbs31(2048, 9)
        with duty("start the DMA engine"):
            self.dma = stand.enter_context(pydoca.Dma(self.pe, device, num_tasks=num_tasks, **options))

    def src(self, place: int = 0, size: int = _SIZE) -> pydoca.Buf:
        """A buf with data, in the first half of the memory."""
        return self._bufs.keep(self.inventory.get_by_data(self.mmap, self.mmap.addr + place, size))

    def dst(self, place: int = 0, size: int = _SIZE) -> pydoca.Buf:
        """A buf with room, in the second half."""
        return self._bufs.keep(self.inventory.get_by_addr(self.mmap, self.mmap.addr + 2048 + place, size))


def lists(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Copies between lists of unequal bufs in several maps, or between a list and one buf; compares all memory.

    Returns how many copies there were.
    """
    with Stand() as stand:
        ends = [Zoned(stand, device, _PIECES) for _ in range(3)]
        if device.side is pydoca.Side.DPU and has_link(device):
            host = stand.enter_context(both_sides(device)).host
            ends += [Zoned.lent(stand, host, device, _PIECES) for _ in range(2)]
        longest = min(6, pydoca.Dma.max_buf_list_len(device.info))
        inventory, pe = stand.bufs(2 * longest), stand.engine()
        with duty("start the DMA engine"):
            context = stand.enter_context(pydoca.Dma(pe, device, num_tasks=1))
        for number in range(rounds):
            parts = ((longest, longest), (longest, 1), (1, longest))[number % 3]
            sizes = [rng.choice((0, 1, 3, 8, 31)) for _ in range(parts[0] - 1)]
            sizes.insert(rng.randrange(parts[0]), 17)
            rooms = _cut(sum(sizes), parts[1], rng)
            some = ends if number % 2 else ends[:3]  # maps of this side alone, and of both sides
            _one_list(context, inventory, rng.sample(some, len(some)), sizes, rooms, number)
    return rounds


def _cut(size: int, count: int, rng: random.Random) -> list[int]:
    cuts = sorted(rng.sample(range(1, size), count - 1)) if size > count else []
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, size], strict=True)]


def _one_list(
    context: pydoca.Dma,
    inventory: pydoca.BufInventory,
    ends: list[Zoned],
    sizes: list[int],
    rooms: list[int],
    number: int,
) -> None:
    """Makes sources in the first half of each memory and destinations in the second, with data before each room."""
    what, models = f"copy {number} between lists", []
    data, sources, targets = b"", list[pydoca.Buf](), list[pydoca.Buf]()
    for place, end in enumerate(ends):
        end.array[:] = noise(len(end.array), 8 * number + place)
        models.append(end.array.copy())
    for index, size in enumerate(sizes):
        end, place = ends[index % len(ends)], 40 * index
        data += end.data(place + 1, size).tobytes()
        head = end.address(place)
        sources.append(inventory.get_by_args(end.mmap, head, 40, head + 1, size))
    rest = data
    for index, room in enumerate(rooms):
        which = (index + 1) % len(ends)
        head = ends[which].address(280) + sum(rooms[:index]) + 2 * index
        targets.append(inventory.get_by_args(ends[which].mmap, head, room + 2, head + 1, 1))
        begin = head - ends[which].mmap.addr + 2
        models[which][begin : begin + room], rest = view(rest[:room]), rest[room:]
    _copy_list(context, sources, targets, what)
    for end, model in zip(ends, models, strict=True):
        require_equal(end.array, model, f"{what} of several memory maps")


def _copy_list(context: pydoca.Dma, sources: list[pydoca.Buf], targets: list[pydoca.Buf], what: str) -> None:
    """Checks that the data of each destination has grown by its room, and that the sources are unchanged."""
    before = [sections(buf) for buf in sources]
    lengths = [buf.data_len + buf.tailroom for buf in targets]
    with duty(what), chained(sources) as src, chained(targets) as dst:
        task = context.memcpy(src, dst)
        finish(task, what)
        require_told(what, {"lengths": [buf.data_len for buf in dst]}, {"lengths": lengths})
        for buf, told in zip(src, before, strict=True):
            require_sections(buf, told, f"{what}: a source")
        task.free()


def counts(device: pydoca.Device, rounds: int) -> int:
    """Checks the results of progress(), and the numbers of tasks; returns how many completions there were.

    Each progress() tells whether it delivered a completion, and tasks count until they complete, not until they are
    freed.
    """
    seen: list[object] = []
    depth = dma.depth_for(device, 8)
    with Stand() as stand:
        scene = _Scene(stand, device, depth, on_completion=lambda _, number, __: seen.append(number))
        context, pe = scene.dma, scene.pe
        room = [scene.dst(_SIZE * i) for i in range(depth)]
        tasks = [context.memcpy(scene.src(_SIZE * i), room[i], user_data=i, submit=False) for i in range(depth)]
        for number in range(rounds):
            _submit_all(context, tasks, number % 3)
            end = time.monotonic() + waiting.PATIENCE
            while (before := len(seen)) < depth and time.monotonic() < end:
                told = pe.drain(3) if number % 4 == 3 else int(pe.progress())
                left = depth - len(seen)
                found: dict[str, object] = {"delivered": told, "context": context.num_inflight_tasks}
                found |= {"engine": pe.num_inflight_tasks, "done": sum(task.done for task in tasks)}
                expected: dict[str, object] = {"delivered": len(seen) - before, "context": left, "engine": left}
                require_told(f"round {number} of {depth} copies", found, {**expected, "done": len(seen)})
            if sorted(map(str, seen)) != sorted(map(str, range(depth))) or pe.progress() or pe.drain():
                raise DeviceFault(f"round {number} of {depth} copies: the completions were those of {seen}, or more")
            seen.clear()
            for buf in room:
                buf.reset_data_len()
        _free(tasks)
    return rounds * depth


def _submit_all(context: pydoca.Dma, tasks: list[pydoca.DmaMemcpyTask], way: int) -> None:
    """Submits each task with its own flush, all with one flush, or all with the flush of the last one."""
    with duty("submit copies"):
        for task in tasks[:-1]:
            task.submit(_FLUSH if way == 0 else _NONE)
        tasks[-1].submit(_NONE if way == 1 else _FLUSH)
        if way == 1:
            context.flush_tasks()


def _free(tasks: list[pydoca.DmaMemcpyTask]) -> None:
    for task in tasks:
        task.free()


def in_flight(device: pydoca.Device) -> None:
    """Bufs in flight can be read but not changed, until the last task that has them completes."""
    with Stand() as stand:
        count = dma.depth_for(device, 2)
        scene = _Scene(stand, device, count)
        src, dst = scene.src(), [scene.dst(128 * i, 128) for i in range(count)]
        tasks = [scene.dma.memcpy(src, dst[i], submit=False) for i in range(count)]
        before = [sections(buf) for buf in (src, *dst)]
        for task in tasks:
            task.submit(_NONE)
        _require_locked(tasks[-1], [src, *dst])
        for buf, told in zip((src, *dst), before, strict=True):
            require_sections(buf, told, "a buf of a task in flight")
        scene.dma.flush_tasks()
        until_true(scene.pe, lambda: any(task.done for task in tasks), "one of the copies")
        if not all(task.done for task in tasks):
            with refused("a change of a source that another task has in flight", _InUse):
                src.reset_data_len()
        for task in tasks:
            finish(task, "copies of one source")
        require_sections(src, before[0], "a source of copies")
        for buf, told in zip(dst, before[1:], strict=True):
            require_sections(buf, (*told[:3], _SIZE, 0, 128 - _SIZE), "a destination")
        with duty("changes behind the last completion"):
            src.data_len, tasks[0].src = 8, dst[0]
        _free(tasks)
        _require_freed(tasks[0])


def _require_freed(task: pydoca.DmaMemcpyTask) -> None:
    told: dict[str, object] = {"src": task.src, "dst": task.dst, "state": task.state, "status": task.status}
    freed: dict[str, object] = {"src": None, "dst": None, "state": _State.FREE, "status": pydoca.Status.SUCCESS}
    require_told("a task that was freed", told, freed)
    for call in (task.submit, task.try_submit, task.free):
        with refused("a call of a task that was freed", pydoca.BadStateError):
            call()


def _require_locked(task: pydoca.DmaMemcpyTask, bufs: list[pydoca.Buf]) -> None:
    calls: list[Callable[[], object]] = [lambda: setattr(task, "src", None), lambda: setattr(task, "dst", bufs[0])]
    for buf in bufs:
        calls += [buf.reset_data_len, partial(setattr, buf, "data_len", 1), partial(buf.set_data, buf.head, 1)]
        calls.append(partial(buf.chain, bufs[0]))
    for number, call in enumerate(calls):
        with refused(f"change {number} of what a task has in flight", _InUse, pydoca.NotPermittedError):
            call()
    for buf in bufs:
        for end in (buf.dec_refcount, buf.close):
            with refused("the release of a buf of a task in flight", pydoca.NotPermittedError):
                end()


def appends(device: pydoca.Device) -> None:
    """A task that is submitted again appends until its destination is full; refusals do not take or change a slot."""
    with Stand() as stand:
        scene = _Scene(stand, device, 1)
        src, dst = scene.src(), scene.dst(0, 3 * _SIZE + 1)
        refusals = {
            "no source": (None, dst),
            "no destination": (src, None),
            "no data": (dst, dst),
            "no room": (src, src),
        }
        for what, pair in refusals.items():
            with refused(f"a copy with {what}", pydoca.InvalidValueError):
                scene.dma.memcpy(*pair)
        with duty("a copy after refusals, in the only slot"):
            task = scene.dma.memcpy(src, dst, submit=False)
        for number in range(1, 4):
            with duty("a copy that appends"):
                task.submit()
                if task.wait(timeout=waiting.PATIENCE) is not None or task.result() is not None:
                    raise DeviceFault("the result of a copy is not None")
            require_value(dst.data_len, number * _SIZE, f"the length of a destination after {number} copies")
        require_equal(scene.array[2048:][: 3 * _SIZE].reshape(3, -1)[2], scene.array[:_SIZE], "a copy that appends")
        before = sections(dst)
        with refused("a copy to one byte", pydoca.InvalidValueError):
            task.try_submit()
        require_sections(dst, before, "a destination after a copy that was refused")
        told: dict[str, object] = {"state": task.state, "done": task.done, "context": scene.dma.state.name}
        require_told("a refused task", told, {"state": _State.IDLE, "done": True, "context": "RUNNING"})
        task.free()


def failures(device: pydoca.Device) -> None:
    """A copy that fails in the device leaves every section as it was, and gives its error at each call."""
    with Stand() as stand:
        fixed = stand.enter_context(device.mmap(bytes(_SIZE)))
        scene = _Scene(stand, device, dma.depth_for(device, 2))
        read_only = stand.keep(scene.inventory.get_by_addr(fixed))
        context, src, rooms = scene.dma, scene.src(), [scene.dst(0, 32), read_only]
        if pydoca.Dma.max_buf_list_len(device.info) > 1:
            rooms.append(stand.keep(chained([scene.dst(512, 32), scene.dst(640, 31)])))
        for number, dst in enumerate(rooms):
            what, elements = f"failure {number}", [src, *dst]
            before = [sections(buf) for buf in elements]
            task = context.memcpy(src, dst, submit=False)
            with refused(what, *REFUSALS):
                task.submit()
                task.wait(timeout=waiting.PATIENCE)
            for buf, told in zip(elements, before, strict=True):
                require_sections(buf, told, f"{what}: a buf of a copy that failed")
            for _ in range(2):
                with refused(f"{what}: its result", *REFUSALS):
                    task.result()
            require_told(what, {"state": task.state, "done": task.done}, {"state": _State.IDLE, "done": True})
            for call in (lambda: context.memcpy(None, None, submit=False), task.submit, context.start):
                with refused(f"{what}: a call of a context that stops", pydoca.BadStateError):
                    call()
            _restart(scene, task, src, what)


def _restart(scene: _Scene, task: pydoca.DmaMemcpyTask, src: pydoca.Buf, what: str) -> None:
    failure = task.status
    task.free()
    until_true(scene.pe, lambda: scene.dma.state is pydoca.ContextState.IDLE, f"{what}: the end of its context")
    told: dict[str, object] = {"failure": scene.dma.failure, "left": scene.dma.num_inflight_tasks, "src": task.src}
    require_told(what, told, {"failure": failure, "left": 0, "src": None})
    with duty(f"{what}: a start after it"):
        scene.dma.start()
        with scene.inventory.get_by_addr(scene.mmap, scene.mmap.addr + 3072, _SIZE) as dst:
            copied = scene.dma.memcpy(src, dst)
            finish(copied, f"{what}: a copy after it")
            require_value(dst.data_len, _SIZE, f"{what}: the length of a copy after it")
            copied.free()


def callbacks(device: pydoca.Device) -> None:
    """A copy is complete when its callback runs, and functions that wait for its end are called once each, in order."""
    told: list[dict[str, object]] = []
    calls: list[object] = []

    def completed(task: pydoca.DmaMemcpyTask, data: object, owner: object) -> None:
        assert task.dst is not None
        told.append({"state": task.state, "status": task.status, "done": task.done, "length": task.dst.data_len})
        told[-1] |= {"data": data, "owner": owner, "left": task.context.num_inflight_tasks}

    with Stand() as stand:
        scene = _Scene(stand, device, 1, on_completion=completed, user_data="owner")
        task = scene.dma.memcpy(scene.src(), dst := scene.dst(), user_data="old", submit=False)
        first, never = (lambda each: calls.append(("first", each))), (lambda _: calls.append("never"))
        for number in range(2):
            calls.clear()
            dst.reset_data_len()
            task.user_data = number
            task.submit(_NONE)
            for each in (first, calls.append, never):
                task.add_done_callback(each)
            require_value(task.remove_done_callback(never), 1, "the times that a function was removed")
            require_value(task.remove_done_callback(never), 0, "the times that it was removed again")
            scene.dma.flush_tasks()
            finish(task, "a copy with callbacks")
            task.add_done_callback(first)
            if calls != [("first", task), task, ("first", task)] or len(told) != number + 1:
                raise DeviceFault(f"a copy has called its callbacks {len(told)} times, and functions: {calls}")
            expected = {"state": _State.IDLE, "status": pydoca.Status.SUCCESS, "done": True, "length": _SIZE}
            require_told("a copy in its callback", told[-1], {**expected, "data": number, "owner": "owner", "left": 0})
        task.free()


def dropped(device: pydoca.Device, rounds: int) -> None:
    """A copy that the program drops in flight completes, and gives its bufs and its slot back."""
    with Stand() as stand:
        scene = _Scene(stand, device, 1)
        free, mmap, inventory = scene.inventory.num_free_elements, scene.mmap, scene.inventory
        for number in range(rounds):
            scene.array[:_SIZE] = data = prbs31(_SIZE, number)
            with duty("a copy that is dropped"):
                src = inventory.get_by_data(mmap, mmap.addr, _SIZE)
                scene.dma.memcpy(src, inventory.get_by_addr(mmap, mmap.addr + 2048, _SIZE))
                del src
            require_value(scene.dma.num_inflight_tasks, 1, "the copies in flight")
            require_value(inventory.num_free_elements, free - 2, "the free bufs beside a copy that was dropped")
            until_true(scene.pe, lambda: scene.dma.num_inflight_tasks == 0, "a copy that was dropped")
            require_equal(scene.array[2048:][:_SIZE], data, "a copy that was dropped")
            require_value(inventory.num_free_elements, free, "the free bufs behind a copy that was dropped")
            require_value(mmap.num_bufs, 0, "the bufs of a map behind a copy that was dropped")


def stopping(device: pydoca.Device) -> None:
    """A stop with tasks lasts until they are freed; a task that is freed in flight does not call back."""
    calls: list[object] = []
    count = dma.depth_for(device, 3)
    with Stand() as stand:
        note: Any = lambda _, number, __: calls.append(number)  # noqa: E731
        scene = _Scene(stand, device, count, on_completion=note, on_error=note)
        context, idle = scene.dma, pydoca.ContextState.IDLE
        tasks = [context.memcpy(scene.src(), scene.dst(_SIZE * i), user_data=i, submit=False) for i in range(count)]
        for task in tasks:
            task.submit(_NONE)
        with duty("stop with tasks in flight"):
            for _ in range(2):
                require_value(context.stop(), pydoca.Status.IN_PROGRESS, "the answer of stop() with tasks in flight")
            tasks[0].free()
        until_true(scene.pe, lambda: context.num_inflight_tasks == 0, "the end of tasks in flight")
        scene.pe.drain()
        if sorted(map(str, calls)) != [str(number) for number in range(1, count)]:
            raise DeviceFault(f"a context that stops, with task 0 freed, has called the callbacks of {calls}")
        if count > 1 and context.state is not pydoca.ContextState.STOPPING:
            raise DeviceFault(f"a context whose tasks are not freed is {context.state.name}")
        require_told(
            "freed in flight", {"state": tasks[0].state, "src": tasks[0].src}, {"state": _State.FREE, "src": None}
        )
        _free(tasks[1:])
        until_true(scene.pe, lambda: context.state is idle, "the end of a context")
        _without_tasks(context)
        _settings(context, pydoca.Dma.max_num_tasks(device.info))


def _without_tasks(context: pydoca.Dma) -> None:
    with duty("start and stop without tasks"):
        found: dict[str, object] = {"failure": context.failure, "start": context.start(), "stop": context.stop()}
        found["stop again"] = context.stop()
    require_told("a context without tasks", found, dict.fromkeys(found, pydoca.Status.SUCCESS))
    require_told("a context that stopped", {"state": context.state}, {"state": pydoca.ContextState.IDLE})


def _settings(context: pydoca.Dma, most: int) -> None:
    require_told("order", {"ordered": context.ordered_completions}, {"ordered": False})
    with duty("the most tasks and the fewest"):
        for number in (most, 1):
            context.set_memcpy_conf(None, None, number)
            require_value(context.num_tasks, number, "num_tasks")
    for number in (0, -1, most + 1):
        with refused(f"{number} tasks", pydoca.InvalidValueError):
            context.set_memcpy_conf(None, None, number)
        require_value(context.num_tasks, 1, "num_tasks after a number that was refused")


def advice(device: pydoca.Device) -> None:
    """An invalidation leaves its buf, its memory and its neighbours unchanged, and refuses wrong arguments."""
    with Stand() as stand:
        memory, pe, inventory = pydoca.alloc(4096), stand.engine(), stand.bufs(8)
        view(memory)[:] = data = prbs31(4096, 3)
        mmap = stand.enter_context(device.mmap(memory))
        with duty("start the engine of advice"):
            advise = stand.enter_context(pydoca.MmapAdvise(pe, device, num_tasks=1))
        buf = stand.keep(inventory.get_by_args(mmap, mmap.addr, 100, mmap.addr + 10, 20))
        empty, pair = stand.keep(inventory.get_by_addr(mmap)), [inventory.get_by_data(mmap) for _ in range(2)]
        before = sections(buf)
        for wrong in (None, empty, stand.keep(chained(pair))):
            with refused("an invalidation of no buf, no data or a list", pydoca.InvalidValueError):
                advise.invalidate_cache(wrong)
        with refused("a configuration of advice that runs", pydoca.NotPermittedError):
            advise.set_invalidate_cache_conf(None, None, 2)
        task = advise.invalidate_cache(buf, submit=False)
        for _ in range(3):
            _invalidate(advise, task, buf)
            require_sections(buf, before, "a buf whose cache was invalidated")
        require_equal(view(memory), data, "memory whose cache was invalidated")
        places = [(0, 4096), (10, 20), (128, 64), (4000, 96)]
        bufs = [stand.keep(inventory.get_by_data(mmap, mmap.addr + begin, size)) for begin, size in places]
        _rewrite(view(memory), task, bufs)
        task.free()
        require_told("a freed invalidation", {"buf": task.buf}, {"buf": None})


def _rewrite(memory: Bytes, task: pydoca.MmapAdviseInvalidateCacheTask, bufs: list[pydoca.Buf]) -> None:
    """Invalidates the same places again and again, each time after a change of the data, which must stay."""
    for number in range(_REWRITES):
        for buf in bufs:
            memory[:] = data = prbs31(len(memory), _REWRITES * buf.data_len + number)
            task.buf = buf
            task.submit()
            finish(task, "an invalidation of memory that was written")
            require_equal(memory, data, "memory that was written before an invalidation")


def _invalidate(advise: pydoca.MmapAdvise, task: pydoca.MmapAdviseInvalidateCacheTask, buf: pydoca.Buf) -> None:
    calls: list[Callable[[], object]] = [lambda: setattr(task, "buf", None), buf.reset_data_len, task.free]
    with duty("an invalidation"):
        task.submit(_NONE)
        require_value(advise.num_inflight_tasks, 1, "the invalidations in flight")
        for call in calls:
            with refused("a change of an invalidation in flight", _InUse):
                call()
        advise.flush_tasks()
        finish(task, "an invalidation")
    require_value(advise.num_inflight_tasks, 0, "the invalidations in flight behind the last one")
