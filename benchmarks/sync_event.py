"""Round trips of sync events between two Python processes, each as a ratio to a bare one of the same run.

The bare ones (a word in shared memory between two cores; eventfd and epoll, on two cores and on one) come from
sync_event_report, which `cmake --preset bench && cmake --build --preset bench` in cpp/ builds. The figures
that sleep are beside asyncio's own time for a bare eventfd: no event that an event loop awaits can be faster. The
floor "bare" is the same round trip with bare_word, an extension that does nothing but write a word and wait for it: no
event that Python calls can be faster. Each process may run on one core only, the peer on another one, unless a figure
says otherwise.
"""

import asyncio
import importlib
import json
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import print_report
from print_report import PROGRAMS, arguments_of

import pydoca

REPORT = PROGRAMS / "sync_event_report"


@dataclass(frozen=True)
class Figure:
    """A measurement, the round trip of sync_event_report to compare with, and the highest ratio that meets the target.

    way is the method of waiting and publishing: "sync"; "await", tasks of one event; "answer", a wait task and
    update_set of another event; "eventfd", an eventfd that asyncio watches, without an event; "bare_sync" and
    "bare_answer", a bare_word. Two floors are the same round trip in another way: "power" with the latency power, which
    sleeps at once, and "bare" with a bare_word.
    """

    name: str
    way: str
    latency: str  # the latency of the engines that await
    floor: str
    target: float | None
    rounds: int
    cores: tuple[str, str] = ("0", "1")  # the cores of this process and of the peer
    busy: int = 0  # other processes, which want both cores


SAME = ("0", "0")
FREE = ("0,1", "0,1")
WAIT, ANSWER = "update_set and wait_eq", "await wait_eq and update_set"
FIGURES = [
    Figure(f"{WAIT}, against a cache line", "sync", "", WAIT, 2, 50_000),
    Figure(f"{WAIT}, against a bare extension", "sync", "", "bare", 1.3, 50_000),
    Figure(f"{WAIT}, bare extension, against a cache line", "bare_sync", "", WAIT, None, 50_000),
    Figure(f"{WAIT}, not pinned", "sync", "", WAIT, None, 50_000, FREE),
    Figure(f"{ANSWER}, against a cache line", "answer", "balanced", WAIT, 5, 20_000),
    Figure(f"{ANSWER}, against a bare extension", "answer", "balanced", "bare", 1.5, 20_000),
    Figure(f"{ANSWER}, bare extension, against a cache line", "bare_answer", "", WAIT, None, 20_000),
    Figure(f"{ANSWER}, not pinned", "answer", "balanced", WAIT, None, 20_000, FREE),
    Figure("await wait_eq and await notify_set, the same", "await", "balanced", WAIT, None, 20_000),
    Figure("asleep, two cores, against eventfd and epoll", "await", "power", "asleep, two cores", 1.2, 1_000),
    Figure("an eventfd in asyncio, two cores, the same", "eventfd", "", "asleep, two cores", None, 1_000),
    Figure("one core, against eventfd and epoll", "await", "balanced", "asleep, one core", 3, 2_000, SAME),
    Figure("asleep, one core, the same", "await", "power", "asleep, one core", 3, 2_000, SAME),
    Figure("an eventfd in asyncio, one core, the same", "eventfd", "", "asleep, one core", None, 2_000, SAME),
    Figure("a third busy process, against power", "answer", "balanced", "power", 1.2, 1_000, busy=1),
    Figure("a third busy process, not pinned, the same", "answer", "balanced", "power", None, 1_000, FREE, busy=1),
]


def stay_on(cores: str) -> None:
    os.sched_setaffinity(0, map(int, cores.split(",")))


def bare_word(memfd: int) -> Any:
    """The word that the two processes share."""
    sys.path.append(str(PROGRAMS))
    return importlib.import_module("bare_word").Word(mmap.mmap(memfd, 8))


