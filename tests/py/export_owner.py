"""Another process that exports memory, events and connections; the test can stop it as a debugger does."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator

import pydoca

OWNER = """
import sys, pydoca
host = pydoca.open_device("0b:00.0", side="host")
card = pydoca.open_device("03:00.0", side="dpu")
writable = "pci_read_write|local_read_write"
atomic = "rdma_read|rdma_write|rdma_atomic|local_read_write"
own, foreign = pydoca.alloc(4096), bytearray(4096)
maps = [host.mmap(own, access=writable), host.mmap(foreign, access=writable)]
lent = [card.mmap(own, access=atomic), card.mmap(bytearray(4096), access=atomic)]
event = pydoca.SyncEvent(host, publisher="remote_pci", subscriber="cpu")
event.start()
net = pydoca.SyncEvent(card, publisher="remote_net", subscriber="cpu")
net.start()
rdma = pydoca.Rdma(pydoca.ProgressEngine(), card, max_num_connections=64)
rdma.start()
ends = [rdma.export() for _ in range(64)]
blobs = [maps[0].export_pci(), maps[1].export_pci(), lent[0].export_rdma(), lent[1].export_rdma()]
blobs += [event.export_to_remote_pci(), net.export_to_remote_net()]
print(*(blob.hex() for blob in [*blobs, *(end.details for end in ends)]), flush=True)
sys.stdin.read()
"""
KINDS = ["own", "foreign", "lent", "lent_foreign", "event", "net"]


class Owner:
    """A process that exports one of each kind, and RDMA connections, in the fabric of this process."""

    def __init__(self) -> None:
        env = {**os.environ, "PYDOCA_FABRIC": pydoca.sim.fabric()}
        command = [sys.executable, "-c", OWNER]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        blobs = [bytes.fromhex(blob) for blob in self.process.stdout.readline().split()]
        self.blobs = dict(zip(KINDS, blobs, strict=False))
        self.details = blobs[len(KINDS) :]
        """The details of RDMA connections, each for one peer."""

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(20)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


@contextlib.contextmanager
def owner_in_own_fabric() -> Iterator[Owner]:
    before = pydoca.sim.fabric()
    pydoca.sim.set_fabric(f"test-{secrets.token_hex(8)}")
    owner = Owner()
    try:
        yield owner
    finally:
        owner.end()
        pydoca.sim.set_fabric(before)
