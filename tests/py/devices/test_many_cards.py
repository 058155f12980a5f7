"""Many cards in one topology: names, processes of a far card, displays and commands that stay short."""

import json
import subprocess
import sys

import pytest

import pydoca
from pydoca import sim

FILE = """
profile = "bluefield2"

[[card]]
count = 256
name = "card{:03}"
vfs = 1
sfs = 1

[card.dpu.capabilities]
sync_event = {max_num_tasks = 7}

[[card]]
profile = "bluefield3"
name = "spare"

[[function]]
name = "nic"
pci_addr = "ffff:01:00.0"
side = "host"
"""


@pytest.fixture(autouse=True)
def guides_machine():
    yield
    sim.load_topology(sim.default_topology())


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cards.toml"
    path.write_text(FILE)
    return path


def test_a_file_with_many_cards(file):
    sim.load_topology(file)
    infos = pydoca.devices()
    assert len(infos) == 1 + 256 * 8 + 4
    assert len({info.name for info in infos}) == len({info.vuid for info in infos}) == len(infos)
    far = pydoca.DeviceInfo("card255-p1")
    assert (far.pci_addr, far.profile, far.iface_name) == ("00ff:03:00.1", "bluefield2", "enP255p3s0f1")
    assert far.capabilities.sync_event.max_num_tasks == 7
    assert pydoca.DeviceInfo("card255-pf0").capabilities.sync_event.max_num_tasks == 65536
    spare = pydoca.DeviceInfo("spare-p0")
    assert (spare.pci_addr, spare.profile) == ("0100:03:00.0", "bluefield3"), "numbers go on"
    with pydoca.open_device("00ff:03:00.0") as p0, p0.open_representor("hpf0") as representor:
        assert representor.pci_addr == "00ff:0b:00.0"


def test_what_topology_gives_can_be_loaded_again():
    sim.load_topology({"card": [{"count": 3, "vfs": 1}]})
    before = sim.topology()
    sim.load_topology(before)
    assert sim.topology() == before
    assert len(before["function"]) == 18


@pytest.mark.parametrize(
    ("topology", "says"),
    [
        ({"cards": []}, "key 'cards' .* did you mean 'card'"),
        ({"card": {"count": 2}}, r"card must be a list of tables: write \[\[card\]\]"),
        ({"card": [{"cout": 2}]}, "card 1: key 'cout' .* did you mean 'count'"),
        ({"card": [{}, {"count": "2"}]}, "card 2: count must be a whole number"),
        ({"card": [{"count": 0}]}, r"count = 0, which is not in 1\.\.65536"),
        ({"card": [{"count": 2, "name": "dpu"}]}, r'the name "dpu" for each of 2; put {} where'),
        ({"card": [{"count": 2, "serial": "MT"}]}, 'the serial "MT" for each of 2'),
        ({"card": [{"name": "c{n}"}]}, r"{} or|is {}"),
        ({"card": [{"ports": 3}]}, r"ports = 3, which is not in 1\.\.2"),
        ({"card": [{"count": 2, "first": 65535}]}, "65535 is the last one"),
        ({"card": [{"profile": "bluefield9"}]}, "bluefield9.* bluefield2, bluefield3"),
        ({"card": [{"host": {"name": "x"}}]}, "card 1: host: key 'name'"),
        ({"card": [{"dpu": {"capabilities": {"dmaa": False}}}]}, "dpu: capabilities: key 'dmaa' .* 'dma'"),
        ({"card": [{}, {"first": 0}]}, r'function "card0-p\w+" is there twice'),
    ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(topology, says):
    before = sim.topology()
    with pytest.raises(pydoca.InvalidValueError, match=says):
        sim.load_topology(topology)
    assert sim.topology() == before


DPU = """
import asyncio, sys, pydoca

async def main():
    with pydoca.open_device("card255-p0") as device, device.open_representor("hpf0") as representor:
        async with pydoca.ProgressEngine() as pe, pydoca.comch.Server(pe, device, representor, "cards") as server:
            async for link in server:
                blob = bytes(await link.recv())
                async with pydoca.Dma(pe, device) as dma:
                    memory = bytearray(64)
                    there, here = device.import_mmap(blob), device.mmap(memory)
                    with pydoca.BufInventory(2) as inventory, there, here:
                        await dma.memcpy(inventory.get_by_data(there), inventory.get_by_addr(here))
                    await link.send(bytes(memory))
                return

asyncio.run(main())
"""


def test_the_two_sides_of_a_far_card_copy_and_talk(file):
    async def host():
        process = sim.spawn(DPU, side="dpu", show=False)
        with pydoca.open_device("card255-pf0", side="host") as device:
            async with pydoca.ProgressEngine() as pe, pydoca.comch.Client(pe, device, "cards") as link:
                with device.mmap(bytes(range(64)), access="pci_read_only") as mmap:
                    await link.send(mmap.export_pci())
                    assert bytes(await link.recv()) == bytes(range(64))
        await process

    import asyncio

    sim.load_topology(file)
    asyncio.run(asyncio.wait_for(host(), 60))


def test_ten_thousand_functions():
    sim.load_topology({"card": [{"count": 2500}]})
    assert len(pydoca.devices(side="dpu")) == 5000
    with pydoca.open_device("card2499-p1") as device:
        assert device.pci_addr == "09c3:03:00.1"
        sim.remove_device(device)
        assert device.removed
        with pytest.raises(pydoca.NotFoundError, match="and 9983 more"):
            pydoca.open_device("card2499-p1")
    sim.restore_device("card2499-p1")
    pydoca.open_device("card2499-p1").close()


def test_displays_of_many_cards_stay_short():
    sim.load_topology({"card": [{"count": 200}]})
    for shown in (sim.topology(), sim.Topology(card=[{"count": 200}])):
        html = shown._repr_html_()
        assert "200" in html
        assert len(html) < 60_000


def test_devices_by_pattern(file):
    environment = {"PYDOCA_TOPOLOGY": str(file), "PATH": "/usr/bin:/bin"}

    def run(*arguments):
        command = [sys.executable, "-m", "pydoca", "devices", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)

    shown = run("--match", "card25?-p*", "--match", "nic", "--json")
    names = [device["name"] for device in json.loads(shown.stdout)["devices"]]
    assert names[:2] == ["nic", "card250-pf0"]
    assert len(names) == 1 + 6 * 8
    assert run("--match", "0004:03:*").stdout.count("card004-p") == 4
    nothing = run("--match", "card999-*")
    assert nothing.returncode != 0
    assert "card999-*" in nothing.stderr
