"""What a topology of thousands of cards costs those who look for one of its functions.

The floor of finding and opening is the same call on the machine of the DOCA guide, with nine functions; that of an
enumeration is a list of as many new Python objects. Both are taken in the same run.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable

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
    """Each looks for one function."""
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


def measure(functions: int, times: int) -> list[dict[str, object]]:
    sim.load_topology(sim.default_topology())
    floors = {name: best(call, times) for name, call in calls_of("pf1", "p0").items()}
    cards = functions // PORTS_OF_A_CARD
    begin = time.perf_counter()
    sim.load_topology({"card": [{"count": cards}]})
    loading = (time.perf_counter() - begin) * 1e6
    far = f"card{cards - 1}"
    rows = [
        {"name": name, "value": best(call, times), "floor": floors[name], "target": 2.0}
        for name, call in calls_of(f"{far}-pf1", f"{far}-p0").items()
    ]
    objects = best(lambda: [_Empty() for _ in range(cards * PORTS_OF_A_CARD)], 20)
    rows.append({"name": "devices()", "value": best(pydoca.devices, 20), "floor": objects, "target": 20.0})
    rows.append({"name": "load_topology", "value": loading, "floor": objects, "target": 200.0})
    for row in rows:
        ratio = float(str(row["value"])) / float(str(row["floor"]))
        row.update(unit="us", score=round(ratio, 2), rule="<=", ok=ratio <= float(str(row["target"])))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=300, help="the fastest of so many calls counts")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 when over a target")
    arguments = parser.parse_args()
    rows = measure(arguments.functions, arguments.times)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        line = "{name:30} {value:10.1f} us  floor {floor:8.1f}  ratio {score:6.2f}  target <= {target:g}  "
        for row in rows:
            print(line.format(**row) + ("ok" if row["ok"] else "OVER"))
    return 1 if arguments.check and not all(row["ok"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
