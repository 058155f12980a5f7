"""The device under test works for programs without pydoca; the other tests rely on that."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.verbs


def require_program(name: str) -> str:
    return shutil.which(name) or pytest.fail(f"{name} is not installed: apt-get install ibverbs-utils")


def gid_options(device: str) -> list[str]:
    """The option that selects a GID with an IPv4 address, which a port over Ethernet needs."""
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


def exchange_messages(names, patience, commands, port) -> str:
    """The output of the server and the client; it ends with how each of them ended."""
    program = require_program("ibv_rc_pingpong")
    sides = [[program, "-p", str(port), "-n", "100", "-d", name, *gid_options(name)] for name in names]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": commands.env}
    with subprocess.Popen(sides[0], **options) as server:
        try:
            commands.wait_until(lambda: listens(port), "the server")
            client = subprocess.run([*sides[1], "127.0.0.1"], timeout=patience, check=False, **options)
            if client.returncode != 0:
                server.kill()  # it would wait for the client's messages
            output, _ = server.communicate(timeout=patience)
        finally:
            server.kill()
    return f"{output}{client.stdout}exit statuses {server.returncode} and {client.returncode}"


def test_two_processes_exchange_messages_over_it(rdma_names, patience, commands, unused_port):
    # Soft-RoCE's driver refuses to get a queue pair ready to receive, once in some hundreds of exchanges.
    for _ in range(3):
        output = exchange_messages(rdma_names, patience, commands, unused_port)
        if "Failed to modify QP to RTR" not in output:
            break
    assert output.count("819200 bytes in") == 2, output
    assert output.endswith("exit statuses 0 and 0"), output
