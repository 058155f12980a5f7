"""The work of `pydoca copy`: runs one half, or both, and prints the result."""

from __future__ import annotations

import argparse
import os
import socket
from typing import Any

from pydoca.cli._errors import CommandError, exit_code, one_line
from pydoca.cli._output import print_json
from pydoca.cli._trace_file import traced
from pydoca.cli._two_processes.comch_link import open_dpu_device, open_host_device, open_representor
from pydoca.cli._two_processes.event_loop import run as run_loop
from pydoca.cli._two_processes.rdma_link import choose_backend
from pydoca.cli._two_processes.report import FrontEnd, Reporter, Terminal
from pydoca.cli.copy import _dpu, _host, _over_rdma
from pydoca.cli.copy._front_end import run_both

_DEFAULT_NAME = "copy"


def run(arguments: argparse.Namespace) -> int:
    if arguments.front_end is not None:
        return _run_for_front_end(arguments)
    reporter = Terminal(arguments.quiet)
    try:
        with traced(arguments.trace, *_files(arguments.paths)):
            result = _run(arguments, reporter)
    finally:
        reporter.close()
    if arguments.json:
        print_json(result)
    elif not arguments.quiet:
        print(one_line(_summary(result)))
    return 0


def _run(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    if arguments.transport == "rdma":
        choose_backend(arguments.backend)
        return run_loop(_over_rdma.run(arguments, reporter), None)
    return _run_half(arguments, reporter) if arguments.side else _run_both(arguments, reporter)


def _run_half(
    arguments: argparse.Namespace, reporter: Reporter, front_end: socket.socket | None = None
) -> dict[str, Any]:
    if arguments.name is None:
        arguments.name = _DEFAULT_NAME
    half = _host if arguments.side == "host" else _dpu
    return run_loop(half.run(arguments, reporter), front_end)


def _run_for_front_end(arguments: argparse.Namespace) -> int:
    """Runs a half. Errors also go to the front end, which has the errors of both halves and shows the cause."""
    with socket.socket(fileno=arguments.front_end) as connection:
        reporter = FrontEnd(connection)
        try:
            reporter.done(_run_half(arguments, reporter, connection))
        except Exception as error:
            reporter.failed(error)
            if arguments.debug:
                raise
            return exit_code(error)
        return 0


def _run_both(arguments: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    side = os.environ.get("PYDOCA_SIDE")
    if side:
        raise CommandError(f"PYDOCA_SIDE={side} shows one side only, and this copy needs both: unset it, or use --side")
    _require_two_files(*arguments.paths)
    with open_host_device(arguments.device) as host:
        arguments.device = host.pci_addr
    rep = arguments.rep or arguments.device
    with open_dpu_device(arguments.dpu_device, rep) as device, open_representor(device, rep) as representor:
        if representor.pci_addr != host.pci_addr:
            raise CommandError(
                f"--rep {rep} is of {representor.pci_addr}, and the host's function is {host.name} ({host.pci_addr}): "
                "also give --device, or leave --rep out"
            )
        arguments.rep = rep
        arguments.dpu_device = device.name  # several functions can have one address
    return run_loop(run_both(arguments, reporter))


def _files(paths: list[str]) -> list[str]:
    """The paths; for a destination that is a directory, the file in it."""
    *others, last = paths
    return [*others, os.path.join(last, os.path.basename(others[0])) if others and os.path.isdir(last) else last]


def _require_two_files(source: str, destination: str) -> None:
    source, destination = _files([source, destination])
    if os.path.exists(source) and os.path.exists(destination) and os.path.samefile(source, destination):
        raise CommandError(f"{source} and {destination} are the same file")


def _summary(result: dict[str, Any]) -> str:
    text = f"{result['bytes']} bytes, SHA-256 {result['sha256']}"
    if "destination" not in result:
        return f"{result['source']}: {text}"
    rate = f"{result['seconds']:.3f} s, {result['gigabytes_per_second']:.2f} GB/s"
    operations = "DMA tasks" if "representor" in result else "reads"
    return f"{result['destination']}: {text}, {rate}, {result['pieces']} {operations}"