def numbers(rounds: int) -> Iterator[tuple[int, int]]:
    """The numbers (1, 2), (3, 4) ..."""
    return zip(range(1, 2 * rounds, 2), range(2, 2 * rounds + 1, 2), strict=True)


class Side:
    """One of the two processes: the first publishes odd numbers and waits for even ones, the other the reverse."""

    def __init__(self, device: pydoca.Device, fds: tuple[int, int, int], is_first: bool) -> None:
        self.device = device
        self.to_me, self.to_peer, self.memfd = fds
        self.is_first = is_first

    def play(self, order: dict[str, Any], exchange: Callable[[bytes], bytes]) -> float:
        """Seconds for the order's rounds. exchange hands the peer bytes for the peer's."""
        way = getattr(self, "_" + order["way"])
        if order["way"].endswith("sync"):
            return float(way(order, exchange))
        return float(asyncio.run(way(order, exchange)))

    def _event(self, exchange: Callable[[bytes], bytes]) -> pydoca.SyncEvent:
        """The event of both sides, not started yet."""
        if self.is_first:
            return pydoca.SyncEvent(self.device, publisher="remote_pci")
        return self.device.import_sync_event(exchange(b""))

    def _meet(self, event: pydoca.SyncEvent, exchange: Callable[[bytes], bytes]) -> None:
        if self.is_first:
            exchange(event.export_to_remote_pci())
        exchange(b"")

    def _sync(self, order: dict[str, Any], exchange: Callable[[bytes], bytes]) -> float:
        with self._event(exchange) as event:
            self._meet(event, exchange)
            return self._alternate(order, event.update_set, event.wait_eq)

    def _bare_sync(self, order: dict[str, Any], exchange: Callable[[bytes], bytes]) -> float:
        word = bare_word(self.memfd)
        exchange(b"")
        return self._alternate(order, word.set, word.wait)

    def _alternate(self, order: dict[str, Any], publish: Callable[[int], Any], wait: Callable[[int], Any]) -> float:
        begin = time.perf_counter()
        if self.is_first:
            for odd, even in numbers(order["rounds"]):
                publish(odd)
                wait(even)
        else:
            for odd, even in numbers(order["rounds"]):
                wait(odd)
                publish(even)
        return time.perf_counter() - begin

    async def _await(self, order: dict[str, Any], exchange: Callable[[bytes], bytes]) -> float:
        event = self._event(exchange)
        async with pydoca.ProgressEngine(latency=order["latency"]) as pe, event.as_context(pe) as context:
            self._meet(event, exchange)
            notify_set, wait_eq = context.notify_set, context.wait_eq
            begin = time.perf_counter()
            if self.is_first:
                for odd, even in numbers(order["rounds"]):
                    await notify_set(odd)
                    await wait_eq(even)
            else:
                for odd, even in numbers(order["rounds"]):
                    await wait_eq(odd)
                    await notify_set(even)
            return time.perf_counter() - begin

    async def _answer(self, order: dict[str, Any], exchange: Callable[[bytes], bytes]) -> float:
        mine = pydoca.SyncEvent(self.device, publisher="remote_pci")
        async with pydoca.ProgressEngine(latency=order["latency"]) as pe, mine.as_context(pe) as context:
            with self.device.import_sync_event(exchange(mine.export_to_remote_pci())) as theirs:
                exchange(b"")
                update_set, wait_eq = theirs.update_set, context.wait_eq
                begin = time.perf_counter()
                if self.is_first:
                    for number in range(1, order["rounds"] + 1):
                        update_set(number)
                        await wait_eq(number)
                else:
                    for number in range(1, order["rounds"] + 1):
                        await wait_eq(number)
                        update_set(number)
                seconds = time.perf_counter() - begin
                exchange(b"")  # the events stay until both are done
                return seconds

    async def _bare_answer(self, order: dict[str, Any], exchange: Callable[[bytes], bytes]) -> float:
        word = bare_word(self.memfd)
        exchange(b"")
        publish, until = word.set, word.until
        begin = time.perf_counter()
        if self.is_first:
            for odd, even in numbers(order["rounds"]):
                publish(odd)
                await until(even)
        else:
            for odd, even in numbers(order["rounds"]):
                await until(odd)
                publish(even)
        return time.perf_counter() - begin

    async def _eventfd(self, order: dict[str, Any], exchange: Callable[[bytes], bytes]) -> float:
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()

        def wake() -> None:
            os.eventfd_read(self.to_me)
            waiter.set_result(None)

        async def publish_and_wait(publish_first: bool) -> None:
            nonlocal waiter
            if publish_first:
                os.eventfd_write(self.to_peer, 1)
            await waiter
            waiter = loop.create_future()
            if not publish_first:
                os.eventfd_write(self.to_peer, 1)

        loop.add_reader(self.to_me, wake)
        exchange(b"")
        begin = time.perf_counter()
        for _ in range(order["rounds"]):
            await publish_and_wait(self.is_first)
        seconds = time.perf_counter() - begin
        loop.remove_reader(self.to_me)
        return seconds


