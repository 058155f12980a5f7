"""The timing model of simulated devices: its configuration, its errors, and a copy that takes its time."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import pydoca
from pydoca import comch, sim

FILE = """
[timing]
seed = 7
preset = "bluefield3"

[timing.dma]
latency = "1.9us"
bandwidth = "25GB/s"
jitter = {distribution = "exponential", spread = "50ns"}

[timing.profiles.bluefield3.sha]
rate = "10M/s"

[timing.devices.p1.dma]
latency = 4e-6
"""
MACHINE = """
[[function]]
name = "x"
pci_addr = "01:00.0"
side = "dpu"

[timing.devices.NAME.dma]
latency = "3us"
"""


@pytest.fixture(autouse=True)
def guides_machine():
    yield
    sim.load_topology(sim.default_topology())
    sim.load_config({})


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "timing.toml"
        path.write_text(text)
        return path

    return write


def test_nothing_is_modelled_by_default():
    assert sim.config() == sim.Config()
    assert repr(sim.config()) == "Config()"
    assert sim.timing("p0") == {}
    assert "timing" not in sim.topology()


def test_a_file_says_how_long_operations_take(write):
    sim.load_config(write(FILE))
    assert sim.config().to_dict()["seed"] == 7
    own = sim.timing("p0")
    assert own["dma"]["latency"] == "1.9us"
    assert own["dma"]["bandwidth"] == "25GB/s"
    assert own["dma"]["jitter"] == {"distribution": "exponential", "spread": "50ns"}
    assert own["sha"] == {"rate": "10M/s"}
    assert own["rdma_write"]["bandwidth"] == "50GB/s"
    assert own["pcie"] == {"bandwidth": "63GB/s"}
    assert sim.timing("p1")["dma"]["latency"] == "4us"


def test_a_topology_may_have_the_table(write):
    sim.load_topology(write(MACHINE.replace("NAME", "x")))
    assert sim.timing("x") == {"dma": {"latency": "3us"}}
    before = sim.topology()
    assert before["timing"] == {"devices": {"x": {"dma": {"latency": "3us"}}}}
    sim.load_config({})
    sim.load_topology(before)
    assert sim.topology() == before
    sim.load_topology(sim.default_topology())
    assert sim.config().to_dict() == before["timing"]  # a topology without the table leaves it


def test_a_configuration_is_what_its_repr_says():
    config = sim.Config(
        seed=3,
        preset="bluefield2",
        dma={"latency": 2.5e-6, "bandwidth": "200Gbit/s", "rate": 12_500_000, "executes_in_submit": True},
        sha={"queue_depth": 32, "reorder_window": 4, "jitter": {"distribution": "normal", "spread": "0.2us"}},
        pcie={"bandwidth": 31.5e9},
        devices={"p0": {"preset": "ideal"}},
    )
    assert eval(repr(config), {"Config": sim.Config}) == config
    assert config.to_dict()["dma"] == {
        "latency": "2.5us",
        "bandwidth": "25GB/s",
        "rate": "12.5M/s",
        "executes_in_submit": True,
    }
    assert sim.Config.from_dict(config.to_dict()) == config
    sim.load_config(config)
    assert sim.config() == config
    assert hash(config) == hash(sim.Config.from_dict(config.to_dict()))
    assert sim.timing("p0") == {}
    assert config != sim.Config()


TIMES = [("1.9us", "1.9us"), ("1900 ns", "1.9us"), ("2µs", "2us"), (0, "0ns"), (1e-6, "1us"), ("1 h", "3600s")]


@pytest.mark.parametrize(("value", "reads"), TIMES)
def test_times_have_units_or_are_in_seconds(value, reads):
    assert sim.Config(dma={"latency": value}).to_dict()["dma"]["latency"] == reads


SPEEDS = [("25GB/s", "25GB/s"), ("200Gb/s", "25GB/s"), ("1KiB/s", "1.024kB/s"), (1e9, "1GB/s"), ("8 kbit/s", "1kB/s")]


@pytest.mark.parametrize(("value", "reads"), SPEEDS)
def test_bandwidths_have_units_or_are_in_bytes_a_second(value, reads):
    assert sim.Config(dma={"bandwidth": value}).to_dict()["dma"]["bandwidth"] == reads


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"dna": {}}, "timing: key 'dna' .* did you mean 'dma'"),
        ({"dma": {"latancy": 1}}, "timing: dma: key 'latancy' .* did you mean 'latency'"),
        ({"dma": {"latency": "1.9 usec"}}, "dma: latency: unit 'usec' .* did you mean 'us'"),
        ({"dma": {"latency": "25GB/s"}}, "dma: latency: unit 'GB/s' does not exist; use one of: ns, us, \u00b5s, ms"),
        ({"dma": {"bandwidth": "25Gbps"}}, "dma: bandwidth: unit 'Gbps' .* did you mean 'Gb/s'"),
        ({"dma": {"bandwidth": "3us"}}, "dma: bandwidth: unit 'us' does not exist"),
        ({"dma": {"latency": "25"}}, 'dma: latency is "25", without a unit; write it as in "1.9us"'),
        ({"dma": {"latency": "fast"}}, "dma: latency is 'fast'; write a number and its unit, such as \"1.9us\""),
        ({"dma": {"latency": True}}, "dma: latency is True"),
        ({"dma": {"latency": float("nan")}}, "dma: latency is .*nan"),
        ({"dma": {"latency": "-1us"}}, "dma: latency is -1us; it must be 0 to an hour"),
        ({"dma": {"latency": 1e300}}, "dma: latency is .*an hour"),
        ({"dma": {"bandwidth": 0}}, "dma: bandwidth must be 1 to 1e15 a second"),
        ({"dma": {"rate": "0/s"}}, "dma: rate must be"),
        ({"dma": {"jitter": "1us"}}, "dma: jitter must be a table, not '1us'"),
        ({"dma": {"jitter": {"spread": "1us"}}}, "jitter needs a distribution: none, uniform, normal"),
        ({"dma": {"jitter": {"distribution": "gauss"}}}, "distribution 'gauss'"),
        ({"dma": {"jitter": {"distribution": "normal"}}}, "normal but no spread"),
        ({"dma": {"queue_depth": 1.5}}, "queue_depth must be a whole number"),
        ({"dma": {"reorder_window": 0}}, "reorder_window is 0"),
        ({"dma": {"queue_depth": 2, "reorder_window": 3}}, "more than the queue_depth of 2"),
        ({"dma": {"executes_in_submit": 1}}, "executes_in_submit must be true or false"),
        ({"rdma_read": {"reorder_window": 3}}, "rdma_read: reorder_window does not apply"),
        ({"dma": 5}, "timing: dma must be a table, not 5"),
        ({"pcie": {}}, "pcie needs a bandwidth"),
        ({"pcie": {"latency": 1}}, "pcie: key 'latency'"),
        ({"preset": "bluefeld3"}, "preset 'bluefeld3' .* did you mean 'bluefield3'"),
        ({"profiles": {"bluefield9": {}}}, "profile 'bluefield9'"),
        ({"profiles": {"bluefield3": {"sah": {}}}}, "profile bluefield3: key 'sah' .* did you mean 'sha'"),
        ({"devices": {"p7": {}}}, "device 'p7' does not exist; use one of: pf0, "),
        ({"devices": {"p0": {"dma": {"latency": "1"}}}}, "device p0: dma: latency"),
        ({"devices": {"p0": {"seed": 1}}}, "device p0: key 'seed'"),
        ({"devices": []}, "devices must be a table"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": "x"}, "seed must be a whole number"),
    ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(table, says):
    sim.load_config({"seed": 5})
    with pytest.raises(pydoca.InvalidValueError, match=says):
        sim.load_config(table)
    assert sim.config() == sim.Config(seed=5)


def test_errors_of_a_file_name_it_and_change_nothing(write):
    before = sim.topology()
    with pytest.raises(pydoca.InvalidValueError, match=r"timing\.toml: timing: table 'function'"):
        sim.load_config(write("function = 1"))
    path = write(MACHINE.replace("NAME", "y"))
    with pytest.raises(pydoca.InvalidValueError, match=r"timing\.toml: timing: device 'y'"):
        sim.load_topology(path)
    assert sim.topology() == before
    with pytest.raises(FileNotFoundError):
        sim.load_config(path.with_name("absent.toml"))


def copy(**model):
    """Copies, and returns its seconds from submission, and whether it was done when submit() returned."""
    sim.load_config(model)
    source, target = bytearray(b"twelve bytes"), bytearray(12)
    with (
        pydoca.open_device("p0") as device,
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, num_tasks=4) as dma,
        pydoca.BufInventory(4) as inventory,
    ):
        src, dst = inventory.get_by_data(device.mmap(source)), inventory.get_by_addr(device.mmap(target))
        begin = time.monotonic()
        task = dma.memcpy(src, dst)
        was_done = target == source
        task.wait(20)
        assert target == source
        return time.monotonic() - begin, was_done


def test_a_copy_takes_its_time_and_is_not_done_inside_submit():
    assert copy()[1]
    took, was_done = copy(dma={"latency": "5ms"})
    assert took >= 0.005
    assert not was_done
    took, was_done = copy(dma={"latency": "5ms", "executes_in_submit": True})
    assert took >= 0.005
    assert was_done


def test_an_await_takes_its_time():
    sim.load_config({"dma": {"latency": "5ms"}})
    source, target = bytearray(b"twelve bytes"), bytearray(12)

    async def main():
        with pydoca.open_device("p0") as device, pydoca.BufInventory(4) as inventory:
            async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, device, num_tasks=4) as dma:
                src, dst = inventory.get_by_data(device.mmap(source)), inventory.get_by_addr(device.mmap(target))
                begin = time.monotonic()
                await dma.memcpy(src, dst)
                return time.monotonic() - begin

    assert asyncio.run(main()) >= 0.005
    assert target == source


def test_a_full_queue_refuses():
    sim.load_config({"dma": {"latency": "1h", "queue_depth": 1}})
    with (
        pydoca.open_device("p0") as device,
        pydoca.BufInventory(8) as inventory,
        pydoca.ProgressEngine() as pe,
        pydoca.Dma(pe, device, num_tasks=4) as dma,
    ):
        mmap = device.mmap(bytearray(64))

        def copy_at(at):
            return dma.memcpy(inventory.get_by_data(mmap, at, 8), inventory.get_by_addr(mmap, at + 8, 8))

        first = copy_at(mmap.addr)
        with pytest.raises(pydoca.AgainError):
            copy_at(mmap.addr + 16)
        assert not first.done


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, timeout=150
    )


def test_the_environment_names_a_timing(write):
    path = str(write(FILE))
    result = run("from pydoca import sim; print(sim.timing('p1')['dma']['latency'])", PYDOCA_TIMING=path)
    assert (result.stdout, result.stderr) == ("4us\n", "")
    result = run("import pydoca; pydoca.devices()", PYDOCA_TIMING="/absent.toml")
    assert "InvalidValueError: the environment's PYDOCA_TIMING: " in result.stderr
    result = run("from pydoca import sim; sim.load_config({}); print(sim.timing('p1'))", PYDOCA_TIMING=path)
    assert (result.stdout, result.stderr) == ("{}\n", "")


def test_processes_of_the_other_side_have_the_timing(patience):
    sim.load_config({"seed": 9, "dma": {"latency": "3us"}})
    process = sim.spawn("from pydoca import sim; print(sim.config())", show=False)
    process.wait(patience)
    assert process.output == "Config(seed=9, dma={'latency': '3us'})\n"


# ---- messages and sync events


def test_the_operations_are_listed_and_named():
    sim.load_config({"preset": "bluefield3", "comch_send": {"queue_depth": 4}})
    timing = sim.timing("pf0")
    assert timing["comch_send"] == {"latency": "2.5us"} | timing["comch_send"] | {"queue_depth": 4}
    assert timing["sync_event_set"]["latency"] == "700ns"
    assert timing["sync_event_add"]["latency"] == "1.4us"
    with pytest.raises(pydoca.InvalidValueError, match="key 'comch_sent' does not exist; did you mean 'comch_send'"):
        sim.load_config({"comch_sent": {}})
    with pytest.raises(pydoca.InvalidValueError, match="sync_event_set: queue_depth does not apply"):
        sim.load_config({"sync_event_set": {"queue_depth": 4}})
    with pytest.raises(pydoca.InvalidValueError, match="comch_send: reorder_window does not apply"):
        sim.load_config({"comch_send": {"reorder_window": 4}})


async def exchange(moments, vt):
    """Messages to the DPU, and changes of an event there."""
    dpu = pydoca.open_device("p0")
    representor = dpu.open_representor("0b:00.0")
    host = pydoca.open_device("pf0")
    with pydoca.SyncEvent(dpu) as event:
        async with pydoca.ProgressEngine() as pe:
            server, client = comch.Server(pe, dpu, representor, "timed"), comch.Client(pe, host, "timed")
            async with server, client as to_dpu:
                link = await anext(aiter(server))
                begin = vt.now
                await asyncio.gather(to_dpu.send(b"first"), to_dpu.send(b"second"))
                moments.append(vt.now - begin)
                assert [await link.recv(), await link.recv()] == [b"first", b"second"]
        begin = vt.now
        event.update_set(3)
        moments.append(vt.now - begin)
        begin = vt.now
        assert event.update_add(1) == 3
        moments.append(vt.now - begin)


def test_messages_and_sync_events_take_their_time():
    sim.load_config(
        {
            "devices": {
                "pf0": {"comch_send": {"latency": "3s"}},
                "p0": {"sync_event_set": {"latency": "5s"}, "sync_event_add": {"latency": "7s"}},
            }
        }
    )
    moments = []
    with sim.virtual_time() as vt:
        vt.run(exchange(moments, vt))
        gc.collect()
    assert moments == pytest.approx([3, 5, 7], abs=0.001)


def test_an_update_lets_other_threads_run():
    sim.load_config({"sync_event_set": {"latency": "1s"}})

    def update():
        event.update_set(1)
        return vt.now

    def wait():
        event.wait_eq(1)
        return vt.now

    with sim.virtual_time() as vt, pydoca.open_device("p0") as device, pydoca.SyncEvent(device) as event:
        assert vt.run_threads(update, wait) == pytest.approx([1, 1], abs=0.001)


def test_ctrl_c_ends_a_long_update():
    sim.load_config({"sync_event_set": {"latency": "1h"}})
    with pydoca.open_device("p0") as device, pydoca.SyncEvent(device) as event:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            event.update_set(1)
        timer.join()
        assert event.get() == 0
