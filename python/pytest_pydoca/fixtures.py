"""The fixtures of the cases. Each one imports what it needs when a test uses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import random

    import pydoca
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun
    from pydoca.qualify.session.pair import Pair


@pytest.fixture(scope="session")
def _pydoca_choice(request: pytest.FixtureRequest) -> Any:
    """The device under test: one of several by the parameter, else the only one, or None where none is chosen."""
    from pydoca.qualify.session.hooks import session_of

    return getattr(request, "param", None) or session_of(request.config).targets[0].info


@pytest.fixture
def pydoca_run(request: pytest.FixtureRequest, _pydoca_choice: Any) -> Iterator[CaseRun]:
    """The run, as this case sees it: seed, level, duration, directory, device, expected values."""
    from pydoca.qualify.session.session import PHASES

    run: CaseRun = request.node.stash[PHASES].run
    yield run
    run.require_blocks()


@pytest.fixture
def pydoca_device(request: pytest.FixtureRequest, pydoca_run: CaseRun) -> Iterator[pydoca.Device]:
    """The device under test, open for this test."""
    from pydoca.qualify.session.opening import opened

    with opened(pydoca_run.require_device(), lambda: pydoca_run.failed) as device:
        yield device


@pytest.fixture
def pydoca_engine() -> Iterator[pydoca.ProgressEngine]:
    """A progress engine, whose contexts are stopped after the test."""
    import pydoca

    with pydoca.ProgressEngine() as engine:
        yield engine


@pytest.fixture
def pydoca_measure(pydoca_run: CaseRun) -> Measure:
    """``with pydoca_measure("dma.bw", unit="GB/s") as m: m.add(value)``; the limits judge at the end of the block."""
    return pydoca_run.measure


@pytest.fixture
def pydoca_random(pydoca_run: CaseRun) -> random.Random:
    """Random choices that follow from the run's seed, this test and its repeat."""
    return pydoca_run.random()


@pytest.fixture
def pydoca_pair(pydoca_run: CaseRun) -> Iterator[Pair]:
    """A process of the host and one of the DPU: ``pydoca_pair.host.call(function, *arguments)``."""
    from pydoca.qualify.session.pair import open_pair

    with open_pair(pydoca_run) as pair:
        yield pair
