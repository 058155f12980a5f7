"""Python programs in processes that a warm interpreter forks; it has already imported the programs' modules.

In the guest of the RDMA lab, whose processor is emulated, an interpreter takes seconds to start: longer than most tests
take.
"""

import contextlib
import ctypes
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
READ_AT_START = ("LD_", "PYTHON", "PYDOCA_LOG")  # variables that are read when the interpreter or pydoca starts


class Process:
    """The part of subprocess.Popen that tests use, for a process that another one forked; its pipes are texts."""

    def __init__(self, args: list[str], pid: int, stdin: "IO[str] | None", stdout: IO[str], stderr: IO[str]) -> None:
        self.args = args
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                if not select.select([descriptor], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
            finally:
                os.close(descriptor)
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Returns the rest of its output, after it has ended; closes its pipes."""
        texts = ["", ""]

        def read(number: int, pipe: IO[str]) -> None:
            if not pipe.closed:
                texts[number] = pipe.read()
                pipe.close()

        with contextlib.suppress(BrokenPipeError):
            if self.stdin:
                self.stdin.close()
        pipes = enumerate([self.stdout, self.stderr])
        threads = [threading.Thread(target=read, args=arguments, daemon=True) for arguments in pipes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout)
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(timeout)
        return texts[0], texts[1]


class WarmPython:
    """The interpreter that forks. Its grandchildren become this process's children, which can wait for them."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._socket, theirs = socket.socketpair()
        with theirs:
            line = [sys.executable, "-P", __file__, str(theirs.fileno())]
            self._server = subprocess.Popen(line, pass_fds=[theirs.fileno()])
        self._environment = _read_at_start(os.environ)

    def can_have(self, env: Mapping[str, str]) -> bool:
        """Tells whether a forked program can still get this environment."""
        return _read_at_start(env) == self._environment

    def start(
        self, args: list[str], env: Mapping[str, str], cwd: Path | None = None, stdin: int | None = None
    ) -> Process:
        """args are those of the interpreter: [-P] PROGRAM, [-P] -m MODULE or [-P] -c CODE, and the program's own.

        stdin is subprocess.PIPE, or None for this process's own.
        """
        read_end, write_end = os.pipe() if stdin == subprocess.PIPE else (os.dup(0), -1)
        stdout, their_stdout = os.pipe()
        stderr, their_stderr = os.pipe()
        theirs = [read_end, their_stdout, their_stderr]
        request = json.dumps([args, dict(env), str(cwd or Path.cwd())]).encode()
        socket.send_fds(self._socket, [len(request).to_bytes(4, "big")], theirs)
        self._socket.sendall(request)
        for descriptor in theirs:
            os.close(descriptor)
        pid = int.from_bytes(_receive(self._socket, 4), "big")
        pipe = None if write_end < 0 else os.fdopen(write_end, "w")
        return Process(args, pid, pipe, os.fdopen(stdout), os.fdopen(stderr))

    def close(self) -> None:
        self._socket.close()
        self._server.wait()


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_AT_START)}


def _receive(connection: socket.socket, size: int) -> bytes:
    """Reads this number of bytes; fewer when the other end is closed."""
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


def _serve(connection: socket.socket) -> Callable[[], Any] | None:
    """Returns in every child, with its program; in the server None, when the requests end."""
    while True:
        size, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
        if not size:
            return None
        args, env, cwd = json.loads(_receive(connection, int.from_bytes(size, "big")))
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid != 0:
                connection.sendall(pid.to_bytes(4, "big"))
                os._exit(0)
            connection.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(env)
            return _program([argument for argument in args if argument != "-P"])
        os.waitpid(between, 0)
        for descriptor in descriptors:
            os.close(descriptor)


def _program(args: list[str]) -> Callable[[], Any]:
    option, rest = (args[0], args[1:]) if args[0] in ("-m", "-c") else ("", args)
    sys.argv = ["-c", *rest[1:]] if option == "-c" else rest
    if option == "-m":
        return lambda: runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    if option == "-c":
        return lambda: exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    return lambda: runpy.run_path(rest[0], run_name="__main__")


def _import_what_programs_use() -> None:
    import pydoca.cli

    for name in (
        "asyncio",
        "hashlib",
        *(module.name for module in pkgutil.walk_packages(pydoca.cli.__path__, "pydoca.cli.")),
    ):
        importlib.import_module(name)


def _main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        _import_what_programs_use()
        program = _serve(connection)
    if program is not None:
        program()


if __name__ == "__main__":
    _main()
