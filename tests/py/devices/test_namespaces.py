"""Host and DPU in two containers: each has its own network, processes, mounts and /tmp; a directory is shared."""

import contextlib
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from conftest import SLOWNESS

UNSHARE = [shutil.which("unshare") or "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
if os.geteuid() != 0:
    UNSHARE.insert(1, "--map-root-user")
# The shared directory is at /mnt in each container. The project, which may be below /tmp, stays where it is.
ENTER = """
mount --bind "$SHARED" /mnt && exec 9<"$PROJECT" && mount -t tmpfs tmpfs /tmp &&
  mkdir -p "$PROJECT" && mount --no-canonicalize --bind /proc/self/fd/9 "$PROJECT" && cd "$PROJECT" && exec "$@" 9<&-
"""
PROJECT = {"PROJECT": str(Path(__file__).parents[3])}
LIMIT = 30 * SLOWNESS


def refusal_of_the_system(directory=str(Path(__file__).parent)):
    line = [*UNSHARE, "sh", "-c", ENTER, "sh", "true"]
    run = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "SHARED": directory, **PROJECT})
    return "" if run.returncode == 0 else f"this system does not permit namespaces: {run.stderr.strip()}"


pytestmark = pytest.mark.skipif(bool(reason := refusal_of_the_system()), reason=reason)

HOST = """
import asyncio, pydoca
async def main():
    lent = pydoca.alloc(5000)
    memoryview(lent)[:5] = b"hello"
    with pydoca.open_device("0b:00.0", side="host") as dev, dev.mmap(lent, access="pci_read_write") as mmap:
        with pydoca.SyncEvent(dev, publisher="remote_pci") as event:
            async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, dev, "copy") as link:
                await link.send(mmap.export_pci())
                await link.send(event.export_to_remote_pci())
                await asyncio.to_thread(event.wait_eq, 7)
                await link.recv()
    print(bytes(lent[:5]).decode())
asyncio.run(main())
"""

DPU = """
import asyncio, pydoca
async def main():
    with pydoca.open_device("03:00.0", side="dpu") as dev, dev.open_representor("0b:00.0") as rep:
        async with (
            pydoca.ProgressEngine() as pe,
            pydoca.Dma(pe, dev) as dma,
            pydoca.comch.Server(pe, dev, rep, "copy") as server,
        ):
            link = await server.accept()
            text = pydoca.alloc(5)
            with dev.import_mmap(await link.recv()) as remote, dev.mmap(text) as local, pydoca.BufInventory(4) as inv:
                await dma.memcpy(inv.get_by_data(remote, None, 5), inv.get_by_addr(local))
                memoryview(text)[:] = bytes(text).upper()
                await dma.memcpy(inv.get_by_data(local), inv.get_by_addr(remote))
                with dev.import_sync_event(await link.recv()) as event:
                    event.update_set(7)
            await link.send(b"done")
            async for _ in link:
                pass
asyncio.run(main())
"""


@pytest.fixture
def shared(tmp_path):
    """The shared directory, which must be empty at the end."""
    directory = tmp_path / "shared"
    directory.mkdir(mode=0o700)
    yield directory
    assert not list(directory.rglob("*")), "files are left"


