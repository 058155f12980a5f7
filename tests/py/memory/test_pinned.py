"""Processes that may run on one CPU each: an await or a wait looks before it sleeps if the other has another CPU."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SIDE = Path(__file__).with_name("pinned_side.py")
CPUS = sorted(os.sched_getaffinity(0))
ROUNDS = 100
A_FEW = 100  # looks of a round; some precede each sleep
# Seconds on a busy machine until looking pays again and both sides know of a change. Each side asks the system before
# one sleep in 16, and on a shared machine few rounds have a sleep.
ENOUGH = 50.0

pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="this process may run on one CPU only")


class Side:
    def __init__(self, kind: str, which: str, way: str, latency: str, env: dict[str, str]) -> None:
        line = [sys.executable, "-P", str(SIDE), kind, which, way, latency]
        self.process = subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, what: Any) -> None:
        print(json.dumps(what), file=self.process.stdin, flush=True)

    def hear(self) -> Any:
        line = self.process.stdout.readline()
        assert line, "the side has ended"
        return json.loads(line)


class Pair:
    """Two processes that take turns, awaiting or waiting. A command to both gives both answers."""

    def __init__(self, kind: str, way: str, latency: str, env: dict[str, str]) -> None:
        self.sides = [Side(kind, which, way, latency, env) for which in ("first", "second")]
        self._introduce()

    def _introduce(self) -> None:
        said = [side.hear() for side in self.sides]
        while said != ["ready", "ready"]:
            # Each side gets what the other one said, unless that is "ready".
            for side, for_it in zip(self.sides, reversed(said), strict=True):
                if for_it != "ready":
                    side.say(for_it)
            said = [side.hear() for side in self.sides]

    def play(self, cpus: list[list[int]], rounds: int = ROUNDS, pause: float = 0) -> list[dict[str, Any]]:
        for side, its in zip(self.sides, cpus, strict=True):
            side.say({"cpus": its, "rounds": rounds, "pause": pause})
        return [side.hear() for side in self.sides]

    def play_until(self, cpus: list[list[int]], done: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        end = time.monotonic() + ENOUGH
        answers = self.play(cpus)
        while not all(map(done, answers)) and time.monotonic() < end:
            answers = self.play(cpus)
        return answers

    def close(self) -> None:
        for side in self.sides:
            side.say(None)
        for side in self.sides:
            assert side.process.wait(ENOUGH) == 0


@pytest.fixture
def make_pair(tmp_path: Path) -> Iterator[Callable[..., Pair]]:
    pairs: list[Pair] = []

    def make(kind: str, way: str = "await", latency: str = "balanced") -> Pair:
        pairs.append(Pair(kind, way, latency, os.environ | {"PYDOCA_FABRIC_DIR": str(tmp_path)}))
        return pairs[-1]

    yield make
    for pair in pairs:
        for side in pair.sides:
            side.process.kill()
            side.process.wait()
            side.process.stdin.close()
            side.process.stdout.close()


NEAR, FAR = [CPUS[0]], [CPUS[-1]]


@pytest.mark.parametrize("way", ["await", "wait"])
@pytest.mark.parametrize("kind", ["event", "comch", "rdma"])
def test_both_look_unless_they_have_one_cpu_in_common(make_pair, kind, way):
    pair = make_pair(kind, way)
    places = [[NEAR, NEAR], [NEAR, FAR], [FAR, FAR], [CPUS, NEAR], [NEAR, NEAR], [CPUS, CPUS], [FAR, NEAR]]
    for cpus in places:
        elsewhere = cpus[0] != cpus[1] or len(cpus[0]) > 1
        answers = pair.play_until(cpus, lambda answer, expected=elsewhere: answer["elsewhere"] == expected)
        assert [answer["elsewhere"] for answer in answers] == [elsewhere, elsewhere], cpus
        if not elsewhere:
            for answer in pair.play(cpus):
                assert answer["looks"] < A_FEW * ROUNDS, "it looked instead of sleeping"
    pair.close()


@pytest.mark.parametrize("latency", ["low", "power"])
def test_latency_does_not_change_what_the_cpus_decide(make_pair, latency):
    pair = make_pair("event", "await", latency)
    answers = pair.play_until([NEAR, NEAR], lambda answer: not answer["elsewhere"])
    assert not any(answer["elsewhere"] for answer in answers)
    for answer in pair.play([NEAR, NEAR]):
        assert answer["looks"] < A_FEW * ROUNDS
    answers = pair.play_until([NEAR, FAR], lambda answer: answer["elsewhere"])
    assert all(answer["elsewhere"] for answer in answers)
    if latency == "power":
        assert all(answer["looks"] < A_FEW * ROUNDS for answer in pair.play([NEAR, FAR]))
    pair.close()


def play_until_awake(pair: Pair) -> bool:
    """Plays rounds until both sides sleep in few of them."""
    end = time.monotonic() + ENOUGH
    while time.monotonic() < end:
        if all(answer["sleeps"] < ROUNDS / 4 for answer in pair.play([NEAR, FAR])):
            return True
    return False


@contextmanager
def busy_neighbour(cpus: list[int]) -> Iterator[None]:
    script = f"import os\nos.sched_setaffinity(0, {cpus})\nprint(flush=True)\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    process.stdout.readline()
    yield
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("way", ["await", "wait"])
@pytest.mark.parametrize("kind", ["event", "comch", "rdma"])
def test_they_look_again_after_a_pause_and_after_a_neighbour(make_pair, kind, way):
    pair = make_pair(kind, way)
    assert play_until_awake(pair)
    answers = pair.play([NEAR, FAR], rounds=30, pause=0.01)
    assert answers[1]["sleeps"] >= 15, "it looked through the pauses"
    assert play_until_awake(pair), "after pauses they keep each other asleep"
    with busy_neighbour(FAR):
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pair.play([NEAR, FAR], rounds=10)
    assert play_until_awake(pair), "after a busy neighbour they keep each other asleep"
    pair.close()


@pytest.mark.parametrize("device", ["sound", "faulty"])
def test_the_devices_own_workers_are_not_elsewhere(tmp_path, device):
    script = f"""
import os
os.sched_setaffinity(0, {NEAR})
import asyncio
import pydoca

async def main():
    device = pydoca.open_device("03:00.0", side="dpu")
    size = 1 << 21
    source, room = device.mmap(pydoca.alloc(size)), device.mmap(pydoca.alloc(size))
    inventory = pydoca.BufInventory(2)
    src, dst = inventory.get_by_data(source), inventory.get_by_addr(room)
    async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device) as dma:
        for _ in range(30):
            dst.reset_data_len()
            await dma.memcpy(src, dst)
            dst.reset_data_len()
            dma.memcpy(src, dst).wait()
            assert not pe.may_advance_elsewhere

asyncio.run(main())
"""
    env = os.environ | {"PYDOCA_FABRIC_DIR": str(tmp_path)}
    if device == "faulty":
        plan = tmp_path / "faults.toml"
        plan.write_text('[[rule]]\naction = "fail"\nopcode = "dma.memcpy"\nstatus = "io_failed"\nnth = 1000\n')
        env["PYDOCA_FAULTS"] = str(plan)
    subprocess.run([sys.executable, "-c", script], env=env, check=True, timeout=ENOUGH)
