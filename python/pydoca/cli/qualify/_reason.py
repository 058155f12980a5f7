"""The reason why no run has begun, for programs: the `reason` of --json."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydoca.qualify.front_end import FrontEnd


def is_told(front_end: FrontEnd) -> bool:
    """Whether a usage error has ended pytest, or a worker of xdist."""
    return bool(front_end.refusal or (front_end.session and front_end.session.refused))


def reason_of(code: int, front_end: FrontEnd) -> dict[str, str]:
    session = front_end.session
    known = session.not_begun if session else None
    text = front_end.refusal or (session.refused if session else "") or str(known or "")
    if known is None:
        return reason(code, text)
    return {**reason(code, text, known.kind), "device": known.device}


def reason(code: int, text: str, kind: str = "") -> dict[str, str]:
    """The kind is "in_use", or the name of the exit code."""
    from pydoca.qualify.spelling import as_command
    from pydoca.qualify.verdicts import ExitCode

    kind = kind or ExitCode(code).name.lower()
    return {"kind": kind, "text": as_command(text) or f"{kind.replace('_', ' ')}; the output says more"}
