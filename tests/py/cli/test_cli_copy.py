"""`pydoca copy`: a real file, from a host process to a DPU process."""

import hashlib
import json
import os
import pty
import random
import resource
import select
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MIB = 1 << 20


def make_file(path: Path, size: int, seed: int = 1) -> Path:
    path.write_bytes(random.Random(seed).randbytes(size))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copied(run: "subprocess.CompletedProcess[str]") -> dict:
    """The JSON of a copy that succeeded."""
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 65537, 2 * MIB, 3 * MIB + 1, 17 * MIB])
def test_the_copy_is_the_same(commands, tmp_path, size):
    source = make_file(tmp_path / "source", size)
    result = copied(commands.run("copy", source, tmp_path / "copy", "--json"))
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    assert (result["bytes"], result["sha256"]) == (size, sha256(source))


def test_a_file_of_several_windows(commands, tmp_path):
    """Several windows fit into the tasks in flight; a window does not wait for the return of another one."""
    source = make_file(tmp_path / "source", 129 * MIB)
    run = commands.run("copy", source, tmp_path / "copy", "--piece-size", "2M", "--in-flight", 100, "--json")
    result = copied(run)
    assert result["sha256"] == sha256(tmp_path / "copy") == sha256(source)
    assert result["in_flight"] == 65
    assert result["pieces"] == 65


def test_json_tells_all_of_the_copy(commands, tmp_path):
    source = make_file(tmp_path / "source", MIB + 1)
    run = commands.run("copy", source, tmp_path / "copy", "--piece-size", "64K", "--in-flight", 3, "--json")
    result = copied(run)
    assert result.pop("seconds") > 0
    assert result.pop("gigabytes_per_second") > 0
    pids = {result.pop("host_pid"), result.pop("dpu_pid")}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert result == {
        "source": str(source),
        "destination": str(tmp_path / "copy"),
        "bytes": MIB + 1,
        "sha256": sha256(source),
        "pieces": 17,
        "piece_size": 64 << 10,
        "in_flight": 3,
        "host_device": "0000:0b:00.0",
        "dpu_device": "0000:03:00.0",
        "representor": "0000:0b:00.0",
    }


def test_the_last_line_tells_digest_and_throughput(commands, tmp_path):
    source = make_file(tmp_path / "source", MIB)
    run = commands.run("copy", source, tmp_path / "copy")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count("\n") == 1
    for part in (str(tmp_path / "copy"), f"{MIB} bytes", sha256(source), "GB/s"):
        assert part in run.stdout


def test_quiet_is_silent(commands, tmp_path):
    run = commands.run("copy", make_file(tmp_path / "source", 10), tmp_path / "copy", "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_a_terminal_shows_a_bar(commands, tmp_path):
    ours, theirs = pty.openpty()
    run = commands.run("copy", make_file(tmp_path / "source", 9 * MIB), tmp_path / "copy", stderr=theirs)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 0)[0]:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the copy has read all bytes
            break
    os.close(ours)
    assert run.returncode == 0
    assert b"100%" in shown
    assert b"9.44M/9.44M" in shown


@pytest.mark.parametrize("piece_size", ["1", "4095", "64K", "2M"])
def test_pieces_of_any_size_within_the_limit(commands, tmp_path, piece_size):
    source = make_file(tmp_path / "source", 5000)
    run = commands.run("copy", source, tmp_path / "copy", "--piece-size", piece_size, "--in-flight", 2)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()


def test_the_extension_module(commands, tmp_path):
    from pydoca import _core

    result = copied(commands.run("copy", _core.__file__, tmp_path, "--json"))
    assert result["destination"] == str(tmp_path / Path(_core.__file__).name)
    assert sha256(Path(result["destination"])) == sha256(Path(_core.__file__))


@pytest.mark.parametrize("first", ["host", "dpu"])
def test_two_commands_in_either_order(commands, tmp_path, first):
    source = make_file(tmp_path / "source", 3 * MIB)
    paths = {"host": source, "dpu": tmp_path / "copy"}
    order = [first, "dpu" if first == "host" else "host"]
    halves = {}
    for side in order:
        halves[side] = commands.start("copy", "--side", side, "--name", "by-hand", paths[side], "--json")
        if side == first:
            commands.process_of(first)
    results = {side: json.loads(half.communicate(timeout=30)[0]) for side, half in halves.items()}
    assert [half.returncode for half in halves.values()] == [0, 0]
    assert results["host"]["sha256"] == results["dpu"]["sha256"] == sha256(source)
    assert results["host"]["host_pid"] == halves["host"].pid
    assert results["dpu"]["dpu_pid"] == halves["dpu"].pid
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("options", "devices"),
    [
        (["--device", "pf1"], ("0000:0b:00.1", "0000:03:00.1", "0000:0b:00.1")),
        (["--device", "0b:00.2"], ("0000:0b:00.2", "0000:03:00.0", "0000:0b:00.2")),
        (["--device", "0b:00.1", "--dpu-device", "p1"], ("0000:0b:00.1", "0000:03:00.1", "0000:0b:00.1")),
    ],
)
def test_the_dpu_device_follows_from_the_hosts(commands, tmp_path, options, devices):
    result = copied(commands.run("copy", make_file(tmp_path / "source", 99), tmp_path / "copy", "--json", *options))
    assert (result["host_device"], result["dpu_device"], result["representor"]) == devices


