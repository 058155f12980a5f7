"""`pydoca copy` with errors: one clear line, the exit code, no leftovers, and DST unchanged."""

import contextlib
import errno
import os
import pty
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Seconds from a fault to the end of both halves. The project's own limit is one; machines under load get more.
LIMIT = 3.0
MIB = 1 << 20
OLD = "the old content"


def require_error(run, *parts: str, code: int = 1) -> None:
    assert run.returncode == code, run
    assert run.stdout == ""
    assert run.stderr.startswith("pydoca: "), run.stderr
    assert run.stderr.count("\n") == 1, run.stderr
    for part in parts:
        assert part in run.stderr


def make_file(path: Path, size: int) -> Path:
    path.write_bytes(random.Random(size).randbytes(size))
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_file(tmp_path / "source", 4 * MIB)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    """A destination that must be unchanged when the test is over."""
    target = tmp_path / "target"
    target.write_text(OLD)
    yield target
    assert target.read_text() == OLD


# ---- SRC


def test_a_source_that_is_missing(commands, tmp_path, target):
    require_error(commands.run("copy", tmp_path / "nothing", target), str(tmp_path / "nothing"), "No such file")


def test_a_source_that_is_a_directory(commands, tmp_path, target):
    require_error(commands.run("copy", tmp_path, target), str(tmp_path), "a directory")


@pytest.mark.parametrize("file_type", ["fifo", "device"])
def test_a_source_that_is_no_regular_file(commands, tmp_path, target, file_type):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    require_error(commands.run("copy", path if file_type == "fifo" else "/dev/zero", target), "not a regular file")


def test_a_source_that_does_not_tell_its_size(commands, target):
    require_error(commands.run("copy", "/proc/self/status", target), "its size is not known")


@pytest.fixture
def without_rights() -> list[str]:
    """The start of a command line that permissions apply to, even when root runs the tests."""
    if os.geteuid() != 0:
        return []
    unshare = [shutil.which("unshare") or "unshare", "--user"]  # a root without any rights
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("root may do everything here, and cannot lay that down: unshare --user is not permitted")
    return unshare


def test_a_source_that_may_not_be_read(commands, source, target, without_rights):
    source.chmod(0)
    require_error(commands.run("copy", source, target, prefix=without_rights), str(source), "Permission denied")


def test_source_and_destination_are_one_file(commands, tmp_path, target):
    require_error(commands.run("copy", target, target), "the same file")
    (tmp_path / "link").symlink_to(target)
    require_error(commands.run("copy", target, tmp_path / "link"), "the same file")


# ---- DST


def test_a_destination_in_a_directory_that_is_missing(commands, source, tmp_path):
    require_error(commands.run("copy", source, tmp_path / "no/copy"), str(tmp_path / "no"), "does not exist")
    require_error(commands.run("copy", source, f"{tmp_path}/no/"), "no such directory")
    require_error(commands.run("copy", source, ""), "no such directory")


def test_a_destination_that_is_not_writable(commands, source, tmp_path):
    """Root cannot write there either, and the file system has no unnamed files."""
    require_error(commands.run("copy", source, "/sys/pydoca-copy"), "/sys/pydoca-copy: ")


@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_destination_without_permission(commands, source, tmp_path, without_rights, what):
    into = tmp_path / "into"
    into.mkdir()
    (into / "copy").write_text(OLD)
    (into / "copy" if what == "file" else into).chmod(0o555)
    name = "copy" if what == "file" else "other"
    require_error(commands.run("copy", source, into / name, prefix=without_rights), "not writable")
    assert (into / "copy").read_text() == OLD


