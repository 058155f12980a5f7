"""The shapes of pictures. Each has the colours of the light theme, for programs that know no styles, and a class."""

from __future__ import annotations

from typing import Literal

from pydoca._display.frame.escaping import escaped

Fill = Literal["accent", "good", "busy", "bad", "quiet"]
Edge = Fill | Literal["text"]

_COLOURS: dict[Fill, str] = {
    "accent": "#1b66c9",
    "good": "#2e7d32",
    "busy": "#c77700",
    "bad": "#c62828",
    "quiet": "#5a6372",
}
CHARACTER = 7.25  # pixels of a character of 12 pixels


def text(
    x: float, y: float, words: str, *, anchor: str = "start", faint: bool = False, size: float = 0, bold: bool = False
) -> str:
    kind, fill = ("pd-faint", "#5a6372") if faint else ("pd-text", "#1f2430")
    more = (f' font-size="{size:g}"' if size else "") + (' font-weight="bold"' if bold else "")
    anchored = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" fill="{fill}"{anchored}{more}>{escaped(words)}</text>'


def mark(x: float, y: float, sign: str, fill: Fill) -> str:
    """The mark of a state."""
    return (
        f'<text x="{x:g}" y="{y:g}" class="pd-fill-{fill}" fill="{_COLOURS[fill]}" text-anchor="middle">'
        f"{escaped(sign)}</text>"
    )


def heading(x: float, y: float, words: str, *, anchor: str = "start") -> str:
    """Small capitals, as the labels of tables have them."""
    return (
        f'<text x="{x:g}" y="{y:g}" class="pd-faint" fill="#5a6372" text-anchor="{anchor}" font-size="11" '
        f'font-weight="600" letter-spacing=".5" font-family="system-ui,sans-serif">{escaped(words.upper())}</text>'
    )


def box(x: float, y: float, width: float, height: float, *, edge: Fill = "quiet", dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" class="pd-box pd-edge-{edge}" '
        f'fill="#ffffff" stroke="{_COLOURS[edge]}"{dashes}/>'
    )


def area(x: float, y: float, width: float, height: float) -> str:
    """A background that groups boxes."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" class="pd-area" fill="#5a6372" '
        f'fill-opacity=".06" stroke="#d8dde4"/>'
    )


def bar(x: float, y: float, width: float, height: float, fill: Fill, opacity: float = 0.3) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{max(width, 0):g}" height="{height:g}" class="pd-fill-{fill}" '
        f'fill="{_COLOURS[fill]}" fill-opacity="{opacity:g}"/>'
    )


def line(path: str, *, thin: bool = False, dashed: bool = False, marker: str = "") -> str:
    kind, stroke = ("pd-thin", "#d8dde4") if thin else ("pd-line", "#5a6372")
    more = (' stroke-dasharray="4 3"' if dashed else "") + (f' marker-end="url(#{marker})"' if marker else "")
    return f'<path d="{path}" class="{kind}" fill="none" stroke="{stroke}"{more}/>'


def stroke(path: str, edge: Edge, *, width: float = 1, opacity: float = 1, dashed: bool = False) -> str:
    """A line that means something: a curve, a limit."""
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    colour = "#1f2430" if edge == "text" else _COLOURS[edge]
    faded = f' stroke-opacity="{opacity:g}"' if opacity != 1 else ""
    return (
        f'<path d="{path}" class="pd-edge-{edge}" fill="none" stroke="{colour}" stroke-width="{width:g}"'
        f'{faded}{dashes} stroke-linejoin="round"/>'
    )


def filled(path: str, fill: Fill, *, opacity: float = 1) -> str:
    return f'<path d="{path}" class="pd-fill-{fill}" fill="{_COLOURS[fill]}" fill-opacity="{opacity:g}"/>'


def dot(x: float, y: float, radius: float, fill: Fill, *, opacity: float = 1) -> str:
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="pd-fill-{fill}" fill="{_COLOURS[fill]}" '
        f'fill-opacity="{opacity:g}"/>'
    )


def arrow(identifier: str) -> str:
    """The definition of an arrow's head, for line(marker=identifier)."""
    return (
        f'<defs><marker id="{identifier}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L8 4L0 8z" class="pd-tip" fill="#5a6372"/></marker></defs>'
    )


def hatch(identifier: str) -> str:
    """The definition of diagonal lines, for hatched()."""
    return (
        f'<defs><pattern id="{identifier}" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path d="M0 0V6" class="pd-line" stroke="#5a6372" stroke-opacity=".55"/>'
        "</pattern></defs>"
    )


def hatched(x: float, y: float, width: float, height: float, identifier: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="url(#{identifier})"/>'


def group(shapes: str, title: str = "") -> str:
    """Shapes that share a tip, which programs read out as well."""
    return f"<g>{f'<title>{escaped(title)}</title>' if title else ''}{shapes}</g>"


def fitting(words: str, width: float, character: float = CHARACTER) -> str:
    """The words, or their beginning, as wide as width."""
    most = int(width / character)
    return words if len(words) <= most else words[: max(most - 1, 0)] + "\u2026"
