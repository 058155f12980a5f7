"""INV: the device exists, and has the expected properties and place."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pydoca
from pydoca.qualify.bench import clocks, contexts, identity, resources
from pydoca.qualify.bench.waiting import DeviceFault, duty
from pydoca.qualify.cases.counts import at

if TYPE_CHECKING:
    from pydoca.qualify.measure import Measure
    from pydoca.qualify.session.case_run import CaseRun

ALL = ("smoke", "quick", "full")


@pytest.mark.pydoca_case("INV-1", title="enumerates, opens and closes, again and again", levels=ALL)
def test_enumerates_opens_and_closes(pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    info = pydoca_run.require_device()
    times = []

    def cycle() -> None:
        with duty(f"open {info.name}"):
            found = [each for each in pydoca.devices(side=info.side) if each.name == info.name]
            if len(found) != 1:
                raise DeviceFault(f"an enumeration shows {len(found)} devices of the name {info.name}")
            begin = time.perf_counter_ns()
            with pydoca.open_device(found[0]) as device:
                times.append((time.perf_counter_ns() - begin) / 1e6)
                if device.removed:
                    raise DeviceFault(f"{info.name} was removed")

    grown = resources.growth(cycle, at(pydoca_run, smoke=100, full=1000))
    with pydoca_measure("inv.open", unit="ms", stat="p50", better="lower", max=1000) as opening:
        opening.extend(times)
    pydoca_measure.record("inv.leak.descriptors", grown.descriptors, unit="1", max=0)
    pydoca_measure.record("inv.leak.mappings", grown.mappings, unit="1", max=0)
    pydoca_measure.record("inv.leak.threads", grown.threads, unit="1", max=0)


@pytest.mark.pydoca_case("INV-2", title="part, serial and firmware are the expected ones", levels=ALL)
@pytest.mark.pydoca_needs("hardware")
def test_identity(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    info = pydoca_device.info
    folder = Path("/sys/class/infiniband") / info.ibdev_name
    pydoca_measure.expect("identity.profile", info.profile)
    pydoca_measure.expect("identity.vuid", info.vuid)
    for name, file in {"firmware": "fw_ver", "psid": "board_id", "hca": "hca_type"}.items():
        if (folder / file).exists():
            pydoca_measure.expect(f"identity.{name}", (folder / file).read_text().strip())


@pytest.mark.pydoca_case(
    "INV-3", title="PCIe speed and width are the expected ones, and no error is counted", levels=ALL
)
@pytest.mark.pydoca_needs("hardware")
def test_pcie_link(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    folder = Path("/sys/bus/pci/devices") / pydoca_device.pci_addr
    if not pydoca_device.pci_addr or not folder.exists():
        pytest.skip(f"{pydoca_device.name} is not a PCI device")
    for name, file in {"speed": "current_link_speed", "width": "current_link_width"}.items():
        pydoca_measure.expect(f"pcie.{name}", (folder / file).read_text().strip())
    counts = folder / "aer_dev_correctable"
    if counts.exists():
        total = int(counts.read_text().split("TOTAL_ERR_COR")[1])
        pydoca_measure.record("pcie.aer.correctable", total, unit="1", max=0)


@pytest.mark.pydoca_case("INV-4", title="each representor belongs to a function, and tells its properties", levels=ALL)
@pytest.mark.pydoca_needs("dpu", "representors")
def test_representors(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    with duty("list the representors"):
        shown = pydoca_device.representors()
    pydoca_measure.expect("representors", len(shown))
    pydoca_measure.record("inv.representors", len(shown), unit="1", min=1)
    names = [(each.pci_addr, each.name) for each in shown]
    if len(set(names)) != len(names):
        raise DeviceFault(f"representors are listed twice: {names}")
    for each in shown:
        with duty(f"open the representor {each.name}"), pydoca_device.open_representor(each) as representor:
            if representor.pci_addr != each.pci_addr:
                raise DeviceFault(f"{each.name} is of {representor.pci_addr}, and was listed as of {each.pci_addr}")
    pydoca_measure.record("inv.representors.compared", identity.representors(pydoca_device), unit="1", min=0)


@pytest.mark.pydoca_case("INV-5", title="NUMA node, hugepages and governor are recorded", levels=ALL)
def test_placement(pydoca_device: pydoca.Device, pydoca_measure: Measure) -> None:
    node = Path("/sys/bus/pci/devices") / pydoca_device.pci_addr / "numa_node"
    if pydoca_device.pci_addr and node.exists():
        pydoca_measure.expect("machine.numa_node", int(node.read_text()))
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor.exists():
        pydoca_measure.expect("machine.governor", governor.read_text().strip())
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    pydoca_measure.expect("machine.hugepages", int(memory.get("HugePages_Total", "0").split()[0]))


@pytest.mark.pydoca_case("INV-6", title="a context of each library leaves nothing behind, again and again", levels=ALL)
def test_contexts(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    count = at(pydoca_run, smoke=20, quick=60, full=1000)
    with resources.only_new_objects():
        grown = {
            name: resources.growth(partial(cycle, pydoca_device), count)
            for name, cycle in contexts.cycles(pydoca_device).items()
        }
    for name, usage in grown.items():
        pydoca_measure.record(f"inv.{name}.descriptors", usage.descriptors, unit="1", max=0)
        pydoca_measure.record(f"inv.{name}.mappings", usage.mappings, unit="1", max=0)
        pydoca_measure.record(f"inv.{name}.threads", usage.threads, unit="1", max=0)
        if count >= 60:  # fewer cycles show nothing of an allocator
            pydoca_measure.record(f"inv.{name}.resident", usage.resident / 1024, unit="KiB", max=count * 2)


@pytest.mark.pydoca_case("INV-9", title="each function of the host has a representor", levels=ALL)
@pytest.mark.pydoca_needs("pair", "sim")
def test_each_function_has_a_representor(pydoca_measure: Measure) -> None:
    missing = identity.unrepresented()
    pydoca_measure.record("inv.unrepresented", len(missing), unit="1", max=0)
    if missing:
        raise DeviceFault(f"the DPU has no representor of {', '.join(missing)}")


@pytest.mark.pydoca_case(
    "INV-7", title="no two functions are the same, and each name leads to its function", levels=ALL
)
def test_identities(pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    info = pydoca_run.require_device()
    pydoca_measure.record("inv.functions", identity.functions(info.backend), unit="1", min=1)
    pydoca_measure.record("inv.gids", identity.gids(info.backend), unit="1", min=0)
    pydoca_measure.record("inv.names", identity.names(info), unit="1", min=1)


@pytest.mark.pydoca_case("INV-8", title="each clock goes forward, without jumps, at its rate", levels=ALL)
@pytest.mark.pydoca_needs("clock")
def test_clocks(pydoca_device: pydoca.Device, pydoca_run: CaseRun, pydoca_measure: Measure) -> None:
    seconds = at(pydoca_run, smoke=30, quick=50, full=3000) / 1e3
    for which in clocks.clocks(pydoca_device):
        count = clocks.readings(pydoca_device, which, seconds) + clocks.crossings(pydoca_device, which, 1000)
        name = f"clock.{clocks.name_of(which)}"
        pydoca_measure.record(f"{name}.readings", count, unit="1", min=1)
        if which != pydoca.ClockType.NIC_DPA_TIMER:  # its frequency is not a capability
            wrong = clocks.deviation(pydoca_device, which, at(pydoca_run, smoke=100, quick=300, full=10_000) / 1e3)
            pydoca_measure.record(f"{name}.deviation", wrong, unit="ppm", better="lower", max=150)
    if pydoca.ClockType.NIC_REAL_TIME in clocks.clocks(pydoca_device):
        most = 5 if pydoca_device.info.backend == "sim" else None  # a card's clock may be in TAI, or not set at all
        pydoca_measure.record("clock.offset", abs(clocks.offset(pydoca_device)), unit="s", better="lower", max=most)
