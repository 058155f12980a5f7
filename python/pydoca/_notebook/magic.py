"""The magics `%%pydoca` and `%pydoca`: processes of the other side, which cells start and stop."""

from __future__ import annotations

import argparse
import asyncio
import builtins
import contextlib
import keyword
import shlex
from collections.abc import Callable
from typing import Any, NoReturn

from IPython.core.error import UsageError

from pydoca import sim
from pydoca._aio.signal_pipe import SIGNAL_PIPE
from pydoca._notebook.completion import make_matcher
from pydoca._notebook.device_lists import DeviceLists
from pydoca._notebook.hints import Hints
from pydoca._notebook.late_output import LateOutput, is_executed_as_a_whole
from pydoca._spawn.process import Process, start, stop_together

_CELL = "%%pydoca SIDE [--name NAME] [--background]"
_HELP = f"""{_CELL}
    Runs the cell as a process of the side, dpu or host, and shows its output here, until it ends; meanwhile nothing
    else of the notebook runs. It is a new Python, which has nothing of the notebook; it may await at the top level.
    A cell that is run again stops the process of its name first. --background goes on at once: the process runs
    while other cells run, until its end, %pydoca stop or the end of the kernel. --name NAME also makes it the
    notebook's variable NAME, a pydoca.sim.Process: `await NAME` waits for its end. The default name is the side.
%pydoca list
    Lists the processes that run.
%pydoca stop [NAME]
    Stops one process, or all.
%pydoca wait [NAME] [--timeout SECONDS]
    Waits for the end of one process, or of all, and raises the error of one that failed."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{_HELP}")


def _cell_parser() -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument("side", choices=["dpu", "host"], metavar="SIDE")
    parser.add_argument("--name")
    parser.add_argument("--background", action="store_true")
    return parser


def _line_parser() -> _Parser:
    parser = _Parser(add_help=False)
    parser.add_argument("verb", choices=["list", "stop", "wait"], metavar="list|stop|wait")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--timeout", type=float)
    return parser


class Magic:
    """The processes that the cells of one notebook have started, by name."""

    def __init__(self, ipython: Any) -> None:
        self._ipython = ipython
        self._namespace: dict[str, Any] = ipython.user_ns
        self.late_output = LateOutput()
        self._processes: dict[str, Process] = {}

    def run(self, line: str, cell: str | None) -> None:
        words = _words(line)
        if cell is not None:
            self._start(_cell_parser().parse_args(words), cell)
            return
        arguments = _line_parser().parse_args(words)
        verbs: dict[str, Callable[[argparse.Namespace], None]] = {
            "list": self._list,
            "stop": self._stop,
            "wait": self._wait,
        }
        verbs[arguments.verb](arguments)

    def names(self) -> list[str]:
        """The names of the processes that cells have started."""
        return list(self._processes)

    def stop_all(self) -> None:
        stop_together(self._chosen(None))

    def _start(self, arguments: argparse.Namespace, source: str) -> None:
        name = arguments.name or arguments.side
        if arguments.name is not None:
            self._require_free(name)
        if name in self._processes:
            self._processes.pop(name).stop()
        # The name is the file's in tracebacks.
        filename = f"<%%pydoca {' '.join(dict.fromkeys((arguments.side, name)))}>"
        shows_late = arguments.background and is_executed_as_a_whole(self._ipython)
        process = start(source, arguments.side, name, (), None, sim._loaded_topology, not shows_late, filename)
        self._processes[name] = process
        if shows_late:
            self.late_output.add(process)
        if arguments.name is not None:
            self._namespace[name] = process
        if not arguments.background:
            _wait_for(process)

    def _require_free(self, name: str) -> None:
        if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name):
            raise UsageError(f"--name {name}: the name is that of a variable, which this cannot be, or should not be")
        if not isinstance(self._namespace.get(name), Process | None):
            raise UsageError(f"--name {name}: the notebook has another variable of this name; choose another name")

    def _list(self, arguments: argparse.Namespace) -> None:
        running = [process for process in self._processes.values() if process.returncode is None]
        for process in running:
            print(f"{process.name}: {process.side} process {process.pid}")
        if not running:
            print("no process runs")

    def _stop(self, arguments: argparse.Namespace) -> None:
        stop_together(self._chosen(arguments.name))

    def _wait(self, arguments: argparse.Namespace) -> None:
        """Waits for all processes that run; raises the first failure after the last has ended."""
        chosen = self._chosen(arguments.name)
        if arguments.name is None:
            chosen = [process for process in chosen if process.returncode is None]
        failure = None
        for process in chosen:
            try:
                process.wait(arguments.timeout)
            except sim.ProcessError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _chosen(self, name: str | None) -> list[Process]:
        if name is None:
            return list(self._processes.values())
        if name not in self._processes:
            known = ", ".join(self._processes) or "none"
            raise UsageError(f"no cell has started a process {name!r}; there are: {known}")
        return [self._processes[name]]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{error}\n{_HELP}") from None


def _wait_for(process: Process) -> None:
    """An interrupt of the cell stops its process."""
    try:
        process.wait()
    except BaseException:
        with contextlib.suppress(Exception):
            process.stop()
        raise


def load(ipython: Any) -> None:
    magic = Magic(ipython)

    def pydoca(line: str, cell: str | None = None) -> None:
        magic.run(line, cell)

    pydoca.__doc__ = _HELP
    hints = Hints(ipython.user_ns)
    matcher = make_matcher(ipython.user_ns, magic.names)
    pydoca.magic, pydoca.hints, pydoca.matcher = magic, hints, matcher  # type: ignore[attr-defined]
    pydoca.lists = DeviceLists(ipython)  # type: ignore[attr-defined]
    ipython.Completer.custom_matchers.append(matcher)
    ipython.events.register("post_run_cell", hints.show)
    ipython.events.register("post_run_cell", magic.late_output.show)
    ipython.register_magic_function(pydoca, magic_kind="line_cell", magic_name="pydoca")
    # ipykernel's answer to an interrupt waits in the loop, which sleeps until something else wakes it.
    with contextlib.suppress(RuntimeError):
        SIGNAL_PIPE.enter(magic, asyncio.get_running_loop())


def unload(ipython: Any) -> None:
    magics = ipython.magics_manager.magics
    function = magics["cell"].pop("pydoca", None)
    magics["line"].pop("pydoca", None)
    if function is not None:
        SIGNAL_PIPE.leave(function.magic)
        ipython.Completer.custom_matchers.remove(function.matcher)
        function.lists.remove()
        ipython.events.unregister("post_run_cell", function.hints.show)
        ipython.events.unregister("post_run_cell", function.magic.late_output.show)
        function.magic.stop_all()
