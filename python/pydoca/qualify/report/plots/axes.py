"""What the pictures have in common: axes, limits, and the value with its interval."""

from __future__ import annotations

from collections.abc import Iterator

from pydoca._display.frame import svg
from pydoca.qualify.figures import bound_text, unit_text
from pydoca.qualify.records import MeasurementRecord
from pydoca.qualify.report.plots.scale import Scale, bounds_of, tick_text

WIDTH, HEIGHT = 400.0, 180.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, WIDTH - 10, 26.0, HEIGHT - 34
_SMALL = 10.5
_LONGEST = 48  # characters of a name, as wide as the picture


def _step(ticks: list[float]) -> float:
    return ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) if ticks else 1.0


def x_axis(scale: Scale, title: str, *, whole: bool = False) -> Iterator[str]:
    """whole: of counts, between which there is nothing."""
    ticks = [tick for tick in scale.ticks() if not whole or tick == round(tick)]
    yield svg.line(f"M{LEFT:g} {BOTTOM:g}H{RIGHT:g}")
    for tick in ticks:
        x = scale(tick)
        yield svg.line(f"M{x:g} {BOTTOM:g}v4")
        yield svg.text(x, BOTTOM + 15, tick_text(tick, _step(ticks)), anchor="middle", faint=True, size=_SMALL)
    yield svg.text((LEFT + RIGHT) / 2, HEIGHT - 5, title, anchor="middle", faint=True, size=_SMALL)


def axis_title(name: str, unit: str) -> str:
    """The name of a measurement with its unit; of a long name its end, which tells it from others."""
    short = name if len(name) <= _LONGEST else f"\u2026{name[1 - _LONGEST :]}"
    return f"{short} [{unit_text(unit)}]" if unit_text(unit) else short


def y_axis(scale: Scale, title: str = "") -> Iterator[str]:
    ticks = scale.ticks(4)
    if title:
        yield svg.text(2, TOP - 12, title, faint=True, size=_SMALL)
    for tick in ticks:
        y = scale(tick)
        yield svg.line(f"M{LEFT:g} {y:g}H{RIGHT:g}", thin=True)
        yield svg.text(LEFT - 6, y + 3.5, tick_text(tick, _step(ticks)), anchor="end", faint=True, size=_SMALL)


def limits_across(scale: Scale, measurement: MeasurementRecord, hatch: str) -> Iterator[str]:
    """Upright lines, and hatching where values must not be."""
    for name, bound in bounds_of(measurement.limit).items():
        below, told = name == "min", f"{name} {bound_text(bound, measurement.unit)}"
        if not scale.has(bound):
            is_left = bound < scale.low
            yield svg.text(
                LEFT + 4 if is_left else RIGHT - 4,
                TOP - 12,
                f"\u2190 {told}" if is_left else f"{told} \u2192",
                anchor="start" if is_left else "end",
                faint=True,
                size=_SMALL,
            )
            continue
        x = scale(bound)
        yield svg.hatched(LEFT if below else x, TOP, (x - LEFT) if below else (RIGHT - x), BOTTOM - TOP, hatch)
        yield svg.stroke(f"M{x:g} {TOP - 8:g}V{BOTTOM:g}", "bad", width=1.6)
        anchor = _anchor(x)
        yield svg.text(x, TOP - 12, told, anchor=anchor, size=_SMALL)


def limits_along(scale: Scale, measurement: MeasurementRecord, hatch: str) -> Iterator[str]:
    """Level lines, and hatching where values must not be."""
    for name, bound in bounds_of(measurement.limit).items():
        if not scale.has(bound):
            continue
        y, below = scale(bound), name == "min"
        yield svg.hatched(LEFT, y if below else TOP, RIGHT - LEFT, (BOTTOM - y) if below else (y - TOP), hatch)
        yield svg.stroke(f"M{LEFT:g} {y:g}H{RIGHT:g}", "bad", width=1.6)
        under = below and y < BOTTOM - 14
        yield svg.text(
            RIGHT - 4,
            y + (12 if under else -4),
            f"{name} {bound_text(bound, measurement.unit)}",
            anchor="end",
            size=_SMALL,
        )


def value_across(scale: Scale, measurement: MeasurementRecord) -> Iterator[str]:
    """The value as a diamond under the axis, with its interval as a bar."""
    if measurement.value is None:
        return
    y = BOTTOM
    if measurement.interval:
        low, high = (scale(end) for end in measurement.interval)
        yield svg.stroke(f"M{low:g} {y:g}H{high:g}", "accent", width=5)
        yield svg.stroke(f"M{low:g} {y - 5:g}v10M{high:g} {y - 5:g}v10", "accent", width=1.5)
    x = scale(measurement.value)
    yield svg.stroke(f"M{x:g} {TOP:g}V{y:g}", "accent", width=1.2, dashed=True)
    yield svg.filled(f"M{x:g} {y - 6:g}l5 6l-5 6l-5 -6z", "accent")


def _anchor(x: float) -> str:
    return "start" if x < LEFT + 40 else "end" if x > RIGHT - 40 else "middle"