def test_a_fifo_without_a_reader(commands, source, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    require_error(commands.run("copy", source, tmp_path / "fifo"), "no process reads this FIFO")


def test_a_device_that_is_full(commands, source):
    require_error(commands.run("copy", source, "/dev/full"), "/dev/full: No space left on device")


def test_a_disk_that_is_full(commands, source, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    unshare = [shutil.which("unshare") or "unshare", "--mount", "--map-root-user"]
    mount = f"mount -t tmpfs -o size=1m tmpfs '{disk}' && echo '{OLD}' >'{disk}/copy'"
    if subprocess.run([*unshare, "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("this system does not permit a mount in a namespace")
    script = f"""{mount} && {{ "$@"; code=$?; ls -A '{disk}' >&2; cat '{disk}/copy' >&2; exit $code; }}"""
    line = [*unshare, "sh", "-c", script, "sh", *commands.line("copy", source, disk / "copy")]
    run = subprocess.run(line, capture_output=True, text=True, timeout=40, env=commands.env)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"pydoca: {disk}/copy: No space left on device\ncopy\n{OLD}\n"


def test_a_limit_on_the_size_of_files(commands, source, target):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB))

    small = ("--piece-size", "64K", "--in-flight", "2")  # the limit includes the memory that the device writes to
    run = commands.run("copy", *small, source, target, preexec_fn=limit)
    require_error(run, str(target), os.strerror(errno.EFBIG))


# ---- options and devices


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--device", "09:00.0"], ["09:00.0", "0b:00.0"]),
        (["--device", "03:00.0"], ["03:00.0"]),  # a device of the DPU
        (["--dpu-device", "0b:00.0"], ["0b:00.0"]),  # a device of the host
        (["--rep", "0c:00.0"], ["0c:00.0", "representor"]),
        (["--device", "0b:00.1", "--dpu-device", "p0"], ["0b:00.1"]),  # p1 holds the representor of pf1
        (["--piece-size", "3M"], ["--piece-size", "2097152"]),
        (["--in-flight", "70000"], ["--in-flight", "65536"]),
        (["--piece-size", "2M", "--in-flight", "513"], ["bytes of memory"]),
    ],
)
def test_what_the_devices_cannot_do(commands, source, target, options, parts):
    require_error(commands.run("copy", source, target, *options), *parts)


def test_one_side_only_in_the_environment(commands, source, target):
    run = commands.run("copy", source, target, env={**commands.env, "PYDOCA_SIDE": "host"})
    require_error(run, "PYDOCA_SIDE=host", "--side")


def test_a_name_that_is_in_use(commands, target):
    """The first command has the name once its terminal says that it waits."""
    terminal, theirs = pty.openpty()
    first = commands.start("copy", "--side", "dpu", "--name", "taken", target, stderr=theirs)
    os.close(theirs)
    try:
        assert os.read(terminal, 1000).startswith(b"pydoca: waiting for the host's half at 'taken'")
        require_error(commands.run("copy", "--side", "dpu", "--name", "taken", target), "taken")
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=LIMIT)
    assert os.read(terminal, 1000).strip() == b"pydoca: interrupted"
    os.close(terminal)
    assert first.returncode == 130


@pytest.mark.parametrize(("side", "other"), [("host", "dpu"), ("dpu", "host")])
def test_the_other_side_never_comes(commands, source, target, tmp_path, side, other):
    path = source if side == "host" else target
    directory = f"in {tmp_path}/{commands.env['PYDOCA_FABRIC']}"
    env = {**commands.env, "PYDOCA_FABRIC_DIR": str(tmp_path)}
    run = commands.run("copy", "--side", side, "--name", "lonely", "--timeout", "0.3", path, env=env)
    require_error(run, "'lonely'", f"--side {other} --name lonely", "--timeout", "0.3 s", directory)
    assert f"{directory}, with the same PYDOCA_FABRIC and PYDOCA_FABRIC_DIR" in run.stderr


@pytest.mark.parametrize(
    ("side", "number"), [("host", signal.SIGINT), ("dpu", signal.SIGINT), ("host", signal.SIGTERM)]
)
def test_waiting_ends_by_a_signal(commands, source, target, side, number):
    half = commands.start("copy", "--side", side, "--name", "lonely", source if side == "host" else target)
    commands.wait_for_loop(half)
    half.send_signal(number)
    _, errors = half.communicate(timeout=LIMIT)
    assert half.returncode == 128 + number
    assert errors == ("pydoca: interrupted\n" if number == signal.SIGINT else "pydoca: ended by SIGTERM\n")


