"""One side of the two-process driver: finds the other, works with it at random, and takes its successor.

usage: python -m soak.peer host|dpu NAME SEED

It prints a JSON object per line: {"linked": pid} when both sides have what the other lends, {"ended": counts} after
each session, {"finding": text} for a fault. SIGTERM ends it in order.
"""

import asyncio
import contextlib
import faulthandler
import gc
import json
import logging
import os
import random
import signal
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pydoca
from pydoca import comch
from soak.session import BOUND, GONE, Finding, Session

SLACK = 2  # descriptors and maps that the system's libraries may add in a session
WARM = 3  # sessions after which a process has opened all that stays open


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)


def footprint() -> tuple[int, int]:
    """The numbers of descriptors and of shared maps."""
    gc.collect()
    maps = Path("/proc/self/maps").read_text().splitlines()
    return len(os.listdir("/proc/self/fd")), sum("memfd:" in line for line in maps)


def print_tasks() -> None:
    """Prints where each coroutine waits, for the reader of a finding."""
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stderr)


class Peer:
    def __init__(self, side: str, name: str, seed: int) -> None:
        self.side = side
        self.name = name
        self.random = random.Random(seed)
        self.leaving = asyncio.Event()
        self.counts: Counter[str] = Counter()
        self.footprints: list[tuple[int, int]] = []
        self.device = pydoca.open_device("0b:00.0" if side == "host" else "p0", side=side)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.leaving.set)
        loop.add_signal_handler(signal.SIGUSR2, print_tasks)
        async with pydoca.ProgressEngine() as pe:
            self.pe = pe
            await (self.connect() if self.side == "host" else self.serve())

    async def serve(self) -> None:
        server = comch.Server(self.pe, self.device, self.device.open_representor("0b:00.0"), self.name)
        await self.start_server(server)
        async with server:
            while link := await self.or_leave(server.accept()):
                await self.work(link)

    async def start_server(self, server: Any) -> None:
        """Starts the server. Its name is in use while a child of a killed predecessor has its socket."""
        async with asyncio.timeout(BOUND):
            while True:
                try:
                    server.start()
                    return
                except pydoca.AlreadyExistError:
                    await asyncio.sleep(0.05)

    async def connect(self) -> None:
        while not self.leaving.is_set():
            client = comch.Client(self.pe, self.device, self.name)
            with contextlib.suppress(*GONE):
                entering = asyncio.ensure_future(client.__aenter__())
                if link := await self.or_leave(entering):
                    try:
                        await self.work(link)
                    finally:
                        await client.__aexit__(None, None, None)

    async def or_leave(self, awaitable: Any) -> Any:
        """The result of the awaitable, or None if this side has to leave before it comes."""
        first = asyncio.ensure_future(awaitable)
        leaving = asyncio.ensure_future(self.leaving.wait())
        try:
            await asyncio.wait([first, leaving], return_when=asyncio.FIRST_COMPLETED)
            if first.done():
                return first.result()
            first.cancel()
            await asyncio.wait([first], timeout=BOUND)
            return None
        finally:
            leaving.cancel()

    async def work(self, link: Any) -> None:
        session = Session(self, link)
        try:
            await session.run()
        finally:
            link.close()
        self.counts += session.counts
        self.counts["sessions"] += 1
        session = None  # type: ignore[assignment]
        await asyncio.sleep(0)
        self.check_footprint()
        say(ended=self.counts)
        self.counts.clear()

    def check_footprint(self) -> None:
        self.footprints.append(footprint())
        if len(self.footprints) > WARM:
            for kind, warm, now in zip(
                ("descriptors", "maps"), self.footprints[WARM - 1], self.footprints[-1], strict=True
            ):
                if now > warm + SLACK:
                    raise Finding(f"the number of {kind} grows: {self.footprints}")


def main(side: str, name: str, seed: str) -> None:
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    logging.getLogger("pydoca").addHandler(logging.NullHandler())
    with contextlib.suppress(KeyboardInterrupt):
        try:
            asyncio.run(Peer(side, name, int(seed)).run())
        except Exception:
            say(finding=traceback.format_exc())
            os._exit(1)
        return
    sys.exit(130)


if __name__ == "__main__":
    main(*sys.argv[1:])