def test_an_existing_file_is_replaced_and_keeps_its_permissions(commands, tmp_path):
    source, target = make_file(tmp_path / "source", 1000), tmp_path / "copy"
    target.write_text("old, and longer than nothing")
    target.chmod(0o640)
    assert commands.run("copy", source, target).returncode == 0
    assert target.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_file_of_a_user_does_not_lend_its_rights_to_the_new_content(commands, tmp_path):
    source, target = make_file(tmp_path / "source", 1000), tmp_path / "copy"
    target.write_text("a program")
    target.chmod(0o6755)
    assert commands.run("copy", source, target).returncode == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_a_new_file_gets_the_usual_permissions(commands, tmp_path):
    assert commands.run("copy", make_file(tmp_path / "source", 10), tmp_path / "copy", umask=0o027).returncode == 0
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o640


def test_a_link_is_followed(commands, tmp_path):
    source, target, link = make_file(tmp_path / "source", 1000), tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    assert commands.run("copy", source, link).returncode == 0
    assert link.is_symlink()
    assert target.read_bytes() == source.read_bytes()


def test_a_directory_takes_the_file_under_its_name(commands, tmp_path):
    source = make_file(tmp_path / "source", 1000)
    (tmp_path / "into").mkdir()
    result = copied(commands.run("copy", source, tmp_path / "into", "--json"))
    assert result["destination"] == str(tmp_path / "into/source")
    assert (tmp_path / "into/source").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    "name", [b"with space", b"-dash", b"new\nline", b"no utf-8 \xff\xfe", "ümläut".encode(), b"x" * 255]
)
def test_any_name_of_a_file(commands, tmp_path, name):
    source = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    make_file(source, 100)
    (tmp_path / "into").mkdir()
    run = commands.run("copy", "--", source, tmp_path / "into")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count("\n") == 1
    assert os.listdir(os.fsencode(tmp_path / "into")) == [name]


def test_a_device_takes_all_directly(commands, tmp_path):
    source = make_file(tmp_path / "source", 5 * MIB)
    assert copied(commands.run("copy", source, "/dev/null", "--json"))["sha256"] == sha256(source)


def test_a_fifo_is_written_directly(commands, tmp_path):
    source, fifo = make_file(tmp_path / "source", 3 * MIB), tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    received = []
    with open(reader, "rb") as file:
        half = commands.start("copy", source, fifo)
        select.select([file], [], [], 30)
        thread = threading.Thread(target=lambda: received.append(file.read()))
        thread.start()
        half.communicate(timeout=30)
        thread.join(30)
    assert half.returncode == 0
    assert received == [source.read_bytes()]


def test_a_copy_takes_little_memory(commands, tmp_path):
    """The file is mapped, and lent in windows; the limit is for anonymous memory."""
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.truncate(400 * MIB)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (300 * MIB, 300 * MIB))

    result = copied(commands.run("copy", source, "/dev/null", "--json", preexec_fn=limit))
    assert result["bytes"] == 400 * MIB


def test_copies_side_by_side_do_not_disturb_each_other(commands, tmp_path):
    sources = [make_file(tmp_path / f"source{seed}", MIB, seed) for seed in range(3)]
    halves = [commands.start("copy", source, f"{source}.copy") for source in sources]
    for half in halves:
        _, errors = half.communicate(timeout=40)
        assert (half.returncode, errors) == (0, "")
    for source in sources:
        assert Path(f"{source}.copy").read_bytes() == source.read_bytes()


def test_nothing_is_left_in_the_system(commands, tmp_path):
    source = make_file(tmp_path / "source", MIB)
    shm = os.listdir("/dev/shm")
    run = commands.run("copy", source, tmp_path / "copy", "--quiet")
    assert (run.returncode, run.stderr) == (0, "")
    deadline = time.monotonic() + 60  # other programs of the machine may have semaphores of multiprocessing for a while
    while left := {name for name in os.listdir("/dev/shm") if "mp-" in name} - set(shm):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "run", "source"]
    assert [path.name for path in (tmp_path / "run").rglob("*")] == ["pydoca"], "the fabric's directory is removed"
