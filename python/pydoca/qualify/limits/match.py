"""Whether a limits file is for a device."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

from pydoca.qualify.limits.file import LimitsFile


def mismatch(file: LimitsFile, facts: Mapping[str, str]) -> str:
    """Why the file is not for a device with these facts; empty where it is."""
    for key, wanted in file.match.items():
        have = facts.get(key, "")
        if not have:
            return f"its [match] wants {key} {_either(wanted)}, which is not known of this device"
        fits = _in_range if key == "firmware" else _like
        if not any(fits(have, pattern) for pattern in wanted):
            return f"its [match] wants {key} {_either(wanted)}, and the device has {have!r}"
    return ""


def _like(have: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(have.lower(), pattern.lower())


def _in_range(have: str, versions: str) -> bool:
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(versions).contains(Version(have), prereleases=True)
    except InvalidVersion:
        return False


def _either(wanted: tuple[str, ...]) -> str:
    return " or ".join(repr(each) for each in wanted)
