"""Topologies from files and mappings, fabrics, profiles, and the environment's part in them."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import pydoca
from pydoca import sim

FILE = """
profile = "bluefield2"

[[function]]
name = "uplink"
pci_addr = "05:00.0"
side = "dpu"
ipv4_addr = "192.168.1.7"
ipv6_addr = "fe80::7"

[[function]]
name = "port"
pci_addr = "0c:00.0"
side = "host"
profile = "bluefield3"
parent = "uplink"
representor = "port_rep"
lid = 9
capabilities = {dma = false, comch = {max_clients = 3}}

[[function]]
name = "slice"
pci_addr = "05:00.0"
side = "dpu"
func_type = "sf"
sf_index = 4
mac_addr = "02:aa:00:00:00:01"
"""


@pytest.fixture(autouse=True)
def guides_machine():
    fabric = sim.fabric()
    yield
    sim.load_topology(sim.default_topology())
    sim.load_config({})
    sim.set_fabric(fabric)


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "topology.toml"
        path.write_text(text)
        return path

    return write


def function(**properties):
    return {"function": [{"name": "x", "pci_addr": "01:00.0", "side": "dpu", **properties}]}


def test_a_file_describes_another_machine(write):
    sim.load_topology(write(FILE))
    assert [info.name for info in pydoca.devices()] == ["uplink", "port", "slice"]
    uplink, port, sf = pydoca.devices()
    assert (uplink.profile, port.profile) == ("bluefield2", "bluefield3")
    assert (uplink.ipv4_addr, uplink.ipv6_addr, sf.mac_addr) == ("192.168.1.7", "fe80::7", "02:aa:00:00:00:01")
    assert (port.lid, sf.sf_index, sf.func_type) == (9, 4, pydoca.PciFuncType.SF)
    assert len({info.vhca_id for info in pydoca.devices()}) == 3
    with pytest.raises(pydoca.NotSupportedError, match="InfiniBand"):
        _ = port.mac_addr
    with pydoca.open_device("05:00.0") as device:
        assert [info.name for info in device.representors()] == ["port_rep"]


def test_capabilities_differ_from_the_profile_where_the_file_says_so(write):
    sim.load_topology(str(write(FILE)))
    port = pydoca.DeviceInfo("port").capabilities
    assert port.dma is None
    assert (port.comch.max_clients, port.comch.client) == (3, True)
    assert pydoca.DeviceInfo("uplink").capabilities.comch.max_clients == 512
    assert not pydoca.DeviceInfo("slice").capabilities.rep_filter_all
    assert not pydoca.DeviceInfo("uplink").supports("async_sync_event_wait")


def test_what_topology_gives_can_be_loaded_again(write):
    sim.load_topology(write(FILE))
    before, infos = sim.topology(), [info.to_dict() for info in pydoca.devices()]
    sim.load_topology(before)
    assert sim.topology() == before
    assert [info.to_dict() for info in pydoca.devices()] == infos


@pytest.mark.parametrize("profile", sim.profiles())
def test_the_guides_machine_with_each_card(profile):
    sim.load_topology(sim.default_topology(profile))
    assert {info.profile for info in pydoca.devices()} == {profile}
    assert len(pydoca.devices()) == 9


@pytest.mark.parametrize(
    ("topology", "says"),
    [
        ({"functions": []}, "key 'functions' .* did you mean 'function'"),
        ({"function": {"name": "x"}}, r"\[\[function\]\]"),
        ({"function": ["x"]}, r"\[\[function\]\]"),
        ({"function": [{"name": "x"}]}, "function 1 needs a pci_addr"),
        (function(pci_adr="1"), "function 1: key 'pci_adr' .* did you mean 'pci_addr'"),
        (function(colour="red"), "function 1: key 'colour' does not exist; use one of: name, pci_addr"),
        (function(pci_addr="3"), "PCI address"),
        (function(side="left"), "side 'left' .* host, dpu"),
        (function(func_type="qf"), "function type 'qf'"),
        (function(profile="bluefield9"), "bluefield9.* bluefield2, bluefield3"),
        (function(profile=["bluefield3"]), "profile must be text"),
        (
            function(capabilities={"dma": {"max_num_tasks": 0}}),
            "max_num_tasks = 0; give the limit, or write dma = false",
        ),
        (
            function(capabilities={"sha": {"max_src_buf_size": 4096}}),
            "sha with max_list_buf_num_elem = 0; give the limit",
        ),
        (function(name="a\0b"), "control character"),
        (function(capabilities={"comch": {"max_clients": 0}}), "comch limit of 0"),
        (function(capabilities={"comch": {"max_name_len": 1}}), "max_name_len"),
        (function(capabilities={"comch": {"max_msg_size": 2**31}}), "max_msg_size of 2147483648 bytes"),
        (function(vhca_id=70000), r'function "x": vhca_id must be a whole number in 0..65535, not 70000'),
        (function(vhca_id=-1), "not -1"),
        (function(vhca_id=True), "not True"),
        (function(vhca_id=1.5), "not 1.5"),
        (function(is_emulated=1), "is_emulated must be true or false"),
        (function(mac_addr="02:aa"), "MAC address"),
        (function(ipv4_addr="1.2.3"), "IPv4 address"),
        (function(ipv6_addr="10.0.0.1"), "IPv6 address"),
        (function(vuid=7), "vuid must be text, not 7"),
        (function(name=""), "needs a name"),
        (function(parent="p9"), "p9"),
        (function(capabilities=3), "capabilities must be a table"),
        (function(capabilities={"dmaa": False}), "capabilities: key 'dmaa' .* did you mean 'dma'"),
        (function(capabilities={"dma": {"max_buf": 1}}), "dma: key 'max_buf' .* did you mean 'max_buf_size'"),
        ({"function": function()["function"] * 2}, "twice"),
        ({"function": [*function()["function"], *function(name="y")["function"]]}, 'address of "x"'),
    ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(topology, says):
    before = sim.topology()
    with pytest.raises(pydoca.InvalidValueError, match=says):
        sim.load_topology(topology)
    assert sim.topology() == before


def test_errors_of_a_file_name_it(write):
    for text, says in (("[[function]\n", "line 1"), ("[[function]]\nnam = 'x'\n", "did you mean 'name'")):
        path = write(text)
        with pytest.raises(pydoca.InvalidValueError, match=f"topology.toml: .*{says}"):
            sim.load_topology(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(pydoca.InvalidValueError, match=r"topology\.toml"):
        sim.load_topology(path)
    with pytest.raises(FileNotFoundError):
        sim.load_topology(path.with_name("absent.toml"))


def test_a_file_that_is_too_much_says_so(write):
    path = write("a = " + "[" * 100_000)
    with pytest.raises(pydoca.InvalidValueError, match=r"topology\.toml: .*nested too deeply"):
        sim.load_topology(path)
    path = write("".join(f'[[card]]\nname = "c{i}-{{}}"\ncount = 1000\n' for i in range(2000)))
    with pytest.raises(pydoca.InvalidValueError, match=r"functions; with the \d+ before them that is more than"):
        sim.load_topology(path)


def test_open_devices_outlive_the_topology(write):
    device = pydoca.open_device("p0")
    sim.load_topology(write(FILE))
    mmap = device.mmap(bytearray(16))
    assert mmap.is_started
    mmap.close()
    device.close()
    with pytest.raises(pydoca.NotFoundError):
        pydoca.open_device("p0")


def test_a_function_that_is_open_is_another_device_in_the_next_topology():
    before = pydoca.open_device("03:00.0", side="dpu")
    sim.load_topology(sim.default_topology("bluefield2"))
    after = pydoca.open_device("03:00.0", side="dpu")
    assert (before.info.profile, after.info.profile) == ("bluefield3", "bluefield2")
    assert after.info == pydoca.open_device("p0").info
    before.close()
    after.close()


def test_an_empty_machine_has_no_devices():
    sim.load_topology({"function": []})
    with pytest.raises(pydoca.NotFoundError, match="no device"):
        pydoca.devices()


def test_the_fabric_has_a_name():
    sim.set_fabric("a.b-c_9")
    assert sim.fabric() == "a.b-c_9"
    for name in ("", "x" * 65, "a/b", "a b", "é"):
        with pytest.raises(pydoca.InvalidValueError, match="fabric"):
            sim.set_fabric(name)
    assert sim.fabric() == "a.b-c_9"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes_that_are_started_join_the_fabric(method):
    sim.set_fabric("of-the-parent")
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        assert pool.submit(sim.fabric).result(60) == "of-the-parent"


def test_the_fabric_has_a_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("PYDOCA_FABRIC_DIR", str(tmp_path))
    sim.set_fabric("lab")
    assert sim.fabric_directory() == f"{tmp_path}/lab"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("PYDOCA_FABRIC_DIR", "lab")
    with pytest.raises(pydoca.InvalidValueError, match="PYDOCA_FABRIC_DIR"):
        sim.fabric_directory()


@pytest.mark.parametrize("selector", ["p0", "03:00.0", "0000:03:00.0"])
def test_a_function_is_removed_and_restored_by_name_and_by_address(selector):
    sim.remove_device(selector)
    with pytest.raises(pydoca.NotFoundError, match="p0"):
        pydoca.open_device("p0")
    assert pydoca.open_device("03:00.0").name == "p0s0"  # the SF stays
    sim.restore_device(selector)
    assert pydoca.open_device("03:00.0").name == "p0"


@pytest.mark.parametrize("unknown", ["p7", "7f:00.0"])
def test_only_known_functions_are_removed_and_restored(unknown):
    for call in (sim.remove_device, sim.restore_device):
        with pytest.raises(pydoca.NotFoundError, match=unknown):
            call(unknown)
    for call in (sim.remove_device, sim.restore_device):
        with pytest.raises(TypeError, match="not by int"):
            call(5)


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, timeout=150
    )


def test_the_environment_names_a_topology(write):
    program = "import pydoca; print([info.name for info in pydoca.devices()], pydoca.open_device().name)"
    result = run(program, PYDOCA_TOPOLOGY=str(write(FILE)))
    assert (result.stdout, result.stderr) == ("['uplink', 'port', 'slice'] uplink\n", "")


def test_the_environments_topology_is_read_at_the_first_look():
    result = run("import pydoca; pydoca.alloc(1); print('fine')", PYDOCA_TOPOLOGY="/absent.toml")
    assert (result.stdout, result.stderr) == ("fine\n", "")
    result = run("import pydoca; pydoca.devices()", PYDOCA_TOPOLOGY="/absent.toml")
    assert "InvalidValueError: the environment's PYDOCA_TOPOLOGY: " in result.stderr
    assert "/absent.toml" in result.stderr


def test_a_topology_that_the_program_loads_wins(write):
    program = "import pydoca.sim as s, pydoca; s.load_topology(s.default_topology()); print(len(pydoca.devices()))"
    result = run(program, PYDOCA_TOPOLOGY=str(write(FILE)))
    assert (result.stdout, result.stderr) == ("9\n", "")


def test_the_environment_names_the_fabric():
    result = run("from pydoca import sim; print(sim.fabric())", PYDOCA_FABRIC="lab")
    assert (result.stdout, result.stderr) == ("lab\n", "")


def test_a_notebook_keeps_a_topology_as_a_picture_and_a_short_text():
    formatters = pytest.importorskip("IPython.core.formatters")
    forms, _ = formatters.DisplayFormatter().format(sim.topology())
    assert forms["text/plain"].startswith("Topology  9 functions on 2 sides")
    assert set(forms) == {"text/plain", "text/html", "image/svg+xml"}


def test_a_profile_alone_is_the_default_machine_with_it():
    sim.load_topology({"profile": "bluefield2"})
    assert {info.profile for info in pydoca.devices()} == {"bluefield2"}
    with pytest.raises(pydoca.InvalidValueError, match='"bf9" is not a profile'):
        sim.load_topology({"profile": "bf9"})


def test_a_machine_without_functions_is_why_there_is_no_device():
    sim.load_topology({"function": []})
    assert "its topology has no function" in pydoca.unavailable_backends()["sim"]
    with pytest.raises(pydoca.NotFoundError, match="sim: its topology has no function that is present"):
        pydoca.devices()


def test_a_profile_in_the_environment_needs_no_file(write):
    program = "import pydoca; print({info.profile for info in pydoca.devices()}, len(pydoca.devices()))"
    assert run(program, PYDOCA_PROFILE="bluefield2").stdout == "{'bluefield2'} 9\n"
    assert run(program, PYDOCA_PROFILE="bluefield2", PYDOCA_TOPOLOGY=str(write(FILE))).stdout.endswith("} 3\n")
    result = run(program, PYDOCA_PROFILE="bf9")
    assert 'InvalidValueError: the environment\'s PYDOCA_PROFILE: "bf9" is not a profile; there are: ' in result.stderr


def test_the_profile_all_has_every_engine():
    sim.load_topology({"profile": "all"})
    assert {info.profile for info in pydoca.devices()} == {"all"}
    dpu = pydoca.DeviceInfo("p0")
    for engine in ("dma_task_memcpy", "sha_task_hash", "async_sync_event_wait", "dpa"):
        if engine in pydoca.CAPABILITIES:
            assert dpu.supports(engine), dpu.why_unsupported(engine)
    assert None not in (dpu.capabilities.dma, dpu.capabilities.sha, dpu.capabilities.dpa, dpu.capabilities.clock)


def test_the_host_of_the_default_machine_has_the_guides_other_address():
    for topology in ({"host_pci_addr": "b1:00.0"}, sim.default_topology(host_pci_addr="b1:00.0")):
        sim.load_topology(topology)
        addresses = [info.pci_addr for info in pydoca.devices() if info.side == pydoca.Side.HOST]
        assert addresses == [f"0000:b1:00.{number}" for number in range(5)]
        with pydoca.open_device("03:00.0") as device:
            assert device.open_representor("b1:00.0").name == "hpf0"
    for address in ("b1:00.1", "b1", ""):
        with pytest.raises(pydoca.InvalidValueError):
            sim.default_topology(host_pci_addr=address)
    with pytest.raises(pydoca.InvalidValueError, match="host_pci_addr is an address of the default machine"):
        sim.load_topology({"host_pci_addr": "b1:00.0", "card": []})
    with pytest.raises(pydoca.InvalidValueError, match="host_pci_addr must be text, not 5"):
        sim.load_topology({"host_pci_addr": 5})


def test_processes_that_are_started_see_the_same_machine(write, monkeypatch, patience):
    program = "import pydoca; print([info.name for info in pydoca.devices()])"
    sim.load_topology(write(FILE))
    monkeypatch.setenv("PYDOCA_TOPOLOGY", "/absent.toml")
    process = sim.spawn(program, side="host", show=False)
    process.wait(patience)
    assert process.output == "['port']\n"


@pytest.mark.parametrize("load", [sim.load_topology, sim.load_config, pydoca.faults.FaultPlan.load])
def test_files_that_cannot_be_read_are_errors_of_the_system(load, tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"absent\.toml"):
        load(tmp_path / "absent.toml")
    tmp_path.joinpath("file").touch()
    with pytest.raises(NotADirectoryError):
        load(tmp_path / "file" / "x.toml")
    with pytest.raises(OSError, match="a"):
        load("a\0b")


BAD_FILES = {
    b"\xff\xfe": "line 1",
    b"a = 1\na = 2": "line 2",
    b"a = 99999999999999999999": "line 1",
    b"profile = 'bluefield2": "line 1",
    b"a.b." * 100_000: "nested too deeply",
    b"#" * (16 << 20) + b"#": "larger than 16 MiB",
}


@pytest.mark.parametrize("content", BAD_FILES, ids=list(BAD_FILES.values()))
@pytest.mark.parametrize("load", [sim.load_topology, sim.load_config, pydoca.faults.FaultPlan.load])
def test_files_that_are_not_toml_are_named(load, content, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(pydoca.InvalidValueError, match=f"bad.toml: .*{BAD_FILES[content]}"):
        load(path)


def test_a_mapping_that_contains_itself_is_refused():
    endless = {}
    endless["timing"] = endless
    with pytest.raises(RecursionError):
        sim.load_topology(endless)


@pytest.mark.parametrize("count", [np.int64(2), np.uint8(2), np.array(2)])
def test_numbers_of_numpy_are_numbers(count):
    sim.load_topology({"card": [{"count": count}]})
    assert len(pydoca.devices()) == 8
    sim.load_config({"dma": {"latency": np.float32(0.5), "executes_in_submit": np.bool_(True)}})
    assert sim.timing("card0-p0")["dma"] == {"latency": "500ms", "executes_in_submit": True}


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"card": [{"count": 10**5000}]}, "must be a whole number in .*not a number of 16610 bits"),
        ({"card": [{"count": -(2**64)}]}, "not -18446744073709551616"),
        ({"profile": "\ud800"}, r"topology: profile must be text, not '\\ud800'"),
        ({"\ud800": 1}, r"topology: '\\ud800' is not a key"),
        ({"card": [{"count": np.array([2])}]}, "card 1: count must be a whole number"),
        (
            {"card": [{"dpu": {"capabilities": {"compress": {"decompress_deflate_max_buf_list_len": 0}}}}]},
            "list_len = 0",
        ),
    ],
)
def test_values_that_no_file_can_have_are_named(table, text):
    with pytest.raises(pydoca.InvalidValueError, match=text):
        sim.load_topology(table)
