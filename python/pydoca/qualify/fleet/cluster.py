"""A client of Dask's scheduler: of one that is there already, or of a local cluster that ends with the client."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from pydoca.qualify.installing import command_for_extra

LOCAL = "local"
_CONNECT = 15.0  # seconds
# Seconds after which Dask gives a worker up that has left, and between two looks at how many there are.
_LOST = 1
# The scheduler and the workers have an HTTP server in any case, which asks for no password.
_NO_PAGES: dict[str, Any] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}


class FleetError(Exception):
    """The fleet cannot be tested; the message says what to do."""


@dataclass(frozen=True)
class Cluster:
    client: Any  # distributed.Client, asynchronous
    where: str
    is_local: bool
    local: Any = None  # distributed.LocalCluster


def require_distributed() -> None:
    """Raises FleetError."""
    for package in ("distributed", "cryptography"):
        if find_spec(package) is None:
            how = command_for_extra("fleet")
            raise FleetError(f"--fleet needs {package}, which is not installed; this installs it: {how}")


@contextlib.asynccontextmanager
async def connect(address: str, workers: int) -> AsyncIterator[Cluster]:
    """address: of the scheduler, or LOCAL for a cluster of so many worker processes. Raises FleetError."""
    require_distributed()
    from distributed import Client

    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(_quiet())
        if address == LOCAL:
            yield await stack.enter_async_context(_local(workers))
            return
        try:
            client = await stack.enter_async_context(
                Client(address, asynchronous=True, set_as_default=False, timeout=_CONNECT)
            )
        except (OSError, ValueError, TypeError) as error:
            why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise FleetError(
                f"no scheduler answers at {address} ({why}): start one by `dask scheduler`, and on each host "
                f"`dask worker {address}`"
            ) from None
        yield Cluster(client, address, is_local=False)


@contextlib.asynccontextmanager
async def _local(workers: int) -> AsyncIterator[Cluster]:
    """On loopback, with certificates of its own: other users of the machine cannot give it tasks."""
    import dask
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pydoca-fleet-", ignore_cleanup_errors=True))
        settings = {"temporary-directory": folder, "distributed.deploy.lost-worker-timeout": f"{_LOST}s"}
        stack.enter_context(dask.config.set({**_NO_PAGES, **settings}))  # Dask leaves its own folder
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,  # cards that share cores disturb one another
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=True,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            worker_dashboard_address=None,  # loopback, any port
            memory_limit=None,
            local_directory=folder,
            silence_logs=logging.CRITICAL,
            asynchronous=True,
        )
        async with cluster, Client(cluster, asynchronous=True, set_as_default=False) as client:
            where = f"a local cluster of {workers} worker {'process' if workers == 1 else 'processes'}"
            async with _kept_whole(cluster, workers):
                yield Cluster(client, where, is_local=True, local=cluster)


@contextlib.asynccontextmanager
async def _kept_whole(cluster: Any, workers: int) -> AsyncIterator[None]:
    """Starts another worker for each that leaves for good, as one does whose connection to the scheduler breaks."""
    task = asyncio.create_task(_replace_workers(cluster, workers))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _replace_workers(cluster: Any, workers: int) -> None:
    while True:
        await asyncio.sleep(_LOST)
        if len(cluster.workers) < workers:
            cluster.scale(workers)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The report tells of lost workers; Dask's own warnings would break the progress bar."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