@pytest.fixture
def start(shared):
    processes = []

    def start(program, **environment):
        line = [*UNSHARE, "sh", "-c", ENTER, "sh", sys.executable, "-c", textwrap.dedent(program)]
        env = {**os.environ, "SHARED": str(shared), "PYDOCA_FABRIC_DIR": "/mnt", **PROJECT, **environment}
        env["PYDOCA_FABRIC"] = "default"
        process = subprocess.Popen(
            line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def wait_for(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def output_of(process):
    output, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors
    return output


@pytest.mark.parametrize("first", ["client", "server"])
def test_they_meet_and_copy_and_signal(start, shared, first):
    if first == "client":
        host = start(HOST)
        wait_for(lambda: (shared / "default").exists())
        dpu = start(DPU)
    else:
        dpu = start(DPU)
        wait_for(lambda: list(shared.glob("default/comch-*")))
        host = start(HOST)
    output_of(dpu)
    assert output_of(host) == "HELLO\n"


def test_rdma_between_them(start, shared):
    server = start(
        """
        import asyncio, pydoca
        async def main():
            lent = pydoca.alloc(8)
            with pydoca.open_device("pf0") as dev, dev.mmap(lent, access="local_read_write|rdma_write") as mmap:
                async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev, permissions="rdma_write") as rdma:
                    with rdma.listen(5000) as requests:
                        connection = await (await requests.request()).accept()
                        with pydoca.BufInventory(2) as inv, dev.mmap(bytearray(mmap.export_rdma())) as blob:
                            await connection.send(inv.get_by_data(blob))
                            with dev.mmap(bytearray(8)) as word:
                                await rdma.receive(inv.get_by_addr(word))
            print(bytes(lent).decode())
        asyncio.run(main())
        """
    )
    wait_for(lambda: list(shared.glob("default/rdma-*")))
    client = start(
        """
        import asyncio, pydoca
        async def main():
            with pydoca.open_device("pf0") as dev, pydoca.BufInventory(4) as inv, dev.mmap(bytearray(512)) as room:
                async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev) as rdma:
                    connection = await rdma.connect(dev.info.ipv4_addr, 5000)
                    blob = inv.get_by_addr(room)
                    await rdma.receive(blob)
                    with dev.import_mmap(bytes(blob)) as remote, dev.mmap(b"12345678") as text:
                        await connection.write(inv.get_by_data(text), inv.get_by_addr(remote))
                        await connection.send(inv.get_by_data(text))
        asyncio.run(main())
        """
    )
    output_of(client)
    assert output_of(server) == "12345678\n"


@pytest.mark.parametrize("first", ["local", "remote"])
def test_the_commands_of_the_documentation(shared, first):
    page = (Path(__file__).parents[3] / "docs/environment.md").read_text()
    lines = [line[2:].split() for line in page.splitlines() if line.startswith("$ unshare")]
    assert [line[-1] for line in lines] == ["local", "remote"]
    if os.geteuid() != 0:
        lines = [["unshare", "--map-root-user", *line[1:]] for line in lines]
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYDOCA_FABRIC_DIR": str(shared), "PYDOCA_FABRIC": "default"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        sides = []
        for line in lines if first == "local" else reversed(lines):
            sides.append(stack.enter_context(subprocess.Popen(line, env=env, **pipes)))
            stack.callback(sides[-1].kill)
            wait_for(lambda: (shared / "default").exists())
        assert "saw" in "".join(output_of(side) for side in sides)


EXPORT = """
import sys, pydoca
with pydoca.open_device("0b:00.0", side="host") as dev:
    with dev.mmap({memory}, access="pci_read_only") as mmap, pydoca.SyncEvent(dev, publisher="remote_pci") as event:
        print(mmap.export_pci().hex(), event.export_to_remote_pci().hex(), flush=True)
        sys.stdin.read()
"""


def test_memory_that_cannot_be_mapped_is_refused_with_advice(start):
    owner = start(EXPORT.format(memory="bytearray(64)"))
    blob, _ = owner.stdout.readline().split()
    importer = start(
        f"""
        import pydoca
        with pydoca.open_device("03:00.0", side="dpu") as dev:
            try:
                dev.import_mmap(bytes.fromhex("{blob}"))
            except pydoca.NotPermittedError as error:
                print(error)
        """
    )
    text = output_of(importer)
    assert "its owner, which is in another PID namespace" in text
    assert "pydoca.alloc" in text
    owner.stdin.close()
    assert owner.wait(LIMIT) == 0


def test_the_end_of_a_process_in_another_container_is_noticed(start, shared):
    owner = start(EXPORT.format(memory="pydoca.alloc(64)"))
    _, blob = owner.stdout.readline().split()
    importer = start(
        f"""
        import pydoca
        with pydoca.open_device("03:00.0", side="dpu") as dev:
            with dev.import_sync_event(bytes.fromhex("{blob}")) as event:
                print("imported", flush=True)
                try:
                    event.wait_eq(1)
                except pydoca.ConnectionResetError:
                    print("noticed")
        """
    )
    assert importer.stdout.readline() == "imported\n"
    owner.kill()
    assert output_of(importer) == "noticed\n"
    with contextlib.suppress(OSError):  # a killed process leaves its socket, since no later process swept it
        shutil.rmtree(shared / "default")


def test_directories_that_are_not_shared_are_named(start):
    """Each side looks in its own directory; the client and the importer say where."""
    owner = start(EXPORT.format(memory="pydoca.alloc(64)"), PYDOCA_FABRIC_DIR="")
    blob, _ = owner.stdout.readline().split()
    program = f"""
        import pydoca
        with pydoca.open_device("03:00.0", side="dpu") as dev:
            try:
                dev.import_mmap(bytes.fromhex("{blob}"))
            except pydoca.NotConnectedError as error:
                print(error)
        with pydoca.open_device("0b:00.0", side="host") as dev, pydoca.ProgressEngine() as pe:
            try:
                with pydoca.comch.Client(pe, dev, "copy", timeout=0.01):
                    pass
            except pydoca.TimeOutError as error:
                print(error)
    """
    imported, connected = output_of(start(program)).splitlines()
    assert "a process in another PID namespace, is gone, or listens in another directory than /mnt/default" in imported
    assert "(it looked in /mnt/default; " in connected
    for text in (imported, connected):
        assert "set PYDOCA_FABRIC_DIR to the same" in text
    owner.stdin.close()
    assert owner.wait(LIMIT) == 0
