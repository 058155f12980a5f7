"""Files of a fabric: processes that end leave none, and those of killed processes are removed by others."""

import os
import signal
import subprocess
import sys

import pytest

OPEN = """
import os, signal, sys, pydoca
host, dpu = pydoca.open_device("pf0", side="host"), pydoca.open_device("p0", side="dpu")
memory = host.mmap(pydoca.alloc(64), access="pci_read_only")
memory.export_pci()
pe = pydoca.ProgressEngine()
server = pydoca.comch.Server(pe, dpu, dpu.open_representor("0b:00.0"), "files")
server.start()
rdma = pydoca.Rdma(pe, dpu)
rdma.start()
listening = rdma.listen(4790)
listening.__enter__()
waiting = pydoca.comch.Client(pe, host, "another")
waiting.start()
pe.progress()
files = lambda: " ".join(sorted({name.split("-")[0] for name in os.listdir(sys.argv[1])}))
print(files(), flush=True)
"""
FILES = "comch memory rdma trace"


@pytest.fixture
def run(tmp_path):
    directory = tmp_path / "fabrics"
    directory.mkdir(mode=0o700)

    def run(end):
        line = [sys.executable, "-c", OPEN + end, str(directory / "lab")]
        env = {**os.environ, "PYDOCA_FABRIC_DIR": str(directory), "PYDOCA_FABRIC": "lab"}
        process = subprocess.run(line, env=env, capture_output=True, text=True, timeout=60)
        assert set(process.stdout.splitlines()) == {FILES}, process.stderr
        return process.returncode, list(directory.rglob("*"))

    return run


def test_a_place_that_cannot_be_used_is_told_with_the_remedy(tmp_path):
    program = "import pydoca; pydoca.open_device('pf0').mmap(bytearray(8), access='pci_read_only').export_pci()"
    line = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    line += ['mount -t tmpfs -o ro none "$1" && "$2" -P -c "$3"', "sh", str(tmp_path), sys.executable, program]
    env = {name: text for name, text in os.environ.items() if name != "PYDOCA_FABRIC_DIR"}
    run = subprocess.run(
        line, env={**env, "XDG_RUNTIME_DIR": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    if "unshare" in run.stderr or "mount" in run.stderr:
        pytest.skip(f"the system permits no mounts: {run.stderr}")
    assert "cannot create the fabric's directory" in run.stderr
    assert "Read-only file system; set PYDOCA_FABRIC_DIR, on both sides, to a directory of yours" in run.stderr


@pytest.mark.parametrize(
    "end", ["", "sys.exit(3)", "raise ValueError", "listening = server = rdma = waiting = pe = None"]
)
def test_a_process_that_ends_leaves_nothing(run, end):
    assert run(end)[1] == []


def test_a_forked_child_that_ends_leaves_the_files_of_its_parent(run):
    end = """
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(files())
"""
    assert run(end)[1] == []


def test_files_of_a_killed_process_are_replaced_and_swept(run):
    code, files = run("os.kill(os.getpid(), signal.SIGKILL)")
    assert code == -signal.SIGKILL
    assert len(files) >= 5, "the directory and a file of each kind"
    assert run("")[1] == [], "it took the places of the files, and removed them"
