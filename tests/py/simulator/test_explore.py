"""A scenario under many seeds of virtual time."""

import asyncio
import inspect

import pytest

import pydoca
from pydoca.sim import Exploration, Run, explore


async def sleeps(run):
    await asyncio.sleep(run.random.random())


def test_each_seed_has_a_run():
    seeds = []

    async def scenario(run):
        assert isinstance(run, Run)
        seeds.append(run.seed)
        await asyncio.sleep(1)

    done = explore(scenario, 3)
    assert isinstance(done, Exploration)
    assert seeds == [0, 1, 2]
    assert (done.runs, round(done.virtual_seconds)) == (3, 3)
    explore(scenario, [7, 5])
    assert seeds[3:] == [7, 5]


def test_a_seed_repeats_its_run():
    first, again = explore(sleeps, 20), explore(sleeps, 20)
    assert first.digests == again.digests
    assert len(set(first.digests.values())) == 20


def test_what_a_run_draws_follows_from_its_seed():
    drawn = []

    async def scenario(run):
        drawn.append(run.random.random())

    explore(scenario, [4, 4, 5])
    assert drawn[0] == drawn[1] != drawn[2]


def test_several_parts_run_in_loops_of_their_own():
    loops = set()

    async def host():
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(1)

    async def dpu(run):
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(run.random.random())

    explore([host, dpu], 2)
    assert len(loops) == 4


async def loses_a_race(run):
    order = []

    async def one(name):
        await asyncio.sleep(run.random.random())
        order.append(name)

    await asyncio.gather(one("a"), one("b"))
    assert order == ["a", "b"]


def test_a_failure_names_the_seed_which_repeats_it(monkeypatch):
    with pytest.raises(AssertionError) as raised:
        explore(loses_a_race, 100)
    note = raised.value.__notes__[-1]
    seed = int(note.split()[2].rstrip(","))
    assert f"PYDOCA_EXPLORE_SEED={seed}" in note
    monkeypatch.setenv("PYDOCA_EXPLORE_SEED", str(seed))
    with pytest.raises(AssertionError) as raised:
        explore(loses_a_race, 100)
    assert f"with seed {seed}, after 0 runs" in raised.value.__notes__[-1]


def test_the_decorator_makes_a_test():
    seeds = []

    @explore(seeds=4)
    async def test(run, number):
        seeds.append((run.seed, number))

    assert list(inspect.signature(test).parameters) == ["number"]
    assert not inspect.iscoroutinefunction(test)
    test(number=9)
    assert seeds == [(0, 9), (1, 9), (2, 9), (3, 9)]


@explore(seeds=3)
async def test_the_decorator_under_pytest(run, tmp_path):
    assert tmp_path.is_dir()
    await asyncio.sleep(run.seed)


def test_progress():
    told = []
    explore(sleeps, 3, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("seeds", [0, -1])
def test_no_seeds(seeds):
    with pytest.raises(pydoca.InvalidValueError, match=f"not {seeds}"):
        explore(sleeps, seeds)


def test_what_is_not_a_scenario():
    with pytest.raises(pydoca.InvalidValueError, match="async def"):
        explore(lambda: None, 1)


def test_a_seed_of_the_environment_that_is_not_one(monkeypatch):
    monkeypatch.setenv("PYDOCA_EXPLORE_SEED", "x")
    with pytest.raises(pydoca.InvalidValueError, match="'x'"):
        explore(sleeps, 1)


# ---- the time that devices take, and faults

SLOW = {"dma": {"latency": "2us", "bandwidth": "10GB/s", "jitter": {"distribution": "exponential", "spread": "1us"}}}


async def copies(count=3):
    device = pydoca.open_device("p0")
    async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device) as dma:
        inventory, data = pydoca.BufInventory(2), bytes(range(64))
        src, dst = device.mmap(bytearray(data)), device.mmap(bytearray(64))
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for _ in range(count):
            copied = inventory.get_by_addr(dst)
            await dma.memcpy(inventory.get_by_data(src), copied)
            assert bytes(copied) == data
            del copied
        return loop.time() - begin


def times_of(seeds, **options):
    times = []

    async def scenario():
        times.append(await copies())

    explore(scenario, seeds, **options)
    return times


def test_modelled_devices_take_virtual_time_which_follows_from_the_seed():
    first, again = times_of([1, 2, 3], timing=SLOW), times_of([3, 2, 1], timing=SLOW)
    assert again == first[::-1]
    assert len(set(first)) == 3
    assert min(first) > 3 * 2e-6
    assert pydoca.sim.config() == pydoca.sim.Config(), "the timing is that of before"


def test_a_fault_is_found_and_the_plan_is_shrunk():
    plan = pydoca.faults.FaultPlan(
        {"action": "delay", "opcode": "dma.memcpy", "by": "1 us", "probability": 0.5},
        {"action": "corrupt", "opcode": "dma.memcpy", "probability": 0.05},
        {"action": "delay", "opcode": "dma.memcpy", "by": "2 us", "nth": 2},
    )

    async def scenario():
        await copies()

    with pytest.raises(AssertionError) as raised:
        explore(scenario, 1000, timing=SLOW, faults=plan)
    seed, rules = raised.value.__notes__[-2:]
    assert "PYDOCA_EXPLORE_SEED=" in seed
    assert "needs no more than this plan" in rules
    assert "corrupt" in rules
    assert "delay" not in rules
    assert not plan.is_in_force


def test_a_rule_that_meets_nothing_in_any_run_is_named():
    plan = pydoca.faults.FaultPlan({"action": "fail", "opcode": "dma.memcpy", "nth": 99})

    async def scenario():
        await copies()

    with pytest.warns(pydoca.faults.FaultPlanWarning, match="nothing in any run"):
        explore(scenario, 2, faults=plan)


def test_a_dropped_completion_is_a_deadlock():
    plan = pydoca.faults.FaultPlan({"action": "drop", "opcode": "dma.memcpy", "nth": 2})

    async def scenario():
        await copies()

    with pytest.raises(pydoca.DeadlockError):
        explore(scenario, 1, timing=SLOW, faults=plan)
