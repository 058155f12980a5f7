"""Latency and bandwidth of RDMA operations, each as a ratio to Debian's perftest on the same device in the same run.

The benchmark boots `pydoca rdma-lab` and measures there; on a machine with a device, --device NAME measures here.
pydoca's own figures are those of rdma_exchange, which `cmake --preset bench && cmake --build --preset bench` in cpp/
builds.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import print_report
from print_report import PROGRAMS, arguments_of
from rdma_figure import Measurement

EXCHANGE = PROGRAMS / "rdma_exchange"
PATIENCE = 120.0  # seconds, for one measurement
PORT = 18515
TARGET = 1.10
SIZES = [64, 4096, 65536, 1 << 20]
OPERATIONS = ["write", "read", "send"]


@dataclass(frozen=True)
class Figure(Measurement):
    """One measurement: perftest's program for it, the column in its output, and the number of iterations."""

    @property
    def program(self) -> str:
        return f"ib_{self.operation}_{'lat' if self.is_latency else 'bw'}"

    @property
    def column(self) -> int:
        """The column t_typical, the median, or that of the average bandwidth. The table's first column is the size."""
        return 4 if self.is_latency else 3

    @property
    def iterations(self) -> int:
        return max(100, min(1000, (32 << 20) // self.size))

    def ratio(self, value: float, floor: float) -> float:
        """The ratio, which is above 1 when pydoca is slower."""
        return value / floor if self.is_latency else floor / value


@dataclass(frozen=True)
class Devices:
    names: tuple[str, str]  # the server's, the client's
    gid_index: str

    def floor(self, figure: Figure) -> float:
        """Returns the output of perftest's client."""
        line = [figure.program, "-F", "-x", self.gid_index, "-p", str(PORT), "-s", str(figure.size)]
        line += ["-n", str(figure.iterations)]
        server = subprocess.Popen([*line, "-d", self.names[0]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_listener(server)
            client = [*line, "-d", self.names[1], "127.0.0.1"]
            output = subprocess.run(client, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
            server.wait(timeout=PATIENCE)
        finally:
            server.kill()
            server.wait()
        rows = [row for row in map(str.split, output.splitlines()) if row[:1] == [str(figure.size)]]
        return float(rows[-1][figure.column])

    def value(self, figure: Figure) -> float:
        """Makes the same measurement by pydoca: rdma_exchange prints only the figure, in perftest's unit."""
        line = [str(EXCHANGE), figure.operation, "latency" if figure.is_latency else "bandwidth", str(figure.size)]
        line += [str(figure.iterations), *self.names, self.gid_index]
        return float(subprocess.run(line, stdout=subprocess.PIPE, timeout=PATIENCE, check=True).stdout)


def wait_for_listener(server: "subprocess.Popen[bytes]") -> None:
    """Waits until the server takes connections. Does not connect: the server would take that for the client."""
    end = time.monotonic() + PATIENCE
    wanted = f":{PORT:04X}"
    while True:
        rows = [row.split() for name in ("tcp", "tcp6") for row in Path("/proc/net", name).read_text().splitlines()]
        if any(row[1].endswith(wanted) and row[3] == "0A" for row in rows):
            return
        if server.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{server.args} does not listen")
        time.sleep(0.02)


def measure(figure: Figure, devices: Devices, repetitions: int) -> print_report.Figure:
    """Measures floor and value in turn, and takes the best of each: other load on the machine only makes them worse.

    Both have the median of many rounds behind them; but two processes that poll are out of step for milliseconds
    whenever one of them loses its core.
    """
    best = min if figure.is_latency else max
    pairs = [(devices.floor(figure), devices.value(figure)) for _ in range(repetitions)]
    floor, value = best(floor for floor, _ in pairs), best(value for _, value in pairs)
    score = figure.ratio(value, floor)
    return print_report.Figure(f"{figure.name}, against perftest", figure.unit, value, floor, TARGET, score)


def figures(arguments: argparse.Namespace) -> Iterator[Figure]:
    for is_latency in (True, False):
        for operation in OPERATIONS:
            for size in arguments.sizes:
                figure = Figure(operation, is_latency, size)
                if arguments.filter in figure.name:
                    yield figure


def first_ipv4_gid(device: str) -> str:
    gids = Path("/sys/class/infiniband", device, "ports/1/gids")
    indices = [path.name for path in gids.iterdir() if ":ffff:" in path.read_text()]
    return min(indices, key=int, default="0")


def run_in_lab(arguments: argparse.Namespace) -> int:
    """Runs all measurements in one guest, on its device."""
    line = [sys.executable, "-P", "-m", "pydoca", "rdma-lab", "--timeout", "1800"]
    line += ["--pair", "--"] if arguments.pair else ["--"]
    line += [sys.executable, __file__, *sys.argv[1:], "--device", "rxe0"]
    return subprocess.run(line + (["--peer", "rxe1"] if arguments.pair else [])).returncode


def main() -> int:
    parser = arguments_of(__doc__, repetitions=3)
    parser.add_argument("--device", help="measure here, on this device")
    parser.add_argument("--peer", help="the other end's device (default: the same one)")
    parser.add_argument("--pair", action="store_true", help="in the lab: over a cable between two devices")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BYTES")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only figures with this in their name")
    arguments = parser.parse_args()
    if arguments.device is None and "PYDOCA_RDMA_LAB" not in os.environ:
        return run_in_lab(arguments)
    devices = Devices((arguments.device, arguments.peer or arguments.device), first_ipv4_gid(arguments.device))
    measured = (measure(figure, devices, arguments.repetitions) for figure in figures(arguments))
    return print_report.print_report(measured, arguments)


if __name__ == "__main__":
    sys.exit(main())
