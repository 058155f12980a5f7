"""What a person sees while cards are tested: a line per card; on a terminal also a bar with the time that is left."""

from __future__ import annotations

from typing import TextIO

from pydoca.qualify.figures import duration, share
from pydoca.qualify.fleet.findings import reasons
from pydoca.qualify.fleet.record import CardRecord
from pydoca.qualify.session.progress import Progress
from pydoca.qualify.verdicts import Verdict

_TOLD = (Verdict.FAIL, Verdict.ERROR, Verdict.INTERRUPTED, Verdict.INCOMPLETE, Verdict.MARGINAL, Verdict.SKIPPED)


class FleetProgress:
    def __init__(self, stream: TextIO, title: str) -> None:
        self._progress = Progress(stream, total=0, seconds=0.0, title=title)
        self._known = self._done = 0

    def tell(self, text: str, known: int) -> None:
        self._know(known)
        self._progress.line(text)

    def card(self, each: CardRecord, known: int) -> None:
        self._know(known)
        self._done += 1
        self._progress.begin_case(share(self._done, known, "card"))  # what a heartbeat says
        run = each.run
        number = f"[{str(self._done).rjust(len(str(known)))}/{known}]"
        took = f"  {duration((run.end or run.begin) - run.begin)}" if each.was_tested else ""
        why = f"  {reasons(each)}" if run.verdict in _TOLD else ""
        self._progress.advance(f"{number} {run.verdict.value:11} {each.card.title}{took}{why}")

    def close(self) -> None:
        self._progress.close()

    def _know(self, known: int) -> None:
        """Hosts that are added bring more cards."""
        self._progress.add_total(known - self._known, 0.0)
        self._known = known
