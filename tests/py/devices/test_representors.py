"""Lists of representors, their filters, and opened representors."""

import json

import pytest

import pydoca
from pydoca import RepFilter, sim


@pytest.fixture
def p0():
    with pydoca.open_device("p0") as device:
        yield device


def names(representors):
    return [info.name for info in representors]


def test_a_physical_function_of_the_dpu_lists_those_of_its_port(p0):
    assert {info.pci_addr for info in p0.representors()} == {
        "0000:0b:00.0",
        "0000:0b:00.2",
        "0000:0b:00.3",
        "0000:03:00.0",
    }
    with pydoca.open_device("p1") as p1:
        assert {info.pci_addr for info in p1.representors()} == {"0000:0b:00.1", "0000:0b:00.4", "0000:03:00.1"}


@pytest.mark.parametrize("name", ["pf0", "pf0vf0", "p0s0"])
def test_other_functions_list_none(name):
    with (
        pydoca.open_device(name) as device,
        pytest.raises(pydoca.NotSupportedError, match=f"of {name}: it has none; open a physical function of the DPU"),
    ):
        device.representors()


def test_filters(p0):
    everything = names(p0.representors(RepFilter.ALL))
    assert names(p0.representors("all")) == everything
    assert names(p0.representors(RepFilter.NET)) == everything
    assert names(p0.representors(RepFilter.EMULATED)) == []
    assert names(p0.representors("net|emulated")) == everything
    assert names(p0.representors(RepFilter.NET | RepFilter.EMULATED)) == everything
    with pytest.raises(pydoca.InvalidValueError, match="did you mean 'emulated'"):
        p0.representors("emulate")
    with pytest.raises(TypeError, match="filter must be"):
        p0.representors(7.0)


def test_emulated_functions_are_told_apart():
    topology = sim.default_topology()
    next(function for function in topology["function"] if function["name"] == "pf0vf0")["is_emulated"] = True
    sim.load_topology(topology)
    try:
        with pydoca.open_device("p0") as device:
            assert names(device.representors("emulated")) == ["hpf0vf0"]
            assert "hpf0vf0" not in names(device.representors("net"))
            assert "hpf0vf0" in names(device.representors())
    finally:
        sim.load_topology(sim.default_topology())


def test_a_list_is_a_snapshot(p0):
    before = p0.representors()
    sim.remove_device("pf0vf1")
    try:
        assert "hpf0vf1" in names(before)
        assert "hpf0vf1" not in names(p0.representors())
    finally:
        sim.restore_device("pf0vf1")
    assert p0.representors() == before


@pytest.mark.parametrize("selector", ["0b:00.0", "0000:0b:00.0", "hpf0"])
def test_a_representor_is_selected_by_address_or_name(p0, selector):
    with p0.open_representor(selector) as representor:
        assert representor.name == "hpf0"
        assert representor.pci_addr == "0000:0b:00.0"
        assert representor.func_type is pydoca.PciFuncType.PF
        assert representor.is_equal_pci_addr("0b:00.0")
        assert representor.vuid == pydoca.DeviceInfo("pf0").vuid
        assert representor.vhca_id == pydoca.DeviceInfo("pf0").vhca_id
        assert not representor.is_hotplug
        assert not representor.is_emulated


def test_a_representor_is_selected_by_its_info(p0):
    info = p0.representors()[-1]
    with p0.open_representor(info) as representor:
        assert representor.info == info
        assert hash(representor.info) == hash(info)
        assert representor.iface_name == info.iface_name


@pytest.mark.parametrize(
    ("selector", "error", "says"),
    [
        ("0b:00.1", pydoca.NotFoundError, "p0 has no representor .*it has: hpf0"),
        ("", pydoca.NotFoundError, "it has"),
        (None, TypeError, "not by NoneType"),
    ],
)
def test_what_cannot_be_selected_is_named(p0, selector, error, says):
    with pytest.raises(error, match=says):
        p0.open_representor(selector)


def test_a_representor_of_another_device_is_not_found(p0):
    with pydoca.open_device("p1") as p1:
        info = p1.representors()[0]
    with pytest.raises(pydoca.NotFoundError, match=f"p0 has no representor {info.name} .*it has: hpf0"):
        p0.open_representor(info)
    with pydoca.open_device("pf0") as pf0, pytest.raises(pydoca.NotSupportedError):
        pf0.open_representor(info)


def test_closing_is_idempotent(p0):
    representor = p0.open_representor("hpf0")
    with pytest.raises(pydoca.InUseError, match="p0"):
        p0.close()
    representor.close()
    representor.close()
    assert not representor.is_open
    assert "closed" in repr(representor)
    assert representor.name == "hpf0"
    with pytest.raises(pydoca.BadStateError, match="hpf0"), representor:
        pass


def test_an_info_is_fit_for_json(p0):
    (info, *_) = p0.representors()
    assert json.loads(json.dumps(info.to_dict()))["func_type"] == "pf"
    assert info.name in repr(info)
    assert info != info.name
