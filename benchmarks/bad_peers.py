"""What bad peers cost a process: its longest call of progress(), and the longest stand-still of its other threads.

Twelve clients of an RDMA context are stopped before their requests are accepted, and twelve write to the pages that
they share with the context until it ends their connections. The floor are the same figures, in the same process, beside
as many processes that compute and sleep as these do, and are not peers: what the scheduler takes is not counted.
"""

import os
import signal
import statistics
import subprocess
import sys
import threading
import time

from print_report import Figure, arguments_of, print_report

import pydoca

TARGET = 5.0  # milliseconds above the floor
NUM_PEERS = 12  # the number of peers of each kind
SECONDS = 2.0
PORT = 4793

WRITE = """
import ctypes, time

def write_to_shared_pages_for_ever():
    while True:
        for line in open("/proc/self/maps"):
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if "rw-s" in line and "memfd:pydoca-page" in line:
                ctypes.c_uint32.from_address(begin + 4).value = 1  # a revocation page: this process is inside
            elif "rw-s" in line and "memfd:pydoca" in line:
                ctypes.memset(begin + 64, 0xA5, 256)  # a ring, a receive queue
        time.sleep(0.01)
"""
BAD_PEER = f"""{WRITE}
import sys
import pydoca

device = pydoca.open_device("pf0", side="host")
with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, device, permissions="rdma_write") as rdma:
    made = rdma.connect(sys.argv[1], int(sys.argv[2]))
    print("started", flush=True)
    connection = made.wait(60)
    write_to_shared_pages_for_ever()
"""
# This program does the same work, in a process that shares no page.
STRANGER = f"""{WRITE}
import pydoca

print("started", flush=True)
write_to_shared_pages_for_ever()
"""


class Watch:
    """A thread that runs every half millisecond if it can."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._stopped = False
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._thread.join()

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._stopped:
            time.sleep(0.0005)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last)
            last = now


def start(program: str, address: str) -> list[subprocess.Popen[str]]:
    """Returns once each has started, as a peer with its request. The first half is stopped then."""
    line = [sys.executable, "-c", program, address, str(PORT)]
    processes = [
        subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(2 * NUM_PEERS)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
    for process in processes[:NUM_PEERS]:
        os.kill(process.pid, signal.SIGSTOP)
    return processes


def longest_times(program: str) -> tuple[float, float]:
    """The milliseconds of the longest progress(), and between two turns of another thread, beside such processes."""
    device = pydoca.open_device("p1", side="dpu")
    accepted = []
    processes: list[subprocess.Popen[str]] = []
    longest = 0.0
    with pydoca.ProgressEngine() as pe:
        options = {"permissions": "rdma_write", "max_num_connections": 2 * NUM_PEERS + 1}
        rdma = pydoca.Rdma(pe, device, on_request=lambda one, _: accepted.append(one.accept()), **options)
        try:
            with rdma, rdma.listen(PORT):
                processes = start(program, str(device.info.ipv4_addr))
                with Watch() as watch:
                    end = time.perf_counter() + SECONDS
                    while (begin := time.perf_counter()) < end:
                        pe.progress()
                        longest = max(longest, time.perf_counter() - begin)
                    begin = time.perf_counter()
                    rdma.stop()
                    longest = max(longest, time.perf_counter() - begin)
                assert len(accepted) == (len(processes) if program == BAD_PEER else 0)
        finally:
            for process in processes:
                process.kill()
                process.wait()
    return longest * 1e3, watch.longest * 1e3


def main() -> int:
    arguments = arguments_of(__doc__, repetitions=3).parse_args()
    pydoca.sim.set_fabric(f"benchmark-{os.getpid()}")
    os.environ["PYDOCA_FABRIC"] = pydoca.sim.fabric()
    floors = [longest_times(STRANGER) for _ in range(arguments.repetitions)]
    values = [longest_times(BAD_PEER) for _ in range(arguments.repetitions)]
    names = ("Longest progress() or stop()", "Longest stand-still of other threads")
    figures = [
        Figure(
            f"{name} beside {2 * NUM_PEERS} bad peers, above that beside strangers",
            "ms",
            statistics.median(value[index] for value in values),
            statistics.median(floor[index] for floor in floors),
            TARGET,
            compared="difference",
        )
        for index, name in enumerate(names)
    ]
    return print_report(figures, arguments)


if __name__ == "__main__":
    sys.exit(main())
