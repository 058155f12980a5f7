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

    device: pydoca.DeviceInfo | None  # under test
    level: str
    seed: int  # of the run
    node: str
    repeat: int  # from 0
    seconds: float  # for one measurement of this case
    duration: float | None  # of the run, where one was asked for
    directory: Path | None  # of the run
    limits: Limits
    settings: Settings
    must_stop: Callable[[], bool]  # after Ctrl-C: a case that goes on for long asks
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
        """Raises pytest.UsageError where no device is chosen, and there is not exactly one."""
        if self.device is None:
            self.device = self.choose()
        return self.device

    def require_blocks(self) -> None:
        """Raises NotInBlock where a case that has not failed has made a measurement without its block."""
        idle = [each.name for each in self.made if not each.is_begun]
        if idle and not self.failed:
            raise NotInBlock(f"{', '.join(idle)}: made, and never judged; write: with pydoca_measure(...) as m:")

    def random(self) -> random.Random:
        """Follows from the run's seed, the case and its repeat."""
        return random.Random(f"{self.seed} {self.node} {self.repeat}")

    def seed_of(self, what: str) -> int:
        """A number of 32 bits, for generators that take one."""
        return zlib.crc32(f"{self.seed} {self.node} {self.repeat} {what}".encode())
