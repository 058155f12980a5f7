"""The programs of examples/c: a page for each folder, with its sources and the build files of meson and CMake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from extension.markdown import slug

FOLDER = Path(__file__).resolve().parents[2] / "examples/c"
# The order of reading. Folders without a program, such as what programs share, come last.
PROGRAMS = (
    "dma_copy",
    "options",
    "logger",
    "dma_copy_remote",
    "progress_engine_event",
    "sha",
    "graph",
    "sync_event_local",
    "sync_event_remote",
    "comch",
    "rdma_messages",
    "rdma_memory",
    "rdma_address",
    "rdma_sync_event",
    "clock",
    "cache_invalidate",
    "common",
)
LANGUAGES = {".c": "c", ".h": "c", ".txt": "cmake", ".build": "text", ".json": "text"}
TITLES = {"common": "What the programs share"}


def pages() -> Iterator[tuple[str, str]]:
    there = {path.name for path in FOLDER.iterdir() if path.is_dir()}
    if {*PROGRAMS} != there:
        raise ValueError(f"the page of programs in C and the folder differ: {', '.join(sorted({*PROGRAMS} ^ there))}")
    for name in PROGRAMS:
        yield f"examples/{page_of(name)}.md", "\n".join(lines_of(name))


def page_of(name: str) -> str:
    return f"c-{slug(name)}"


def rows() -> Iterator[str]:
    """The table of the index of examples."""
    yield from ("| Program | What it shows |", "|---|---|")
    yield from (f"| [`c/{name}`]({page_of(name)}.md) | {about(name)} |" for name in PROGRAMS)


def lines_of(name: str) -> Iterator[str]:
    yield from (f"# {TITLES.get(name, f'`c/{name}`')}", "", about(name), "")
    yield from ("[How to build and run it](../../how-to/c-program.md).", "")
    for path in sorted((FOLDER / name).iterdir(), key=lambda path: (list(LANGUAGES).index(path.suffix), path.name)):
        source = f"../../../examples/c/{name}/{path.name}"
        yield from (f"## `{path.name}`", "", f":::{{literalinclude}} {source}", f":language: {LANGUAGES[path.suffix]}")
        yield from (":::", "")


def about(name: str) -> str:
    """The first sentences of the sources' comments; a source without one is a part of the others."""
    if name in TITLES:
        return "Sources and headers that several programs are built with."
    texts = (first_comment(path) for path in sorted((FOLDER / name).glob("*.c")))
    sentences = [text.partition(". ")[0].rstrip(".") + "." for text in texts if text]
    if not sentences:
        raise ValueError(f"examples/c/{name} does not say what it shows")
    return " ".join(sentences)


def first_comment(path: Path) -> str:
    found = re.match(r"(?://.*\n)+", path.read_text())
    lines = found[0].splitlines() if found else []
    return " ".join(line[2:].strip() for line in lines if not line.startswith("//   "))
