"""The page of the qualification's engines and fixtures, for cases, scripts and notebooks of users."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

from extension import docstrings
from extension.python_entries import class_lines, described, function_lines
from extension.python_examples import program_lines
from extension.python_names import bench, bench_package
from extension.python_signatures import signature_of
from pydoca.qualify.measure import Measure, Measurement
from pytest_pydoca import faults as fixtures_of_faults
from pytest_pydoca import fixtures as fixtures_of_cases

TITLE = "Engines of the qualification"
HEAD = """\
The functions by which the cases of :doc:`the qualification </qualification>` measure a device, and the fixtures that a
case of your own takes. They come with the extra ``qualify`` (``pip install 'pydoca[qualify]'``).
"""
FIXTURES_HEAD = """\
Fixtures
--------

pytest has them wherever pydoca is installed. A test that takes one of them is a case of a run by ``pydoca qualify``.
"""
# The modules are in the order of their names, but those that all others use come last.
LAST = ("waiting", "zones", "patterns", "resources", "sides")


def pages() -> Iterator[tuple[str, str]]:
    yield "python/bench.rst", "\n".join(lines())


def lines() -> Iterator[str]:
    yield from (TITLE, "=" * len(TITLE), "", HEAD)
    yield from (f".. py:module:: {bench_package.__name__}", "", *docstrings.rst_of(bench_package), "")
    yield from program_lines("bench")
    for module in sorted(bench(), key=place):
        yield from module_lines(module)
    yield from fixture_lines()


def place(module: str) -> int:
    stem = module.rpartition(".")[2]
    return LAST.index(stem) if stem in LAST else -1


def module_lines(module: str) -> Iterator[str]:
    title = f"``{module.removeprefix('pydoca.qualify.')}``"
    yield from (title, "-" * len(title), "", f".. py:module:: {module}", "")
    yield from (*docstrings.rst_of(sys.modules[module]), "")
    for name in bench()[module]:
        value = getattr(sys.modules[module], name)
        yield from class_lines(name, value) if inspect.isclass(value) else function_lines(name, value)


def fixture_lines() -> Iterator[str]:
    yield from (FIXTURES_HEAD, ".. py:currentmodule:: None", "")
    for name, value in sorted(fixtures().items()):
        about = docstrings.rst_of(value)
        if name == "pydoca_measure":
            yield from measure_lines(name, about)
        else:
            yield from described("data", name, (), about)


def measure_lines(fixture: str, about: Iterator[str]) -> Iterator[str]:
    """The lines of a fixture that is called: its other methods, and what the call gives."""
    call = Measure.__call__
    body = [*about, "", *docstrings.rst_of(call)]
    yield from described("function", fixture + signature_of(call), (), body)
    yield from class_lines("Measure", Measure, "Its methods, beside the call:")
    yield from class_lines("Measurement", Measurement, f"A call of ``{fixture}`` gives it.")


def fixtures() -> dict[str, Any]:
    """The functions that define fixtures, by name."""
    both = vars(fixtures_of_cases) | vars(fixtures_of_faults)
    return {name: value for name, value in both.items() if name.startswith("pydoca_")}
