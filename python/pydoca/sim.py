"""Controls of the simulated fabric: functions, the fabric that devices join, removal of devices, other processes.

A topology is a mapping, or a TOML file, of this form; a key that is left out has the default that is shown::

    profile = "bluefield3"            # of functions and cards that name none: see profiles(); alone, the default
                                      # machine has it. "all" has every engine
    host_pci_addr = "0b:00.0"         # without cards and functions: where the default machine's host has pf0

    [[card]]                          # as many cards as you like: functions of a host and a DPU
    count = 1
    name = "card{}"                   # card 7 has card7-pf0 and card7-p0, ...; {:03} gives card007-pf0
    first = 0                         # the number of the first card, also its PCI domain: 0007:0b:00.0
    serial = "SIM{:05}"               # the VUIDs of its functions begin with it
    ports = 2                         # physical functions of each side, 1 or 2
    vfs = 0                           # of each of the host's physical functions: card7-pf0vf0, ...
    sfs = 0                           # of each of the DPU's: card7-p0s0, ...

    [card.host]                       # and [card.dpu]: the keys of a function that are the same for all of them
    capabilities = {dma = false}

    [[function]]                      # or each function by itself
    name = "pf0"                      # must be given, unique
    pci_addr = "0b:00.0"              # must be given; SFs have their parent's
    side = "host"                     # must be given: "host" or "dpu"
    func_type = "pf"                  # or "vf", "sf"
    parent = ""                       # the DPU's function whose representor list has it
    representor = ""                  # the name of its representor
    mac_addr = "02:50:44:00:00:00"    # numbered; absent where there is a lid
    vhca_id = 0                       # numbered

    [function.capabilities]           # where it differs from its profile; false: none
    dma = {max_buf_size = 1048576}

Further keys are iface_name, ibdev_name, vuid, profile, active_rate [bit/s], ipv4_addr, ipv6_addr, lid, sf_index,
is_emulated and is_hotplug. The environment's PYDOCA_TOPOLOGY names a file that comes into force at the first look
at devices, unless the program has loaded another topology by then. PYDOCA_PROFILE names a profile for the default
machine, where there is no such file.

The table ``[timing]``, in that file or in one of its own, says how long operations take; its keys are the keywords
of `Config`. Without it the timing stays as it is, at first "ideal": as fast as this machine::

    [timing]
    preset = "bluefield3"             # or "bluefield2", "ideal"
    seed = 1                          # of the jitter

    [timing.dma]                      # where it differs from the preset
    latency = "1.9us"
    bandwidth = "25GB/s"
    jitter = {distribution = "exponential", spread = "50ns"}

    [timing.devices.p1.dma]           # of one function
    latency = "4us"

The environment's PYDOCA_TIMING names a file with that table alone.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pydoca import _core

if TYPE_CHECKING:
    from pydoca._display.frame.panel import Panel
    from pydoca._spawn.process import Process, ProcessError
    from pydoca._time.explore import Exploration, Run, explore
    from pydoca._time.timing import Config
    from pydoca._time.virtual_time import VirtualTime

__all__ = [
    "Config",
    "Exploration",
    "Process",
    "ProcessError",
    "Run",
    "Topology",
    "VirtualTime",
    "config",
    "default_topology",
    "explore",
    "fabric",
    "fabric_directory",
    "load_config",
    "load_topology",
    "profiles",
    "remove_device",
    "restore_device",
    "set_fabric",
    "spawn",
    "timing",
    "topology",
    "virtual_time",
]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def load_topology(source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
    """Replaces the topology of this process, by that of a TOML file or of a mapping.

    Open devices stay open. What is opened afterwards is a device of the new topology. A table ``timing`` replaces the
    configuration as well, as `load_config` does.

    Raises OSError when the file cannot be read, and InvalidValueError for a file that is not TOML, for
    unknown keys, and for values that do not fit.
    """
    if isinstance(source, Mapping):
        _core.sim_load_topology(source)
    else:
        _core.sim_load_topology_file(os.fsencode(source))


def load_config(source: str | os.PathLike[str] | Mapping[str, Any] | Config) -> None:
    """Replaces the timing model of this process, for devices opened later; those that are open keep theirs.

    source: a `Config`, a mapping of its keywords, or a TOML file with the table ``[timing]``. An empty one makes
    devices as fast as this machine. The engines of a new configuration are idle, and its random numbers begin at
    the seed.

    Raises OSError when the file cannot be read, and InvalidValueError for a file that is not TOML, for keys, units,
    profiles and functions that do not exist, and for values that make no sense.
    """
    from pydoca._time.timing import Config, load

    if isinstance(source, Config | Mapping):
        load(source)
    else:
        _core.sim_load_config_file(os.fsencode(source))


def config() -> Config:
    """The timing model in force."""
    from pydoca._time.timing import in_force

    return in_force()


def timing(device: str | _Named) -> dict[str, Any]:
    """What a function that is opened now takes for its operations, by operation; empty where nothing is modelled.

    device: its name, a Device or a DeviceInfo. Raises NotFoundError when the topology has none.
    """
    return _core.sim_timing(_name_of(device))


class Topology(dict[str, Any]):
    """A topology, in the form that `load_topology` takes. A notebook shows it as a picture of the machine."""

    def _panel(self) -> Panel:
        from pydoca._display.machine import topology_panel

        return topology_panel(self)

    def _repr_html_(self) -> str:
        from pydoca._display.notebook import html_of

        return html_of(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """IPython's text; without it IPython would print a dict, and keep hundreds of lines in the notebook."""
        from pydoca._display.notebook import bundle_of

        printer.text(bundle_of(self)["text/plain"])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from pydoca._display.notebook import bundle_of

        return bundle_of(self)