# ---- the middle of a copy


class Held:
    """A copy into a FIFO whose reader pauses: it stays in its middle for as long as the test needs."""

    SIZE = 4 * MIB
    OPTIONS = ("--piece-size", "64K", "--in-flight", "2")

    def __init__(self, commands, tmp_path: Path, by_hand: bool) -> None:
        self.commands = commands
        self._bytes_read, self._still_since = 0, 0.0
        self.fifo = tmp_path / "fifo"
        self.source = make_file(tmp_path / "held", self.SIZE)
        os.mkfifo(self.fifo)
        self.reader = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        if by_hand:
            dpu = commands.start("copy", "--side", "dpu", "--name", "held", *self.OPTIONS, self.fifo)
            host = commands.start("copy", "--side", "host", "--name", "held", self.source)
            self.processes = {"dpu": dpu, "host": host}
        else:
            self.processes = {"front": commands.start("copy", *self.OPTIONS, self.source, self.fifo)}
        assert select.select([self.reader], [], [], 30)[0], "the copy never began"
        self.pids = {side: commands.process_of(side) for side in ("dpu", "host")}
        commands.wait_until(self._has_read_all, "the host's digest")

    def _has_read_all(self) -> bool:
        """Tells whether the host has read the whole file for its own digest: it has read enough and reads no more."""
        count = int(Path(f"/proc/{self.pids['host']}/io").read_text().split()[1])
        if count != self._bytes_read:
            self._bytes_read, self._still_since = count, time.monotonic()
        return count >= self.SIZE and time.monotonic() - self._still_since > 0.2

    def read_on(self) -> None:
        """Reads until the writer closes the FIFO, or the copy fails."""
        poll = select.poll()
        poll.register(self.reader, select.POLLIN)
        while poll.poll(30000):
            try:
                if not os.read(self.reader, MIB):
                    return
            except BlockingIOError:
                continue

    def ends(self, limit: float = LIMIT) -> dict:
        """Returns exit code and errors of each process that the test started; all must end within the limit."""
        end = time.monotonic() + limit
        ends = {}
        for side, process in self.processes.items():
            output, errors = process.communicate(timeout=max(0.01, end - time.monotonic()))
            assert output == ""
            ends[side] = (process.returncode, errors)
        self.commands.require_no_process()
        return ends

    def close(self) -> None:
        os.close(self.reader)
        for process in self.processes.values():
            process.kill()
            process.communicate()


@pytest.fixture
def held(commands, tmp_path):
    with contextlib.ExitStack() as stack:

        def make(by_hand: bool) -> Held:
            held = Held(commands, tmp_path, by_hand)
            stack.callback(held.close)
            return held

        yield make


@pytest.mark.parametrize("side", ["host", "dpu"])
def test_a_half_that_is_killed_ends_the_other_one(held, side):
    copy = held(by_hand=True)
    other = "dpu" if side == "host" else "host"
    copy.processes[side].kill()
    ends = copy.ends()
    assert ends[side] == (-signal.SIGKILL, "")
    name = "DPU" if side == "dpu" else "host"
    assert ends[other] == (1, f"pydoca: the {name} process ended before the copy was complete\n")


@pytest.mark.parametrize("side", ["host", "dpu"])
def test_a_half_that_is_interrupted_ends_the_other_one(held, side):
    copy = held(by_hand=True)
    other = "dpu" if side == "host" else "host"
    copy.processes[side].send_signal(signal.SIGINT)
    ends = copy.ends()
    assert ends[side] == (130, "pydoca: interrupted\n")
    name = "DPU" if side == "dpu" else "host"
    assert ends[other] == (1, f"pydoca: the {name} process gave up: interrupted\n")


@pytest.mark.parametrize(("side", "name"), [("host", "host"), ("dpu", "DPU")])
@pytest.mark.parametrize(
    ("number", "text"), [(signal.SIGKILL, "was killed by SIGKILL"), (signal.SIGINT, "was interrupted")]
)
def test_the_front_end_names_the_process_that_ended(held, side, name, number, text):
    copy = held(by_hand=False)
    os.kill(copy.pids[side], number)
    assert copy.ends()["front"] == (1, f"pydoca: the {name} process {text}\n")


