"""Simulated fabrics for the workers of pytest-xdist."""

from __future__ import annotations

import os


def give_worker_its_fabric() -> None:
    """Tests that run at the same time use the same names, of services say, and must not meet by them.

    PYDOCA_FABRIC, where it is set already, holds for all workers. Processes that tests start inherit the variable.
    """
    worker, run = os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    if worker and not os.environ.get("PYDOCA_FABRIC"):
        os.environ["PYDOCA_FABRIC"] = f"{worker}-{run[:16]}"
