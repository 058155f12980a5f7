"""GRF: graphs of copies and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import graphs
from pydoca.qualify.bench.rules import graph_shapes
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    import random

    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

pytestmark: pytest.MarkDecorator = pytest.mark.pydoca_needs("dma")
ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("GRF-1", title="graphs of 1 to 64 copies run in order, with the right data", levels=ALL)
@pytest.mark.parametrize("length", [1, 8, 64])
def test_data(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure, length: int) -> None:
    if length > pydoca.Dma.max_num_tasks(pydoca_device.info):
        pytest.skip(f"{pydoca_device.name} takes fewer tasks than {length}")
    runs = at(pydoca_run, smoke=10, quick=200, full=2000)
    nodes = graphs.run(pydoca_device, length, runs)
    pydoca_measure.record(f"graph.nodes.{length}", nodes, unit="1", min=2 * length * runs)
    if pydoca_run.level != "smoke":
        with pydoca_measure(f"graph.node.{length}", unit="us", stat="p50", better="lower", n_min=10) as cost:
            for value in graphs.node_cost(pydoca_device, length, cost.has_enough):
                cost.add(value)


@pytest.mark.pydoca_case(
    "GRF-3", title="graphs of any shape run in the order of their dependencies, and end with a failure", levels=ALL
)
def test_shapes(
    pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_random: random.Random, pydoca_measure: Measure
) -> None:
    if pydoca.Dma.max_num_tasks(pydoca_device.info) < 12:
        pytest.skip(f"{pydoca_device.name} takes fewer tasks than 12")
    count = at(pydoca_run, smoke=10, quick=100, full=1000)
    nodes = graph_shapes.shapes(pydoca_device, count, pydoca_random)
    pydoca_measure.record("graph.shapes.nodes", nodes, unit="1", min=count)
    ran = graph_shapes.together(pydoca_device, 4, count)
    pydoca_measure.record("graph.together", ran, unit="1", min=count)


@pytest.mark.pydoca_case("GRF-2", title="a failure in the middle ends the graph, which then runs again", levels=ALL)
def test_failure(pydoca_device: pydoca.Device) -> None:
    graphs.failure_in_the_middle(pydoca_device)
