"""Pages from templates, which escape all text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pydoca._display.frame.escaping import printable
from pydoca._display.frame.markup import inline_svg
from pydoca._display.frame.panel import Picture
from pydoca._display.frame.style import page_sheet
from pydoca.qualify import figures
from pydoca.qualify.report import words


def render(package: str, template: str, **data: Any) -> str:
    """The page of a template in the package's folder `templates`, which may use those of this package."""
    return printable(_environment(package).get_template(template).render(data))


def svg(picture: Picture, prefix: str) -> Markup:
    """The picture as an element of a page; its ids begin with prefix. Its shapes have escaped their texts."""
    return Markup(inline_svg(picture, prefix))


def breakable(text: str) -> Markup:
    """Long names may be broken behind their dots and slashes."""
    return Markup("<wbr/>").join(re.split(r"(?<=[./:_])(?=\w)", text))


_FILTERS: tuple[Callable[..., object], ...] = (
    breakable, figures.duration, figures.figure, figures.plural, figures.quantity, figures.span_text,
    figures.stat_text, words.interval_text, words.limit_text, words.moment, words.named, words.parameter,
    words.sentence, words.sign_of, words.stat_of, words.statistics_of, words.value_text,
)  # fmt: skip


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({each.__name__: each for each in _FILTERS})
    environment.globals["colours"] = Markup(page_sheet(".pydoca-report"))
    return environment
