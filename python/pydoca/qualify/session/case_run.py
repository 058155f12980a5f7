"""A case while it runs, and the run as the case sees it."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydoca
from pydoca.qualify.limits import Limits
from pydoca.qualify.measure import Measure, Measurement, NotInBlock, Surroundings
from pydoca.qualify.records import MeasurementRecord
from pydoca.qualify.session.settings import Settings


@dataclass
class CaseRun:
    """The fixture `pydoca_run`."""

    device: pydoca.DeviceInfo | None  # the device under test
    level: str
    seed: int  # the seed of the run
    node: str
    repeat: int  # the number of the repeat, from 0
    seconds: float  # the time of one measurement of this case
    duration: float | None  # the duration of the run, where one was asked for
    directory: Path | None  # the directory of the run
    limits: Limits
    settings: Settings
    must_stop: Callable[[], bool]  # whether Ctrl-C came: a case that goes on for long asks
    save: Callable[..., str]
    choose: Callable[[], pydoca.DeviceInfo]
    measurements: list[MeasurementRecord] = field(default_factory=list)
    made: list[Measurement] = field(default_factory=list)
    failed: bool = False

    @property
    def measure(self) -> Measure:
        return Measure(
            Surroundings(
                limits=self.limits,
                seconds=self.seconds,
                seed=self.seed_of("statistics"),
                must_stop=self.must_stop,
                save=self.save,
                take=self.measurements.append,
                made=self.made.append,
            )
        )

    @property
    def expected(self) -> dict[str, Any]:
        """The limits' table [expect], as dotted names; `pydoca_measure.expect()` compares."""
        return self.limits.expectations

    def require_device(self) -> pydoca.DeviceInfo:
        """The device. Raises pytest.UsageError when none is chosen, and the machine does not have exactly one."""
        if self.device is None:
            self.device = self.choose()
        return self.device

    def require_blocks(self) -> None:
        """Raises NotInBlock when a case that has not failed has made a measurement without its block."""
        idle = [each.name for each in self.made if not each.is_begun]
        if idle and not self.failed:
            raise NotInBlock(f"{', '.join(idle)}: made, and never judged; write: with pydoca_measure(...) as m:")

    def random(self) -> random.Random:
        """Random numbers that follow from the run's seed, the case and its repeat."""
        return random.Random(f"{self.seed} {self.node} {self.repeat}")

    def seed_of(self, what: str) -> int:
        """A number of 32 bits, for generators that take one."""
        return zlib.crc32(f"{self.seed} {self.node} {self.repeat} {what}".encode())
