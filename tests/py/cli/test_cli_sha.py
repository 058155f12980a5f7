"""`pydoca sha`: digests of files, as sha256sum prints them."""

import hashlib
import json
import os
import random
import signal
import subprocess

import pytest

PIECE = 4 << 20  # what the command hashes at a time


def sha(commands, *arguments, **options):
    return commands.run("sha", "--profile", "bluefield2", *map(str, arguments), **options)


@pytest.fixture
def files(tmp_path):
    """Makes files by path, with sizes just below, at and above a piece."""
    randomness = random.Random(1)
    made = {}
    for size in (0, 1, 64, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 100):
        path = tmp_path / f"of {size}"
        path.write_bytes(data := randomness.randbytes(size))
        made[path] = data
    return made


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
def test_the_output_is_that_of_coreutils(commands, files, algorithm):
    run = sha(commands, "--algorithm", algorithm, *files)
    assert (run.returncode, run.stderr) == (0, "")
    coreutils = subprocess.run([f"{algorithm}sum", *files], capture_output=True, text=True, check=True)
    assert run.stdout == coreutils.stdout


def test_a_strange_name_is_escaped_as_coreutils_do(commands, tmp_path):
    (path := tmp_path / "a\\b\nc").write_bytes(b"abc")
    coreutils = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
    assert sha(commands, path).stdout == coreutils.stdout


def test_a_name_that_is_not_utf8_is_written_as_coreutils_do(commands, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff"
    with open(path, "wb") as file:
        file.write(b"abc")
    coreutils = subprocess.run([b"sha256sum", path], capture_output=True, check=True)
    line = commands.line("sha", "--profile", "bluefield2", os.fsdecode(path))
    assert subprocess.run(line, capture_output=True, check=True, env=commands.env).stdout == coreutils.stdout


def test_standard_input_is_read_from_a_pipe(commands):
    data = random.Random(2).randbytes(PIECE + 70_000)
    process = commands.start("sha", "--profile", "bluefield2", stdin=subprocess.PIPE, text=False)
    output, errors = process.communicate(data, timeout=60)
    assert (process.returncode, errors) == (0, b"")
    assert output.decode() == f"{hashlib.sha256(data).hexdigest()}  -\n"


def test_a_fifo_is_read_when_its_writer_comes(commands, tmp_path):
    os.mkfifo(path := tmp_path / "fifo")
    process = commands.start("sha", "--profile", "bluefield2", str(path))
    with open(path, "wb") as fifo:
        fifo.write(b"abc")
    output, errors = process.communicate(timeout=60)
    assert (output, errors) == (f"{hashlib.sha256(b'abc').hexdigest()}  {path}\n", "")


def test_a_device_that_never_waits_is_read(commands):
    run = sha(commands, "/dev/null")
    assert run.stdout == f"{hashlib.sha256().hexdigest()}  /dev/null\n"


def test_json_has_the_same(commands, files):
    document = json.loads(sha(commands, "--json", *files).stdout)
    assert (document["device"], document["algorithm"]) == ("p0", "sha256")
    expected = [
        {"file": str(path), "size": len(data), "digest": hashlib.sha256(data).hexdigest()}
        for path, data in files.items()
    ]
    assert document["files"] == expected


def test_what_cannot_be_read_is_told_and_the_rest_is_done(commands, tmp_path):
    (path := tmp_path / "file").write_bytes(b"abc")
    run = sha(commands, tmp_path / "none", tmp_path, path)
    assert run.returncode == 1
    assert run.stdout == f"{hashlib.sha256(b'abc').hexdigest()}  {path}\n"
    assert run.stderr.splitlines() == [
        f"pydoca: {tmp_path / 'none'}: No such file or directory",
        f"pydoca: {tmp_path}: a directory; give files",
    ]
    assert sha(commands, "--json", tmp_path / "none", path).stdout == ""


def test_a_card_without_an_engine_names_the_one_that_has_it(commands):
    run = commands.run("sha", "/dev/null")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "pydoca: no device has a SHA engine; --profile bluefield2 simulates one\n"


@pytest.mark.parametrize("source", ["fifo", "/dev/zero"])
def test_a_signal_ends_it_at_once(commands, tmp_path, source):
    if source == "fifo":
        os.mkfifo(source := str(tmp_path / "fifo"))
    process = commands.start("sha", "--profile", "bluefield2", source)
    commands.wait_for_loop(process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output) == (130, "")
    assert errors.endswith("pydoca: interrupted\n")
