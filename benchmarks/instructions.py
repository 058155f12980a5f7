"""Instructions of the engine's paths, and of awaits, that one thread takes: each as a difference from its floor.

callgrind counts two runs of a report's figure that differ in their number of operations. The difference, per
operation, excludes all work that is done once. Counts hardly change from run to run, nor with the machine's load.
Debian/Ubuntu: apt-get install valgrind. `cmake --preset bench && cmake --build --preset bench` in cpp/ builds the
programs.
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from awaits import floor_of
from callgrind import count, count_functions
from print_report import PROGRAMS, Figure, arguments_of, print_report

HERE = Path(__file__).resolve().parent


def still_clock() -> Path:
    """The library that stops the clock. The system's loader would only warn of one that is not there."""
    library = PROGRAMS / "still_clock.so"
    if not library.exists():
        sys.exit(f"{library} does not exist; in cpp/: cmake --preset bench && cmake --build --preset bench")
    return library


@dataclass(frozen=True)
class Counted:
    """A figure of a report, and the number of its operations in the shorter run; the longer one has twice as many."""

    report: str
    figure: str
    operations: int = 1 << 16

    def line(self, side: str, operations: int) -> list[str]:
        """The command that does so many operations of one side of the figure: subject or floor."""
        if self.report.endswith(".py"):
            name = self.figure if side == "subject" else floor_of(self.figure)
            command = [sys.executable, str(HERE / self.report), "--repetitions", "1", "--count", str(operations)]
            return [*command, "--only", name]
        return [str(PROGRAMS / self.report), "--only", side, str(operations), self.figure]

    def per_operation(self, side: str) -> float:
        few, many = (
            count(self.line(side, operations), self.environment()).instructions
            for operations in (self.operations, 2 * self.operations)
        )
        return (many - few) / self.operations

    def environment(self) -> dict[str, str]:
        """The environment of the runs: awaits share the time of a loop's turn, which valgrind would make too short."""
        same = {"PYTHONHASHSEED": "0", "LD_PRELOAD": str(still_clock())}
        return {**os.environ, **same} if self.report.endswith(".py") else dict(os.environ)

    def measure(self) -> Figure:
        value, floor = self.per_operation("subject"), self.per_operation("floor")
        return Figure(f"{self.report}: {self.figure}", "instructions", value, floor, compared="difference")


COUNTED = [
    Counted("report", "dma 64 B, 32 in flight, above memcpy"),
    Counted("report", "dma 64 B, 32 in flight, task allocated and freed, above memcpy"),
    Counted("buf_report", "buf of an inventory, got and given back, above a free list"),
    Counted("buf_report", "buf of a pool, got and given back, above a free list"),
    Counted("sync_event_report", "one side of update_set and wait_eq, above a word's"),
    Counted("sync_event_report", "one side of notify_set and wait_eq tasks, above a word's"),
    Counted("rdma_report", "rdma write 64 B, 32 in flight, above memcpy"),
    Counted("graph_report", "graph of 4 copies of 64 B in a chain, a node, above the tasks alone"),
    Counted("graph_report", "graph of 256 functions in a chain, a node, above their calls"),
    Counted("workq_report", "a job that copies 64 B, 32 in flight"),
    Counted("trace_report", "an event, of the two of a DMA task of 64 B, above the same task untraced"),
    Counted("c_report", "dma 64 B, 32 in flight, from C, above C++", 1 << 14),
    Counted("c_report", "dma 64 B, 32 in flight, task allocated and freed, from C, above C++", 1 << 14),
    Counted("c_report", "sha256 of 64 B, 32 in flight, task allocated and freed, from C, above C++", 1 << 13),
    Counted("c_report", "rdma write 64 B, 32 in flight, task allocated and freed, from C, against C++", 1 << 14),
    Counted("c_report", "comch message of 64 B, task allocated and freed, from C, against C++", 1 << 13),
    Counted("c_report", "buf of an inventory, got and given back, from C, above C++"),
    Counted("c_report", "sync event set, read and waited for, from C, above C++"),
    Counted("c_report", "progress of an engine that has nothing to do, from C, above C++"),
    Counted("awaits.py", "await dma.memcpy of two new bufs, 4 KiB", 100_000),
    Counted("awaits.py", "await dma.memcpy of two new bufs at addresses, 4 KiB", 100_000),
    Counted("awaits.py", "await dma.memcpy of two maps, 4 KiB", 100_000),
    Counted("awaits.py", "await dma.memcpy, 4 KiB", 100_000),
    Counted("awaits.py", "await a task submitted again, 4 KiB", 100_000),
    Counted("awaits.py", "await a bare copy, 4 KiB", 100_000),
    Counted("awaits.py", "get_by_data, and drop", 100_000),
    Counted("awaits.py", "one of 64 in flight, a loop of awaits", 102_400),
    Counted("awaits.py", "one of 64 in flight, pe.gather", 102_400),
    Counted("awaits.py", "one of 64 in flight, asyncio.gather", 102_400),
    Counted("awaits.py", "one of 64 in flight, asyncio.gather of futures", 102_400),
    Counted("awaits.py", "await dma.memcpy_many, a row of 64 B", 100_000),
    Counted("awaits.py", "await context.notify_set", 100_000),
    Counted("awaits.py", "await context.wait_eq, true at once", 100_000),
    Counted("awaits.py", "set an event and wait", 100_000),
    Counted("awaits.py", "set an event and await", 100_000),
    Counted("awaits.py", "set a bare word and wait", 100_000),
    Counted("awaits.py", "set a bare word and await", 100_000),
    Counted("awaits.py", "send a comch message, and wait for it", 50_000),
    Counted("awaits.py", "send a comch message, and await it", 50_000),
]


