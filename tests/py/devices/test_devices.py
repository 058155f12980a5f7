"""Enumeration, selection, properties and capabilities of devices, and their life."""

import copy
import gc
import json
import pickle
import re
from pathlib import Path

import pytest

import pydoca
from pydoca import sim

GUIDE = {
    "pf0": ("0000:0b:00.0", "host", "pf"),
    "pf1": ("0000:0b:00.1", "host", "pf"),
    "pf0vf0": ("0000:0b:00.2", "host", "vf"),
    "pf0vf1": ("0000:0b:00.3", "host", "vf"),
    "pf1vf0": ("0000:0b:00.4", "host", "vf"),
    "p0": ("0000:03:00.0", "dpu", "pf"),
    "p1": ("0000:03:00.1", "dpu", "pf"),
    "p0s0": ("0000:03:00.0", "dpu", "sf"),
    "p1s0": ("0000:03:00.1", "dpu", "sf"),
}


@pytest.fixture
def p0():
    return pydoca.DeviceInfo("p0")


def test_the_guides_machine_is_there():
    seen = {
        info.name: (info.pci_addr, info.side.name.lower(), info.func_type.name.lower()) for info in pydoca.devices()
    }
    assert seen == GUIDE


@pytest.mark.parametrize("side", ["host", pydoca.Side.HOST])
def test_a_side_limits_the_list(side):
    assert {info.name for info in pydoca.devices(side=side)} == {name for name in GUIDE if name.startswith("pf")}


def test_the_environment_limits_what_the_process_sees(monkeypatch):
    monkeypatch.setenv("PYDOCA_SIDE", "dpu")
    assert {info.side for info in pydoca.devices()} == {pydoca.Side.DPU}
    with pytest.raises(pydoca.NotFoundError, match="PYDOCA_SIDE=dpu"):
        pydoca.open_device("pf0")
    monkeypatch.setenv("PYDOCA_SIDE", "moon")
    with pytest.raises(pydoca.InvalidValueError, match="moon"):
        pydoca.devices()


@pytest.mark.parametrize(
    ("selector", "options", "name"),
    [
        ("03:00.0", {}, "p0"),
        ("0000:03:00.1", {}, "p1"),
        ("0000:0B:00.2", {}, "pf0vf0"),
        ("p0s0", {}, "p0s0"),
        ("enp3s0f0s0", {}, "p0s0"),
        ("mlx5_1", {"side": "dpu"}, "p1"),
        ("mlx5_1", {"side": pydoca.Side.HOST}, "pf1"),
        (lambda info: info.func_type is pydoca.PciFuncType.VF, {}, "pf0vf0"),
        (None, {"capability": "mmap_create_from_export_pci"}, "p0"),
        (None, {"side": "dpu"}, "p0"),
        (None, {}, "pf0"),
        ("p1", {"capability": "representors"}, "p1"),
    ],
)
def test_a_device_is_selected_by(selector, options, name):
    with pydoca.open_device(selector, **options) as device:
        assert device.name == name


def test_a_device_is_selected_by_its_info(p0):
    with pydoca.open_device(p0) as device:
        assert device.info == p0
        assert (device.pci_addr, device.side) == (p0.pci_addr, p0.side)


@pytest.mark.parametrize(
    ("selector", "options", "error", "says"),
    [
        ("p7", {}, pydoca.NotFoundError, "p7.*there are: pf0"),
        ("", {}, pydoca.NotFoundError, "there are"),
        ("0f:00.0", {}, pydoca.NotFoundError, "0f:00.0"),
        ("p0", {"side": "host"}, pydoca.NotFoundError, "side host"),
        ("mlx5_1", {}, pydoca.InvalidValueError, "names 2 devices: pf1.*p1"),
        ("p0", {"capability": "mmap_export_pci"}, pydoca.NotSupportedError, "p0 .* no capability 'mmap_export_pci'"),
        ("p0", {"capability": "mmap_export_pcie"}, pydoca.InvalidValueError, "did you mean 'mmap_export_pci'"),
        ("p0", {"side": "hots"}, pydoca.InvalidValueError, "side 'hots' .* did you mean 'host'"),
        ("p0", {"side": 7.5}, TypeError, "side must be"),
        (lambda info: False, {}, pydoca.NotFoundError, "no device fits"),
        (None, {"capability": "representors", "side": "host"}, pydoca.NotFoundError, "capability is representors"),
        (3, {}, TypeError, "not by int"),
        ("\ud800", {}, ValueError, "surrogates"),
        ("p\0", {}, pydoca.NotFoundError, r'"p\\0"; there are: pf0'),
    ],
)
def test_what_cannot_be_selected_is_named(selector, options, error, says):
    with pytest.raises(error, match=says):
        pydoca.open_device(selector, **options)


