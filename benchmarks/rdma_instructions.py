"""Instructions that pydoca's engine adds to libibverbs for a write of 64 bytes, posted and polled.

callgrind counts two runs of rdma_write_path of different length. The difference, per round, excludes all work that is
done once. The benchmark boots `pydoca rdma-lab` for a device; on a machine that has one, --device NAME counts here.
`cmake --preset bench && cmake --build --preset bench` in cpp/ builds rdma_write_path.
"""

import os
import subprocess
import sys
from collections.abc import Iterator

from callgrind import count
from print_report import PROGRAMS, Figure, arguments_of, print_report
from rdma_perftest import first_ipv4_gid

FEW, MANY = 20, 120  # rounds
TARGET = 150


def instructions(way: str, device: str, rounds: int) -> tuple[int, int]:
    """Returns the number of instructions, and the number of polls that found nothing."""
    counted = count([str(PROGRAMS / "rdma_write_path"), way, device, first_ipv4_gid(device), str(rounds)])
    return counted.instructions, int(counted.output)


def per_write(way: str, device: str) -> float:
    (few, empty), (many, empty_of_many) = instructions(way, device, FEW), instructions(way, device, MANY)
    if abs(empty_of_many - empty) > 2:  # one such poll adds a few instructions to the result
        sys.exit(f"{way}: {empty_of_many} polls found nothing rather than {empty}; is the machine too busy to count?")
    return (many - few) / (MANY - FEW)


def measure(device: str) -> Iterator[Figure]:
    floor, value = per_write("verbs", device), per_write("engine", device)
    name = "rdma write 64 B, posted and polled, above libibverbs"
    yield Figure(name, "instructions", value, floor, TARGET, compared="difference")


def main() -> int:
    parser = arguments_of(__doc__, repetitions=1)
    parser.add_argument("--device", help="count here, on this device")
    arguments = parser.parse_args()
    if arguments.device is None and "PYDOCA_RDMA_LAB" not in os.environ:
        lab = [sys.executable, "-P", "-m", "pydoca", "rdma-lab", "--timeout", "1800", "--"]
        return subprocess.run([*lab, sys.executable, __file__, *sys.argv[1:], "--device", "rxe0"]).returncode
    return print_report(measure(arguments.device), arguments)


if __name__ == "__main__":
    sys.exit(main())
