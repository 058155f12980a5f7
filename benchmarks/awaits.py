"""The cost of awaits that need not wait, beside the await of a done asyncio future.

With interpreters as arguments (`benchmarks/awaits.py python3.11 python3.13`), measures in turns under each of them
that has pydoca, and compares them with the first: awaits should take the same time with each Python.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

FLOOR = "await a future that is done"
TARGET = 1.1  # times the first interpreter's
SIZE = 4096  # bytes


async def measure(repetitions: int, count: int) -> dict[str, float]:
    """Nanoseconds for one await of each kind: the best of several stretches of awaits."""
    import pydoca

    device = pydoca.open_device("03:00.0", side="dpu")
    event = pydoca.SyncEvent(device)
    inventory = pydoca.BufInventory(2)
    async with (
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, num_tasks=4) as dma,
        event.as_context(pe) as context,
    ):
        src = inventory.get_by_data(device.mmap(pydoca.alloc(SIZE)))
        dst = inventory.get_by_addr(device.mmap(pydoca.alloc(SIZE)))
        stretches = make_stretches(dma, src, dst, context)
        best = dict.fromkeys(stretches, float("inf"))
        for _ in range(repetitions):
            for name, stretch in stretches.items():
                best[name] = min(best[name], await stretch(count))
        return best


def make_stretches(dma: Any, src: Any, dst: Any, context: Any) -> dict[str, Callable[[int], Awaitable[float]]]:
    """By name: functions that take a number of awaits and return the nanoseconds of one."""

    async def floor(count: int) -> float:
        future = asyncio.get_running_loop().create_future()
        future.set_result(None)
        begin = time.perf_counter_ns()
        for _ in range(count):
            await future
        return (time.perf_counter_ns() - begin) / count

    async def memcpy(count: int) -> float:
        memcpy, reset = dma.memcpy, dst.reset_data_len
        begin = time.perf_counter_ns()
        for _ in range(count):
            reset()
            await memcpy(src, dst)
        return (time.perf_counter_ns() - begin) / count

    async def notify_set(count: int) -> float:
        notify_set = context.notify_set
        begin = time.perf_counter_ns()
        for i in range(count):
            await notify_set(i)
        return (time.perf_counter_ns() - begin) / count

    async def wait_eq(count: int) -> float:
        await context.notify_set(7)
        wait_eq = context.wait_eq
        begin = time.perf_counter_ns()
        for _ in range(count):
            await wait_eq(7)
        return (time.perf_counter_ns() - begin) / count

    return {
        FLOOR: floor,
        "await dma.memcpy, 4 KiB": memcpy,
        "await context.notify_set": notify_set,
        "await context.wait_eq, true at once": wait_eq,
    }


def find_pythons(names: list[str]) -> list[str]:
    """The interpreters that have pydoca; prints the others on standard error."""
    found = []
    for name in names:
        probe = [shutil.which(name) or name, "-c", "import pydoca"]
        try:
            subprocess.run(probe, check=True, capture_output=True, text=True)
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
        except subprocess.CalledProcessError as error:
            print(f"{name} has no pydoca: {error.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        else:
            found.append(name)
    return found


def measure_under(python: str, count: int) -> dict[str, float]:
    command = [python, __file__, "--json", "--repetitions", "1", "--count", str(count)]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {result["name"]: result["value"] for result in json.loads(run.stdout)}


def measure_in_turns(pythons: list[str], repetitions: int, count: int) -> list[dict[str, float]]:
    """The best figure of each, in the order of pythons. Each turn is a process of its own."""
    best: list[dict[str, float]] = [{} for _ in pythons]
    for _ in range(repetitions):
        for python, figures in zip(pythons, best, strict=True):
            for name, value in measure_under(python, count).items():
                figures[name] = min(value, figures.get(name, value))
    return best


def as_results(python: str, figures: dict[str, float], first: dict[str, float]) -> list[dict[str, Any]]:
    """score: how many times the first interpreter's figure. The floor is Python's own, and has no target."""
    results = []
    for name, value in figures.items():
        score = value / first[name]
        results.append(
            {
                "name": name,
                "python": python,
                "unit": "ns",
                "value": round(value, 1),
                "floor": round(figures[FLOOR], 1),
                "of_floor": round(value / figures[FLOOR], 2),
                "score": round(score, 3),
                "target": None if name == FLOOR else TARGET,
                "ok": name == FLOOR or score <= TARGET,
            }
        )
    return results


def show(results: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(result["name"] for result in results))
    for result in sorted(results, key=lambda result: names.index(result["name"])):
        line = "{name:<35} {python:<24} {value:>8.1f} ns {of_floor:>5.2f} x floor {score:>5.2f} x first".format(
            **result
        )
        if result["target"] is not None:
            line += f"  target <= {result['target']} {'ok' if result['ok'] else 'OVER'}"
        print(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--count", type=int, default=20_000, help="awaits of a kind in each repetition")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 when over a target")
    parser.add_argument("python", nargs="*", help="an interpreter to compare; none: this one alone")
    arguments = parser.parse_args()

    pythons = find_pythons(arguments.python) if arguments.python else [sys.executable]
    if not pythons:
        parser.error("none of these interpreters has pydoca")
    if arguments.python:
        measured = measure_in_turns(pythons, arguments.repetitions, arguments.count)
    else:
        measured = [asyncio.run(measure(arguments.repetitions, arguments.count))]
    results = [
        result
        for python, figures in zip(pythons, measured, strict=True)
        for result in as_results(python, figures, measured[0])
    ]
    if arguments.json:
        print(json.dumps(results, indent=2))
    else:
        show(results)
    return 1 if arguments.check and not all(result["ok"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