def test_an_info_of_the_other_side_is_not_found(p0):
    with pytest.raises(pydoca.NotFoundError, match="p0 is on side dpu, not host"):
        pydoca.open_device(p0, side="host")


def test_an_exception_of_a_predicate_comes_through():
    def predicate(info):
        raise ZeroDivisionError(info.name)

    with pytest.raises(ZeroDivisionError, match="pf0"):
        pydoca.open_device(predicate)


def test_properties(p0):
    assert (p0.name, p0.backend, p0.profile, p0.iface_name, p0.ibdev_name) == (
        "p0",
        "sim",
        "bluefield3",
        "p0",
        "mlx5_0",
    )
    assert p0.active_rate == 400_000_000_000
    assert p0.vuid
    assert p0.mac_addr.count(":") == 5
    assert p0.ipv4_addr == "10.0.0.2"
    assert p0.ipv6_addr.startswith("fe80::")
    assert pydoca.DeviceInfo("p0s0").sf_index == 0
    assert pydoca.DeviceInfo("p1s0").vhca_id != p0.vhca_id


def test_absent_properties_raise_as_docas_getters_answer(p0):
    with pytest.raises(pydoca.NotSupportedError, match="LID"):
        _ = p0.lid
    with pytest.raises(pydoca.NotSupportedError, match="SF index"):
        _ = p0.sf_index
    with pytest.raises(pydoca.NotFoundError, match="IPv4"):
        _ = pydoca.DeviceInfo("pf0vf0").ipv4_addr
    with pytest.raises(pydoca.NotFoundError, match="IPv6"):
        _ = pydoca.DeviceInfo("pf0vf0").ipv6_addr


@pytest.mark.parametrize(("addr", "equal"), [("03:00.0", True), ("0000:03:00.0", True), ("03:00.1", False)])
def test_pci_addresses_compare_in_both_forms(p0, addr, equal):
    assert p0.is_equal_pci_addr(addr) is equal


@pytest.mark.parametrize("addr", ["", "3:0.0", "03:00", "03:00.8", "0000:03:00.0 ", "p0", "00:zz.0"])
def test_other_forms_of_pci_addresses_are_refused(p0, addr):
    with pytest.raises(pydoca.InvalidValueError, match="PCI address"):
        p0.is_equal_pci_addr(addr)


def test_capabilities(p0):
    can = p0.capabilities
    assert can.dma.max_buf_size == 2 << 20
    assert can.comch.server
    assert not can.comch.client
    assert p0.supports("dma")
    assert not p0.supports("comch_client")
    assert pydoca.DeviceInfo("pf0").supports("mmap_export_pci")
    assert not pydoca.DeviceInfo("p0s0").supports("representors")
    assert can == pydoca.DeviceInfo("p1").capabilities != pydoca.DeviceInfo("pf0").capabilities
    assert hash(can) == hash(pydoca.DeviceInfo("p1").capabilities)
    with pytest.raises(AttributeError):
        can.dma.max_buf_size = 1
    with pytest.raises(pydoca.InvalidValueError, match="did you mean 'dma'"):
        p0.supports("dme")


def test_everything_is_fit_for_json(p0):
    plain = json.loads(json.dumps(p0.to_dict()))
    assert plain["pci_addr"] == p0.pci_addr
    assert plain["side"] == "dpu"
    assert plain["lid"] is None
    assert plain["capabilities"] == p0.capabilities.to_dict()


def test_an_info_is_a_value(p0):
    again = pydoca.DeviceInfo("03:00.0")
    assert again == p0
    assert hash(again) == hash(p0)
    assert p0 != pydoca.DeviceInfo("p1")
    assert p0 != "p0"
    for info in pydoca.devices():
        assert eval(repr(info)) == info
    with pytest.raises(pydoca.NotFoundError, match=r"not at 0b:00\.0"):
        pydoca.DeviceInfo("p0", pci_addr="0b:00.0")


def test_a_device_opened_twice_is_one():
    first, second = pydoca.open_device("p0"), pydoca.open_device("03:00.0")
    assert first == second
    assert hash(first) == hash(second)
    assert first is not second
    assert eval(repr(first)) == first
    first.close()
    assert second.is_open
    assert not first.is_open
    second.close()


def test_closing_is_idempotent_and_ends_use():
    device = pydoca.open_device("p0")
    device.close()
    device.close()
    assert "closed" in repr(device)
    assert device.name == "p0"
    for use in (
        lambda: device.mmap(bytearray(8)),
        device.representors,
        lambda: device.import_mmap(b""),
        device.__enter__,
    ):
        with pytest.raises(pydoca.BadStateError, match="p0 is closed"):
            use()


