"""The types of options' values, for argparse."""

from __future__ import annotations

import argparse
import math

from pydoca import InvalidValueError, LogLevel
from pydoca._log import to_level
from pydoca._text.quantities import to_bytes, to_seconds, to_whole


def size(text: str) -> int:
    number = to_bytes(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write bytes, or a number with K, M or G, as in 64K")
    return number


def count(text: str) -> int:
    number = to_whole(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count: write a whole number from 1 on")
    return number


def port(text: str) -> int:
    number = to_whole(text, 1, 65535)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: write a number from 1 to 65535")
    return number


def place(text: str) -> tuple[str, int]:
    address, colon, number = text.rpartition(":")
    is_bracketed = address.startswith("[") and address.endswith("]")
    if not colon or not address or (not is_bracketed and ("[" in address or "]" in address)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address with a port: write ADDRESS:PORT, as 192.0.2.1:5000 or [fe80::1]:5000"
        )
    return address.removeprefix("[").removesuffix("]"), port(number)


def seconds(text: str) -> float:
    value = to_seconds(text)
    if value is None or not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time: write seconds, more than 0, or a number with ms, s, min or h"
        )
    return value


def utf8(value: str) -> str:
    """The name, if it is UTF-8. Other bytes of a command line and some escapes of a JSON file arrive as surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{value!r} is not a name: it is not UTF-8") from None
    return value


def log_level(text: str) -> LogLevel:
    try:
        return to_level(text)
    except InvalidValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
