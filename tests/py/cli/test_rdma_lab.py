"""`pydoca rdma-lab`: a command in a guest, its output and status here, and nothing left of the guest."""

import gzip
import json
import lzma
import os
import platform
import re
import signal
import struct
import sys
import threading
import time
from pathlib import Path

import pytest

from pydoca.cli.rdma_lab import _guest, _kernel, _tools
from pydoca.cli.rdma_lab._errors import LabError

BOOT = 120.0  # seconds in which a guest must boot and do something small, also on a busy machine


@pytest.fixture(scope="module")
def lab():
    """Skips the test, with the reason, where no guest can start."""
    try:
        _tools.require()
        _kernel.get(lambda _: None)
    except LabError as error:
        pytest.skip(str(error))


def in_lab(commands, *arguments: str, **options):
    return commands.run("rdma-lab", *arguments, timeout=BOOT, **options)


pytestmark = [pytest.mark.slow, pytest.mark.timeout(BOOT + 20)]

SEVERAL = """
printf '%s|' "$@"; echo "of $PWD"; echo complaint >&2
[ "$ANSWER" = "4 2" ] && [ "$USER$LOGNAME" = rootroot ] && [ "$(wc -c)" = 0 ] && ls /sys/class/infiniband && ulimit -l
echo kept >"$0/kept"; echo gone >gone
sleep 1000 & exit 7
"""


def test_output_and_status_of_a_command_come_back(lab, commands, tmp_path):
    results = tmp_path / "a, b"
    words = ["it's", "", "a  b", "é\n$HOME"]
    env = {**commands.env, "ANSWER": "4 2", "USER": "somebody", "LOGNAME": "somebody"}
    run = in_lab(commands, "--results", results, "sh", "-c", SEVERAL, results, *words, env=env)
    assert (run.returncode, run.stderr) == (7, "complaint\n")
    assert run.stdout == "".join(f"{word}|" for word in words) + f"of {tmp_path}\nrxe0\nunlimited\n"
    assert (results / "kept").read_text() == "kept\n"
    assert not (tmp_path / "gone").exists()


def test_a_pair_of_devices_and_a_report(lab, commands):
    """The command names its current step if standard error is a terminal."""
    terminal, theirs = os.openpty()
    run = in_lab(commands, "--pair", "--json", "--", "ls", "/sys/class/infiniband", stderr=theirs)
    os.close(theirs)
    said = os.read(terminal, 4096).decode()
    os.close(terminal)
    document = json.loads(run.stdout)
    assert (run.returncode, document["exit_code"]) == (0, 0)
    assert (document["stdout"], document["stderr"]) == ("rxe0\nrxe1\n", "")
    assert 0 < document["boot_seconds"] < document["seconds"]
    assert re.fullmatch(r"\r\x1b\[Kpydoca: booting [\w ]+\.\.\.\r\x1b\[K", said)


def test_a_command_that_does_not_exist_is_127(lab, commands):
    run = in_lab(commands, "no-such-program")
    assert (run.returncode, run.stdout) == (127, "")
    assert "no-such-program" in run.stderr


def test_a_guest_that_takes_too_long_is_ended(lab, commands):
    run = in_lab(commands, "--timeout", "0.5", "sleep", "1000")
    assert (run.returncode, run.stdout) == (124, "")
    assert run.stderr == "pydoca: the RDMA lab was ended after 0.5 seconds (--timeout)\n"
    commands.require_no_process()


def test_a_guest_that_dies_is_an_error_with_its_last_words(lab, commands):
    run = in_lab(commands, "sh", "-c", "echo c >/proc/sysrq-trigger")
    assert (run.returncode, run.stdout) == (125, "")
    assert run.stderr.count("\n") == 1
    assert "Kernel panic" in run.stderr


def test_a_guest_that_does_not_boot_is_replaced(lab, monkeypatch, tmp_path):
    monkeypatch.setattr(_guest, "_PATIENCE", (0.3, BOOT))
    out: list[bytes] = []
    job = _guest.Job(["echo", "booted"], tmp_path, dict(os.environ))
    assert _guest.run(job, out.append, out.append).status == 0
    assert b"".join(out) == b"booted\n"


# SIGTERM ends the process as SIGKILL does, since the process does not handle it.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_the_guest_too(lab, commands, number):
    process = commands.start("rdma-lab", "sh", "-c", "echo up; sleep 1000")
    assert process.stdout.readline() == "up\n"
    assert any("qemu" in line for line in commands.processes().values())
    process.send_signal(number)
    _, errors = process.communicate(timeout=10)
    commands.require_no_process()
    expected = (130, "pydoca: interrupted\n") if number == signal.SIGINT else (-number, "")
    assert (process.returncode, errors) == expected


def test_a_reader_that_goes_ends_the_guest(lab, commands):
    process = commands.start("rdma-lab", "yes")
    assert process.stdout.readline() == "y\n"
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=10) == 1
    commands.require_no_process()


def test_what_is_missing_is_named_with_the_command_that_gets_it(commands):
    run = commands.run("rdma-lab", "true", env={**commands.env, "PATH": "/nonexistent"})
    assert (run.returncode, run.stdout) == (125, "")
    assert re.search(
        r"needs .*busybox, .*qemu-system-x86_64.*: apt-get install busybox-static .*qemu-system-x86", run.stderr
    )


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("ibv_devinfo", "apt-get install ibverbs-utils"),
        ("ib_write_bw", "apt-get install perftest"),
        ("rdma_server", "apt-get install rdmacm-utils"),
        ("rping", "apt-get install rdmacm-utils"),
        ("rdma", "apt-get install iproute2"),
        ("my-test", "install it, or give its path"),
        ("./my-test", "install it, or give its path"),
    ],
)
def test_a_missing_command_is_named_with_its_package(tmp_path, command, remedy):
    with pytest.raises(LabError, match=f"^{command} is not installed: {remedy}$") as raised:
        _tools.require_command(command, tmp_path, path=str(tmp_path))
    assert raised.value.exit_code == 127


