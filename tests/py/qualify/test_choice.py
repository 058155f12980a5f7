"""Each name of a device chooses it; a choice is never left to chance."""

import pytest

import pydoca
from pydoca.qualify.session.choice import ChoiceError, choose, devices, label, only

NAMES = {
    "p0": "p0",
    "sim:p0": "p0",
    "dpu:p0": "p0",
    "sim:dpu:p0": "p0",
    "03:00.0": "p0",  # p0s0 has the same address, but p0 is its parent
    "0000:03:00.1": "p1",
    "dpu:mlx5_0": "p0",
    "host:mlx5_0": "pf0",
    "ens1f0np0": "pf0",
    "SIM0001X00001ECS0D0F0": "p0",
    "sim:0": "pf0",
    "dpu:0": "p0",
    "dpu:1": "p1",
}


@pytest.mark.parametrize(("selector", "name"), NAMES.items())
def test_any_name_of_a_device_chooses_it(selector, name):
    assert choose(selector, devices()).name == name


@pytest.mark.parametrize(
    ("selector", "parts"),
    [
        ("mlx5_0", ["'mlx5_0' is ambiguous", "sim:pf0 (0000:0b:00.0)", "sim:p0 (0000:03:00.0)"]),
        ("SIM0001X00001", ["is ambiguous", "sim:p1"]),
        ("sim", ["is ambiguous", "sim:p0"]),
        ("sim:", ["is ambiguous", "sim:p0s0"]),
        ("p7", ["there is no device 'p7'; there are ", "sim:p0 (0000:03:00.0)"]),
        ("p1vf0", ["there is no device 'p1vf0'; did you mean 'pf1vf0'?; there are "]),
        ("09:00.0", ["there is no device '09:00.0'"]),
        ("host:p0", ["there is no device 'host:p0'"]),
        ("sim:99", ["there is no device 'sim:99'"]),
        ("verbs:p0", ["there is no device"]),
        ("", ["is ambiguous"]),
    ],
)
def test_another_name_is_refused_with_what_can_be_chosen(selector, parts):
    with pytest.raises(ChoiceError) as error:
        choose(selector, devices())
    for part in parts:
        assert part in str(error.value)


def test_every_label_chooses_its_device():
    for info in devices():
        assert choose(label(info), devices()) == info


def test_a_machine_without_devices_says_so():
    with pytest.raises(ChoiceError, match="nor any other; `pydoca devices` says why"):
        choose("p0", [])
    with pytest.raises(ChoiceError, match="has no device"):
        only([])


def test_only_one_device_needs_no_choice():
    infos = pydoca.devices()
    assert only(infos[:1]) == infos[0]
    with pytest.raises(ChoiceError, match="choose a device by --pydoca-device: sim:pf0"):
        only(infos)
