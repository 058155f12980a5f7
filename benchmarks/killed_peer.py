"""How soon a wait for a peer ends once the peer is killed, in milliseconds since kill().

The floor is the end of a pipe of such a process, in the rounds between: what the system needs to end a process and to
wake another.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from print_report import Figure, arguments_of, print_report

import pydoca

TARGET = 15.0  # milliseconds above the floor, of the slowest round in a hundred
ROUNDS = 50  # rounds of each kind, with as many for the floor
NAME = f"benchmark-{os.getpid()}"
PORT = 4795

# This program joins in the way that is named, and says so.
PEER = f"""
import sys
import pydoca

way = sys.argv[1]
host = pydoca.open_device("0b:00.0", side="host")
with pydoca.ProgressEngine() as pe:
    if way == "comch":
        link = pydoca.comch.Client(pe, host, "{NAME}").__enter__()
    elif way == "rdma":
        rdma = pydoca.Rdma(pe, host).__enter__()
        link = rdma.connect(sys.argv[2], {PORT}).wait(30)
    else:
        link = host.import_sync_event(bytes.fromhex(sys.argv[2]))
    print("joined", flush=True)
    sys.stdin.read()
"""


@contextmanager
def peer(way: str, argument: str = "") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PEER, way, argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def has_joined(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "joined\n"


def ended(wait: Callable[..., Any]) -> Callable[[], None]:
    """The wait for a peer, which the peer's end makes fail."""

    def until_then() -> None:
        try:
            wait(timeout=30)
        except (pydoca.ConnectionResetError, pydoca.NotConnectedError):
            return
        raise AssertionError("the peer's end was not told of")

    return until_then


@contextmanager
def linked(way: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[], None]]]:
    """A process that has joined, and the function that waits for its end."""
    dpu = pydoca.open_device("03:00.0", side="dpu")
    with pydoca.ProgressEngine() as pe:
        if way == "comch":
            with pydoca.comch.Server(pe, dpu, dpu.open_representor("0b:00.0"), NAME) as server, peer(way) as process:
                link = server.accept().wait(30)
                has_joined(process)
                yield process, ended(link.recv().wait)
        elif way == "rdma":
            with pydoca.Rdma(pe, dpu) as rdma, rdma.listen(PORT) as requests, peer(way, dpu.info.ipv4_addr) as process:
                connection = requests.request().wait(30).accept().wait(30)
                has_joined(process)
                yield process, lambda: connection.ended().wait(30)
        else:
            with (
                pydoca.SyncEvent(dpu, publisher="remote_pci", subscriber="cpu") as event,
                peer(way, event.export_to_remote_pci().hex()) as process,
            ):
                has_joined(process)
                yield process, ended(lambda timeout: event.wait_gt_yield(0, timeout=timeout))


def measure(way: str, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each round: the wait's, and the pipe's."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(2 * rounds):
        with linked(way) as (process, until_told):
            assert process.stdout is not None
            until_end = until_told if number % 2 == 0 else process.stdout.read
            begin = time.perf_counter()
            process.kill()
            until_end()
            times[number % 2].append((time.perf_counter() - begin) * 1e3)
            if number % 2:
                until_told()
    return times


def slowest_of_hundred(times: list[float]) -> float:
    return statistics.quantiles(times, n=100, method="inclusive")[-1]


def main() -> int:
    parser = arguments_of(__doc__, repetitions=ROUNDS)
    arguments = parser.parse_args()
    pydoca.sim.set_fabric(NAME)
    os.environ["PYDOCA_FABRIC"] = NAME
    figures = []
    for way, what in [("comch", "a message"), ("rdma", "a connection's end"), ("event", "a sync event")]:
        times, floors = measure(way, arguments.repetitions)
        name = f"A wait for {what} ends when its peer is killed"
        figures.append(Figure(name, "ms", statistics.median(times), statistics.median(floors), compared="difference"))
        slow, slow_floor = slowest_of_hundred(times), slowest_of_hundred(floors)
        figures.append(Figure(f"{name}, p99", "ms", slow, slow_floor, TARGET, compared="difference"))
    return print_report(figures, arguments)


if __name__ == "__main__":
    sys.exit(main())
