"""The Python reference: a page for each noun, from the docstrings and signatures of the installed package."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import pydoca
from extension import docstrings
from extension.python_entries import class_lines, function_lines
from extension.python_examples import program_lines, require_pages
from extension.python_names import MODULES, RETURNED, home_of_class, homes, returned_by, stub_of
from pydoca.cli.explain._names import names_in

# The title of a page, by the stub of a class, or the reason for its page. A page has what its title says.
TITLES = {
    "device": "Devices",
    "representor": "Representors",
    "capabilities": "Capabilities",
    "memory": "Memory",
    "mmap": "Memory maps",
    "mmap_advise": "Memory advice",
    "buf": "Bufs, inventories and pools",
    "progress_engine": "Progress engine",
    "context": "Contexts",
    "task": "Tasks",
    "awaitable": "Awaitables",
    "dma": "DMA",
    "sha": "SHA",
    "compress": "Compression",
    "sync_event": "Sync events",
    "rdma": "RDMA",
    "dpa": "DPA",
    "graph": "Graphs",
    "types": "Enums",
    "trace": "Traces and counters",
    "errors": "Errors",
    "module": "Module",
}
MODULE_TITLES = {
    "comch": "comch",
    "faults": "Faults on purpose",
    "log": "Log",
    "rdma_bridge": "RDMA bridge",
    "sim": "The simulator",
    "workq": "Work queues of DOCA 2.0 to 2.2",
}
BENCH = "bench"  # the page that qualification_api.py makes
RETURNED_HEAD = """\
What calls return
-----------------

Calls return objects of these classes, which a program does not make, and for which no module has a public name. Await
them, or call their ``wait()``.
"""
# The pages of classes that Python defines, and of those whose stub has no page of its own.
STEMS = {"DmaMemcpyBatch": "dma", "Dpa": "dpa", "DpaRun": "dpa", "Status": "errors", "LogLevel": "types"}


def pages() -> Iterator[tuple[str, str]]:
    by_page: dict[str, list[str]] = {stem: [] for stem in TITLES}
    for name in names_in(pydoca):
        value = getattr(pydoca, name)
        if not inspect.ismodule(value) and is_at_home(name, value):
            by_page[stem_of(name, value)].append(name)
    for stem, names in by_page.items():
        text = page(stem, TITLES[stem], "pydoca", pydoca, names)
        yield f"python/{stem}.rst", text + ("\n".join(returned()) if stem == "awaitable" else "")
    for module, title in MODULE_TITLES.items():
        found = MODULES[module]
        names = [name for name in names_in(found) if is_at_home(f"{module}.{name}", getattr(found, name))]
        yield f"python/{module}.rst", page(module, title, f"pydoca.{module}", found, names)
    yield "python/index.md", "\n".join(index(by_page))
    require_pages({*TITLES, *MODULE_TITLES, BENCH})


def is_at_home(name: str, value: object) -> bool:
    """Whether the class has no other public name where the reference has it."""
    return not inspect.isclass(value) or home_of_class(value) == name


def stem_of(name: str, value: object) -> str:
    if inspect.isclass(value) and issubclass(value, BaseException):
        return "errors"
    if name in STEMS or name in stub_of():
        return STEMS.get(name) or stub_of()[name][0]
    return "trace" if "Trace" in name or "Stats" in name or name == "trace" else "module"


def index(by_page: dict[str, list[str]]) -> Iterator[str]:
    yield from (
        "# Python reference",
        "",
        "Every public name, with its types; the docstrings are those of `help()`.",
        "",
    )
    for stem, names in by_page.items():
        yield f"* [{TITLES[stem]}]({stem}.rst): " + ", ".join(f"{{py:obj}}`{name} <pydoca.{name}>`" for name in names)
    for module, title in MODULE_TITLES.items():
        yield f"* [{title}]({module}.rst): {{py:mod}}`pydoca.{module}`"
    yield f"* [Engines of the qualification]({BENCH}.rst): {{py:mod}}`pydoca.qualify.bench`, and fixtures for cases"
    yield from ("", ":::{toctree}", ":hidden:", "", *TITLES, *MODULE_TITLES, BENCH, ":::")


def page(stem: str, title: str, module_name: str, module: Any, names: Iterable[str]) -> str:
    lines = [title, "=" * len(title), ""]
    lines += module_head(module_name, module)
    lines += program_lines(stem)
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value):
            lines += class_lines(name, value)
        elif not inspect.ismodule(value):
            lines += function_lines(name, value)
    return "\n".join(lines) + "\n"


def returned() -> Iterator[str]:
    yield from ("", RETURNED_HEAD, ".. py:currentmodule:: None", "")
    for owner in RETURNED:
        calls = (f":py:obj:`{name}() <pydoca.{homes_of_method(name)}>`" for name in returned_by(owner))
        yield from class_lines(owner.__name__, owner, f"Returned by {', '.join(calls)}")


def homes_of_method(name: str) -> str:
    """The homes of a name: a class of comch's stub is in that module."""
    return homes().get(name) or homes()[f"comch.{name}"]


def module_head(name: str, module: Any) -> Iterator[str]:
    if module is pydoca:
        yield from (f".. py:currentmodule:: {name}", "")
    else:
        yield from (f".. py:module:: {name}", "", *docstrings.rst_of(module), "")
