"""The examples in C, built by CMake and by Meson with the SDKs of both sides that `pydoca sdk` writes, and run."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from printed import ROOT
from pydoca import _sdk

SIDES = ("host", "dpu")
NEEDED = ("pkg-config", "cmake", "ninja")
CLANG = next((name for name in ("clang", "clang-19") if shutil.which(name)), "clang")
OTHERS = [("cmake", CLANG), ("meson", "gcc"), ("meson", CLANG)]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not _sdk.headers(), reason="this pydoca was built without the C API"),
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="CMake, Ninja or pkg-config is not installed"),
]

# A program, what its last line says, and what it is given. The cards of the profile "all" have every engine.
ALONE = {
    "clock/clock": "the device's counter runs",
    "dma_copy/dma_copy": "This text was copied by DMA",
    "graph/graph_copy": "5 of 5 instances have succeeded",
    "logger/logger": "messages in the file: 3, in the buffer: 1, of the SDK: 1",
    "options/copy_texts": "texts copied: 2",
    "progress_engine_event/progress_engine_event": "16 tasks of 1048576 bytes have completed",
    "sha/sha_digest": "pieces: 31e601dae872c765492bd93ce2e6e4a70af9a759dfa367a9fb9df7e6f53b9c47",
    "sync_event_local/sync_event_local": "tasks: 0, then the wait has ended",
}
WORDS = {"options/copy_texts": ["-t", "one", "--text=two"]}

# Programs of two processes, one after the other: they meet in a directory.
IN_PAIRS = {
    "host/comch/comch_client": "5 answers were received",
    "dpu/comch/comch_server": "5 messages were answered",
    "host/dma_copy_remote/dma_copy_host": "the DPU has read: Hello from the host",
    "dpu/dma_copy_remote/dma_copy_dpu": "read from the host: Hello from the host",
    "host/sync_event_remote/sync_event_remote": "the DPU has answered: 42",
    "dpu/sync_event_remote/sync_event_remote": "the host has called",
    "host/rdma_messages/rdma_send": "sent: This text came by RDMA",
    "host/rdma_messages/rdma_receive": "received with the number 42: This text came by RDMA",
    "dpu/rdma_memory/rdma_requester": "the counter was 0",
    "dpu/rdma_memory/rdma_responder": "counter: 42, text: This text was written by RDMA",
    "host/rdma_sync_event/rdma_event_publisher": "the event was 40",
    "host/rdma_sync_event/rdma_event_owner": "the event has become 42",
}


def run(line: list[object], **more: str) -> None:
    done = subprocess.run([str(word) for word in line], env={**os.environ, **more}, capture_output=True, text=True)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def build(tool: str, compiler: str, place: Path, side: str, source: Path) -> None:
    """Builds a folder of examples as its first line says."""
    target = place / side / source.name
    configure = {
        "cmake": ["cmake", "-G", "Ninja", "-S", source, "-B", target],
        "meson": ["meson", "setup", target, source],
    }
    packages = f"{place / side}-sdk/lib/pkgconfig"
    run(configure[tool], CC=compiler, CFLAGS="-Wall -Wextra -Werror", PKG_CONFIG_PATH=packages)
    run(["ninja", "-C", target])


def build_all(tool: str, compiler: str, place: Path) -> None:
    sources = [path.parent for path in (ROOT / "examples/c").glob("*/meson.build")]
    for side in SIDES:
        run([sys.executable, "-P", "-m", "pydoca", "sdk", "--prefix", f"{place / side}-sdk", "--side", side])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(build, tool, compiler, place, side, source) for side in SIDES for source in sources]
        for job in jobs:
            job.result()


class Programs:
    """Programs that were built in a directory, and what is wrong with what they print."""

    def __init__(self, commands, place: Path) -> None:
        self._commands, self._place = commands, place
        self._env = commands.env | {"PYDOCA_BACKEND": "sim", "PYDOCA_PROFILE": "all"}
        self.faults: list[str] = []

    def start(self, name: str, *words: object) -> subprocess.Popen[str]:
        program = [str(self._place / name), *map(str, words)]
        return self._commands.start_program(program, env=self._env, cwd=self._commands.directory)

    def expect(self, process: subprocess.Popen[str], last_line: str) -> None:
        output, errors = process.communicate(timeout=100)
        if process.returncode != 0 or output.splitlines()[-1:] != [last_line]:
            self.faults.append(f"{process.args}: {process.returncode}\n{output}{errors}")

    def run_pair(self, first: str, second: str) -> None:
        with TemporaryDirectory(dir=self._commands.directory) as meeting:
            processes = [self.start(first, meeting)]
            time.sleep(0.3)
            processes.append(self.start(second, meeting))
            for name, process in zip((first, second), processes, strict=True):
                self.expect(process, IN_PAIRS[name])

    def run_by_address(self) -> None:
        server = self.start("host/rdma_address/rdma_server")
        _, address, port = server.stdout.readline().split()
        client = self.start("host/rdma_address/rdma_client", address, port)
        self.expect(client, "sent: This text came to an address")
        self.expect(server, "received with the number 42: This text came to an address")


@pytest.mark.parametrize(
    ("tool", "compiler"), [("cmake", "gcc"), *(pytest.param(*pair, marks=pytest.mark.machines) for pair in OTHERS)]
)
def test_examples_are_built_and_run_on_both_sides_and_in_both_orders(commands, tmp_path, tool, compiler):
    if not all(map(shutil.which, (tool, compiler))):
        pytest.skip(f"{tool} or {compiler} is not installed")
    build_all(tool, compiler, tmp_path)
    programs = Programs(commands, tmp_path)
    for side in SIDES:
        for name, line in ALONE.items():
            programs.expect(programs.start(f"{side}/{name}", *WORDS.get(name, [])), line)
    names = list(IN_PAIRS)
    for pair in zip(names[::2], names[1::2], strict=True):
        programs.run_pair(*pair)
        programs.run_pair(*reversed(pair))
    programs.run_by_address()
    assert not programs.faults, "\n".join(programs.faults)
