"""The cost of a topology of thousands of cards for programs that look for one of its functions.

The floor of finding and opening is the same call on the machine of the DOCA guide, with nine functions; that of an
enumeration is a list of as many new Python objects. Both are taken in the same run.
"""

import sys
import time
from collections.abc import Callable, Iterator

from print_report import Figure, arguments_of, print_report

import pydoca
from pydoca import sim

PORTS_OF_A_CARD = 4


def best(call: Callable[[], object], times: int) -> float:
    """Microseconds of the fastest call."""
    shortest = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest * 1e6


class _Empty:
    pass


def calls_of(function: str, parent: str) -> dict[str, Callable[[], object]]:
    """The calls that look for one function."""
    address = pydoca.DeviceInfo(function).pci_addr

    def open_representor() -> None:
        with pydoca.open_device(parent) as device, device.open_representor("hpf0"):
            pass

    def remove() -> None:
        sim.remove_device(function)
        sim.restore_device(function)

    return {
        "open_device(name)": lambda: pydoca.open_device(function).close(),
        "open_device(address)": lambda: pydoca.open_device(address).close(),
        "open_representor(name)": open_representor,
        "remove_device, restore_device": remove,
    }


def measure(functions: int, times: int) -> Iterator[Figure]:
    sim.load_topology(sim.default_topology())
    floors = {name: best(call, times) for name, call in calls_of("pf1", "p0").items()}
    cards = functions // PORTS_OF_A_CARD
    begin = time.perf_counter()
    sim.load_topology({"card": [{"count": cards}]})
    loading = (time.perf_counter() - begin) * 1e6
    far = f"card{cards - 1}"
    for name, call in calls_of(f"{far}-pf1", f"{far}-p0").items():
        yield Figure(f"{name}, {functions} functions, against nine", "us", best(call, times), floors[name], 2.0)
    objects = best(lambda: [_Empty() for _ in range(cards * PORTS_OF_A_CARD)], 20)
    of_objects = f"{functions} functions, against as many new objects"
    yield Figure(f"devices(), {of_objects}", "us", best(pydoca.devices, 20), objects, 20.0)
    yield Figure(f"load_topology, {of_objects}", "us", loading, objects, 200.0)


def main() -> int:
    parser = arguments_of(__doc__, repetitions=300)
    parser.add_argument("--functions", type=int, default=10_000)
    arguments = parser.parse_args()
    return print_report(measure(arguments.functions, arguments.repetitions), arguments)


if __name__ == "__main__":
    sys.exit(main())
