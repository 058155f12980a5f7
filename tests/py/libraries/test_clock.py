"""The clocks of a device beside those of this machine."""

import subprocess
import sys
import time

import pytest

import pydoca
from pydoca import ClockType, sim

NO_TIMER = pydoca.NotSupportedError
HOST = ["host_counter_cycles", "host_real_time", "host_monotonic", "host_monotonic_raw"]
NIC = ["nic_free_running", "nic_real_time"]


@pytest.fixture
def p0():
    with pydoca.open_device("p0") as device:
        yield device


@pytest.fixture
def clock(p0):
    with pydoca.Clock(p0) as clock:
        yield clock


def supported(clock, names):
    return [name for name in names if pydoca.Clock.is_supported(clock.device.info, name)]


def test_clocks_go_forward(clock):
    for name in supported(clock, HOST + NIC):
        before = clock.timestamp(name)
        assert clock.timestamp(ClockType[name.upper()]) >= before > 0


def test_clocks_of_this_machine_are_those_of_the_time_module(clock):
    for name, same in [("host_real_time", time.time_ns), ("host_monotonic", time.monotonic_ns)]:
        before = same()
        assert before <= clock.timestamp(name) <= same()


@pytest.mark.parametrize("host", HOST)
@pytest.mark.parametrize("nic", NIC)
def test_two_clocks_at_one_moment(clock, host, nic):
    if host not in supported(clock, HOST):
        pytest.skip("this processor has no counter of cycles")
    before = clock.timestamp(host), clock.timestamp(nic)
    both = clock.crosstimestamp(host, nic)
    assert before[0] <= both.host <= clock.timestamp(host)
    assert before[1] <= both.nic <= clock.timestamp(nic)
    assert both.accuracy >= 0
    assert str(both.nic) in repr(both)


def test_the_time_of_day_of_a_device_is_wrong_by_an_offset_and_a_drift(clock):
    both = clock.crosstimestamp("host_real_time", "nic_real_time")
    drift = clock.timestamp("host_monotonic_raw") * 20e-6
    assert abs(both.nic - both.host) <= 100e6 + drift + both.accuracy
    assert both.nic != both.host


def test_processes_read_the_same_clock(clock):
    # Another process reads the device between two readings of this process.
    code = "import pydoca; print(pydoca.Clock(pydoca.open_device('p0')).timestamp('nic_free_running'))"
    before = clock.timestamp("nic_free_running")
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert before <= int(text) <= clock.timestamp("nic_free_running")


def test_what_a_device_has(p0):
    info = p0.info
    can = info.capabilities.clock
    assert (can.nic_free_running, can.nic_real_time, can.nic_dpa_timer) == (True, True, True)
    assert pydoca.Clock.free_running_frequency(info) == can.free_running_frequency > 0
    assert info.supports("clock")
    assert pydoca.Clock.is_supported(info, ClockType.HOST_MONOTONIC)
    assert pydoca.Clock.is_supported(info, "nic_dpa_timer")


def test_the_dpas_timer_is_there_with_a_dpa(clock):
    assert clock.timestamp("nic_free_running") <= clock.timestamp("nic_dpa_timer")
    sim.load_topology(sim.default_topology("bluefield2"))
    try:
        with pydoca.open_device("p0") as p0, pydoca.Clock(p0) as other, pytest.raises(NO_TIMER, match="nic_dpa_timer"):
            other.timestamp("nic_dpa_timer")
    finally:
        sim.load_topology(sim.default_topology())


def test_bad_clocks(clock):
    with pytest.raises(pydoca.InvalidValueError, match="did you mean 'nic_real_time'"):
        clock.timestamp("nic_realtime")
    with pytest.raises(pydoca.InvalidValueError, match="one clock"):
        clock.timestamp(ClockType.NIC_REAL_TIME | ClockType.HOST_REAL_TIME)
    with pytest.raises(TypeError, match="type must be a str or an enumerator"):
        clock.timestamp(2)
    with pytest.raises(pydoca.InvalidValueError, match="a clock of the host, then one of the NIC"):
        clock.crosstimestamp("nic_real_time", "host_real_time")
    with pytest.raises(TypeError):
        pydoca.Clock("p0")


def test_a_clock_keeps_its_device_open_until_it_is_closed(p0):
    clock = pydoca.Clock(p0)
    assert clock.device is p0
    with pytest.raises(pydoca.InUseError):
        p0.close()
    clock.close()
    clock.close()
    assert clock.closed
    assert "closed" in repr(clock)
    with pytest.raises(pydoca.BadStateError, match="make another"):
        clock.timestamp("host_real_time")
    with pytest.raises(pydoca.BadStateError), clock:
        pass


def test_the_end_of_a_devices_with_block_closes_its_clocks():
    with pydoca.open_device("p0") as device:
        clock = pydoca.Clock(device)
    assert clock.closed


def test_a_removed_device_has_no_time(clock):
    sim.remove_device("p0")
    try:
        with pytest.raises(pydoca.DriverError, match="removed"):
            clock.timestamp("nic_real_time")
        assert clock.timestamp("host_real_time") > 0
    finally:
        sim.restore_device("p0")


def test_a_device_without_clocks_says_why():
    before = sim.topology()
    topology = sim.default_topology()
    for function in topology["function"]:
        function["capabilities"]["clock"] = False
    sim.load_topology(topology)
    try:
        with pydoca.open_device("p0") as device:
            with pytest.raises(pydoca.NotSupportedError, match="p0 is not suitable: it has no clock"):
                pydoca.Clock(device)
            with pytest.raises(pydoca.NotSupportedError):
                pydoca.Clock.free_running_frequency(device.info)
    finally:
        sim.load_topology(before)
