"""Round trips of sync events between two Python processes, each as a ratio to a bare one of the same run.

The bare ones (a word in shared memory between two cores; eventfd and epoll, on two cores and on one) come from
sync_event_report, which `cmake --preset release && cmake --build --preset release` in cpp/ builds.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydoca

REPORT = Path(__file__).resolve().parent.parent / "build" / "release" / "benchmarks" / "sync_event_report"


@dataclass(frozen=True)
class Figure:
    """What is measured, beside which round trip of sync_event_report, and how many times as long it may take."""

    name: str
    way: str  # "sync", or the latency of the engines that await
    floor: str
    target: float
    rounds: int
    core: int = 1  # the peer's; this process stays on core 0


FIGURES = [
    Figure("update_set and wait_eq, against a cache line", "sync", "update_set and wait_eq", 2, 50_000),
    Figure("await notify_set and wait_eq, against a cache line", "balanced", "update_set and wait_eq", 5, 20_000),
    Figure("the same asleep, two cores, against eventfd and epoll", "power", "asleep, two cores", 1.2, 1_000),
    Figure("the same on one core, against eventfd and epoll", "balanced", "asleep, one core", 3, 2_000, core=0),
    Figure("the same asleep on one core, against eventfd and epoll", "power", "asleep, one core", 3, 2_000, core=0),
]


def play(event: pydoca.SyncEvent, first: bool, rounds: int) -> float:
    """Seconds for the rounds; the first one publishes odd numbers and waits for even ones."""
    update_set, wait_eq = event.update_set, event.wait_eq
    begin = time.perf_counter()
    if first:
        for number in range(1, 2 * rounds, 2):
            update_set(number)
            wait_eq(number + 1)
    else:
        for number in range(1, 2 * rounds, 2):
            wait_eq(number)
            update_set(number + 1)
    return time.perf_counter() - begin


async def play_awaiting(context: pydoca.SyncEventContext, first: bool, rounds: int) -> float:
    notify_set, wait_eq = context.notify_set, context.wait_eq
    begin = time.perf_counter()
    if first:
        for number in range(1, 2 * rounds, 2):
            await notify_set(number)
            await wait_eq(number + 1)
    else:
        for number in range(1, 2 * rounds, 2):
            await wait_eq(number)
            await notify_set(number + 1)
    return time.perf_counter() - begin


def serve() -> None:
    """The peer: one order a line, each a JSON object; says when it is ready to play."""
    device = pydoca.open_device("03:00.0", side="dpu")
    for line in sys.stdin:
        order = json.loads(line)
        os.sched_setaffinity(0, [order["core"]])
        event = device.import_sync_event(bytes.fromhex(order["blob"]))
        if order["way"] == "sync":
            with event:
                print("ready", flush=True)
                play(event, first=False, rounds=order["rounds"])
        else:
            asyncio.run(serve_awaiting(event, order))


async def serve_awaiting(event: pydoca.SyncEvent, order: dict[str, Any]) -> None:
    async with pydoca.ProgressEngine(latency=order["way"]) as pe, event.as_context(pe) as context:
        print("ready", flush=True)
        await play_awaiting(context, first=False, rounds=order["rounds"])


class Peer:
    """The other process."""

    def __init__(self) -> None:
        command = [sys.executable, __file__, "--serve"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def invite(self, figure: Figure, event: pydoca.SyncEvent) -> None:
        order = {"way": figure.way, "core": figure.core, "rounds": figure.rounds}
        order["blob"] = event.export_to_remote_pci().hex()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(order), file=self.process.stdin, flush=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("the peer has ended")

    def close(self) -> None:
        self.process.communicate()


def round_trip(device: pydoca.Device, peer: Peer, figure: Figure) -> float:
    """Nanoseconds."""
    event = pydoca.SyncEvent(device, publisher="remote_pci")
    if figure.way != "sync":
        return asyncio.run(round_trip_awaiting(event, peer, figure)) / figure.rounds * 1e9
    with event:
        peer.invite(figure, event)
        return play(event, first=True, rounds=figure.rounds) / figure.rounds * 1e9


async def round_trip_awaiting(event: pydoca.SyncEvent, peer: Peer, figure: Figure) -> float:
    async with pydoca.ProgressEngine(latency=figure.way) as pe, event.as_context(pe) as context:
        peer.invite(figure, event)
        return await play_awaiting(context, first=True, rounds=figure.rounds)


def bare_round_trip(report: Path, name: str) -> float:
    """Nanoseconds."""
    run = subprocess.run([report, "--json", "--repetitions", "3", name], check=True, capture_output=True, text=True)
    return float(json.loads(run.stdout)[0]["floor"])


def measure(figure: Figure, report: Path, repetitions: int) -> dict[str, Any]:
    device = pydoca.open_device("0b:00.0", side="host")
    peer = Peer()
    pairs = [(round_trip(device, peer, figure), bare_round_trip(report, figure.floor)) for _ in range(repetitions + 1)][
        1:
    ]
    peer.close()
    score = statistics.median(value / floor for value, floor in pairs)
    return {
        "name": figure.name,
        "unit": "ns",
        "value": round(statistics.median(value for value, _ in pairs), 1),
        "floor": round(statistics.median(floor for _, floor in pairs), 1),
        "score": round(score, 2),
        "target": figure.target,
        "ok": score <= figure.target,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 when over a target")
    parser.add_argument("name", nargs="?", default="", help="a part of the names of the figures to measure")
    arguments = parser.parse_args()

    os.sched_setaffinity(0, [0])
    results = []
    for figure in (figure for figure in FIGURES if arguments.name in figure.name):
        result = measure(figure, arguments.report, arguments.repetitions)
        results.append(result)
        if not arguments.json:
            verdict = "ok" if result["ok"] else "OVER"
            print(
                "{name:<56} {value:>10.1f} ns  floor {floor:>10.1f}  {score:>6.2f} x  target <= {target:<4}".format(
                    **result
                ),
                verdict,
                flush=True,
            )
    if arguments.json:
        print(json.dumps(results, indent=2))
    return 1 if arguments.check and not all(result["ok"] for result in results) else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
