"""pydoca's plug-in for pytest: fault plans, and the qualification of devices.

pytest imports it at every start: it imports neither pydoca nor NumPy before a test needs them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_pydoca.async_tests import pytest_pyfunc_call as pytest_pyfunc_call
from pytest_pydoca.fabric import give_worker_its_fabric
from pytest_pydoca.faults import FaultInjection as FaultInjection
from pytest_pydoca.faults import pydoca_faults as pydoca_faults
from pytest_pydoca.fixtures import (
    _pydoca_choice as _pydoca_choice,
)
from pytest_pydoca.fixtures import (
    pydoca_device as pydoca_device,
)
from pytest_pydoca.fixtures import (
    pydoca_engine as pydoca_engine,
)
from pytest_pydoca.fixtures import (
    pydoca_measure as pydoca_measure,
)
from pytest_pydoca.fixtures import (
    pydoca_pair as pydoca_pair,
)
from pytest_pydoca.fixtures import (
    pydoca_random as pydoca_random,
)
from pytest_pydoca.fixtures import (
    pydoca_run as pydoca_run,
)
from pytest_pydoca.markers import add_markers, is_case
from pytest_pydoca.options import add_options, is_used


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_cmdline_main(config: pytest.Config) -> None:
    """A plan needs no workers of xdist."""
    if config.getoption("pydoca_plan") and config.getoption("dist", "no") != "no":
        config.option.dist, config.option.tx = "no", []


def pytest_configure(config: pytest.Config) -> None:
    give_worker_its_fabric()
    add_markers(config)
    if is_used(config) and not (config.option.help or config.option.version):
        _session(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Selects the cases before -k looks at the words of each."""
    if any(is_case(item) for item in items):
        _session(config).select(items)
    yield


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of xdist cannot end the run with a usage error; the controller can."""
    if message := getattr(node, "workeroutput", {}).get("pydoca_usage"):
        _session(node.config).refused = message


def _session(config: pytest.Config) -> Any:
    from pydoca.qualify.session.hooks import session_of

    return session_of(config)
