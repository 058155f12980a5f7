"""Known mistakes of protocols, put into the engine one at a time: `explore` finds each, and nothing without them.

It needs the module of the tests' builds, in which threads of virtual time give way in the middle of protocols
(cpp/src/detail/time/turn_point.hpp). script/test pyasan has it.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import pydoca
from pydoca import _core
from pydoca.sim import explore

HAS_TURN_POINTS = hasattr(_core, "give_way_at_turn_points")
pytestmark = pytest.mark.skipif(
    not HAS_TURN_POINTS, reason="this module has no turn points; script/test pyasan has one"
)

MOST_SEEDS = 10_000
SOUND_SEEDS = 100


@contextmanager
def planted(mistake: str) -> Iterator[None]:
    _core.give_way_at_turn_points(True)
    _core.plant(mistake)
    try:
        yield
    finally:
        _core.plant("")
        _core.give_way_at_turn_points(False)


class LostError(Exception):
    pass


class Box:
    """The objects that a side gives the other one, apart from the protocol under test."""

    def __init__(self):
        self.values = {}

    def put(self, name, value):
        self.values[name] = value

    async def get(self, name):
        for _ in range(500):
            if name in self.values:
                return self.values[name]
            await asyncio.sleep(2e-6)
        raise LostError(f"{name} did not come within a millisecond")


def both_sides(sides):
    """A scenario for explore(): each run has a box of its own."""
    boxes = {}

    def side(place):
        async def run_side(run):
            box = boxes.setdefault(run, Box())
            await sides[place](run, box)

        return run_side

    return [side(0), side(1)]


def while_away(run):
    return asyncio.sleep(run.random.random() * 10e-6)


# ---- a sync event


async def waits(run, box):
    with pydoca.open_device("pf0") as device:
        async with pydoca.ProgressEngine() as pe:
            event = pydoca.SyncEvent(device, publisher="remote_pci", subscriber="cpu")
            async with event.as_context(pe, 2) as context:
                box.put("event", event.export_to_remote_pci())
                for value in range(3):
                    await context.wait_gt(value)
                box.put("done", True)


async def signals(run, box):
    with pydoca.open_device("p0") as device:
        async with pydoca.ProgressEngine() as pe:
            event = device.import_sync_event(await box.get("event"))
            async with event.as_context(pe, 2) as context:
                for _ in range(3):
                    await while_away(run)
                    await context.notify_add(1)
                await box.get("done")


# ---- exports


async def exports_twice(run, box):
    with pydoca.open_device("pf0") as device:
        first = device.mmap(pydoca.alloc(64), access="pci_read_write")
        box.put("export", first.export_pci())
        await while_away(run)
        first.close()
        box.put("closed", True)
        with device.mmap(pydoca.alloc(64), access="pci_read_write") as second:
            second.export_pci()
            await box.get("done")


async def imports_once(run, box):
    with pydoca.open_device("p0") as device:
        export = await box.get("export")
        await while_away(run)
        try:
            device.import_mmap(export).close()
        except pydoca.NotConnectedError:
            assert "closed" in box.values, "the export had not ended"
        box.put("done", True)


# ---- RDMA


COUNT, SIZE = 5, 32


def message(number):
    return bytes([number + 1]) * SIZE


async def link(box, rdma, own, other):
    connection = rdma.export()
    box.put(own, connection.details)
    connection.connect(await box.get(other))
    return connection


async def receives(run, box):
    with pydoca.open_device("pf0") as device:
        memory = pydoca.alloc(COUNT * SIZE)
        async with (
            pydoca.ProgressEngine() as pe,
            pydoca.Rdma(pe, device, num_tasks=8, permissions="rdma_write") as rdma,
        ):
            with device.mmap(memory, access="local_read_write|rdma_write") as mmap:
                inventory = pydoca.BufInventory(8)
                box.put("memory", mmap.export_rdma())
                await link(box, rdma, "host", "dpu")
                for number in range(COUNT):
                    await while_away(run)
                    task = rdma.receive(inventory.get_by_addr(mmap, mmap.addr + number * SIZE, SIZE))
                    await task
                    there = memory[number * SIZE : (number + 1) * SIZE]
                    assert there == message(number), f"message {number} came, and its data is {there!r}"
                box.put("done", True)


async def sends(run, box):
    await to_peer(run, box, with_data=False)


async def writes(run, box):
    await to_peer(run, box, with_data=True)


async def to_peer(run, box, with_data):
    with pydoca.open_device("p0") as device:
        async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device, num_tasks=8) as rdma:
            memory = pydoca.alloc(SIZE)
            with device.mmap(memory) as mmap:
                connection = await link(box, rdma, "dpu", "host")
                inventory = pydoca.BufInventory(8)
                with device.import_mmap(await box.get("memory")) as remote:
                    for number in range(COUNT):
                        memory[:] = message(number)
                        src = inventory.get_by_data(mmap)
                        if with_data:
                            dst = inventory.get_by_addr(remote, remote.addr + number * SIZE, SIZE)
                            await connection.write_imm(src, dst, number)
                        else:
                            await connection.send(src)
                    await box.get("done")


# The two sides, and what the finding says.
SCENARIOS = {
    "no_second_look": (waits, signals, "done did not come"),
    "epoch_not_bumped": (exports_twice, imports_once, "made no such export"),
    "credit_counted_twice": (receives, sends, "the peer has left, is gone, or broke the connection"),
    "ack_before_data": (receives, writes, "message [0-4] came, and its data is"),
    "flag_before_payload": (receives, sends, "rdma send .* failed|rdma send: .* has ended|message [0-4] came"),
}


def finding_of(mistake, seeds):
    """The texts of what was raised, and the seed."""
    *sides, _ = SCENARIOS[mistake]
    with planted(mistake):
        try:
            explore(both_sides(sides), seeds)
        except Exception as error:
            seed = re.search(r"with seed (\d+)", error.__notes__[-1])
            return [repr(each) for each in getattr(error, "exceptions", [error])], int(seed[1])
    raise AssertionError(f"{mistake} was not found")


@pytest.mark.parametrize("mistake", SCENARIOS)
def test_without_the_mistake_nothing_is_found(mistake):
    *sides, _ = SCENARIOS[mistake]
    with planted(""):
        explore(both_sides(sides), SOUND_SEEDS)


@pytest.mark.parametrize("mistake", SCENARIOS)
def test_the_mistake_is_found_and_its_seed_finds_it_again(mistake):
    finding, seed = finding_of(mistake, MOST_SEEDS)
    print(f"{mistake}: found after {seed + 1} seeds: {finding}")
    assert re.search(SCENARIOS[mistake][-1], " ".join(finding))
    assert finding_of(mistake, [seed]) == (finding, seed)


def test_a_mistake_that_does_not_exist():
    with pytest.raises(pydoca.InvalidValueError, match='no mistake "spelling"'):
        _core.plant("spelling")
