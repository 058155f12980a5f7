"""The beginning of a started process. Its file is run as a script: it imports nothing of pydoca before it has the path.

usage: child.py INSTRUCTIONS REPORT PARENT ...       two descriptors, and the process that started this one
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import io
import linecache
import os
import pickle
import signal
import sys
import traceback
import types
from operator import attrgetter
from typing import Any

_PR_SET_PDEATHSIG = 1


def main() -> None:
    instructions_fd, report_fd, parent = (int(word) for word in sys.argv[1:4])
    _die_with(parent)
    with open(instructions_fd, "rb") as file:
        instructions = pickle.load(file)
    os.set_inheritable(report_fd, False)
    _prepare(instructions)
    code = _run(instructions, report_fd)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if isinstance(code, int) and code in (-signal.SIGINT, -signal.SIGTERM):  # the exit code then tells the signal
        _end_by(-code)
    sys.exit(code)


def _end_by(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
    os.kill(os.getpid(), number)


def _terminate(number: int, _: object) -> None:
    """Ends in order also at SIGTERM, which Jupyter sends at a restart: blocks are left."""
    raise SystemExit(-number)


def _die_with(parent: int) -> None:
    """The kernel kills this process when the thread that started it ends: it lives as long as its process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), signal.SIGKILL)


def _prepare(instructions: dict[str, Any]) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    faulthandler.enable()
    sys.path[:] = instructions["path"]
    if instructions["topology"] is not None:
        from pydoca import sim

        sim.load_topology(instructions["topology"])


def _run(instructions: dict[str, Any], report_fd: int) -> str | int | None:
    try:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, _terminate)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
            _start(instructions)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))  # the outcome is final
    except SystemExit as error:
        return error.code
    except KeyboardInterrupt:
        return -signal.SIGINT
    except BaseException as error:
        _report(error, instructions, report_fd)
        return 1
    return 0


def _start(instructions: dict[str, Any]) -> None:
    arguments = pickle.loads(instructions["args"])
    if "function" in instructions:
        sys.argv[:] = [instructions["function"]]
        function = attrgetter(instructions["function"])(importlib.import_module(instructions["module"]))
        _finish(function(*arguments))
        return
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    source, filename = instructions["source"], instructions["filename"]
    sys.argv[:] = [instructions.get("file", filename), *map(str, arguments)]
    if "file" in instructions:
        module.__file__ = filename
        sys.path.insert(0, os.path.dirname(filename))
    else:
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    code = compile(source, filename, "exec", flags=instructions["flags"], dont_inherit=True)
    _finish(eval(code, vars(module)))


def _finish(result: object) -> None:
    """Runs coroutines in an event loop: the result of a coroutine function, or of a program that awaits."""
    if isinstance(result, types.CoroutineType):
        import asyncio

        asyncio.run(result)


def _report(error: BaseException, instructions: dict[str, Any], report_fd: int) -> None:
    error = error.with_traceback(_own_frames(error.__traceback__, instructions))
    text = "".join(traceback.format_exception(error))
    with open(report_fd, "wb") as file:
        pickle.dump((_summary(error), text), file)


def _summary(error: BaseException) -> str:
    """The type and the first line of the message; before them the place of a syntax error, after them the notes."""
    parts = traceback.format_exception_only(error)
    own = next((part for part in parts if not part[:1].isspace()), parts[-1])
    kind, _, message = own.partition(":")
    first, *others = message.strip().splitlines() or [""]
    return f"{kind.strip()}: {first}{' ...' if others else ''}" if first else kind.strip()


def _own_frames(trace: types.TracebackType | None, instructions: dict[str, Any]) -> types.TracebackType | None:
    """The frames from the program's first one."""
    file, frames = instructions.get("filename"), trace
    if file is None:
        file = getattr(sys.modules.get(instructions["module"]), "__file__", None)
    while frames is not None and frames.tb_frame.f_code.co_filename != file:
        frames = frames.tb_next
    return frames or trace


if __name__ == "__main__":
    main()
