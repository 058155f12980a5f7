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
