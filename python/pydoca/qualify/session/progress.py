"""The progress that a person sees: a line per case; on a terminal also a bar with the time that is left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from pydoca.qualify.figures import duration, property_text, said_of
from pydoca.qualify.records import CaseRecord, MeasurementRecord
from pydoca.qualify.session.reader import drop_output
from pydoca.qualify.verdicts import Verdict

_HEARTBEAT = 60.0  # seconds without a line, in a pipe
_BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
_SHOWN = {Verdict.FAIL, Verdict.ERROR, Verdict.MARGINAL}


class Progress:
    """Writes to pytest's own stream, which no test captures."""

    def __init__(
        self,
        stream: TextIO,
        *,
        total: int,
        seconds: float,
        title: str,
        finished: int = 0,
        reader_lost: Callable[[], None] = lambda: None,
    ) -> None:
        """finished: cases of the total, not of the seconds, which a run that is resumed does not repeat."""
        self._stream, self._total, self._estimate = _own(stream), total, seconds
        self._is_own = self._stream is not stream
        self._reader_lost = reader_lost
        self._done, self._finished, self._passed_estimate = finished, finished, 0.0
        self._now, self._begin = "", time.monotonic()
        self._last = self._begin
        self._bar = _bar(self._stream, total, title, finished)
        self._ended = threading.Event()
        self._ticks = threading.Thread(target=self._tick, daemon=True)
        self._ticks.start()

    def begin_case(self, id: str) -> None:
        self._now = id

    def end_case(self, case: CaseRecord, estimate: float, device: str = "") -> None:
        lines = self._lines(case, device, self._done + 1)
        self.advance("\n".join(lines), estimate)

    def advance(self, text: str, estimate: float = 0.0) -> None:
        self._done += 1
        self._passed_estimate += estimate
        self.line(text)
        if self._bar is not None:
            self._bar.set_postfix_str(self._left(), refresh=False)
            self._bar.update(1)

    def line(self, text: str) -> None:
        self._last = time.monotonic()
        if self._bar is not None:
            self._bar.write(text, file=self._stream)
        else:
            self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            drop_output(self._stream.fileno())
            self._reader_lost()

    def add_total(self, cases: int, seconds: float, finished: int = 0) -> None:
        """Adds another pass, or what a controller of xdist learns late."""
        self._total += cases
        self._estimate += seconds
        self._done += finished
        self._finished += finished
        if self._bar is not None:
            self._bar.total, self._bar.n, self._bar.initial = self._total, self._done, self._finished

    def close(self) -> None:
        self._ended.set()
        self._ticks.join()
        if self._bar is not None:
            self._bar.close()
        self._write("")
        if self._is_own:
            self._stream.close()

    def _lines(self, case: CaseRecord, device: str, number_of: int) -> list[str]:
        number = f"[{str(number_of).rjust(len(str(self._total)))}/{self._total}]"
        shown = case.id + parameters_of(case.node)
        name = f"{device}  {shown}" if device else shown
        repeat = f" (repeat {case.repeat + 1})" if case.repeat else ""  # counted from 1, like the report's
        why = f"  {case.reason}" if case.reason and not case.measurements else ""
        lines = [f"{number} {case.verdict.value:8} {name}{repeat}  {duration(case.seconds)}{why}"]
        if case.measurements and case.reason and case.verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.SKIPPED):
            lines.append(f"{' ' * len(number)}          {case.reason}")
        return lines + [f"{' ' * len(number)} {describe(each)}" for each in case.measurements]

    def _left(self) -> str:
        """The time left, by the plan's estimates and their errors so far; by the number of cases without a plan."""
        done, total = float(self._done - self._finished), float(self._total - self._finished)
        if self._estimate:
            done, total = self._passed_estimate, self._estimate
        if not done:
            return ""
        left = max(0.0, total - done) * (time.monotonic() - self._begin) / done
        return f"{int(left) // 60:02}:{int(left) % 60:02} left"

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            if self._bar is not None:
                self._bar.set_postfix_str(self._left())
            elif time.monotonic() - self._last >= _HEARTBEAT:
                took = duration(round(time.monotonic() - self._begin))
                self.line(f"... {self._now or 'running'}, {took}, {self._left()}".rstrip(", "))


def parameters_of(node: str) -> str:
    """The parameters of a case, "[65536]"; empty when it has none."""
    _, bracket, rest = node.partition("[")
    return bracket + rest


def describe(each: MeasurementRecord) -> str:
    """A measurement with its value, its limit and where that comes from."""
    from pydoca.qualify.report.words import PROPERTY, limit_text, stat_of, value_text  # needs NumPy, as a run does

    verdict = f"{each.verdict.value:8} {each.name}"
    if each.stat == PROPERTY:
        return f"{verdict}: {property_text(each.reason, each.value)}{said_of(each.reason)[1]}"
    if each.value is None:
        return f"{verdict}: not measured  {each.reason}".rstrip()
    count = f"  n {each.n:,}" if each.n > 1 else ""
    bounds = f"({limit_text(each.limit, each.unit)}, {each.limit.source})" if each.limit is not None else ""
    if each.verdict in _SHOWN and each.limit is not None:  # the reason begins with the value
        return f"{verdict}  {each.reason}{count}"
    why = each.reason if each.verdict in _SHOWN else bounds
    return f"{verdict}  {f'{stat_of(each)} {value_text(each)}'.strip()}{count}  {why}".rstrip()


def _own(stream: TextIO) -> TextIO:
    """The same file by another descriptor: pytest redirects its own one while a test runs."""
    stream.flush()
    try:
        return os.fdopen(os.dup(stream.fileno()), "w", encoding=stream.encoding, errors="backslashreplace", buffering=1)
    except (OSError, ValueError, AttributeError):
        return stream  # not a file


def _bar(stream: TextIO, total: int, title: str, finished: int) -> Any:
    """A bar; None without a terminal, or when tqdm is not installed."""
    if not stream.isatty():
        return None
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return None
    knows_width = os.get_terminal_size(stream.fileno()).columns > 0
    width = {"dynamic_ncols": True} if knows_width else {"ncols": 80}
    return tqdm(total=total, initial=finished, desc=title, file=stream, bar_format=_BAR, leave=False, **width)
