"""Round trips of comch messages between two Python processes, as a ratio to a socket's of the same run.

The socket is AF_UNIX, SOCK_SEQPACKET, as comch's own, in the same two processes, and blocks in recv(). On one core
(--cpus 0, the default) a wait that looks instead of sleeping keeps the core from the peer. With --cpus 0:1 each process
has a core of its own, and with --cpus 0,1 both have both. --busy N adds processes that want the same cores.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import time
from collections.abc import Callable
from typing import Any

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
    """Microseconds of each repetition; the three ways take turns, so that a disturbance meets all of them."""
    figures: dict[str, list[float]] = {"socket": [], "wait": [], "await": []}
    for number in range(repeats):
        figures["socket"].append(play_socket(link, rounds, is_first))
        figures["wait"].append(waits(f"{name}-{number}", rounds, is_first))
        figures["await"].append(asyncio.run(awaits(f"{name}-a{number}", rounds, is_first)))
    return figures


def parse_cpus(text: str) -> tuple[set[int], set[int]]:
    """Those of each process, of "0", "0,1" or "0:1"."""
    sets = [{int(cpu) for cpu in part.split(",")} for part in text.split(":")]
    if len(sets) > 2:
        raise ValueError(text)
    return sets[0], sets[-1]


def stay_busy(cpus: set[int]) -> None:
    os.sched_setaffinity(0, cpus)
    while os.getppid() != 1:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cpus",
        type=parse_cpus,
        default="0",
        help="the CPUs of both processes, or of each: 0 or 0,1 or 0:1 (default: 0)",
    )
    parser.add_argument("--busy", type=int, default=0, help="other processes that are busy on the same CPUs")
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    near_cpus, far_cpus = arguments.cpus
    context = multiprocessing.get_context("fork")
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    given = (NAME, arguments.rounds, arguments.repeats)
    others = [context.Process(target=stay_busy, args=(near_cpus | far_cpus,)) for _ in range(arguments.busy)]
    os.sched_setaffinity(0, far_cpus)  # which the peer inherits
    peer = context.Process(target=side, args=(far, *given, False))
    for process in (peer, *others):
        process.start()
    os.sched_setaffinity(0, near_cpus)
    figures = side(near, *given, True)
    peer.join()
    for process in others:
        process.kill()
    medians = {way: statistics.median(times) for way, times in figures.items()}
    ratios = {way: medians[way] / medians["socket"] for way in ("wait", "await")}
    where = ":".join(",".join(map(str, sorted(cpus))) for cpus in arguments.cpus)
    if arguments.json:
        print(json.dumps({"cpus": where, "microseconds": medians, "ratios": ratios}))
        return
    print(f"a round trip of {len(MESSAGE)} bytes on CPUs {where}; a socket's takes {medians['socket']:.1f} us")
    for way, ratio in ratios.items():
        print(f"  comch, {way + '()' if way == 'wait' else way}: {medians[way]:.1f} us, {ratio:.1f} x")


if __name__ == "__main__":
    main()
