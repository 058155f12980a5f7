"""Instructions that pydoca's engine adds to libibverbs for a write of 64 bytes, posted and polled.

valgrind's callgrind counts the instructions of the process, without those of the kernel, in two runs of rdma_write_path
of different length. The difference, per round, excludes all work that is done once. The benchmark boots
`pydoca rdma-lab` for a device; on a machine that has one, --device NAME counts here. Debian/Ubuntu: apt-get install
valgrind. `cmake --preset bench && cmake --build --preset bench` in cpp/ builds rdma_write_path.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from rdma_perftest import first_ipv4_gid

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "release" / "benchmarks" / "rdma_write_path"
PATIENCE = 600.0  # seconds, for one run
FEW, MANY = 20, 120  # rounds
TARGET = 150


def instructions(way: str, device: str, rounds: int) -> tuple[int, int]:
    """Returns the number of instructions, and the number of polls that found nothing."""
    line = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(PROGRAM)]
    line += [way, device, first_ipv4_gid(device), str(rounds)]
    run = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        sys.exit(f"{' '.join(line)}: {run.stderr}")
    return int(found[1]), int(run.stdout)


def per_write(way: str, device: str) -> float:
    (few, empty), (many, empty_of_many) = instructions(way, device, FEW), instructions(way, device, MANY)
    if abs(empty_of_many - empty) > 2:  # one such poll adds a few instructions to the result
        sys.exit(f"{way}: {empty_of_many} polls found nothing rather than {empty}; is the machine too busy to count?")
    return (many - few) / (MANY - FEW)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="count here, on this device")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 when over the target")
    arguments = parser.parse_args()
    if arguments.device is None and "PYDOCA_RDMA_LAB" not in os.environ:
        lab = [sys.executable, "-P", "-m", "pydoca", "rdma-lab", "--timeout", "1800", "--"]
        return subprocess.run([*lab, sys.executable, __file__, *sys.argv[1:], "--device", "rxe0"]).returncode
    floor, value = per_write("verbs", arguments.device), per_write("engine", arguments.device)
    added = value - floor
    result = {"name": "write 64 B, posted and polled", "unit": "instructions", "floor": floor, "value": value}
    result |= {"added": added, "target": TARGET, "ok": added <= TARGET}
    verdict = "ok" if result["ok"] else "OVER"
    text = f"write 64 B: libibverbs {floor:.0f} instructions, pydoca {value:.0f}: {added:.0f} more, target <= {TARGET}"
    print(json.dumps(result) if arguments.json else f"{text} {verdict}")
    return 1 if arguments.check and not result["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
