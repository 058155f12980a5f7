"""The inventory of the machine: every fact, or why it is absent."""

import json

import pytest

from pydoca.qualify import machine


@pytest.fixture
def root(tmp_path):
    """A machine with one card, in files."""
    function = tmp_path / "sys/bus/pci/devices/0000:03:00.0"
    files = {
        "current_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "16",
        "numa_node": "1",
        "infiniband/mlx5_0/fw_ver": "32.41.1000",
        "infiniband/mlx5_0/board_id": "MT_0000000884",
        "aer_dev_correctable": "RxErr 0\nBadTLP 2\nTOTAL_ERR_COR 2",
        "hwmon/hwmon3/temp1_input": "61500",
    }
    for name, text in files.items():
        (function / name).parent.mkdir(parents=True, exist_ok=True)
        (function / name).write_text(text + "\n")
    driver = tmp_path / "sys/bus/pci/drivers/mlx5_core"
    (driver / "module").mkdir(parents=True)
    (driver / "module/version").write_text("24.10\n")
    (function / "driver").symlink_to(driver)
    for cpu, governor in enumerate(["performance", "performance", "powersave"]):
        place = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cpufreq"
        place.mkdir(parents=True)
        (place / "scaling_governor").write_text(governor)
    return tmp_path


DEVICE = {"backend": "verbs", "pci_address": "03:00.0"}


def test_the_facts_of_a_card_are_read_from_its_function(root):
    found = machine.inventory(DEVICE, root=root)
    values = {name.removeprefix("device."): fact.get("value") for name, fact in found.items()}
    assert values["link_speed"] == "32.0 GT/s PCIe"
    assert values["link_width"] == "16"
    assert values["firmware"] == "32.41.1000"
    assert values["psid"] == "MT_0000000884"
    assert values["driver"] == "mlx5_core"
    assert values["driver_version"] == "24.10"
    assert values["aer_correctable"] == "2"
    assert values["temperature"] == 61.5
    assert values["cpu.governor"] == "performance (2), powersave (1)"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("quiet", "(1 other)"),
        (
            "root=UUID=1f-2e iommu=pt isolcpus=2-7 token=secret",
            "iommu=pt isolcpus=2-7 (2 others)",
        ),
        ("mitigations=off pcie_aspm=off nosmt myiommu=1", "mitigations=off pcie_aspm=off nosmt (1 other)"),
    ],
)
def test_of_the_kernels_command_line_only_what_changes_a_device_is_told(root, line, told):
    (root / "proc").mkdir()
    (root / "proc/cmdline").write_text(f"{line}\n")
    assert machine.inventory(DEVICE, root=root)["kernel.command_line"]["value"] == told


def test_a_fact_that_cannot_be_read_has_its_reason(root):
    found = machine.inventory(DEVICE, root=root)
    assert found["device.aer_fatal"]["absent"].startswith("there is no ")
    assert found["iommu"] == {"absent": "off: the kernel has no IOMMU groups"}
    simulated = machine.inventory({"backend": "sim", "pci_address": "03:00.0"}, root=root)
    assert simulated["device.link_speed"] == {"absent": "the device is simulated"}
    assert machine.inventory({}, root=root)["device.driver"] == {"absent": "the device has no PCI address"}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"x" * 5000])
def test_no_file_of_the_system_stops_the_inventory(root, content):
    for path in [path for path in root.rglob("*") if path.is_file()]:
        path.write_bytes(content)
    for fact in machine.inventory(DEVICE, root=root).values():
        assert set(fact) in ({"value"}, {"absent"})


def test_counters_are_numbers_of_the_function_and_its_ports(root):
    port = root / "sys/bus/pci/devices/0000:03:00.0/infiniband/mlx5_0/ports/1"
    for name, text in {"hw_counters/out_of_sequence": "7", "counters/symbol_error": "0", "counters/bad": "N/A"}.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(text)
    assert machine.counters(DEVICE, root=root) == {
        "aer_correctable": 2,
        "temperature": 61.5,
        "mlx5_0/1/counters/symbol_error": 0,
        "mlx5_0/1/hw_counters/out_of_sequence": 7,
    }
    assert machine.counters({"backend": "sim", "pci_address": "03:00.0"}, root=root) == {}


def test_this_machine_has_an_inventory():
    found = machine.inventory()
    assert found["cpu.count"]["value"] >= 1
    assert found["kernel.release"]["value"]
    assert json.loads(json.dumps(found)) == found


def test_a_difference_is_a_finding_and_a_temperature_is_not(root):
    before = machine.inventory(DEVICE, root=root)
    function = root / "sys/bus/pci/devices/0000:03:00.0"
    (function / "current_link_width").write_text("8")
    (function / "hwmon/hwmon3/temp1_input").write_text("80000")
    (function / "numa_node").unlink()
    after = machine.inventory(DEVICE, root=root)
    found = {name: (one, other) for name, one, other in machine.changes(before, after)}
    assert found.keys() == {"device.link_width", "device.numa_node"}
    assert found["device.link_width"] == ("16", "8")
    assert found["device.numa_node"][1].startswith("absent: there is no ")
    assert machine.changes(before, before) == machine.changes(before, {}) == []
