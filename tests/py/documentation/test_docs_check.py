"""The check of the documentation site finds links that lead nowhere, and names that are not reached."""

from pathlib import Path

import pytest

import docs_check
from pydoca.cli.explain._table import load


def site_of(directory: Path, **pages: str) -> dict[Path, object]:
    for name, body in pages.items():
        path = directory / f"{name.replace('__', '/')}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<!DOCTYPE html><body>{body}</body>")
    return {path: docs_check.Page(path) for path in sorted(directory.rglob("*.html"))}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (
            '<a href="other.html#here">good</a><a href="#own" id="own">good</a><a href="https://example.org">good</a>',
            "",
        ),
        ('<a href="absent.html">bad</a>', "absent.html leads nowhere"),
        ('<a href="other.html#absent">bad</a>', "other.html#absent has no anchor"),
        ('<a href="#absent">bad</a>', "#absent has no anchor"),
        ('<img src="absent.png">', "absent.png leads nowhere"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loads //example.org/x.css"),
    ],
)
def test_a_link_that_leads_nowhere_is_a_fault(tmp_path, body, fault):
    pages = site_of(tmp_path, page=body, other='<p id="here"></p>')
    faults = list(docs_check.faults_of_links(pages))
    assert len(faults) == bool(fault)
    assert all(each.endswith(fault) for each in faults)


def names_page(left_out: str = "") -> str:
    table = load()
    links = (f'<a href="x.html#doca-{name}">{name}</a>' for name in table.entries if name != left_out)
    return "".join([*links, *table.renamed, *table.values])


@pytest.mark.parametrize("left_out", ["", "doca_mmap_create"])
def test_a_name_that_the_page_of_names_leaves_out_is_a_fault(tmp_path, left_out):
    start = '<a href="made/from-c/index.html">names</a>'
    pages = site_of(tmp_path, index=start, **{"made__from-c__index": names_page(left_out)})
    wanted = [f"{left_out} is not two clicks away from the start page"] if left_out else []
    assert list(docs_check.faults_of_names(tmp_path, pages)) == wanted


def test_a_start_page_without_the_page_of_names_is_a_fault(tmp_path):
    pages = site_of(tmp_path, index="", **{"made__from-c__index": names_page()})
    assert list(docs_check.faults_of_names(tmp_path, pages)) == ["the start page has no link to made/from-c/index.html"]