def test_a_device_in_use_does_not_close():
    device = pydoca.open_device("p0")
    maps = [device.mmap(bytearray(8)) for _ in range(2)]
    event = pydoca.SyncEvent(device)
    with pytest.raises(pydoca.InUseError, match="close p0: in use by 2 memory maps and 1 sync event; close them first"):
        device.close()
    assert device.is_open
    for each in (*maps, event):
        each.close()
    device.close()


def test_an_error_within_with_is_not_hidden_by_what_is_in_use():
    maps = []

    def fail():
        with pydoca.open_device("p0") as device:
            maps.append(device.mmap(bytearray(8)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_a_dropped_device_lives_as_long_as_its_maps():
    mmap = pydoca.open_device("p0").mmap(bytearray(8))
    (device,) = mmap.devices
    assert device.is_open
    del device
    assert mmap.is_started


def test_512_devices_at_most():
    sim.load_topology({"card": [{"count": 513, "name": "c{}", "ports": 1}]})
    gc.collect()
    try:
        opened = [pydoca.open_device(f"c{i}-p0") for i in range(512)]
        with pytest.raises(pydoca.InitializationError, match="512 devices are open, and that is the limit; close one"):
            pydoca.open_device("c512-p0")
        opened.pop().close()
        opened.append(pydoca.open_device("c512-p0"))
        for device in opened:
            device.close()
    finally:
        sim.load_topology(sim.default_topology())


def test_a_removed_device():
    device = pydoca.open_device("p0")
    assert not device.removed
    sim.remove_device(device)
    try:
        assert device.removed
        assert "p0" not in {info.name for info in pydoca.devices()}
        with pytest.raises(pydoca.NotFoundError, match="p0"):
            pydoca.open_device("p0")
        with pytest.raises(pydoca.NotFoundError, match="gone"):
            pydoca.open_device(device.info)
        with pytest.raises(pydoca.NotFoundError, match="no such function"):
            sim.remove_device("p0")
    finally:
        sim.restore_device("p0")
    with pydoca.open_device("p0") as again:
        assert device.removed
        assert not again.removed
        assert again != device
    device.close()


def test_resources_are_kept_for_a_restart_where_a_device_says_so():
    with pydoca.open_device("p0") as device:
        can = device.info.capabilities
        assert (can.accelerate_resource_reclaim, can.notification_moderation) == (False, False)
        with pytest.raises(pydoca.NotSupportedError, match="capability accelerate_resource_reclaim"):
            device.accelerate_resource_reclaim()
    with pytest.raises(pydoca.BadStateError):
        device.accelerate_resource_reclaim()
    topology = sim.default_topology()
    for function in topology["function"]:
        function["capabilities"]["accelerate_resource_reclaim"] = True
    sim.load_topology(topology)
    try:
        with pydoca.open_device("p0") as device:
            device.accelerate_resource_reclaim()
            sim.remove_device("p0")
            with pytest.raises(pydoca.DriverError, match="removed"):
                device.accelerate_resource_reclaim()
    finally:
        sim.load_topology(sim.default_topology())


def test_the_capabilities_are_those_of_the_stub():
    stub = (Path(pydoca.__file__).parent / "_core/device.pyi").read_text()
    literal = re.search(r"_Capability: TypeAlias = Literal\[(.*?)\]", stub, re.DOTALL)
    assert re.findall(r'"(\w+)"', literal[1]) == list(pydoca.CAPABILITIES)


def test_functions_without_a_capability_are_listed_by_their_reason():
    with pytest.raises(pydoca.NotFoundError) as raised:
        pydoca.open_device(capability="sha")
    names = ", ".join(info.name for info in pydoca.devices() if info.backend == "sim")
    assert f"; {names}: only a BlueField-2 has a SHA engine" in str(raised.value)


@pytest.mark.parametrize("capability", pydoca.CAPABILITIES)
def test_what_is_not_supported_has_a_reason(capability):
    for info in pydoca.devices():
        assert (info.why_unsupported(capability) == "") == info.supports(capability)


def test_the_reason_is_in_the_error():
    with pytest.raises(pydoca.NotSupportedError, match="only functions of the host are clients"):
        pydoca.open_device("p0", capability="comch_client")
    with pytest.raises(pydoca.NotFoundError, match="pf1vf0: only functions of the DPU are servers"):
        pydoca.open_device(side="host", capability="comch_server")


def test_a_description_can_be_copied_and_pickled():
    info = pydoca.DeviceInfo("p0")
    for again in (copy.copy(info), copy.deepcopy(info), pickle.loads(pickle.dumps(info))):
        assert again == info
    with pydoca.open_device(info) as device:
        values = [info.capabilities, info.capabilities.dma, info.capabilities.rdma, device.representors()[0]]
    for value in values:
        assert copy.deepcopy(value) is copy.copy(value) is value
        with pytest.raises(TypeError, match=f"a {type(value).__name__} cannot be pickled: pickle .*to_dict"):
            pickle.dumps(value)
