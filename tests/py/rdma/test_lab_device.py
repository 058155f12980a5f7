"""The device under test works for programs without pydoca, which the other tests rely on."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.verbs


def require_program(name: str) -> str:
    return shutil.which(name) or pytest.fail(f"{name} is not installed: apt-get install ibverbs-utils")


def gid_options(device: str) -> list[str]:
    """By which of its GIDs a port over Ethernet is to be reached: one that is an IPv4 address."""
    port = Path("/sys/class/infiniband", device, "ports/1")
    if (port / "link_layer").read_text().strip() != "Ethernet":
        return []
    indices = [path.name for path in (port / "gids").iterdir() if ":ffff:" in path.read_text()]
    return ["-g", min(indices, key=int)]


def listens(port: int) -> bool:
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows[1:])


def test_programs_see_the_device(rdma_names, patience):
    program = require_program("ibv_devices")
    listed = subprocess.run([program], capture_output=True, text=True, timeout=patience, check=True)
    assert set(rdma_names) <= set(listed.stdout.split())


def test_two_processes_exchange_messages_over_it(rdma_names, patience, commands, unused_port):
    program = require_program("ibv_rc_pingpong")
    server, client = (
        [program, "-p", str(unused_port), "-n", "100", "-d", name, *gid_options(name)] for name in rdma_names
    )
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": commands.env}
    processes = [subprocess.Popen(server, **options)]
    commands.wait_until(lambda: listens(unused_port), "the server")
    processes.append(subprocess.Popen([*client, "127.0.0.1"], **options))
    try:
        for process in processes:
            output, _ = process.communicate(timeout=patience)
            assert process.returncode == 0, output
            assert "819200 bytes in" in output
    finally:
        for process in processes:
            process.kill()
