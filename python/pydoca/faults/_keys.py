"""The values of a fault rule's keys, as the engine takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from pydoca._callbacks import require_plain_function
from pydoca._errors import InvalidValueError, Status


class FaultOperation(NamedTuple):
    """An operation, as the predicate of a rule sees it.

    length: the bytes that it is to move. number: counts the operations that the predicate was asked about, from 1.
    """

    opcode: str
    device: str
    length: int
    number: int


def to_plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys as in a file: statuses and devices by their names, times in seconds."""
    return {key: _plain(value) for key, value in keys.items()}


def _plain(value: object) -> object:
    if isinstance(value, Status):
        return value.name.lower()
    if isinstance(value, timedelta):
        return value.total_seconds()
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else value


def to_predicate(
    when: Callable[[FaultOperation], object] | None, raised: list[BaseException]
) -> Callable[[str, str, int, int], bool] | None:
    """The predicate as the engine calls it: with an operation's fields, one by one. raised: gets what when() raises."""
    if when is None:
        return None
    if not callable(when):
        raise InvalidValueError(f"fault rule: when must be a function of a FaultOperation, not {when!r}")
    require_plain_function("fault rule: when", when)

    def predicate(*operation: Any) -> bool:
        try:
            return bool(when(FaultOperation(*operation)))
        except BaseException as error:
            raised.append(error)
            raise

    return predicate
