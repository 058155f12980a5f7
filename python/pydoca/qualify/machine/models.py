"""The models that make a device behave as a program says, fault plans and timing models; a report must tell of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydoca import faults, sim
from pydoca.qualify.machine.facts import Absent, Fact

_FAULTS, _TIMING = "device.fault_plan", "device.timing_model"


def _fault_plan(root: Path, device: Mapping[str, Any]) -> str:
    plan = faults._in_force()
    if plan is None:
        raise Absent("none is in force")
    return f"seed {plan.seed}; {'; '.join(map(repr, plan.rules))}"


def _timing_model(root: Path, device: Mapping[str, Any]) -> str:
    if device.get("backend") != "sim":
        raise Absent("the device is not simulated")
    models = sim.timing(str(device["name"]))
    if not models:
        raise Absent("none is in force")
    return "; ".join(f"{operation}: {_words(each)}" for operation, each in models.items())


def _words(model: Any) -> str:
    if not isinstance(model, Mapping):
        return str(model)
    return ", ".join(f"{key} {value}" for key, value in model.items())


MODELS: dict[str, Callable[[Path, Mapping[str, Any]], Any]] = {_FAULTS: _fault_plan, _TIMING: _timing_model}


def models_in_force(facts: Mapping[str, Fact]) -> list[str]:
    """Findings of a run on a machine with this inventory."""
    told = {
        _FAULTS: "a fault plan was in force, so failures may be planted",
        _TIMING: "a timing model was in force, so times are those of the model",
    }
    return [f"{text}: {facts[name]['value']}" for name, text in told.items() if "value" in facts.get(name, {})]
