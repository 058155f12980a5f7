"""Devices and representors: openings, closings, and the removal of a function."""

import contextlib
from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import DocaError, Status
from soak.world import NUMBER, World, step

SELECTORS = [("0b:00.0", "host"), ("0b:00.1", "host"), ("03:00.0", "dpu"), ("p1", "dpu"), ("p0s0", "dpu")]


class Devices(World):
    """host and dpu stay open for the run; p1 may be removed at any time."""

    def set_up(self) -> None:
        super().set_up()
        self.host = pydoca.open_device("0b:00.0", side="host")
        self.dpu = pydoca.open_device("03:00.0", side="dpu")
        self.spare = pydoca.open_device("p1", side="dpu")
        self.rep = self.dpu.open_representor("0b:00.0")

    def device(self, number: int) -> Any:
        return (self.dpu, self.host, self.dpu, self.host, self.spare)[number % 5]

    @step(number=NUMBER)
    def open_device(self, number: int) -> None:
        selector, side = SELECTORS[number % len(SELECTORS)]
        expected = {Status.FULL, Status.NO_MEMORY}
        self.keep("device", self.attempt(expected, pydoca.open_device, selector, side=side))

    @step(number=NUMBER)
    def close_device(self, number: int) -> None:
        if device := self.pick("device", number):
            self.attempt({Status.IN_USE}, device.close)
            self.attempt({Status.BAD_STATE}, device.mmap, bytearray(8))

    @step(number=NUMBER, drop=st.booleans())
    def open_representor(self, number: int, drop: bool) -> None:
        infos = self.dpu.representors()
        rep = self.dpu.open_representor(infos[number % len(infos)])
        assert rep.info == infos[number % len(infos)]
        if not drop:
            self.keep("representor", rep)

    @step(number=NUMBER)
    def close_representor(self, number: int) -> None:
        if rep := self.pick("representor", number):
            rep.close()
            assert not rep.is_open

    @step(selector=st.sampled_from(["", "99:00.0", "pf9", "0b:00.0 ", "\0", "x" * 300]))
    def open_what_is_not_there(self, selector: str) -> None:
        self.refused((pydoca.NotFoundError, pydoca.InvalidValueError), pydoca.open_device, selector)

    @step(again=NUMBER)
    def remove_device(self, again: int) -> None:
        """This rule acts seldom: after it, most operations of the run can only fail."""
        if again % 8 == 0 and not self.is_removed:
            pydoca.sim.remove_device("p1")
            self.is_removed = True

    @step()
    def read_devices(self) -> None:
        assert len(pydoca.devices()) >= 8
        assert self.host.is_open
        assert self.spare.removed == self.is_removed

    def close_devices(self) -> None:
        for device in (self.rep, self.spare, self.dpu, self.host):
            with contextlib.suppress(DocaError):
                device.close()