@pytest.mark.parametrize(
    ("number", "code", "text"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")]
)
def test_the_front_end_takes_both_halves_along(held, number, code, text):
    copy = held(by_hand=False)
    copy.processes["front"].send_signal(number)
    assert copy.ends()["front"] == (code, f"pydoca: {text}\n")


def test_ctrl_c_goes_to_all_three_at_once(held):
    copy = held(by_hand=False)
    for pid in (*copy.pids.values(), copy.processes["front"].pid):
        os.kill(pid, signal.SIGINT)
    code, errors = copy.ends()["front"]
    assert code in (1, 130)
    assert errors.count("\n") == 1


def test_the_halves_end_with_their_front_end(held):
    copy = held(by_hand=False)
    copy.processes["front"].kill()
    assert copy.ends()["front"] == (-signal.SIGKILL, "")


def test_a_reader_that_goes_away(held):
    copy = held(by_hand=True)
    os.close(copy.reader)
    copy.reader = os.open(os.devnull, os.O_RDONLY)
    ends = copy.ends()
    assert ends["dpu"] == (1, f"pydoca: {copy.fifo}: Broken pipe\n")
    assert ends["host"] == (1, f"pydoca: the DPU process gave up: {copy.fifo}: Broken pipe\n")


def test_a_source_that_is_cut_while_it_is_copied(held):
    copy = held(by_hand=True)
    os.truncate(copy.source, MIB)
    copy.read_on()
    ends = copy.ends()
    assert ends["host"][0] == ends["dpu"][0] == 1
    assert (
        ends["host"][1]
        == f"pydoca: {copy.source}: the file was cut from {4 * MIB} to {MIB} bytes while it was copied\n"
    )
    assert ends["dpu"][1].startswith("pydoca: ")
    assert ends["dpu"][1].count("\n") == 1


def test_the_front_end_says_that_the_source_was_cut(held):
    copy = held(by_hand=False)
    os.truncate(copy.source, MIB)
    copy.read_on()
    code, errors = copy.ends()["front"]
    assert code == 1
    assert "the file was cut from" in errors


def test_a_source_that_changes_while_it_is_copied(held):
    """The host read the old bytes for its digest; the DPU reads the new ones."""
    copy = held(by_hand=True)
    with copy.source.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    copy.read_on()
    ends = copy.ends()
    assert ends["host"][0] == ends["dpu"][0] == 1
    assert "was it written to meanwhile? The copy is discarded" in ends["host"][1]
    assert "the host process gave up" in ends["dpu"][1]


@pytest.mark.parametrize("side", ["host", "dpu"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_file_is_not_touched_by_half_a_copy(commands, tmp_path, target, side, number):
    """A sparse file in tiny pieces, so slow that the signal comes in its middle, when the new file has some bytes."""
    source = tmp_path / "sparse"
    with source.open("wb") as file:
        file.truncate(256 * MIB)
    copy = commands.start("copy", "--piece-size", "4K", "--in-flight", "1", source, target)
    dpu = commands.process_of("dpu")
    commands.wait_until(lambda: size_of_unnamed_file(dpu, tmp_path) > 0, "the first bytes of the copy")
    os.kill(commands.process_of(side), number)
    _, errors = copy.communicate(timeout=LIMIT)
    assert copy.returncode == 1
    assert errors.count("\n") == 1
    commands.require_no_process()
    assert target.read_text() == OLD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "sparse", "target"]


def size_of_unnamed_file(pid: int, directory: Path) -> int:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(link).startswith(f"{directory}/#"):
                return link.stat().st_size
    return 0


# ---- a half that sends other messages

OTHER_HALF = """
import asyncio, sys
import pydoca
from pydoca import comch
from pydoca.cli._two_processes.messages import Commit, Offer, Report, Window, encode

async def main(side, words):
    with pydoca.open_device("0b:00.0" if side == "host" else "03:00.0", side=side) as device:
        async with pydoca.ProgressEngine() as engine:
            if side == "host":
                async with comch.Client(engine, device, "strange") as link:
                    await talk(link, words)
            else:
                with device.open_representor("0b:00.0") as rep:
                    async with comch.Server(engine, device, rep, "strange") as server:
                        await talk(await server.accept(), words)

async def talk(link, words):
    for word in words:
        await link.send(eval(word))
    async for message in link:
        print(message.decode(), flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2:]))
"""


def run_with_other_half(commands, side: str, path: Path, *words: str):
    """Runs this half of a copy, with another program in place of the other half."""
    other = "dpu" if side == "host" else "host"
    line = [sys.executable, "-P", "-c", OTHER_HALF, other, *words]
    other_half = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=commands.env)
    try:
        run = commands.run("copy", "--side", side, "--name", "strange", path)
        told, _ = other_half.communicate(timeout=LIMIT)
    finally:
        other_half.kill()
        other_half.wait()
    return run, told


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("b''", "not JSON"),
        ("b'garbage'", "not JSON"),
        ("b'\\xff' * 4000", "not JSON"),
        ("b'[' * 4000", "not JSON"),
        ("b'[1]'", "not a JSON object"),
        ("b'{}'", "type None"),
        ("encode(Commit())", "'commit' where 'offer' was expected"),
        ("""b'{"type":"offer","name":"../x","size":1,"version":1}'""", "'../x'"),
        ("""b'{"type":"offer","name":"x","size":-1,"version":1}'""", "size is -1"),
        ("""b'{"type":"offer","name":"x","size":true,"version":1}'""", "size is True"),
        ("""b'{"type":"offer","name":"x","size":9223372036854775808,"version":1}'""", "size is 9223372036854775808"),
        ("""b'{"type":"offer","name":"x","size":1,"version":2}'""", "version is 2"),
        ("""b'{"type":"offer","name":"x","size":1}'""", "'version'"),
    ],
)
def test_the_dpu_refuses_what_is_not_an_offer(commands, target, word, part):
    run, told = run_with_other_half(commands, "dpu", target, word)
    require_error(run, part, "host process")
    assert '"failure"' in told


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("encode(Window(0, 5, 4096, 'bm8gYmxvYg=='))", ""),
        ("encode(Window(0, 5, 4096, '%%%%'))", "base64"),
        ("encode(Window(1, 4, 4096, 'bm8gYmxvYg=='))", "are expected"),
        ("encode(Window(0, 6, 4096, 'bm8gYmxvYg=='))", "are expected"),
    ],
)
def test_the_dpu_refuses_what_is_not_a_window(commands, target, word, part):
    run, told = run_with_other_half(commands, "dpu", target, "encode(Offer('x', 5))", word)
    require_error(run, part)
    assert '"failure"' in told


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("b'garbage'", "not JSON"),
        ("encode(Report(4194304, '0' * 64))", "was expected"),
    ],
)
def test_the_host_refuses_what_is_not_an_answer(commands, source, word, part):
    run, told = run_with_other_half(commands, "host", source, word)
    require_error(run, part, "DPU process")
    assert '"failure"' in told


def test_the_host_compares_the_digest(commands, tmp_path):
    """The file is empty, so that no window has to be returned."""
    empty = make_file(tmp_path / "empty", 0)
    run, told = run_with_other_half(commands, "host", empty, "encode(Report(0, '0' * 64))")
    require_error(run, "0" * 64, "e3b0c44298fc1c14", "discarded")
    assert '"commit"' not in told


def test_a_second_host_is_refused(held, commands, source):
    copy = held(by_hand=True)
    run = commands.run("copy", "--side", "host", "--name", "held", source)
    require_error(run, "busy with another host process", "--name")
    copy.read_on()
    assert {code for code, _ in finished(copy)} == {0}


def finished(copy: Held) -> list:
    return [(process.wait(timeout=30), process.communicate()) for process in copy.processes.values()]
