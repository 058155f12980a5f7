"""Fleets of invented cards, for the tests of code that does not use Dask, or runs it in this process."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydoca.qualify.fleet.cards import Card
from pydoca.qualify.fleet.cluster import Cluster, connect
from pydoca.qualify.fleet.conduct import Fleet
from pydoca.qualify.fleet.order import Order
from pydoca.qualify.fleet.worker import Outcome, process_name
from pydoca.qualify.records import MeasurementRecord, RunRecord
from pydoca.qualify.results.codec import case_to_dict, run_to_dict, to_json
from pydoca.qualify.verdicts import ExitCode, Verdict
from qualify.reports.runs import BEGIN, case, measured, new_run

ORDER = Order(words=(), level="smoke", seed=7, selectors=("*-p0",))


def card(number: int, *, serial: str = "", **more: Any) -> Card:
    known = {"host": f"host{number}", "device": "sim:p0", "name": "p0", "pci_address": "0000:03:00.0"}
    known |= {"backend": "sim", "side": "dpu", "profile": "bluefield3", "part": "", "firmware": ""}
    return Card(key=f"SIM{number:05}ECS0D0F0", serial=serial or f"SIM{number:05}", **{**known, **more})


def value(name: str, number: float, *, better: str = "higher") -> MeasurementRecord:
    return measured(name, [number], stat="mean", better=better)


def run_of(*measurements: MeasurementRecord, verdict: Verdict = Verdict.PASS) -> RunRecord:
    run = new_run("smoke", planned=1)
    run.cases, run.verdict = [case("A-1", *measurements, verdict=verdict)], verdict
    run.exit_code, run.end = int(ExitCode.of_verdict(verdict)), BEGIN + 1
    return run


def outcome(run: RunRecord | None, *, exit_code: int | None = None, said: str = "", **more: Any) -> Outcome:
    """The outcome of a run, with the archive that a run's directory is loaded from; empty if there was no run."""
    code = exit_code if exit_code is not None else (run.exit_code or 0 if run else 0)
    known = {"timed_out": False, "left_out": (), "begin": BEGIN, "end": BEGIN + 1}
    return Outcome(process_name(), code, archive=_packed(run) if run else b"", said=said, **{**known, **more})


def _packed(run: RunRecord) -> bytes:
    state = {"schema": 1, "run": run_to_dict(run), "cases": [case_to_dict(each) for each in run.cases]}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("state.json", to_json(state))
    return packed.getvalue()


_testers: list[Callable[[Card, Order], Outcome]] = []


def _tester_of_the_test(card: Card, order: Order) -> Outcome:
    """Calls the tester of the test. Dask pickles its functions, even for threads, and those of a test have locks."""
    return _testers[-1](card, order)


@asynccontextmanager
async def in_this_process(workers: int, threads: int = 1) -> AsyncIterator[tuple[Any, Cluster]]:
    """A cluster whose workers are threads, and a client by its address."""
    from distributed import LocalCluster

    any_port = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    options = {"host": "127.0.0.1", "protocol": "tcp://", "scheduler_kwargs": any_port}
    async with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=False,
            asynchronous=True,
            memory_limit=None,
            **options,
        ) as local,
        connect(local.scheduler_address, 0) as cluster,
    ):
        yield local, cluster


def run_in_this_process(
    tmp_path: Path,
    tester: Callable[[Card, Order], Outcome],
    *,
    workers: int,
    threads: int = 1,
    beside: Callable[[Any, Fleet], Any] | None = None,
    patience: float = 30.0,
    order: Order = ORDER,
) -> Fleet:
    """Runs a fleet. beside is a coroutine function that runs at the same time, with the cluster."""

    async def run() -> Fleet:
        async with in_this_process(workers, threads) as (local, cluster):
            with (tmp_path / "output.txt").open("w") as stream:
                fleet = Fleet(order, cluster, tmp_path / "runs", stream, patience=patience, tester=_tester_of_the_test)
                other = asyncio.create_task(beside(local, fleet)) if beside else None
                await fleet.run()
                if other:
                    await other
            return fleet

    _testers[:] = [tester]
    return asyncio.run(run())


def shown(tmp_path: Path) -> str:
    return (tmp_path / "output.txt").read_text()
