"""Round trips of comch messages between two Python processes, as a ratio to a socket's of the same run.

The socket is AF_UNIX, SOCK_SEQPACKET, as comch's own, in the same two processes, and blocks in recv(). The rows of
asyncio are those of the same socket with the loop's own methods, which no await in Python needs to exceed. On one core
(--cpus 0) a wait that looks instead of sleeping keeps the core from the peer. With --cpus 0:1 each process has a core
of its own, and with --cpus 0,1 both have both. --busy N adds processes that want the same cores.
"""

import asyncio
import multiprocessing
import os
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import truediv
from typing import Any

from print_report import Figure, arguments_of, print_report

import pydoca

MESSAGE = bytes(64)
NAME = f"benchmark-{os.getpid()}"


def exchange(rounds: int, turn: Callable[[], object]) -> float:
    """Microseconds for a turn."""
    begin = time.perf_counter()
    for _ in range(rounds):
        turn()
    return (time.perf_counter() - begin) / rounds * 1e6


def play_socket(link: socket.socket, rounds: int, is_first: bool) -> float:
    def turn() -> None:
        if is_first:
            link.send(MESSAGE)
        link.recv(256)
        if not is_first:
            link.send(MESSAGE)

    return exchange(rounds, turn)


async def play_loop(link: socket.socket, rounds: int, is_first: bool) -> float:
    """The socket by the methods of asyncio's loop."""
    loop = asyncio.get_running_loop()
    link.setblocking(False)
    begin = time.perf_counter()
    for _ in range(rounds):
        if is_first:
            await loop.sock_sendall(link, MESSAGE)
        await loop.sock_recv(link, 256)
        if not is_first:
            await loop.sock_sendall(link, MESSAGE)
    link.setblocking(True)
    return (time.perf_counter() - begin) / rounds * 1e6


def play_waits(link: pydoca.comch.Connection, rounds: int, is_first: bool) -> float:
    def turn() -> None:
        if is_first:
            link.send(MESSAGE).wait()
        link.recv().wait()
        if not is_first:
            link.send(MESSAGE).wait()

    return exchange(rounds, turn)


async def play_awaits(link: pydoca.comch.Connection, rounds: int, is_first: bool) -> float:
    begin = time.perf_counter()
    for _ in range(rounds):
        if is_first:
            await link.send(MESSAGE)
        await link.recv()
        if not is_first:
            await link.send(MESSAGE)
    return (time.perf_counter() - begin) / rounds * 1e6


def endpoint(pe: pydoca.ProgressEngine, name: str, is_first: bool) -> Any:
    if is_first:
        return pydoca.comch.Client(pe, pydoca.open_device("0b:00.0", side="host"), name)
    dev = pydoca.open_device("03:00.0", side="dpu")
    return pydoca.comch.Server(pe, dev, dev.open_representor("0b:00.0"), name)


def waits(name: str, rounds: int, is_first: bool) -> float:
    with pydoca.ProgressEngine() as pe, endpoint(pe, name, is_first) as end:
        link = end if is_first else end.accept().wait()
        return play_waits(link, rounds, is_first)


async def awaits(name: str, rounds: int, is_first: bool) -> float:
    async with pydoca.ProgressEngine() as pe, endpoint(pe, name, is_first) as end:
        link = end if is_first else await end.accept()
        return await play_awaits(link, rounds, is_first)


def side(link: socket.socket, name: str, rounds: int, repeats: int, is_first: bool) -> dict[str, list[float]]:
    """Microseconds of each repetition; the ways take turns, so that a disturbance meets all of them."""
    figures: dict[str, list[float]] = {"socket": [], "asyncio": [], "wait": [], "await": []}
    for number in range(repeats):
        figures["socket"].append(play_socket(link, rounds, is_first))
        figures["asyncio"].append(asyncio.run(play_loop(link, rounds, is_first)))
        figures["wait"].append(waits(f"{name}-{number}", rounds, is_first))
        figures["await"].append(asyncio.run(awaits(f"{name}-a{number}", rounds, is_first)))
    return figures


Cpus = tuple[set[int], set[int]]  # the cores of each process


def parse_cpus(text: str) -> Cpus:
    """The cores of each process, from "0", "0,1" or "0:1"."""
    sets = [{int(cpu) for cpu in part.split(",")} for part in text.split(":")]
    if len(sets) > 2:
        raise ValueError(text)
    return sets[0], sets[-1]


def usual_settings() -> list[Cpus]:
    """The usual settings: both processes on one core; each on one of its own; both on two."""
    mine = sorted(os.sched_getaffinity(0))
    one, two = {mine[0]}, set(mine[:2])
    return [(one, one), *([(one, two - one), (two, two)] if len(two) == 2 else [])]


def name_of(cpus: Cpus) -> str:
    if cpus[0] != cpus[1]:
        return "a core each"
    return "one core" if len(cpus[0]) == 1 else f"{len(cpus[0])} cores"


def stay_busy(cpus: set[int]) -> None:
    os.sched_setaffinity(0, cpus)
    while os.getppid() != 1:
        pass


@contextmanager
def busy_processes(count: int, cpus: set[int]) -> Iterator[None]:
    processes = [multiprocessing.get_context("fork").Process(target=stay_busy, args=(cpus,)) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def measure(cpus: Cpus, rounds: int, repeats: int) -> Iterator[Figure]:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    where = name_of(cpus)
    given = (f"{NAME}-{where.replace(' ', '-')}", rounds, repeats)
    os.sched_setaffinity(0, cpus[1])  # the peer inherits this setting
    peer = multiprocessing.get_context("fork").Process(target=side, args=(far, *given, False))
    peer.start()
    os.sched_setaffinity(0, cpus[0])
    figures = side(near, *given, True)
    peer.join()
    near.close()
    far.close()
    floor = statistics.median(figures["socket"])
    size = len(MESSAGE)
    names = {
        "asyncio": f"round trip of {size} B by a socket in asyncio's loop, {where}, against a socket's",
        "wait": f"comch round trip of {size} B, wait, {where}, against a socket's",
        "await": f"comch round trip of {size} B, await, {where}, against a socket's",
    }
    for way, name in names.items():
        score = statistics.median(map(truediv, figures[way], figures["socket"]))
        yield Figure(name, "us", statistics.median(figures[way]), floor, score=score)


def main() -> int:
    parser = arguments_of(__doc__, repetitions=5)
    parser.add_argument(
        "--cpus", nargs="+", type=parse_cpus, help="the CPUs of both processes, or of each, such as 0 0:1 0,1"
    )
    parser.add_argument("--busy", type=int, default=0, help="other processes that are busy on the same CPUs")
    parser.add_argument("--rounds", type=int, default=3000)
    arguments = parser.parse_args()
    settings = arguments.cpus or usual_settings()
    with busy_processes(arguments.busy, set.union(*(set.union(*cpus) for cpus in settings))):
        figures = (figure for cpus in settings for figure in measure(cpus, arguments.rounds, arguments.repetitions))
        return print_report(figures, arguments)


if __name__ == "__main__":
    sys.exit(main())
