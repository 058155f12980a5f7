"""The Tab key in a notebook: verbs of `%pydoca`, and the words that pydoca's arguments take. Lists of devices."""

import pytest

DPU = ["p0", "p1", "p0s0", "p1s0"]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("%pydoca ", ["%pydoca list", "%pydoca stop", "%pydoca wait"]),
        ("x = 1\n%pydoca st", ["%pydoca stop"]),
        ("%pydoca wait --t", ["%pydoca wait --timeout"]),
        ("%%pydoca ", ["%%pydoca dpu", "%%pydoca host"]),
        ("%%pydoca dpu --", ["%%pydoca dpu --name", "%%pydoca dpu --background"]),
        ("%%pydoca dpu --name x --b", ["%%pydoca dpu --name x --background"]),
        ("%%pydoca dpu\nopen_device('p1s", ["open_device('p1s0"]),
    ],
)
def test_the_magic_completes_its_words(kernel, source, lines):
    assert kernel.complete(source) == lines


def test_stop_and_wait_complete_the_names_of_processes(kernel):
    kernel.run("%%pydoca dpu --name one --background\nimport time\ntime.sleep(1000)")
    assert kernel.complete("%pydoca stop o") == ["%pydoca stop one"]
    assert kernel.complete("%pydoca wait ") == ["%pydoca wait one", "%pydoca wait --timeout"]
    assert kernel.run("%pydoca stop").error == ""


@pytest.mark.parametrize(
    ("source", "endings"),
    [
        ("pydoca.open_device('", "pf0"),
        ('x = [pydoca.open_device("p0', "p0 p0s0"),
        ("pydoca.open_device('03:", "03:00.0 03:00.1"),
        ("pydoca.open_device('0000:03:00.1", "0000:03:00.1"),
        ("pydoca.DeviceInfo('ens1f0v", "ens1f0v0 ens1f0v1"),
        ("pydoca.open_device('p0', side='", "host dpu"),
        ("with pydoca.open_device(\n    'p0',\n    side='d", "dpu"),
        ("pydoca.open_device(capability='comch_", "comch_server comch_client"),
        ("dpu.open_representor('hpf0", "hpf0 hpf0vf0 hpf0vf1"),
        ("dpu.mmap(pydoca.alloc(8), access='pci_read", "pci_read_only pci_read_write"),
        ("dpu.mmap(data, access='pci_read_only|rdma_r", "pci_read_only|rdma_read"),
        ("pydoca.ProgressEngine(latency='", "low balanced power"),
        ("sha.hash(inv.get(a, 'x'), dst, 'sha5", "sha512"),
        ("sim.default_topology('", "bluefield2 bluefield3 all"),
        ("pydoca.set_log_level('D", "disable debug"),
    ],
)
def test_quotes_complete_the_words_of_an_argument(kernel, source, endings):
    """The first is one of many."""
    begin = source[: max(source.rfind("'"), source.rfind('"')) + 1].rpartition("\n")[2]
    offered = kernel.complete(source)
    expected = [begin + ending for ending in endings.split()]
    assert offered[: len(expected)] == expected
    assert len(offered) == len(expected) or source == "pydoca.open_device('"


def test_the_older_interface_of_ipython_has_the_same(kernel):
    line = "pydoca.open_device('p1"
    ran = kernel.run(f"get_ipython().complete(None, {line!r}, {len(line)})[1]")
    assert ran.value == "['p1', 'p1s0']"


@pytest.mark.parametrize("source", ["open('p1", "pydoca.open_device('p1')", "host.open_representor('hpf", "f(side='"])
def test_other_strings_complete_as_before(kernel, source):
    assert not {"p1s0", "hpf0", "dpu"} & {line.rpartition("'")[2] for line in kernel.complete(source)}


def test_a_device_that_is_closed_offers_nothing(kernel):
    kernel.run("closed = pydoca.open_device('p0'); closed.close()")
    ran = kernel.run('get_ipython().complete(None, line := "closed.open_representor(\'hpf", len(line))[1]')
    assert (ran.value, ran.text) == ("[]", "")


def shown(kernel, source):
    ran = kernel.run(source)
    assert ran.error == "", ran.traceback
    [output] = ran.outputs
    return output.data


def test_a_list_of_devices_is_shown_as_a_picture_and_a_table(kernel):
    forms = shown(kernel, "pydoca.devices()")
    assert "<svg" in forms["text/html"]
    assert "<table" in forms["text/html"]
    assert all(name in forms["text/html"] for name in DPU)
    assert forms["text/plain"].startswith("[pydoca.DeviceInfo('pf0', ")


@pytest.mark.parametrize("source", ["[]", "[1, 2]", "[*pydoca.devices(), 1]", "(pydoca.devices()[0], 2)"])
def test_other_lists_are_shown_as_text(kernel, source):
    assert list(shown(kernel, source)) == ["text/plain"]


def test_a_list_with_a_form_of_its_own_keeps_it(kernel):
    kernel.run("class Own(list):\n    def _repr_html_(self): return '<b>own</b>'")
    assert shown(kernel, "Own()")["text/html"] == "<b>own</b>"


def test_without_the_extension_nothing_of_it_is_left(kernel):
    assert kernel.run("%unload_ext pydoca").error == ""
    assert list(shown(kernel, "pydoca.devices()")) == ["text/plain"]
    assert kernel.run("get_ipython().Completer.custom_matchers").value == "[]"
    assert kernel.run("%load_ext pydoca").error == ""
    assert "text/html" in shown(kernel, "pydoca.devices()")
