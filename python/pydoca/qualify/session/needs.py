"""The needs of a case, and the reasons why it cannot run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

import pydoca
from pydoca._text.nearest import did_you_mean

if TYPE_CHECKING:
    from pydoca.qualify.session.settings import Settings

Condition = Callable[["pydoca.DeviceInfo", "Settings"], str]


class UnknownNeed(ValueError):
    """No condition and no capability has that name."""


def why_not(need: str, info: pydoca.DeviceInfo | None, settings: Settings) -> str:
    """The reason; empty when the need is met. Raises UnknownNeed."""
    kind, colon, name = need.partition(":")
    if colon and kind == "program":
        return "" if shutil.which(name) else f"the program {name} is not installed"
    if condition := _OF_MACHINE.get(need):
        return condition(settings)
    if need not in _OF_DEVICE and need.partition(".")[0] not in pydoca.CAPABILITIES:
        known = [*_OF_DEVICE, *_OF_MACHINE, *pydoca.CAPABILITIES, "program:NAME"]
        raise UnknownNeed(f"{need!r} is not a need{did_you_mean(need, known)}: {', '.join(known)}")
    if info is None:
        return "no device is chosen (--pydoca-device)"
    found = _OF_DEVICE.get(need)
    return found(info, settings) if found else _capability(need, info)


def _capability(need: str, info: pydoca.DeviceInfo) -> str:
    """The reason for "dma", or for a field of its capabilities that must not be 0 or False: "sha.sha512"."""
    capability, _, field = need.partition(".")
    if not info.supports(capability):  # type: ignore[arg-type]
        return f"{info.name} has no {capability}: {info.why_unsupported(capability)}"  # type: ignore[arg-type]
    fields = getattr(info.capabilities, capability, None)
    if field and hasattr(fields, field) and not getattr(fields, field):
        return f"{info.name} has no {need}"
    return ""


def _is_sim(info: pydoca.DeviceInfo, _: Settings) -> str:
    return "" if info.backend == "sim" else f"{info.name} is not a simulated device"


def _is_verbs(info: pydoca.DeviceInfo, _: Settings) -> str:
    return "" if info.backend == "verbs" else f"{info.name} is not a device of rdma-core"


def _is_hardware(info: pydoca.DeviceInfo, _: Settings) -> str:
    return "" if info.backend != "sim" else f"{info.name} is simulated, and the case is about hardware"


def _has_pair(info: pydoca.DeviceInfo, settings: Settings) -> str:
    from pydoca.qualify.session.pair.ends import NoPair, ends_of

    try:
        ends_of(info, settings)
    except NoPair as error:
        return str(error)
    return ""


def _is_dpu(info: pydoca.DeviceInfo, _: Settings) -> str:
    return "" if info.side is pydoca.Side.DPU else f"{info.name} is on the host"


def _is_host(info: pydoca.DeviceInfo, _: Settings) -> str:
    return "" if info.side is pydoca.Side.HOST else f"{info.name} is on the DPU"


_OF_DEVICE: dict[str, Condition] = {
    "sim": _is_sim,
    "verbs": _is_verbs,
    "hardware": _is_hardware,
    "pair": _has_pair,
    "dpu": _is_dpu,
    "host": _is_host,
}
_OF_MACHINE: dict[str, Callable[[Settings], str]] = {
    "root": lambda _: "" if os.geteuid() == 0 else "only root may do this",
    "peer": lambda settings: "" if settings.peer else "no device at the other end is named (--pydoca-peer)",
    "baseline": lambda settings: "" if settings.baseline else "no golden values are given (--pydoca-baseline)",
}
