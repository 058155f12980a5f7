"""The plan of a run: cases, their time, what is skipped and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydoca.qualify.figures import duration, plural
from pydoca.qualify.session.progress import parameters_of
from pydoca.qualify.session.selection import Selected


@dataclass
class Plan:
    level: str
    seed: int
    repeat: int
    devices: list[str]
    cases: list[Selected] = field(default_factory=list)
    other_levels: list[str] = field(default_factory=list)  # ids of cases that this level leaves out
    finished: int = 0  # cases of a resumed run, which are not repeated

    @property
    def seconds(self) -> float:
        """The time of the plan, device after device, as without xdist."""
        return sum(case.estimate for case in self.cases) * self.repeat

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "seed": self.seed,
            "repeat": self.repeat,
            "devices": self.devices,
            "seconds": round(self.seconds, 3),
            "cases": [_case(case) for case in self.cases],
            "other_levels": self.other_levels,
            "finished": self.finished,
        }

    def show(self, line: Callable[[str], None]) -> None:
        running = [case for case in self.cases if not case.skip]
        names = [case.mark.id + parameters_of(case.node) for case in self.cases]
        width = max((len(name) for name in names), default=0)
        for name, case in zip(names, self.cases, strict=True):
            what = f"skipped: {case.skip}" if case.skip else f"{duration(case.estimate):>7}"
            device = f"  {case.info.name}" if case.info and len(self.devices) > 1 else ""
            needs = f"  (needs {', '.join(case.needs)})" if case.needs and not case.skip else ""
            line(f"{name.ljust(width)}{device}  {what}  {case.mark.title}{needs}")
        skipped = len(self.cases) - len(running)
        line("")
        on, times = ", ".join(self.devices) or "no device", f", {self.repeat:,} times" if self.repeat > 1 else ""
        cases, took = plural(len(running), "case"), duration(round(self.seconds))
        line(f"{cases} of level {self.level} on {on}{times}: about {took}")
        line(f"skipped: {skipped}; of other levels: {len(self.other_levels)}; finished before: {self.finished}")


def _case(case: Selected) -> dict[str, Any]:
    return {
        "id": case.mark.id,
        "title": case.mark.title,
        "node": case.node,
        "device": f"{case.info.backend}:{case.info.name}" if case.info else None,
        "needs": list(case.needs),
        "seconds": round(case.estimate, 3),
        "skip": case.skip or None,
    }
