"""The values of a fault rule's keys: what users write, checked and made into what the engine takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from pydoca import _core
from pydoca._callbacks import require_plain_function
from pydoca._errors import InvalidValueError, Status

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000}
_MOST_NANOSECONDS = 2**62


class FaultOperation(NamedTuple):
    """An operation, as the predicate of a rule sees it."""

    opcode: str
    device: str
    length: int
    number: int


def to_plain(where: str, action: str, opcode: str | Sequence[str], keys: dict[str, Any]) -> dict[str, Any]:
    """What the engine takes: whole numbers, nanoseconds, and the names of single opcodes."""
    when = keys.get("when")
    if when is not None and not callable(when):
        raise InvalidValueError(f"{where}: when must be a function of a FaultOperation, not {when!r}")
    if when is not None:
        require_plain_function(f"{where}: when", when)
    if "value" in keys and keys.get("data") != "byte":
        raise InvalidValueError(f'{where}: value is the one of a stuck byte; add data="byte"')
    if action == "delay" and "by" not in keys:
        raise InvalidValueError(f'{where}: it needs by, the time of the delay, such as by="2 ms"')
    if action == "misreport_capability" and "capabilities" not in keys:
        raise InvalidValueError(f'{where}: it needs capabilities, such as {{"dma": {{"max_buf_size": 4096}}}}')
    if not isinstance(keys.get("capabilities", {}), Mapping):
        raise InvalidValueError(f"{where}: capabilities must be a table, not {keys['capabilities']!r}")
    return {
        "action": action,
        "opcodes": _opcodes(where, action, opcode),
        "device": _device(where, keys.get("device", "")),
        "side": to_word(where, "side", keys["side"], ("host", "dpu")) if "side" in keys else None,
        **{
            key: to_count(where, key, keys.get(key, 0), least=1 if key in keys else 0)
            for key in ("nth", "every", "times")
        },
        "probability": _probability(where, keys.get("probability", 1.0)),
        "after": _nanoseconds(where, "after", keys.get("after", 0)),
        "until": _nanoseconds(where, "until", keys["until"]) if "until" in keys else None,
        "when": _predicate(when) if when is not None else None,
        "status": _status(where, keys.get("status", "io_failed")),
        "by": _nanoseconds(where, "by", keys.get("by", 0)),
        "data": to_word(where, "data", keys.get("data", "bit"), _core.CORRUPTIONS),
        "offset": _optional_count(where, "offset", keys),
        "value": to_count(where, "value", keys.get("value", 255), most=255),
        "length": _optional_count(where, "length", keys),
        "capabilities": dict(keys["capabilities"]) if "capabilities" in keys else None,
    }


def _predicate(when: Callable[[FaultOperation], object]) -> Callable[[str, str, int, int], bool]:
    return lambda *operation: bool(when(FaultOperation(*operation)))


def to_word(where: str, key: str, value: object, known: Sequence[str]) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(f"{where}: {key} must be one of {', '.join(known)}, not {value!r}")
    _core.require_known(f"{where}: {key}", [value], list(known))
    return value


def _opcodes(where: str, action: str, opcode: str | Sequence[str]) -> list[str]:
    words = [opcode] if isinstance(opcode, str) else list(opcode)
    libraries = list(dict.fromkeys(name.partition(".")[0] for name in _core.FAULT_OPCODES))
    names: list[str] = []
    for word in words:
        to_word(where, "opcode", word, [*_core.FAULT_OPCODES, *libraries])
        met = [name for name in _core.fault_opcodes_of(action) if name.startswith(f"{word}.")]
        names += met if word in libraries and met else [word]
        if word in libraries and not met:
            raise InvalidValueError(f"{where}: {action} cannot happen to an operation of {word}")
    return names


def _device(where: str, value: object) -> str:
    name = getattr(value, "name", value)
    if not isinstance(name, str):
        raise InvalidValueError(
            f"{where}: device must be a name or an address, a Device or a DeviceInfo, not {value!r}"
        )
    return name


def to_count(where: str, key: str, value: object, least: int = 0, most: int = 2**64 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidValueError(f"{where}: {key} must be a whole number in {least}..{most}, not {value!r}")
    return value


def _optional_count(where: str, key: str, keys: Mapping[str, Any]) -> int | None:
    return to_count(where, key, keys[key]) if key in keys else None


def _probability(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidValueError(f"{where}: probability must be a number in 0..1, not {value!r}")
    return float(value)


def _status(where: str, value: object) -> int:
    if isinstance(value, Status):
        return int(value)
    return int(Status[to_word(where, "status", value, [status.name.lower() for status in Status]).upper()])


def _nanoseconds(where: str, key: str, value: object) -> int:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str):
        return _nanoseconds_of_text(where, key, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise InvalidValueError(f'{where}: {key} must be seconds, or text such as "2 ms", not {value!r}')
    if value * 1e9 > _MOST_NANOSECONDS:
        raise InvalidValueError(
            f"{where}: {key} is {value!r} s, which is too long; at most {_MOST_NANOSECONDS // 10**9}"
        )
    return round(value * 1e9)


def _nanoseconds_of_text(where: str, key: str, text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([^\d\s.]*)\s*", text)
    if match is None:
        raise InvalidValueError(f'{where}: {key} is {text!r}; write a number and a unit, such as "2 ms"')
    number, unit = match.groups()
    if not unit:
        raise InvalidValueError(
            f'{where}: {key} is {text!r}, without a unit; write "{number} ms", or a number of seconds'
        )
    _core.require_known(f"{where}: {key}: unit", [unit], list(_UNITS))
    return min(round(float(number) * _UNITS[unit]), _MOST_NANOSECONDS)
