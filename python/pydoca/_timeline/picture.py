"""The picture of a trace that notebooks show: SVG without scripts, of a size that does not depend on the events."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from pydoca._display.frame.escaping import escaped
from pydoca._timeline.events import Recorded, TraceEvent
from pydoca._timeline.lanes import Flow, Lane, Span, flows_of, lanes_of

_WIDTH, _LABELS, _RIGHT = 960, 250, 12
_ROW, _HEAD, _TOP, _FOOT = 18, 22, 34, 22
_CHARACTER = 7  # pixels, at most
_COLUMN = 3  # pixels of a column of spans that are drawn together
_MOST_LANES, _MOST_SPANS, _MOST_ROWS, _MOST_MARKS, _MOST_FLOWS = 40, 150, 6, 100, 60
_CLASS = "pydoca-trace"
# Its own background: a notebook may show it as an image, which does not get the notebook's colours.
_DARK = "--bg:#1c1c1e;--fg:#e6e6e6;--line:#4a4a4d;--task:#6cb2f0;--bad:#ff8f80;--mark:#f2c14e"
_STYLE = (
    f".{_CLASS}{{--bg:#fff;--fg:#222;--line:#ccc;--task:#2a78c2;--bad:#c0281c;--mark:#8a5a00;"
    "font:11px sans-serif;background:var(--bg)}"
    f"@media (prefers-color-scheme:dark){{.{_CLASS}{{{_DARK}}}}}"
    f"body[data-jp-theme-light=true] .{_CLASS}"
    "{--bg:#fff;--fg:#222;--line:#ccc;--task:#2a78c2;--bad:#c0281c;--mark:#8a5a00}"
    f"body[data-jp-theme-light=false] .{_CLASS}{{{_DARK}}}"
    f".{_CLASS} .b{{fill:var(--bg)}}.{_CLASS} text{{fill:var(--fg)}}.{_CLASS} .l{{stroke:var(--line)}}"
    f".{_CLASS} .t{{fill:var(--task);stroke:var(--bg);stroke-width:.5}}"
    f".{_CLASS} .f{{fill:var(--bg);stroke:var(--bad);stroke-width:2;stroke-dasharray:3 2}}"
    f".{_CLASS} .m{{stroke:var(--mark);stroke-width:1.5}}"
    f".{_CLASS} .a{{stroke:var(--fg);stroke-opacity:.6;fill:none}}"
)


def to_svg(trace: Recorded) -> str:
    """The SVG of a limited number of lanes and shapes; the picture says what it merges or leaves out."""
    return _Picture(trace).svg()


class _Picture:
    def __init__(self, trace: Recorded) -> None:
        self._trace = trace
        lanes = lanes_of(trace)
        self._lanes, self._more = lanes[:_MOST_LANES], len(lanes[_MOST_LANES:])
        self._begin, self._end = _range(trace)
        self._together = 0  # spans and marks that are not drawn one by one
        self._centres: dict[tuple[int, int], int] = {}  # the y of the middle of each context's lane

    def svg(self) -> str:
        y, parts, process = _TOP, list[str](), -1
        for lane in self._lanes:
            if lane.process != process:
                process = lane.process
                y += _HEAD
                parts.append(self._heading(process, y))
            rows = _rows_of(lane)
            height = _ROW * max(1, min(len(rows), _MOST_ROWS))
            parts.extend(self._lane(lane, rows, y, height))
            y += height + 4
        parts.extend(self._flows(flows_of(self._trace.events)))
        height = y + _FOOT
        parts.append(_text(8, height - 8, self._note()))
        body = "".join([*self._axis(y), *parts])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{_CLASS}" role="img" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}"><title>{escaped(repr(self._trace))}</title><style>{_STYLE}</style>'
            f'<rect class="b" width="{_WIDTH}" height="{height}"/>{body}</svg>'
        )

    def _x(self, time: int) -> float:
        share = (time - self._begin) / (self._end - self._begin)
        return _LABELS + (_WIDTH - _LABELS - _RIGHT) * min(max(share, 0.0), 1.0)

    def _axis(self, bottom: int) -> Iterator[str]:
        unit = _unit(self._end)
        for tick in range(6):
            time = self._begin + (self._end - self._begin) * tick // 5
            x = self._x(time)
            yield f'<line class="l" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{bottom}"/>'
            yield _text(x, _TOP - 12, _time(time, unit), "middle" if 0 < tick < 5 else "start" if tick == 0 else "end")

    def _heading(self, process: int, y: int) -> str:
        of = self._trace.processes[process]
        lost = f", {of.lost} events lost" if of.lost else ""
        return _text(8, y - 6, f"process {of.pid}: {of.name}{lost}", weight="bold")

    def _lane(self, lane: Lane, rows: list[list[Span]], y: int, height: int) -> Iterator[str]:
        yield _text(20, y + 13, _shortened(lane.name), title=lane.name)
        yield f'<line class="l" x1="{_LABELS}" x2="{_WIDTH - _RIGHT}" y1="{y + height}" y2="{y + height}"/>'
        for mark in lane.marks:
            self._centres[mark.process, mark.lane] = y + height // 2
        if len(lane.spans) > _MOST_SPANS or len(rows) > _MOST_ROWS:
            self._together += len(lane.spans)
            yield from self._columns(lane.spans, y, height)
        else:
            for number, row in enumerate(rows):
                yield from (self._span(span, y + number * _ROW) for span in row)
        self._together += max(0, len(lane.marks) - _MOST_MARKS)
        marks = lane.marks[:_MOST_MARKS]
        begins = sorted([span.begin for span in lane.spans] + [mark.time for mark in lane.marks])
        for mark in marks:
            following = bisect.bisect_right(begins, mark.time)
            end = self._x(begins[following]) if following < len(begins) else _WIDTH
            yield self._mark(mark, y, end - self._x(mark.time))

    def _span(self, span: Span, y: int) -> str:
        x = self._x(span.begin)
        width = max(self._x(span.end) - x, 1.0)
        shape = "f" if span.failed else "t"
        return (
            f'<rect class="{shape}" x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 6}">'
            f"<title>{escaped(span.text)}</title></rect>"
        )

    def _columns(self, spans: list[Span], y: int, height: int) -> Iterator[str]:
        """Columns, as high as the number of tasks in flight, with a mark above for failed ones."""
        count = (_WIDTH - _LABELS - _RIGHT) // _COLUMN
        change, failed = [0] * (count + 1), [0] * (count + 1)
        for span in spans:
            first, last = (min(int((self._x(time) - _LABELS) / _COLUMN), count - 1) for time in (span.begin, span.end))
            change[first] += 1
            change[last + 1] -= 1
            failed[last] += span.failed
        levels, level = [], 0
        for step in change[:count]:
            level += step
            levels.append(level)
        most = max(levels, default=0) or 1
        for column, level in enumerate(levels):
            x, tall = _LABELS + column * _COLUMN, (height - 4) * level / most
            if level:
                text = f"{level} at a time, {failed[column]} failed"
                yield (
                    f'<rect class="{"f" if failed[column] else "t"}" x="{x}" y="{y + height - tall:.1f}" '
                    f'width="{_COLUMN}" height="{tall:.1f}"><title>{text}</title></rect>'
                )

    def _mark(self, mark: TraceEvent, y: int, room: float) -> str:
        x = self._x(mark.time)
        text = {"state": mark.name, "sent": f"message {mark.value}, {mark.nbytes} bytes, sent"}.get(
            mark.kind, f"{mark.kind} {mark.value or ''}".strip()
        )
        fits = mark.kind == "state" and room > _CHARACTER * len(mark.name)
        shown = _text(x + 3, y + 10, mark.name.lower()) if fits else ""
        title = escaped(f"{text} at {_time(mark.time)}")
        return (
            f'<line class="m" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + _ROW}"><title>{title}</title></line>{shown}'
        )

    def _flows(self, flows: list[Flow]) -> Iterator[str]:
        drawn = [flow for flow in flows if self._centre(flow.sent) and self._centre(flow.received)]
        self._together += max(0, len(drawn) - _MOST_FLOWS)
        for flow in drawn[:_MOST_FLOWS]:
            x1, x2 = self._x(flow.sent.time), self._x(flow.received.time)
            y1, y2 = self._centre(flow.sent), self._centre(flow.received)
            text = f"message {flow.sent.value}: {(flow.received.time - flow.sent.time) / 1000:.2f} us on its way"
            yield f'<path class="a" d="M{x1:.1f} {y1}L{x2:.1f} {y2}"><title>{text}</title></path>'
            yield f'<circle class="a" cx="{x2:.1f}" cy="{y2}" r="2"/>'

    def _centre(self, event: TraceEvent) -> int:
        return self._centres.get((event.process, event.lane), 0)

    def _note(self) -> str:
        trace = self._trace
        parts = [f"{len(trace.events)} events of {len(trace.processes)} process(es)"]
        if self._together:
            parts.append(f"{self._together} drawn together or left out: save() has all")
        if self._more:
            parts.append(f"{self._more} more lanes")
        if trace.lost:
            parts.append(f"{trace.lost} events lost")
        return "; ".join(parts)


def _range(trace: Recorded) -> tuple[int, int]:
    """The times of the first and of the last event."""
    begin = min((event.time for event in trace.events), default=0)
    end = max((event.time + event.duration for event in trace.events), default=trace.duration)
    return begin, max(end, begin + 1)


def _rows_of(lane: Lane) -> list[list[Span]]:
    """Spans in rows, so that overlapping spans are in different ones; one row more than are drawn holds the rest."""
    rows: list[list[Span]] = []
    for span in sorted(lane.spans, key=lambda each: each.begin):
        row = next((row for row in rows if row[-1].end <= span.begin), None)
        if row is None and len(rows) <= _MOST_ROWS:
            rows.append([span])
        else:
            (row or rows[-1]).append(span)
    return rows


def _unit(nanoseconds: int) -> tuple[str, float]:
    """The unit in which such a time has few digits, and its length in nanoseconds."""
    if nanoseconds < 10_000:
        return "ns", 1
    if nanoseconds < 10_000_000:
        return "us", 1e3
    return ("ms", 1e6) if nanoseconds < 10_000_000_000 else ("s", 1e9)


def _time(nanoseconds: int, unit: tuple[str, float] | None = None) -> str:
    name, size = unit or _unit(nanoseconds)
    return f"{nanoseconds / size:.{0 if size == 1 else 2}f} {name}"


def _shortened(text: str, most: int = 38) -> str:
    return text if len(text) <= most else f"…{text[1 - most :]}"


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal", title: str = "") -> str:
    tip = f"<title>{escaped(title)}</title>" if title else ""
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{tip}{escaped(text)}</text>'
