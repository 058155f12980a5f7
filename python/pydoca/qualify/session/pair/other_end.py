"""A check of --pydoca-peer and --pydoca-rep at the start, also where no case needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pydoca
from pydoca._text.nearest import did_you_mean
from pydoca.qualify.session.choice import ChoiceError, choose, devices, label
from pydoca.qualify.session.pair.ends import NoPair, ends_of

if TYPE_CHECKING:
    from pydoca.qualify.session.settings import Settings


def check_other_end(info: pydoca.DeviceInfo | None, settings: Settings) -> None:
    """Checks the other end of the device under test, or of one that is not known yet. Raises ChoiceError."""
    if settings.peer is not None:
        _check_peer(info, settings, settings.peer)
    if settings.rep is not None and info is not None:
        _check_representor(info, settings, settings.rep)


def _check_peer(info: pydoca.DeviceInfo | None, settings: Settings, peer: str) -> None:
    try:
        choose(peer, devices(settings.backend))
        if info is not None and settings.rep is None:
            ends_of(info, settings)
    except (ChoiceError, NoPair) as error:
        raise ChoiceError(f"--pydoca-peer: {error}") from None


def _check_representor(info: pydoca.DeviceInfo, settings: Settings, rep: str) -> None:
    if not info.supports("representors"):
        raise ChoiceError(
            f"--pydoca-rep: {label(info)} has no representors: {info.why_unsupported('representors')}; leave it out"
        )
    if settings.plan and info.backend != "sim":  # a plan touches no device
        return
    with pydoca.open_device(info) as device:
        shown = device.representors()
    names = [name for each in shown for name in (each.pci_addr, each.name, each.iface_name) if name]
    known = list(dict.fromkeys(names))
    if not any(_is_named(each, rep) for each in shown):
        there = f"; there are {', '.join(known)}" if known else ", which has none"
        meant = did_you_mean(rep, known)
        raise ChoiceError(f"--pydoca-rep: there is no representor {rep!r} of {label(info)}{meant}{there}")


def _is_named(representor: pydoca.RepresentorInfo, rep: str) -> bool:
    try:
        return rep in (representor.name, representor.iface_name) or representor.is_equal_pci_addr(rep)
    except pydoca.InvalidValueError:  # another name, and not an address
        return False
