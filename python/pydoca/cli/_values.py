"""The types of options' values, for argparse."""

from __future__ import annotations

import argparse
import math
import re

from pydoca import InvalidValueError, LogLevel
from pydoca._log import to_level

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([KMG]?)(?:I?B)?", re.IGNORECASE | re.ASCII)


def size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write bytes, or a number with K, M or G, as in 64K")
    return int(match[1]) * _UNITS[match[2].upper()]


def count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count: write a whole number from 1 on")
    return int(text)


def port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: write a number from 1 to 65535")
    return int(text)


def place(text: str) -> tuple[str, int]:
    address, colon, number = text.rpartition(":")
    is_bracketed = address.startswith("[") and address.endswith("]")
    if not colon or not address or (not is_bracketed and ("[" in address or "]" in address)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address with a port: write ADDRESS:PORT, as 192.0.2.1:5000 or [fe80::1]:5000"
        )
    return address.removeprefix("[").removesuffix("]"), port(number)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write seconds, more than 0")
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
