"""The messages between the two halves of a command: each is one JSON object, and every field is checked.

copy: host                              DPU
Offer(name, size)              ->
Window(offset, size, ...)      ->       imports it, reads it by DMA      (windows cover the file in order,
                               <-       Returned(offset)                  a few at a time)
                               <-       Report(size, sha256)
Commit()                       ->       puts DST in place
                               <-       Committed()

sync-event: local                       remote
Part("local")                 <->       Part("remote")
Event(blob)                    ->       imports it
                               <-       Imported()
(the sync event carries the signal and the answer)
                               <-       Closed()                         local may stop the event

Failure(message)               either way, at any time, instead of the expected message
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import os
import re
from dataclasses import dataclass
from typing import Any, get_args

from pydoca import InvalidValueError
from pydoca.cli._errors import one_line

VERSION = 1
_MAX_SIZE = (1 << 63) - 1
_MAX_ADDRESS = (1 << 64) - 1
_MAX_BLOB = 1024  # bytes in base64
_MAX_NAME = 255
_MAX_FAILURE = 500
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class Offer:
    """The host lends a file of this name and size."""

    name: str  # the file's name without its folder; surrogates represent bytes that are not UTF-8
    size: int
    version: int = VERSION

    def __post_init__(self) -> None:
        _check_number("version", self.version, VERSION, VERSION)
        _check_number("size", self.size, 0, _MAX_SIZE)
        _check_text("name", self.name, _MAX_NAME)
        if self.name in ("", ".", "..") or "/" in self.name or "\0" in self.name or not _is_of_bytes(self.name):
            raise InvalidValueError(f"the name {self.name!r} is not the name of a file")


@dataclass(frozen=True)
class Window:
    """A part of the file, ready to be imported."""

    offset: int  # the window's begin in the file
    size: int
    address: int  # an address in the host's memory
    blob: str  # the result of export_pci, in base64

    def __post_init__(self) -> None:
        _check_number("offset", self.offset, 0, _MAX_SIZE)
        _check_number("size", self.size, 1, _MAX_SIZE)
        _check_number("address", self.address, 0, _MAX_ADDRESS)
        _check_text("blob", self.blob, _MAX_BLOB)

    @classmethod
    def of(cls, offset: int, size: int, address: int, blob: bytes) -> Window:
        return cls(offset, size, address, base64.b64encode(blob).decode("ascii"))

    def decoded_blob(self) -> bytes:
        return _decoded(self.blob)


@dataclass(frozen=True)
class Returned:
    """The DPU is done with the window at this offset."""

    offset: int

    def __post_init__(self) -> None:
        _check_number("offset", self.offset, 0, _MAX_SIZE)


@dataclass(frozen=True)
class Report:
    """The size and digest of the bytes that the DPU has read."""

    size: int
    sha256: str

    def __post_init__(self) -> None:
        _check_number("size", self.size, 0, _MAX_SIZE)
        _check_text("sha256", self.sha256, 64)
        if not _SHA256.fullmatch(self.sha256):
            raise InvalidValueError(f"{self.sha256!r} is not a SHA-256")


@dataclass(frozen=True)
class Commit:
    """The host has found the report right."""


@dataclass(frozen=True)
class Committed:
    """DST is in place."""


@dataclass(frozen=True)
class Part:
    """The part of the handshake that the sender plays."""

    name: str
    version: int = VERSION

    def __post_init__(self) -> None:
        _check_number("version", self.version, VERSION, VERSION)
        if self.name not in ("local", "remote"):
            raise InvalidValueError(f"the part {_shown(self.name)} is neither local nor remote")


@dataclass(frozen=True)
class Event:
    """A sync event to import."""

    blob: str  # the result of export_to_remote_pci, in base64

    def __post_init__(self) -> None:
        _check_text("blob", self.blob, _MAX_BLOB)

    @classmethod
    def of(cls, blob: bytes) -> Event:
        return cls(base64.b64encode(blob).decode("ascii"))

    def decoded_blob(self) -> bytes:
        return _decoded(self.blob)


@dataclass(frozen=True)
class Imported:
    """The sender has imported the event."""


@dataclass(frozen=True)
class Closed:
    """The sender no longer uses the event."""


@dataclass(frozen=True)
class Failure:
    """The sender gives up."""

    message: str

    def __post_init__(self) -> None:
        _check_text("message", self.message, _MAX_FAILURE)

    @classmethod
    def of(cls, message: str) -> Failure:
        return cls(one_line(message)[:_MAX_FAILURE])


Message = Offer | Window | Returned | Report | Commit | Committed | Part | Event | Imported | Closed | Failure
_CLASSES: dict[str, type[Message]] = {cls.__name__.lower(): cls for cls in get_args(Message)}


def encode(message: Message) -> bytes:
    fields = {"type": type(message).__name__.lower(), **dataclasses.asdict(message)}
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def decode(data: bytes) -> Message:
    """The message that data holds; raises InvalidValueError for anything that encode() does not make."""
    fields = _parse(data)
    name = fields.pop("type", None)
    cls = _CLASSES.get(name) if isinstance(name, str) else None
    if cls is None:
        raise InvalidValueError(f"a message of type {_shown(name)}; there are: {', '.join(_CLASSES)}")
    wanted = {field.name for field in dataclasses.fields(cls)}
    if fields.keys() != wanted:
        raise InvalidValueError(
            f"a message of type {name!r} has the fields {sorted(wanted)}, not {_shown(list(fields))}"
        )
    return cls(**fields)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        raise InvalidValueError(f"a message of {len(data)} bytes that is not JSON: {_shown(data)}") from None
    if not isinstance(fields, dict):
        raise InvalidValueError(f"a message that is not a JSON object: {_shown(data)}")
    return fields


def _decoded(blob: str) -> bytes:
    try:
        return base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidValueError(f"the blob is not base64: {error}") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_number(field: str, value: object, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InvalidValueError(f"the field {field} is {_shown(value)}; it is a number from {least} to {most}")


def _check_text(field: str, value: object, longest: int) -> None:
    if type(value) is not str or len(value) > longest:
        raise InvalidValueError(f"the field {field} is {_shown(value)}; it is a text of at most {longest} characters")


def _is_of_bytes(name: str) -> bool:
    """Whether system calls accept the name: some surrogates do not represent a byte."""
    try:
        return len(os.fsencode(name)) <= _MAX_NAME
    except UnicodeEncodeError:
        return False
