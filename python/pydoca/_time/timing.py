"""The timing model of simulated devices, as programs and files give it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from pydoca import _core
from pydoca._errors import InvalidValueError

_TIMES = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1, "µs": 1000}
_SPEEDS: dict[str, int | Decimal] = {
    **{f"{prefix}B/s": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}B/s": 1024**power for power, prefix in enumerate(("Ki", "Mi", "Gi"), start=1)},
    **{f"{prefix}{bit}/s": Decimal(1000**power) / 8 for power, prefix in enumerate("kMG", 1) for bit in ("bit", "b")},
}
_RATES = {f"{prefix}/s": 1000**power for power, prefix in enumerate(("", "k", "M", "G"))}

_OPERATIONS = tuple(_core.sim_timed_operations())
_KEYS = ["seed", "preset", *_OPERATIONS, "pcie", "profiles", "devices"]
_DISTRIBUTIONS = ("none", "uniform", "normal", "lognormal", "exponential")
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)\s*")


class Config:
    """The timing model of simulated devices: what each operation takes, and the seed of its random numbers.

    A device without a model is as fast as this machine. With one, an operation comes back when its engine has
    served what came before it, and then after size / bandwidth + latency + jitter. One engine of a function serves
    all contexts of this process; the four operations of RDMA share one, and so do the two of sync events. A single
    operation takes latency + size / bandwidth, a stream of them reaches the bandwidth, as far as the memory of this
    machine does.

    A message of comch is on its way for this time before the peer can receive it; then its send task ends. A change of
    a sync event is seen, by all sides, after this time; then the call ends, or the task. Without a task the call waits.

    seed: of every random number. preset: where to begin: "ideal" (nothing is modelled), "bluefield2", "bluefield3".
    dma, sha, cache, rdma_write, rdma_read, rdma_send, rdma_atomic, comch_send, sync_event_set, sync_event_add: a table
    each, with these keys:

    * latency: "1.9us"; a number is in seconds
    * bandwidth: "25GB/s" or "200Gbit/s"; a number is in bytes a second
    * rate: operations a second at most, as "10M/s"
    * jitter: {"distribution": "exponential", "spread": "50ns"}, added to the latency. spread is the mean of an
      exponential distribution, the median of a lognormal one, the standard deviation of a normal one, and the
      largest value of a uniform one
    * queue_depth: tasks that a context, or a comch connection, may have in the queue; a further submission fails with
      AgainError (not for RDMA and sync events)
    * reorder_window: 1: tasks come back in the order of their submission; N: one may come back before others that
      were submitted up to N - 1 places earlier (for dma, sha and cache; the others are in order)
    * executes_in_submit: whether submit() does the work of small tasks. By default nothing is done inside it, as on
      hardware (for dma, sha and cache; the others are done when they are due)

    pcie: {"bandwidth": "31.5GB/s"}, of the link of a card, in each direction, which all that crosses it shares.
    profiles, devices: tables like this one, without a seed, for the functions of a profile, or for one function. The
    narrower table wins, key by key; its preset takes the place of what wider ones say.

    Raises InvalidValueError for keys and units that do not exist, and for values that make no sense.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        preset: str | None = None,
        pcie: Mapping[str, Any] | None = None,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
        devices: Mapping[str, Mapping[str, Any]] | None = None,
        **operations: Mapping[str, Any] | None,
    ) -> None:
        _core.require_known("timing: key", list(operations), _KEYS)
        table: dict[str, Any] = {name: operations.get(name) for name in _OPERATIONS}
        table |= {"preset": preset, "pcie": pcie}
        self._seed = _number("seed", seed, 2**64 - 1)
        self._timing = _table("", table)
        self._profiles = _tables("profiles", profiles)
        self._devices = _tables("devices", devices)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Config:
        """The configuration of a mapping whose keys are the keywords of the constructor."""
        _require_mapping("timing", table)
        _core.require_known("timing: key", list(table), _KEYS)
        return cls(**table)

    def to_dict(self) -> dict[str, Any]:
        """The keywords that make this configuration, with units."""
        names = {"profiles": self._profiles, "devices": self._devices}
        nested = {key: {name: _text(own) for name, own in tables.items()} for key, tables in names.items() if tables}
        seed: dict[str, Any] = {"seed": self._seed} if self._seed else {}
        return seed | _text(self._timing) | nested

    def __eq__(self, other: object) -> bool:
        return self._plain() == other._plain() if isinstance(other, Config) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{key}={value!r}' for key, value in self.to_dict().items())})"

    def _plain(self) -> tuple[int, dict[str, Any], dict[str, Any], dict[str, Any]]:
        return self._seed, self._timing, self._profiles, self._devices


def config_of(plain: tuple[int, dict[str, Any], dict[str, Any], dict[str, Any]]) -> Config:
    """Of the engine's numbers."""
    config = Config()
    config._seed, config._timing, config._profiles, config._devices = plain
    return config


def text_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A table of the engine's numbers, with units."""
    return _text(plain)


