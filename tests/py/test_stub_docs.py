"""The installed stubs have the extension's docstrings, for editors."""

import ast
from pathlib import Path

import pytest

import pydoca
import stub_docs
from pydoca import _core
from pydoca._raw_types import RAW_TYPES

STUBS = [stub for stub in (Path(pydoca.__file__).parent / "_core").glob("*.pyi") if stub.stem != "__init__"]


def words(doc: str) -> list[str]:
    return doc.split()


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.stem)
def test_a_stub_has_the_docstrings_of_the_extension(path):
    stub = ast.parse(path.read_text())
    for node, doc in stub_docs.documented(stub, _core):
        same = words(stub_docs.docstring_in(stub, node)) == words(doc)
        assert same, f"{path.name}:{node.lineno}: run script/stub_docs.py"


def test_the_docstrings_of_raw_methods_have_the_types_of_the_stubs():
    assert stub_docs.raw_types(_core) == RAW_TYPES, "run script/stub_docs.py"
    assert pydoca.Dma.memcpy.__doc__.endswith(
        "\n\nTypes: (src: Buf | None, dst: Buf | None, *, user_data: Any = None, submit: bool = True) -> DmaMemcpyTask"
    )


STUB = '''class Buf:
    def close(self) -> None: ...  # a comment
    data_len: int
    def inc_refcount(self) -> int:
        """Another docstring, from before."""
    @property
    def len(self) -> int: ...
class Memory: ...
'''


def test_docstrings_are_written_and_replaced():
    written = stub_docs.with_docstrings(STUB, _core)
    assert "Another docstring" not in written
    assert "def close(self) -> None:  # a comment\n" in written
    stub = ast.parse(written)
    docs = [stub_docs.docstring_in(stub, node) for node, _ in stub_docs.documented(stub, _core)]
    assert len(docs) == 6
    assert all(docs)
    assert stub_docs.with_docstrings(written, _core) == written
