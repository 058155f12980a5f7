"""The driver of two processes: it kills, stops, interrupts or ends a host or a DPU, one at a time."""

import asyncio
import json
import os
import random
import secrets
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from soak.report import Report

BOUND = 90.0  # seconds; one would be enough, but the machine may be busy
SIDES = ("host", "dpu")
ACTIONS = ("kill", "kill", "kill", "kill_both", "stop_and_kill", "stop", "stop", "interrupt", "end")
INTERRUPTED = 130


class FindingError(Exception):
    pass


class Side:
    """A process of one side, and its successors."""

    def __init__(self, driver: "Driver", name: str) -> None:
        self.driver = driver
        self.name = name
        self.linked: int | None = None  # the process at the other end
        self.num_started = 0

    async def start(self) -> None:
        self.num_started += 1
        seed = self.driver.seed * 1000 + self.num_started
        line = [sys.executable, "-P", "-m", "soak.peer", self.name, self.driver.name, str(seed)]
        self.process = await asyncio.create_subprocess_exec(
            *line, env=self.driver.env, stdout=asyncio.subprocess.PIPE, stderr=self.driver.errors, limit=1 << 20
        )
        self.linked = None
        self.reading = asyncio.create_task(self.read(self.process))

    async def read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            try:
                self.note(json.loads(line))
            except ValueError:
                self.driver.findings.append(f"{self.name} printed {line!r}")
        await process.wait()
        self.driver.news.set()

    def note(self, news: dict[str, Any]) -> None:
        if "finding" in news:
            self.driver.findings.append(f"{self.name}: {news['finding']}")
        self.linked = news.get("linked", self.linked)
        self.driver.counts.update(news.get("ended", {}))
        self.driver.news.set()

    def signal(self, number: int) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)

    async def until_linked(self, pid: int) -> None:
        while self.linked != pid:
            self.driver.news.clear()
            await self.driver.news.wait()
            self.driver.require_running()

    async def end(self) -> int:
        code = await self.process.wait()
        await self.reading
        return code


class Driver:
    def __init__(self, seed: int, errors: Any) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.errors = errors
        self.name = f"soak-{secrets.token_hex(6)}"
        self.env = {**os.environ, "PYDOCA_FABRIC": self.name, "PYTHONPATH": str(Path(__file__).parents[1])}
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        self.news = asyncio.Event()  # a side has said something, or has ended
        self.sides = [Side(self, name) for name in SIDES]

    async def run(self, end: float) -> None:
        for side in self.sides:
            await side.start()
        try:
            while time.monotonic() < end:
                await self.act()
            await self.require_link()
            for side in self.sides:
                await self.end_in_order(side)
        finally:
            await self.clean()

    async def clean(self) -> None:
        for side in self.sides:
            side.signal(signal.SIGKILL)
            await side.end()

    async def act(self) -> None:
        """Does a random action to a random side, in most cases while both sides work."""
        if self.random.random() < 0.8:
            await self.require_link()
        await asyncio.sleep(self.random.random() ** 2 * 0.8)
        self.require_no_finding()
        side = self.random.choice(self.sides)
        action = self.random.choice(ACTIONS)
        self.counts[action] += 1
        await getattr(self, action)(side)

    async def require_link(self) -> None:
        """Requires that both find one another, whatever happened before."""
        host, dpu = self.sides
        try:
            async with asyncio.timeout(BOUND):
                await host.until_linked(dpu.process.pid)
                await dpu.until_linked(host.process.pid)
        except TimeoutError:
            self.dump_stacks()
            await asyncio.sleep(1)
            state = {side.name: (side.process.pid, side.linked, side.process.returncode) for side in self.sides}
            raise FindingError(f"not linked within {BOUND:g} s (process, peer, exit code): {state}") from None

    def dump_stacks(self) -> None:
        """The stacks of the threads and of the coroutines."""
        for side in self.sides:
            side.signal(signal.SIGUSR1)
            side.signal(signal.SIGUSR2)

    def require_no_finding(self) -> None:
        if self.findings:
            raise FindingError("\n".join(self.findings))

    def require_running(self) -> None:
        self.require_no_finding()
        for side in self.sides:
            if side.process.returncode is not None:
                raise FindingError(f"{side.name} ended by itself with {side.process.returncode}")

    # ---- actions

    async def kill(self, side: Side) -> None:
        side.signal(signal.SIGKILL)
        await self.succeed(side, -signal.SIGKILL)

    async def kill_both(self, _: Side) -> None:
        for side in self.sides:
            side.signal(signal.SIGKILL)
        for side in self.sides:
            await self.succeed(side, -signal.SIGKILL)

    async def stop(self, side: Side) -> None:
        """Stops a process for a while, which its peer must not take for its end."""
        side.signal(signal.SIGSTOP)
        await asyncio.sleep(self.random.random() ** 4 * 8)
        side.signal(signal.SIGCONT)

    async def stop_and_kill(self, side: Side) -> None:
        side.signal(signal.SIGSTOP)
        await asyncio.sleep(self.random.random() * 0.5)
        await self.kill(side)

    async def interrupt(self, side: Side) -> None:
        await self.require_link()  # an interpreter that starts may show a traceback
        side.signal(signal.SIGINT)
        await self.succeed(side, INTERRUPTED)

    async def end(self, side: Side) -> None:
        await self.require_link()
        await self.end_in_order(side)
        await side.start()

    async def end_in_order(self, side: Side) -> None:
        side.signal(signal.SIGTERM)
        await self.require_end(side, 0)

    async def succeed(self, side: Side, code: int) -> None:
        await self.require_end(side, code)
        await side.start()

    async def require_end(self, side: Side, expected: int) -> None:
        try:
            code = await asyncio.wait_for(side.end(), BOUND)
        except TimeoutError:
            self.dump_stacks()
            await asyncio.sleep(1)
            raise FindingError(f"{side.name} does not end within {BOUND:g} s") from None
        self.require_no_finding()
        if code != expected:
            raise FindingError(f"{side.name} ended with {code} instead of {expected}")


def main(seed: int, seconds: float) -> None:
    report = Report("two_processes", seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end or not report.counts["runs"]:
        run_one(report, seed, min(end, time.monotonic() + 60))
        seed += 1
    print(report.line(), flush=True)


def run_one(report: Report, seed: int, end: float) -> None:
    """Runs one seed for at most a minute, so that a finding is not far from its start."""
    with open(os.memfd_create("errors"), "w+") as errors:
        driver = Driver(seed, errors)
        driver.counts = report.counts
        report.counts["runs"] += 1
        try:
            asyncio.run(driver.run(end))
        except FindingError as finding:
            errors.seek(0)
            report.fail(seed, f"{errors.read()[-20000:]}\n{finding}")
        errors.seek(0)
        if text := errors.read():
            report.fail(seed, f"a process wrote to its standard error:\n{text[-20000:]}")
