"""The programs of examples/: what each shows, its text, and the file to take away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from extension import c_examples
from extension.markdown import slug

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
INDEX = """\
# Examples

Whole programs, each of which the tests run. A page shows a program and has the file. A clone of the project has all of
them in `examples/`.
"""
# The programs of each section of the index, in reading order.
SECTIONS = {
    "Copies and computations": (
        "copy_local.py",
        "steps_of_c.py",
        "sha_local.py",
        "decompress_local.py",
        "clock_local.py",
        "graph_local.py",
        "graph_pipeline.py",
        "dpa_local.py",
        "workq.py",
    ),
    "Between processes": (
        "host.py",
        "dpu.py",
        "sync_event_local.py",
        "sync_event_remote.py",
        "sync_event_subscribers.py",
        "sync_event_pipeline.py",
    ),
    "RDMA": (
        "rdma_server.py",
        "rdma_client.py",
        "rdma_ping_pong.py",
        "rdma_event_local.py",
        "rdma_event_remote.py",
        "rdma_bridge.py",
    ),
    "Tests and operation": ("faults_local.py", "test_my_card.py", "metrics.py"),
    "C++": (
        "dma_copy.cpp",
        "pipeline.cpp",
        "threads.cpp",
        "host_and_dpu.cpp",
        "rdma_write.cpp",
        "sync_event.cpp",
        "graph.cpp",
        "graph_sha.cpp",
        "workq.cpp",
    ),
}
LANGUAGES = {".py": "python", ".cpp": "cpp"}


def pages() -> Iterator[tuple[str, str]]:
    listed = {name for names in SECTIONS.values() for name in names}
    there = {path.name for path in EXAMPLES.iterdir() if path.suffix in LANGUAGES}
    if listed != there:
        raise ValueError(f"the page of examples and the folder differ: {', '.join(sorted(listed ^ there))}")
    for name in sorted(listed):
        yield f"examples/{slug(name)}.md", page(name)
    yield from c_examples.pages()
    yield "examples/index.md", "\n".join(index())


def page(name: str) -> str:
    source = f"../../../examples/{name}"
    lines = [f"# `{name}`", "", about(name), "", f"{{download}}`Download {name} <{source}>`", ""]
    lines += [f":::{{literalinclude}} {source}", f":language: {LANGUAGES[Path(name).suffix]}", ":::", ""]
    return "\n".join(lines)


def index() -> Iterator[str]:
    yield INDEX
    for title, names in SECTIONS.items():
        yield from (f"## {title}", "", "| Program | What it shows |", "|---|---|")
        yield from (f"| [`{name}`]({slug(name)}.md) | {about(name)} |" for name in names)
        yield ""
    yield from ("## C", "", *c_examples.rows(), "")
    yield from (":::{toctree}", ":hidden:", "")
    yield from (f"{name} <{slug(name)}>" for names in SECTIONS.values() for name in names)
    yield from (f"c/{name} <{c_examples.page_of(name)}>" for name in c_examples.PROGRAMS)
    yield ":::"


def about(name: str) -> str:
    """The first sentence of its docstring, or its first comment."""
    text = (EXAMPLES / name).read_text()
    if name.endswith(".py"):
        found = ast.get_docstring(ast.parse(text)) or ""
    else:
        lines = re.match(r"(?:(?://|#).*\n)+", text)
        found = re.sub(r"^(?:///?|#) ?", "", lines[0], flags=re.MULTILINE) if lines else ""
    sentence = " ".join(found.split()).partition(". ")[0].rstrip(".")
    if not sentence:
        raise ValueError(f"examples/{name} does not say what it shows")
    return sentence + "."
