"""`pydoca qualify --fleet`: the cases on the cards of many hosts, through Dask."""

from __future__ import annotations

import argparse
import copy
import os
import re
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pydoca.cli._arguments import Parser
from pydoca.cli._errors import CommandError, UsageError, one_line
from pydoca.cli._output import print_json
from pytest_pydoca.options import duration

if TYPE_CHECKING:
    from pydoca.qualify.fleet.order import Order, SentFile
    from pydoca.qualify.fleet.record import FleetRecord

_LOCAL = "local"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+")
_PATIENCE = 60.0
_SHOWN = 50  # outliers
_EPILOG = """\
--fleet without an address starts a cluster of worker processes on this machine (-n: how many), which ends with the
run. With an address, the workers are those of that scheduler, on any hosts: `dask scheduler` on one of them, and
`dask worker tcp://HOST:8786 --nthreads 1` on each, all with the same version of pydoca[fleet]. A worker tests as many
cards at a time as it has threads; workers that come while the run goes on take work. Each worker tells its cards:
DEVICE is a name or a pattern, such as 'sim:card*-p0', and without one a device of each card is tested. A card whose
worker is lost is tested again, by a worker that has it; after the second loss its verdict is ERROR. Files (--limits,
--baseline, --tests) go to the workers, and the directory of each card's run comes back, below that of the fleet.
Among 5 equal cards or more, outliers are marked. Dask's tasks are programs: use TLS (tls://HOST:8786, see Dask's
manual) where others reach the scheduler.
"""


class FleetRefused(CommandError):
    """The fleet, or what it is to test, is not right."""

    exit_code = 4


def add_options(parser: Parser) -> None:
    group = parser.add_argument_group("many hosts", _EPILOG)
    group.add_argument(
        "--fleet",
        nargs="?",
        const=_LOCAL,
        type=_scheduler,
        metavar="ADDRESS",
        help="test the cards of all workers of a Dask scheduler, such as tcp://HOST:8786 (default: a local cluster)",
    )
    group.add_argument(
        "--patience",
        type=duration,
        metavar="TIME",
        help=f"how long to wait for a worker that has a card, before the card is an error (default: {_PATIENCE:g}s)",
    )


def check(arguments: argparse.Namespace) -> None:
    if arguments.fleet is None:
        if arguments.patience is not None:
            raise UsageError("--patience is for --fleet: leave it out, or add --fleet")
        return
    for option, why in (
        ("resume", "resume the runs of single cards on their hosts"),
        ("rep", "a representor is chosen for one device"),
        ("peer", "a peer is chosen for one device"),
    ):
        if getattr(arguments, option):
            raise UsageError(f"--{option} does not go with --fleet: {why}")
    if arguments.workers is not None and arguments.fleet != _LOCAL:
        raise UsageError(f"-n starts workers of a local cluster; the scheduler at {arguments.fleet} has its own ones")
    _processes(arguments)


def run(arguments: argparse.Namespace) -> int:
    from pydoca.cli.qualify._pytest import require_packages
    from pydoca.qualify.fleet.cluster import FleetError, require_distributed
    from pydoca.qualify.fleet.conduct import Where, conduct

    require_packages()
    try:
        require_distributed()
        where = Where(
            arguments.fleet, _processes(arguments), Path(arguments.out or "runs"), arguments.patience or _PATIENCE
        )
        stream = sys.stderr if arguments.json else sys.stdout
        fleet, directory = conduct(_order(arguments), where, stream=stream)
    except FleetError as error:
        raise FleetRefused(str(error)) from None
    _show(fleet, directory, as_json=arguments.json)
    return fleet.exit_code or 0


def _scheduler(text: str) -> str:
    if text != _LOCAL and not _ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the address of a scheduler: write tcp://HOST:PORT, or --fleet behind the devices"
        )
    return text


def _processes(arguments: argparse.Namespace) -> int:
    """The number of processes: half of the cores, at most four, because cards that share cores disturb one another."""
    from pydoca.cli.qualify._pytest import MOST_PROCESSES, is_count_of_processes

    text = arguments.workers
    if text is None:
        return max(1, min(4, (os.cpu_count() or 1) // 2))
    if not is_count_of_processes(text, 1):
        raise UsageError(f"-n {text}: with --fleet, write a number of worker processes from 1 to {MOST_PROCESSES}")
    return int(text)


def _order(arguments: argparse.Namespace) -> Order:
    from pydoca.cli.qualify._pytest import to_words
    from pydoca.qualify.fleet.order import Order, seconds_of_a_run
    from pydoca.qualify.session.levels import DEFAULT

    own = copy.copy(arguments)
    own.seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    own.level = arguments.level or DEFAULT
    own.device, own.limits, own.baseline, own.out, own.workers = [], [], None, None, None
    return Order(
        words=tuple(to_words(own)),
        level=own.level,
        seed=own.seed,
        files=_files(arguments),
        selectors=tuple(arguments.device),
        backend=arguments.backend,
        seconds=seconds_of_a_run(own.level, arguments.repeat or 1, arguments.duration) + (arguments.wait or 0.0),
    )


def _files(arguments: argparse.Namespace) -> tuple[SentFile, ...]:
    """The files, read here so that a wrong limits file is refused before anything runs."""
    from pydoca.qualify.fleet.order import OrderError, SentFile
    from pydoca.qualify.limits.file import LimitsError, read_limits

    limits = [("--pydoca-limits", path) for path in arguments.limits]
    limits += [("--pydoca-baseline", arguments.baseline)] if arguments.baseline else []
    try:
        for _, path in limits:
            read_limits(path)
        return tuple(SentFile.read(*each) for each in (*limits, *(("", path) for path in arguments.tests or [])))
    except (LimitsError, OrderError) as error:
        raise FleetRefused(str(error)) from None


def _show(fleet: FleetRecord, directory: Path, *, as_json: bool) -> None:
    from pydoca.qualify.fleet.directory import to_dict

    if as_json:
        print_json({**to_dict(fleet), "fleet_directory": str(directory)})
        return
    from pydoca.qualify.figures import plural
    from pydoca.qualify.fleet.findings import FLEET, OUTLIER, findings_of

    found = findings_of(fleet)
    for finding in [each for each in found if each.kind == FLEET]:
        print(f"finding: {one_line(finding.text)}")
    for finding in [each for each in found if each.kind == OUTLIER][:_SHOWN]:
        print(f"outlier: {finding.title}: {finding.text}")
    verdicts = [each.run.verdict for each in fleet.cards]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict.value}" for verdict in dict.fromkeys(verdicts))
    untested = sum(not each.was_tested for each in fleet.cards)
    left = f"; {untested} not tested" if untested else ""
    print(f"{fleet.verdict.value}: {plural(len(fleet.cards), 'card')}: {counts}{left}")
    print(f"exit code {fleet.exit_code}, --seed {fleet.seed}")
    print(f"results: {one_line(str(directory))}")