def serve(fds: tuple[int, int, int]) -> None:
    """The peer: for each line, an order as a JSON object, plays once."""

    def exchange(mine: bytes) -> bytes:
        print(mine.hex(), flush=True)
        return bytes.fromhex(sys.stdin.readline())

    side = Side(pydoca.open_device("03:00.0", side="dpu"), fds, is_first=False)
    while line := sys.stdin.readline():
        order = json.loads(line)
        stay_on(order["cores"])
        side.play(order, exchange)


class Peer:
    """The other process."""

    def __init__(self, fds: tuple[int, int, int]) -> None:
        command = [sys.executable, __file__, "--serve", *map(str, fds)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=fds)

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)

    def exchange(self, mine: bytes) -> bytes:
        self.send(mine.hex())
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            sys.exit("the peer has ended")
        return bytes.fromhex(line)

    def close(self) -> None:
        self.process.communicate()


def bare_round_trip(report: Path, name: str) -> float:
    """The nanoseconds of a round trip."""
    run = subprocess.run([report, "--json", "--repetitions", "3", name], check=True, capture_output=True, text=True)
    return float(json.loads(run.stdout)[0]["floor"])


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    line = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(["taskset", "-c", "0,1", *line]) for _ in range(count)]
    yield
    for process in processes:
        process.kill()
        process.wait()


def measure(figure: Figure, report: Path, repetitions: int) -> print_report.Figure:
    stay_on(figure.cores[0])
    first, second = os.eventfd(0, os.EFD_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)
    memfd = os.memfd_create("bare_word")
    os.ftruncate(memfd, 8)
    side = Side(pydoca.open_device("0b:00.0", side="host"), (first, second, memfd), is_first=True)
    peer = Peer((second, first, memfd))
    order = {"way": figure.way, "latency": figure.latency, "rounds": figure.rounds, "cores": figure.cores[1]}

    def round_trip(**others: str) -> float:
        """The nanoseconds of a round trip."""
        peer.send(json.dumps(order | others))
        return side.play(order | others, peer.exchange) / figure.rounds * 1e9

    def floor() -> float:
        if figure.floor == "power":
            return round_trip(latency="power")
        return round_trip(way=f"bare_{figure.way}") if figure.floor == "bare" else bare_round_trip(report, figure.floor)

    round_trip()  # does all work that is done only once
    with busy_processes(figure.busy):
        pairs = [(round_trip(), floor()) for _ in range(repetitions)]
    peer.close()
    for fd in (first, second, memfd):
        os.close(fd)
    return print_report.Figure.of_pairs(figure.name, "ns", pairs, figure.target)


def main() -> int:
    parser = arguments_of(__doc__, repetitions=9)
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("name", nargs="?", default="", help="a part of the names of the figures to measure")
    arguments = parser.parse_args()
    chosen = [figure for figure in FIGURES if arguments.name in figure.name]
    measured = (measure(figure, arguments.report, arguments.repetitions) for figure in chosen)
    return print_report.print_report(measured, arguments)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve((int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
    else:
        sys.exit(main())