def topology() -> Topology:
    """The topology in force, a `Topology`; absent properties are None. It has the timing where devices are modelled."""
    models = config().to_dict()
    return Topology(function=_core.sim_topology(), **({"timing": models} if models else {}))


def _loaded_topology() -> dict[str, Any] | None:
    """The machine for processes that are started; None where they find it by themselves."""
    return _core.sim_loaded_machine()


def default_topology(profile: str = "bluefield3", *, host_pci_addr: str = "0b:00.0") -> Topology:
    """The DOCA Core guide's machine, with cards of a profile, as a `Topology`.

    profile: bluefield2, bluefield3, or all, a card that has every engine; InvalidValueError for another one.
    host_pci_addr: where the host has pf0. The guide has b1:00.0 in some chapters.
    """
    for name, text in (("profile", profile), ("host_pci_addr", host_pci_addr)):
        if not isinstance(text, str):
            raise TypeError(f"default_topology: {name} is a str, not {text!r}")
    return Topology(function=_core.sim_default_topology(profile, host_pci_addr))


def profiles() -> list[str]:
    """The cards whose engines and limits are known, and "all", one that has every engine."""
    return _core.sim_profiles()


def set_fabric(name: str) -> None:
    """Chooses the fabric for devices opened later: processes in one fabric see one another.

    Processes that this one starts join it as well, because it becomes the environment's PYDOCA_FABRIC.

    Raises InvalidValueError unless name is 1 to 64 characters of letters, digits, ``.``, ``_`` and ``-``.
    """
    if not isinstance(name, str):
        raise TypeError(f"set_fabric: name is a str, not {name!r}")
    _core.sim_set_fabric(name)
    os.environ["PYDOCA_FABRIC"] = name


def fabric() -> str:
    """The fabric that devices opened now join: the environment's PYDOCA_FABRIC, else "default"."""
    return _core.sim_fabric()


def fabric_directory() -> str:
    """The directory in which the processes of this process's fabric meet, whether it exists or not.

    The environment's PYDOCA_FABRIC_DIR, else XDG_RUNTIME_DIR, else /tmp leads to it. Processes that have other values
    never see one another; two halves that wait for each other for ever can compare what this returns.

    Raises InvalidValueError or NotPermittedError when PYDOCA_FABRIC_DIR does not name a directory that only this user
    can write to.
    """
    return _core.sim_fabric_directory()


def virtual_time(*, seed: int = 0, outside: float = 0.0) -> VirtualTime:
    """Virtual time for a `with` block, as `VirtualTime` describes it::

        with pydoca.sim.virtual_time(seed=7) as time:
            time.run(host(), dpu())  # each in an event loop and a thread of its own

    Raises BadStateError when the process has virtual time already, at the beginning of the block.
    """
    from pydoca._time.virtual_time import VirtualTime

    return VirtualTime(seed=seed, outside=outside)


def spawn(
    target: str | os.PathLike[str] | Callable[..., Any],
    *,
    side: str | _core.Side = "dpu",
    name: str | None = None,
    args: Sequence[Any] = (),
    env: Mapping[str, str] | None = None,
    show: bool = True,
) -> Process:
    """Starts a process of one side in the fabric and topology of this one, and shows here what it writes.

    side: dpu or host, or a `Side`.
    target: the text of a program; a script (pathlib.Path); or a function of a module, a coroutine function too. Text
    and scripts may await at the top level. args: the program's sys.argv[1:], or the function's arguments, which are
    pickled. env: further variables of its environment; PYDOCA_TOPOLOGY, PYDOCA_PROFILE and PYDOCA_TIMING there take the
    place of this process's machine. name: for its output and its errors, the side by default.

    The process is a new Python, not a fork: it has nothing of this one. It ends with this one, however this one ends.
    Raises SyntaxError for text that is not a program, InvalidValueError for a function that cannot be imported.
    """
    from pydoca._spawn import process

    return process.start(target, side, name, args, env, _loaded_topology, show)


def remove_device(device: str | _Named) -> None:
    """Removes a function from this process: enumerations omit it, and operations of devices that are open fail.

    device: its name, its PCI address (SFs have only a name), a Device or a DeviceInfo. Raises NotFoundError when there
    is none.
    """
    _core.sim_remove_device(_name_of(device))


def restore_device(device: str | _Named) -> None:
    """Adds a removed function again, for devices opened later. device: as for remove_device.

    Raises NotFoundError when the topology has none.
    """
    _core.sim_restore_device(_name_of(device))


def _name_of(device: str | _Named) -> str:
    name = getattr(device, "name", device)
    if not isinstance(name, str):
        raise TypeError(
            f"a device is given by its name or address, a Device or a DeviceInfo, not by {type(device).__name__}"
        )
    return name


# Imported by their first use: most programs start no process and have no virtual time, which needs asyncio.
_PLACES = {
    "Config": "pydoca._time.timing",
    "Process": "pydoca._spawn.process",
    "ProcessError": "pydoca._spawn.process",
    "Exploration": "pydoca._time.explore",
    "Run": "pydoca._time.explore",
    "explore": "pydoca._time.explore",
    "VirtualTime": "pydoca._time.virtual_time",
}


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(place)
    # All of that module: one's annotations name another.
    globals().update({each: getattr(module, each) for each, its_place in _PLACES.items() if its_place == place})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
