"""The front end of a copy: starts the two halves as processes, watches them, and leaves none behind."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydoca.cli._errors import CommandError
from pydoca.cli._two_processes.report import Reporter
from pydoca.cli.copy._source import Source

# The seconds that a half has to notice the failure of the other one, and then to end after a signal.
_NOTICE = 1.5
_END = 1.0
_LONGEST_LINE = 1 << 20


@dataclass
class _Outcome:
    """How a half ended: with a result, or with the reason why it has none."""

    result: dict[str, Any] | None = None
    message: str = ""
    is_told: bool = False  # the other half caused the error


async def run_both(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    """Returns the results of both halves in one; raises the error of the half that caused it."""
    with Source(arguments.paths[0]):  # reports a file that cannot be read before anything starts
        pass
    name = f"copy-{secrets.token_hex(16)}"
    halves: list[_Half] = []
    try:
        for side in ("dpu", "host"):
            halves.append(_Half(side, name, arguments))
        return _merge(await _watch(halves, reporter))
    finally:
        await _end(halves)


class _Half:
    """One of the processes. It reports through a socket, and ends when the socket ends."""

    def __init__(self, side: str, name: str, arguments: argparse.Namespace) -> None:
        self.side = side
        self._connection, theirs = socket.socketpair()
        with theirs, _signals_held_back():
            self._process = subprocess.Popen(
                _command(side, name, theirs.fileno(), arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYDOCA_SIDE": side},
            )
        self.exit = asyncio.create_task(self._wait())

    async def outcome(self, reporter: Reporter) -> _Outcome:
        outcome: _Outcome | None = None
        events, writer = await asyncio.open_connection(sock=self._connection, limit=_LONGEST_LINE)
        with contextlib.closing(writer):
            async for line in events:
                outcome = self._take(json.loads(line), reporter) or outcome
            code = await self.exit
        return outcome or _Outcome(message=f"the {self._shown} process {_how_it_ended(code)}")

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    async def _wait(self) -> int:
        """The exit code. asyncio would wait in a thread, which loses the code when a signal comes meanwhile."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        handle = os.pidfd_open(self._process.pid)
        loop.add_reader(handle, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        return self._process.wait()

    @property
    def _shown(self) -> str:
        return "DPU" if self.side == "dpu" else "host"

    def _take(self, event: dict[str, Any], reporter: Reporter) -> _Outcome | None:
        if event["event"] == "progress":
            reporter.progress(event["done"], event["total"])
            return None
        if event["event"] == "done":
            return _Outcome(result=event["result"])
        message = f"the {self._shown} process was {event['message']}" if event["is_interrupt"] else event["message"]
        return _Outcome(message=message, is_told=event["is_told"])


def _command(side: str, name: str, front_end: int, arguments: argparse.Namespace) -> list[str]:
    levels = {"--log-level": arguments.log_level, "--sdk-log-level": arguments.sdk_log_level}
    options = {option: level.name for option, level in levels.items() if level is not None}
    if side == "host":
        options |= {"--device": arguments.device}
    else:
        options |= {
            "--dpu-device": arguments.dpu_device,
            "--rep": arguments.rep,
            "--piece-size": arguments.piece_size,
            "--in-flight": arguments.in_flight,
        }
    options |= {"--side": side, "--name": name, "--timeout": arguments.timeout, "--front-end": front_end}
    given = [text for option, value in options.items() if value is not None for text in (option, str(value))]
    path = arguments.paths[1 if side == "dpu" else 0]
    # -P: modules in the current directory are not imported.
    debug = ["--debug"] if arguments.debug else []
    return [sys.executable, "-P", "-m", "pydoca", "copy", *given, *debug, "--", path]


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """Holds signals back: a process that starts meanwhile gets its first one when it is ready, not while it imports."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def _watch(halves: list[_Half], reporter: Reporter) -> list[_Outcome]:
    """Waits for both halves; ends a half that outlives the failure of the other one."""
    tasks = [asyncio.create_task(half.outcome(reporter)) for half in halves]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    if pending and any(task.result().result is None for task in done):
        _, pending = await asyncio.wait(pending, timeout=_NOTICE)
        await _end(halves)
        for task in pending:
            (await task).is_told = True
    return list(await asyncio.gather(*tasks))


async def _end(halves: list[_Half]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        running = [half for half in halves if not half.exit.done()]
        for half in running:
            half.send_signal(number)
        if running:
            await asyncio.wait([half.exit for half in running], timeout=_END)


def _merge(outcomes: list[_Outcome]) -> dict[str, Any]:
    dpu, host = outcomes
    if dpu.result is None or host.result is None:
        failed = [outcome for outcome in (host, dpu) if outcome.result is None]
        cause = next((outcome for outcome in failed if not outcome.is_told), failed[0])
        raise CommandError(cause.message)
    return {**host.result, **dpu.result}


def _how_it_ended(code: int) -> str:
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended without a message, with exit code {code}"
