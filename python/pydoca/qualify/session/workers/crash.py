"""A case during which its worker ended: the controller makes its record."""

from __future__ import annotations

import time
from typing import Any

from pydoca.qualify.records import CaseRecord
from pydoca.qualify.session.record import to_wire
from pydoca.qualify.session.session import Session
from pydoca.qualify.verdicts import Verdict


def tell_crash(session: Session, report: Any) -> None:
    """Completes xdist's report of a crash, so that it has what the report of a worker has."""
    shared = session.shared.cases.get(report.nodeid)
    if shared is None or shared.device not in session.runs:
        return
    before = session.runs[shared.device].record.cases
    case = CaseRecord(
        id=shared.id,
        title=shared.title,
        node=shared.node,
        repeat=sum(each.node == shared.node for each in before),
        verdict=Verdict.ERROR,
        reason=f"the process of the case ended, by a crash or from outside (worker {report.node.gateway.id})",
        begin=time.time(),
        seconds=0.0,
        log=str(report.longrepr),
        again=shared.again,
    )
    report.pydoca_device, report.pydoca_case, report.pydoca_estimate = shared.device, to_wire(case), shared.seconds