def test_a_command_in_the_current_directory_is_found(tmp_path):
    (tmp_path / "my-test").touch(mode=0o755)
    _tools.require_command("./my-test", tmp_path, path="/nonexistent")
    _tools.require_command("my-test", Path("/"), path=str(tmp_path))


@pytest.mark.parametrize("program", ["apt-cache", "apt-get", "dpkg-deb", "zstd"])
def test_a_program_that_gets_the_kernel_is_named_with_its_package(monkeypatch, program):
    monkeypatch.setattr(_tools.shutil, "which", lambda *_, **__: None)
    with pytest.raises(LabError, match=f"^{program} is not installed: apt-get install (apt|dpkg|zstd)$"):
        _kernel._run(program)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ({"ID": "debian"}, "debian"),
        ({"ID": "ubuntu", "ID_LIKE": "debian"}, "ubuntu"),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "ubuntu"),
        ({"ID": "raspbian", "ID_LIKE": "debian"}, "debian"),
    ],
)
def test_the_kernel_is_that_of_debian_or_ubuntu(monkeypatch, release, expected):
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert _tools.distribution() == expected


def test_other_distributions_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "fedora", "PRETTY_NAME": "Fedora Linux 40"})
    with pytest.raises(LabError, match="Debian or Ubuntu, and this is Fedora Linux 40"):
        _tools.require()


def test_a_busybox_that_needs_libraries_is_refused():
    assert not _tools._is_static(Path(sys.executable))


UBUNTU = """\
linux-image-6.8.0-31-generic - Signed kernel image generic
linux-modules-6.8.0-31-generic - Linux kernel extra modules
linux-modules-extra-6.8.0-31-generic - Linux kernel extra modules
"""


DEBIAN_14 = """\
linux-base-6.8.0-31-generic - Linux 6.8.0 for 64-bit PCs (base files)
linux-binary-6.8.0-31-generic - Linux 6.8.0 for 64-bit PCs (kernel image)
linux-modules-6.8.0-31-generic - Linux 6.8.0 for 64-bit PCs (modules)
linux-image-6.8.0-31-generic - Linux 6.8.0 for 64-bit PCs
"""


@pytest.mark.parametrize(
    ("known", "parts"),
    [
        (UBUNTU, ["image", "modules", "modules-extra"]),
        (UBUNTU.splitlines()[0] + "\n", ["image"]),
        (DEBIAN_14, ["image", "binary", "base", "modules"]),
    ],
)
def test_modules_may_be_in_packages_of_their_own(monkeypatch, known, parts):
    monkeypatch.setattr(_kernel, "_run", lambda *_: known)
    assert _kernel._packages("6.8.0-31-generic") == [f"linux-{part}-6.8.0-31-generic" for part in parts]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_the_kernel_is_unpacked_however_it_was_packed(pack):
    kernel = b"\x7fELF" + bytes(1000)
    packed = pack(kernel)
    head = bytearray(3 * 512)
    head[0x1F1] = 1
    struct.pack_into("<II", head, 0x248, 512, len(packed) + 4)
    assert _kernel._unpack(bytes(head) + packed + struct.pack("<I", len(kernel)) + b"rest") == kernel


@pytest.mark.parametrize("place", ["boot/vmlinuz-6.1", "usr/lib/modules/6.1/vmlinuz"])
def test_the_kernel_is_found_wherever_its_package_has_it(tmp_path, place):
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).touch()
    assert _kernel._image(tmp_path, "6.1") == tmp_path / place


def test_packages_without_a_kernel_are_an_error_that_names_its_places(tmp_path):
    with pytest.raises(LabError, match=r"Linux 6\.1 have no kernel in any of .*vmlinuz-6\.1, .*/6\.1/vmlinuz"):
        _kernel._image(tmp_path, "6.1")


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_kernel, "_newest_release", lambda: "6.1")
    monkeypatch.setattr(_kernel, "_packages", lambda _: [])
    return tmp_path / "pydoca" / "rdma-lab"


def test_the_kernel_is_downloaded_once(cache, monkeypatch):
    downloads = []

    def download(*command, cwd):
        downloads.append(command)
        time.sleep(0.05)
        (cwd / "root" / "boot").mkdir(parents=True)
        (cwd / "root" / "boot" / "vmlinuz-6.1").write_bytes(bytes(4096))

    monkeypatch.setattr(_kernel, "_run", download)
    monkeypatch.setattr(_kernel, "_copy_modules", lambda root, release, target: (target / "00-9p.ko").touch())
    found = []
    threads = [threading.Thread(target=lambda: found.append(_kernel.get(lambda _: None))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(found) == 4
    assert all(kernel == found[0] for kernel in found)
    assert (found[0].release, [path.name for path in found[0].modules]) == ("6.1", ["00-9p.ko"])
    assert len(downloads) == 1


def test_a_download_that_fails_or_was_killed_leaves_nothing(cache, monkeypatch):
    monkeypatch.setattr(_kernel, "_run", lambda *_, **__: (_ for _ in ()).throw(LabError("no network")))
    (cache / ".partial-killed").mkdir(parents=True)
    with pytest.raises(LabError, match="no network"):
        _kernel.get(lambda _: None)
    assert [path.name for path in cache.iterdir()] == ["lock"]


def test_a_command_that_fails_is_named_with_its_complaint():
    with pytest.raises(LabError, match=r"^ls --no-such-option failed: .+"):
        _kernel._run("ls", "--no-such-option")
