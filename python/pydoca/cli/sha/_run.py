"""The work of `pydoca sha`: hashes each file piece by piece, and reads one piece while the engine hashes another."""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import cast

import pydoca
from pydoca.cli._arguments import load_profile
from pydoca.cli._errors import CommandError, describe
from pydoca.cli._output import print_json
from pydoca.cli._two_processes.event_loop import run as run_loop
from pydoca.cli._two_processes.report import Terminal
from pydoca.cli.sha import STANDARD_INPUT

_PIECE = 4 << 20  # bytes: a multiple of every algorithm's block, large enough for the device's workers


def run(arguments: argparse.Namespace) -> int:
    load_profile(arguments)
    with _open_device(arguments.device) as device:
        digests = run_loop(_hash_all(device, arguments))
        if arguments.json and len(digests) == len(arguments.files):
            files = [asdict(digest) for digest in digests]
            print_json({"device": device.name, "algorithm": arguments.algorithm, "files": files})
    return 0 if len(digests) == len(arguments.files) else 1


def _open_device(name: str | None) -> pydoca.Device:
    if name is not None:
        return pydoca.open_device(name, capability="sha")
    try:
        return pydoca.open_device(side="dpu", capability="sha")
    except pydoca.NotFoundError as error:
        raise CommandError("no device has a SHA engine; --profile bluefield2 simulates one") from error


@dataclass
class _Digest:
    file: str
    size: int
    digest: str

    def __str__(self) -> str:
        """The line as sha256sum prints it: a line with an escaped backslash or end of line begins with a backslash."""
        name = self.file.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        return f"{'' if name == self.file else chr(92)}{self.digest}  {name}"


async def _hash_all(device: pydoca.Device, arguments: argparse.Namespace) -> Sequence[_Digest]:
    """The digests of the files that can be read; the others are told on standard error, and the work goes on."""
    digests = []
    async with _hasher(device, arguments.algorithm) as hasher:
        for path in arguments.files:
            try:
                with _Input(path) as file:
                    digest = await hasher.digest(file)
            except (OSError, CommandError) as error:
                print(f"pydoca: {describe(error)}", file=sys.stderr)
                continue
            digests.append(digest)
            if not arguments.json:
                print(digest, flush=True)
    return digests


@asynccontextmanager
async def _hasher(device: pydoca.Device, algorithm: str) -> AsyncIterator[_Hasher]:
    memory, result = pydoca.alloc(2 * _PIECE), pydoca.alloc(64)
    async with pydoca.ProgressEngine() as pe, pydoca.Sha(pe, device, num_tasks=1) as sha:
        with pydoca.BufInventory(3) as inventory, device.mmap(memory) as source, device.mmap(result) as target:
            halves = [inventory.get_by_addr(source, source.addr + begin, _PIECE) for begin in (0, _PIECE)]
            yield _Hasher(sha, algorithm, memory, halves, inventory.get_by_addr(target))


class _Hasher:
    """Hashes one half of the memory while it reads into the other."""

    def __init__(
        self, sha: pydoca.Sha, algorithm: str, memory: pydoca.Memory, halves: list[pydoca.Buf], target: pydoca.Buf
    ) -> None:
        self._sha = sha
        self._algorithm = cast("pydoca._core.sha._Algorithm", algorithm)
        self._views = [memoryview(memory)[:_PIECE], memoryview(memory)[_PIECE:]]
        self._halves = halves
        self._target = target

    async def digest(self, file: _Input) -> _Digest:
        reporter = Terminal(quiet=False, transient=True)
        self._target.reset_data_len()
        try:
            size = await file.read_into(self._views[0])
            if size < _PIECE:  # the engine hashes a message of one piece at once
                await self._sha.hash(self._piece(0, size), self._target, self._algorithm)
            else:
                size = await self._digest_pieces(file, reporter)
        finally:
            reporter.close()
        return _Digest(file.path, size, bytes(self._target).hex())

    async def _digest_pieces(self, file: _Input, reporter: Terminal) -> int:
        """Hashes the pieces; the first one is in the first half. Returns the size of the message."""
        task = self._sha.partial_hash(None, self._target, self._algorithm, submit=False)
        half, count, size = 0, _PIECE, 0
        while count == _PIECE:
            task.src = self._piece(half, count)
            task.submit()
            half, size = 1 - half, size + count
            count = await file.read_into(self._views[half])
            await task
            reporter.progress(size, max(size, file.size))
        task.src = self._piece(half, count)
        task.set_is_final_buf()
        task.submit()
        await task
        return size + count

    def _piece(self, half: int, count: int) -> pydoca.Buf:
        buf = self._halves[half]
        buf.set_data(buf.head, count)
        return buf


class _Input:
    """A file, a pipe or standard input, which is read without a wait that a signal could not end."""

    def __init__(self, path: str) -> None:
        self.path = path
        if path == STANDARD_INPUT and sys.stdin is None:
            raise CommandError("standard input is closed; give files")
        # O_NONBLOCK, because opening a FIFO would else wait for a writer.
        self._fd = 0 if path == STANDARD_INPUT else os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        status = os.fstat(self._fd)
        if stat.S_ISDIR(status.st_mode):
            self.__exit__(None, None, None)
            raise CommandError(f"{path}: a directory; give files")
        self.size = status.st_size  # 0 for a file without a size
        self._has_to_wait = not stat.S_ISREG(status.st_mode)

    def __enter__(self) -> _Input:
        return self

    def __exit__(
        self, exception: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.path != STANDARD_INPUT:
            os.close(self._fd)

    async def read_into(self, view: memoryview) -> int:
        """Fills the view, unless the end comes first. Returns the number of bytes."""
        done = 0
        while done < len(view):
            if self._has_to_wait:
                await self._readable()
            try:
                count = os.readv(self._fd, [view[done:]])
            except BlockingIOError:  # another process was faster
                continue
            except OSError as error:
                raise CommandError(f"{self.path}: {error.strerror}") from error
            if count == 0:
                break
            done += count
        return done

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._fd, ready.set)
        except PermissionError:  # a device such as /dev/zero, which never waits
            self._has_to_wait = False
            return
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._fd)
