"""The options of a run, as its command line gives them."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from pydoca.qualify.session.levels import DEFAULT


@dataclass(frozen=True)
class Settings:
    devices: tuple[str, ...] = ()
    backend: str | None = None
    rep: str | None = None
    peer: str | None = None
    level: str | None = None  # None: quick, or that of the run that is resumed
    select: tuple[str, ...] = ()  # ids and patterns of cases; empty: each one
    expression: str | None = None  # pytest's -k, which also chooses among the cases
    limits: tuple[str, ...] = ()
    limits_force: bool = False
    allow_unmet: tuple[str, ...] = ()  # names and patterns of limits and expectations that may judge nothing
    baseline: str | None = None
    out: str | None = None
    repeat: int = 1
    duration: float | None = None
    seed: int | None = None
    resume: str | None = None
    plan: bool = False
    fail_early: bool = False
    strict_skips: bool = False
    strict_marginal: bool = False
    force: bool = False
    wait: float | None = None  # seconds, for a device that another run has
    no_plots: bool = False
    title: str | None = None
    customer: str | None = None
    operator: str | None = None
    note: str | None = None

    @property
    def is_recorded(self) -> bool:
        """Whether the run gets a directory: a device, or a directory, is named."""
        return bool(self.devices or self.out or self.resume) and not self.plan

    def to_dict(self) -> dict[str, Any]:
        """The options that were given, for the record of the run."""
        unless_told = asdict(Settings())
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value != unless_told[name]
        }


def settings_of(config: pytest.Config) -> Settings:
    def option(name: str) -> Any:
        return config.getoption(f"pydoca_{name}")

    return Settings(
        devices=tuple(option("device")),
        backend=option("backend"),
        rep=option("rep"),
        peer=option("peer"),
        level=option("level"),
        select=tuple(part.strip() for text in option("select") for part in text.split(",")),
        expression=config.getoption("keyword") or None,
        limits=tuple(option("limits")),
        limits_force=option("limits_force"),
        allow_unmet=tuple(option("allow_unmet")),
        baseline=option("baseline"),
        out=option("out"),
        repeat=option("repeat") or 1,
        duration=option("duration"),
        seed=option("seed"),
        resume=option("resume"),
        plan=option("plan"),
        fail_early=option("fail_early"),
        strict_skips=option("strict_skips"),
        strict_marginal=option("strict_marginal"),
        force=option("force"),
        wait=option("wait"),
        no_plots=option("no_plots"),
        title=option("title"),
        customer=option("customer"),
        operator=option("operator"),
        note=option("note"),
    )


def new_seed() -> int:
    return secrets.randbits(32)


LEVEL_UNLESS_TOLD = DEFAULT