def _require_mapping(where: str, table: object) -> None:
    if not isinstance(table, Mapping):
        raise InvalidValueError(f"{where} must be a table, not {table!r}")


def _tables(key: str, tables: Mapping[str, Any] | None) -> dict[str, Any]:
    if tables is None:
        return {}
    _require_mapping(f"timing: {key}", tables)
    if key == "profiles":
        _core.require_known("timing: profile", list(tables), _core.sim_profiles())
    named = ((str(name), f"{key[:-1]} {name}: ", table) for name, table in tables.items())
    return {name: _table(where, table) for name, where, table in named}


def _table(where: str, table: Any) -> dict[str, Any]:
    _require_mapping(f"timing: {where.removesuffix(': ')}", table)
    _core.require_known(f"timing: {where}key", list(table), ["preset", *_OPERATIONS, "pcie"])
    plain: dict[str, Any] = {}
    for key, value in table.items():
        if value is None:
            continue
        if key == "preset":
            _core.require_known(f"timing: {where}preset", [str(value)], _core.sim_timing_presets())
            plain[key] = value
        else:
            plain[key] = _fields(f"{where}{key}", value, _LINK if key == "pcie" else _FIELDS)
    if "pcie" in plain and "bandwidth" not in plain["pcie"]:
        raise InvalidValueError(f"timing: {where}pcie needs a bandwidth")
    return plain


def _fields(where: str, table: Any, fields: Mapping[str, Callable[[str, Any], Any]]) -> dict[str, Any]:
    _require_mapping(f"timing: {where}", table)
    _core.require_known(f"timing: {where}: key", list(table), list(fields))
    return {key: fields[key](f"{where}: {key}", value) for key, value in table.items() if value is not None}


def _quantity(where: str, value: Any, units: Mapping[str, int | Decimal], unit: str, example: str) -> Decimal:
    """In the smallest of units; unit: that of a plain number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = f"{value!r}{unit}"
    parts = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise InvalidValueError(f'timing: {where} is {value!r}; write a number and its unit, such as "{example}"')
    if not parts[2]:
        raise InvalidValueError(f'timing: {where} is "{value}", without a unit; write it as in "{example}"')
    _core.require_known(f"timing: {where}: unit", [parts[2]], list(units))
    return Decimal(parts[1]) * units[parts[2]]


def _time(where: str, value: Any) -> int:
    time = round(_quantity(where, value, _TIMES, "s", "1.9us"))
    if not -(2**62) < time < 2**62:
        raise InvalidValueError(f"timing: {where} is {value!r}; it must be 0 ns to an hour")
    return time


def _bandwidth(where: str, value: Any) -> float:
    return float(_quantity(where, value, _SPEEDS, "B/s", "25GB/s"))


def _rate(where: str, value: Any) -> float:
    return float(_quantity(where, value, _RATES, "/s", "10M/s"))


def _number(where: str, value: Any, most: int = 2**32 - 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InvalidValueError(f"timing: {where} must be a whole number in 0..{most}, not {value!r}")
    return value


def _truth(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValueError(f"timing: {where} must be true or false, not {value!r}")
    return value


def _distribution(where: str, value: Any) -> str:
    _core.require_known(f"timing: {where}", [str(value)], list(_DISTRIBUTIONS))
    return str(value)


def _jitter(where: str, value: Any) -> dict[str, Any]:
    fields = _fields(where, value, {"distribution": _distribution, "spread": _time})
    if "distribution" not in fields:
        raise InvalidValueError(f"timing: {where} needs a distribution: {', '.join(_DISTRIBUTIONS)}")
    return {"spread": 0} | fields


_FIELDS: dict[str, Callable[[str, Any], Any]] = {
    "latency": _time,
    "bandwidth": _bandwidth,
    "rate": _rate,
    "jitter": _jitter,
    "queue_depth": _number,
    "reorder_window": _number,
    "executes_in_submit": _truth,
}
_LINK = {"bandwidth": _bandwidth}


def _with_unit(number: float, units: Mapping[str, int | Decimal]) -> str:
    """In the largest of units of which it is at least one; reads back as the same number."""
    exact = Decimal(repr(number))
    fitting = [(scale, unit) for unit, scale in units.items() if scale <= abs(exact)]
    scale, unit = max(fitting, key=lambda fit: fit[0], default=min((scale, unit) for unit, scale in units.items()))
    return f"{(exact / scale).normalize():f}{unit}"


_DECIMAL_TIMES = {unit: _TIMES[unit] for unit in ("s", "ms", "us", "ns")}
_DECIMAL_SPEEDS = {f"{prefix}B/s": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))}


def _text(table: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in table.items():
        if key in ("latency", "spread"):
            result[key] = _with_unit(value, _DECIMAL_TIMES)
        elif key == "bandwidth":
            result[key] = _with_unit(value, _DECIMAL_SPEEDS)
        elif key == "rate":
            result[key] = _with_unit(value, _RATES)
        else:
            result[key] = _text(value) if isinstance(value, Mapping) else value
    return result
