"""Quotas of imports and descriptors: one process cannot take all of an owner's; a process that lacks some learns it."""

import subprocess
import sys

import pydoca

PROGRAM = """
import sys, pydoca

if len(sys.argv) > 1:
    device = pydoca.open_device("03:00.0", side="dpu")
    imports = []
    try:
        while len(imports) < int(sys.argv[2]):
            imports.append(device.import_mmap(bytes.fromhex(sys.argv[1])))
    except pydoca.FullError as error:
        print(len(imports), error, flush=True)
    else:
        print(len(imports), flush=True)
    sys.stdin.read()
    sys.exit()

import resource, subprocess

limit = 120
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
host = pydoca.open_device("0b:00.0", side="host")
mmap = host.mmap(pydoca.alloc(4096), access="pci_read_write")

def importer(count):
    line = [sys.executable, "-c", PROGRAM, mmap.export_pci().hex(), str(count)]
    peer = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return peer, peer.stdout.readline()

greedy, said = importer(1000)
assert said.startswith(f"{limit // 2} "), said
assert "half of its descriptors" in said and "drop some" in said, said
modest, said = importer(3)
assert said == "3\\n", said
greedy.communicate()
again, said = importer(limit // 2)
assert said == f"{limit // 2}\\n", said
"""


def test_an_importer_that_takes_too_much_is_refused_and_others_are_served():
    script = f"PROGRAM = {PROGRAM!r}\n{PROGRAM}"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=150, check=False)
    assert run.returncode == 0, run.stderr


SHORT_OF_DESCRIPTORS = """
import os, resource, sys, pydoca

device = pydoca.open_device("03:00.0", side="dpu")
blob = bytes.fromhex(sys.argv[1])
device.import_mmap(blob).close()  # what is made once is made
taken = [os.dup(0) for _ in range(64)]
resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
refusals = 0
while True:
    try:
        device.import_mmap(blob).close()
    except pydoca.OperatingSystemError as error:
        assert "ulimit -n" in str(error), error
        refusals += 1
        os.close(taken.pop())
    else:
        break
print(refusals)
"""


def test_an_import_of_foreign_memory_names_the_lack_of_descriptors_at_every_step():
    with (
        pydoca.open_device("0b:00.0", side="host") as host,
        host.mmap(bytearray(4096), access="pci_read_write") as mmap,
    ):
        line = [sys.executable, "-c", SHORT_OF_DESCRIPTORS, mmap.export_pci().hex()]
        run = subprocess.run(line, capture_output=True, text=True, timeout=150, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= 4
