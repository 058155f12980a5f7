"""Topologies, devices and representors."""

from __future__ import annotations

import pydoca
from pydoca import sim
from scenes.stack import Stack, scene


@scene
def topology(stack: Stack) -> object:
    return sim.default_topology()


@scene
def topology_large(stack: Stack) -> object:
    ports = [{"name": "p0", "pci_addr": "0000:03:00.0", "side": "dpu", "func_type": "pf", "profile": "bluefield3"}]
    functions = [
        {**ports[0], "name": f"pf0vf{index}", "pci_addr": f"0000:0b:{index // 8:02x}.{index % 8}", "side": "host",
         "func_type": "vf", "parent": "p0", "representor": f"hpf0vf{index}"}
        for index in range(2, 200)
    ]  # fmt: skip
    return sim.Topology(function=[*ports, *functions])


@scene
def devices(stack: Stack) -> object:
    return pydoca.devices()


@scene
def device_info(stack: Stack) -> object:
    return pydoca.DeviceInfo("pf0", side="host")


@scene
def device_open(stack: Stack) -> object:
    return stack.dpu()


@scene
def device_closed(stack: Stack) -> object:
    with pydoca.open_device("p0s0") as device:
        return device


@scene
def device_removed(stack: Stack) -> object:
    device = stack.enter_context(pydoca.open_device("p1s0"))
    sim.remove_device("p1s0")
    stack.callback(sim.restore_device, "p1s0")
    return device


@scene
def representor_info(stack: Stack) -> object:
    return stack.dpu().representors()[1]


@scene
def representor_open(stack: Stack) -> object:
    return stack.representor()


@scene
def representor_closed(stack: Stack) -> object:
    with stack.representor() as representor:
        return representor
