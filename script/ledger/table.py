"""The lines that script/bench prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.comparison import TIME, Change
from ledger.figures import Figure, Spread
from ledger.records import Ledger


def number(value: float) -> str:
    """The number with three digits or more."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"


def compared(figure: Figure) -> str:
    if figure.is_counted:
        return f"{figure.score:+.0f}"
    return f"{number(figure.score)} {figure.unit} above" if figure.is_difference else f"{figure.score:.2f} x"


def verdict(figure: Figure) -> str:
    if figure.target is None:
        return ""
    return f"{figure.rule} {figure.target:g} {'ok' if figure.ok else 'MISSED'}"


def figure_line(figure: Figure, recorded: Spread | None) -> str:
    """One figure beside its floor; the last column has the cost that the ledger has for this machine, as a multiple."""
    beside = ""
    if recorded is not None and recorded.median > 0:
        beside = f"{figure.cost / recorded.median:.2f} of the ledger's"
    cells = (
        f"{figure.name:<84}",
        f"{number(figure.value):>9} {figure.unit:<5}",
        f"floor {number(figure.floor):>9}",
        f"{compared(figure):>16}",
        f"{verdict(figure):<16}",
        beside,
    )
    return "  ".join(cells).rstrip()


def misses(figures: Iterable[Figure], ledger: Ledger) -> list[str]:
    """A line for each figure that misses its target, with the ledger's reason."""
    return [
        f"{figure.report}: {figure.name}: {compared(figure)}, target {figure.rule} {figure.target:g}\n"
        f"    {ledger.reason(*figure.key) or 'the ledger has no reason'}"
        for figure in figures
        if not figure.ok
    ]


def worse_than_recorded(figures: Iterable[Figure], recorded: Mapping[tuple[str, str], Spread]) -> list[Change]:
    """The figures of one run that are worse than the ledger's record of this machine."""
    found = ((figure, recorded.get(figure.key)) for figure in figures)
    of_both = (Change(figure, spread, Spread.of([figure.cost])) for figure, spread in found if spread is not None)
    return [change for change in of_both if change.is_worse]


def change_line(change: Change) -> str:
    unit = "" if change.figure.is_counted else " x"
    before, after = (
        f"{number(spread.median)}{unit} ({number(spread.low)} to {number(spread.high)})"
        for spread in (change.before, change.after)
    )
    verdict = "WORSE" if change.is_worse else ("better" if change.growth < -TIME else "")
    name = f"{change.figure.report}: {change.figure.name}"
    return f"{name:<104}  {before:>26} -> {after:<26} {change.growth:+7.1%}  {verdict}".rstrip()
