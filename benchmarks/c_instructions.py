"""Instructions that a call in C takes above the same call of the engine.

callgrind counts the loops of c_report, in C and in C++, by function: each with all that it calls. The difference, per
call, is what C adds: its arguments are checked, and its objects lead to the engine's. A compiler that optimises across
files puts the engine's function into that of C, so it is not what the function in C has of its own.
`cmake --preset bench && cmake --build --preset bench` in cpp/ builds c_report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from callgrind import Function, count_functions
from print_report import PROGRAMS, Figure, arguments_of, print_report

CALLS = 1 << 14
TARGET = 8  # instructions


@dataclass(frozen=True)
class Call:
    """A function in C, and the beginning of the name of the engine's."""

    c: str
    engine: str


DMA = "dma 64 B, 32 in flight, task allocated and freed"
# By the figure of c_report whose loop calls them.
CALLS_OF = {
    DMA: [
        Call("doca_dma_task_memcpy_alloc_init", "pydoca::Dma::memcpy("),
        Call("doca_task_submit", "pydoca::Task::submit("),
        Call("doca_task_free", "pydoca::Task::free("),
    ],
    "sha256 of 64 B": [Call("doca_sha_task_hash_alloc_init", "pydoca::Sha::hash(")],
    "rdma write 64 B": [Call("doca_rdma_task_write_allocate_init", "pydoca::Rdma::write(")],
    "comch message": [Call("doca_comch_client_task_send_alloc_init", "pydoca::comch::Endpoint::send(")],
    "buf of an inventory": [
        Call("doca_buf_inventory_buf_get_by_args", "pydoca::BufInventory::get_by_args("),
        Call("doca_buf_dec_refcount", "pydoca::Buf::dec_refcount("),
    ],
    "sync event": [
        Call("doca_sync_event_update_set", "pydoca::SyncEvent::update_set("),
        Call("doca_sync_event_get", "pydoca::SyncEvent::get("),
        Call("doca_sync_event_wait_eq", "pydoca::SyncEvent::wait_eq("),
    ],
    "progress of an engine": [Call("doca_pe_progress", "pydoca::ProgressEngine::progress(")],
}
# What the engine calls, and the callback that this calls.
CALLBACK = Call("void pydoca::capi::completed<doca_dma_task_memcpy, true>", "copied")


def find(functions: dict[str, Function], name: str) -> Function:
    """The function whose name begins so: a clone has more behind it. The one with most calls, as others are cold."""
    found = [function for each, function in functions.items() if each.startswith(name)]
    if not any(function.calls for function in found):
        sys.exit(f"{name} was not called; is c_report without its symbols?")
    return max(found, key=lambda function: function.calls)


def compare(name: str, c: Function, engine: Function) -> Figure:
    return Figure(name, "instructions", c.per_call, engine.per_call, TARGET, compared="difference")


def measure_figure(figure: str) -> list[Figure]:
    in_c, in_cpp = (
        count_functions([str(PROGRAMS / "c_report"), "--only", side, str(CALLS), figure])
        for side in ("subject", "floor")
    )
    figures = [compare(call.c, find(in_c, call.c), find(in_cpp, call.engine)) for call in CALLS_OF[figure]]
    if figure == DMA:
        figures.append(compare("a completion's callback", find(in_c, CALLBACK.c), find(in_c, CALLBACK.engine)))
    return figures


def measure() -> Iterator[Figure]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for figures in pool.map(measure_figure, CALLS_OF):
            yield from figures


def main() -> int:
    return print_report(measure(), arguments_of(__doc__, repetitions=1).parse_args())


if __name__ == "__main__":
    sys.exit(main())