# The parts of an operation, by what the names of their functions have; the first that fits. Python's come first, then
# those of pydoca.
PARTS_OF_PYTHON = (
    ("Python: bytecodes", "EvalFrame"),
    ("Python: calls and awaits", "all|Iter_Send|AwaitableIter|Iter_Check|CheckFunctionResult"),
    ("Python: the objects of the loop, references", ""),
)
PARTS = (
    (
        "bufs and maps",
        "Buf(Object|List|s::)|span_of|anonymous namespace.::get|reset_data_len|check_buf|Mmap|area_of|memory",
    ),
    ("the message, its place in line", "Connection|SendTask|Channel|WaitingLine|QueuedEvent|NextOf|deque|comch"),
    ("checks of threads and states", "require_|check_thread|Quarantine"),
    ("the event", "SyncEvent::|SyncEventObject::|Counter::"),
    ("checks of operands", "breaks_limit|are_beyond"),
    ("the await, the wait", "TaskAwaiter|EventAwaiter|AwaiterType|::await|running_loop|LoopTurn|block_until"),
    ("submission", "submit|take_off|set_operands"),
    (
        "arguments, a task for them, its return",
        "make_task|arguments|operand|to_u64|take_free|dealloc|clear|prepare|flags",
    ),
    ("the device", "::post|Queue"),
    ("progress", "spin|progress|collect|Notifier|settle"),
    ("completion", "complete|value"),
    ("references of pybind11's", "_ref"),
    ("other", ""),
)


def part_of(name: str, home: str) -> str:
    """The part of an operation to which a function belongs."""
    if "_core" in home or "report" in home:
        parts = PARTS
    elif "python" in home or home.startswith("_asyncio"):
        parts = PARTS_OF_PYTHON
    else:
        return "the copy" if "memcpy" in name or "memmove" in name else "other libraries"
    return next(part for part, pattern in parts if re.search(pattern, name))


def where(figure: Counted, most: int = 40) -> Iterator[str]:
    """The parts of one figure's operation, and the functions that take most instructions themselves."""
    few, many = (
        count_functions(figure.line("subject", operations), figure.environment())
        for operations in (figure.operations, 2 * figure.operations)
    )
    own = {name: (function.own - few[name].own) / figure.operations for name, function in many.items()}
    yield f"{figure.figure}: {sum(own.values()):.0f} instructions"
    parts: defaultdict[str, float] = defaultdict(float)
    for name, instructions in own.items():
        parts[part_of(name, Path(many[name].home).name)] += instructions
    for part in sorted(parts, key=parts.__getitem__, reverse=True):
        if parts[part] >= 1:
            yield f"{parts[part]:8.0f}  {part}"
    yield "of them by the functions themselves:"
    for name in sorted(own, key=own.__getitem__, reverse=True)[:most]:
        if own[name] >= 1:
            yield f"{own[name]:8.1f}  {name[:90]}  ({Path(many[name].home).name})"


def measure(chosen: list[Counted]) -> Iterator[Figure]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(Counted.measure, chosen)


def main() -> int:
    parser = arguments_of(__doc__, repetitions=1)
    parser.add_argument("name", nargs="?", default="", help="a part of the names of the figures to count")
    parser.add_argument("--where", action="store_true", help="print the functions that take them, and no figures")
    arguments = parser.parse_args()
    chosen = [each for each in COUNTED if arguments.name in each.figure]
    if arguments.where:
        for each in chosen:
            print("\n".join(where(each)))
        return 0
    return print_report(measure(chosen), arguments)


if __name__ == "__main__":
    sys.exit(main())
