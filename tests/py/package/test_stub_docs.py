"""The installed stubs have the extension's docstrings, for editors; the committed ones have only types."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pydoca
import raw_types
import stub_docs
from pydoca import _core

COMMITTED = Path(__file__).resolve().parents[3] / "python/pydoca/_core"
STUBS = Path(pydoca.__file__).with_name("_core")
NAMES = sorted(path.name for path in COMMITTED.glob("[!_]*.pyi"))


def words(doc: str) -> list[str]:
    return doc.split()


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_stub_has_the_docstring_of_each_public_name(name):
    stub = ast.parse((STUBS / name).read_text())
    for node, doc in stub_docs.documented(stub, _core):
        assert words(stub_docs.docstring_in(stub, node)) == words(doc), f"{name}:{node.lineno}"


def test_most_public_names_have_a_docstring():
    """A constructor has none if its class explains it; a method has none if only the package's own Python calls it."""
    docs = [doc for name in NAMES for _, doc in stub_docs.documented(ast.parse((STUBS / name).read_text()), _core)]
    assert len([doc for doc in docs if doc]) > 550, len(docs)


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_stub_differs_from_the_committed_one_by_docstrings_only(name):
    committed, installed = ast.parse((COMMITTED / name).read_text()), ast.parse((STUBS / name).read_text())
    assert '"""' not in (COMMITTED / name).read_text()
    assert ast.unparse(without_docstrings(installed)) == ast.unparse(without_docstrings(committed))


def without_docstrings(stub: ast.Module) -> ast.Module:
    for node in ast.walk(stub):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            dots: ast.stmt = ast.Expr(ast.Constant(...))
            node.body = [each for each in node.body if not isinstance(each, ast.Expr)] or [dots]
    return stub


def raw_methods() -> Iterator[tuple[str, object]]:
    for owner in vars(_core).values():
        for name, value in vars(owner).items() if inspect.isclass(owner) else ():
            if type(value) is type(str.join) and not name.startswith("_") and owner.__module__.startswith("pydoca"):
                yield f"{owner.__name__}.{name}", value


@pytest.mark.parametrize(("name", "method"), (found := list(raw_methods())), ids=[name for name, _ in found])
def test_the_docstring_of_a_raw_method_has_the_types_of_the_stub(name, method):
    """The parameters and defaults of the stub are those of the method."""
    doc, _, types = method.__doc__.partition("\n\nTypes: ")
    assert doc
    typed = ast.parse(f"def f{types}: ...").body[0]
    plain = ast.parse(f"def f{method.__text_signature__.replace('$', '')}: ...").body[0]
    assert isinstance(typed, ast.FunctionDef)
    assert isinstance(plain, ast.FunctionDef)
    for argument in [*typed.args.args, *typed.args.kwonlyargs]:
        assert argument.annotation is not None
        argument.annotation = None
    assert [argument.arg for argument in plain.args.posonlyargs] == ["self"]
    plain.args.posonlyargs = []
    assert ast.unparse(typed.args).replace("SubmitFlags", "pydoca.SubmitFlags") == ast.unparse(plain.args)
    assert typed.returns is not None


def test_help_shows_the_types_of_a_raw_method():
    assert pydoca.Dma.memcpy.__doc__.endswith(
        "\n\nTypes: (src: Buf | Buffer | None, dst: Buf | Buffer | None, *, user_data: Any = None, "
        "submit: bool = True) -> DmaMemcpyTask"
    )


STUB = """class Buf:
    def close(self) -> None: ...  # a comment
    data_len: int
    def inc_refcount(
        self,
    ) -> int: ...
    @property
    def len(self) -> int: ...
    def _snapshot(self) -> None: ...
class Memory: ...
"""


def test_docstrings_are_written():
    written = stub_docs.with_docstrings(STUB, _core)
    assert "def close(self) -> None:  # a comment\n" in written
    stub = ast.parse(written)
    docs = [stub_docs.docstring_in(stub, node) for node, _ in stub_docs.documented(stub, _core)]
    assert len(docs) == 6
    assert all(docs)
    assert ast.unparse(without_docstrings(stub)) == ast.unparse(ast.parse(STUB))


@pytest.mark.parametrize("doc", ['"a" or "b"', "a\\nb", "one line.\n\nAnother.", "x " * 90 + "end"])
def test_a_docstring_is_read_as_it_was(doc):
    [text] = [node.value.value for node in ast.parse("\n".join(stub_docs.quoted(doc, ""))).body]
    assert words(text) == words(doc)


def test_a_stub_of_something_that_the_extension_lacks_is_an_error():
    with pytest.raises(AttributeError, match="Missing"):
        stub_docs.with_docstrings("class Missing: ...\n", _core)


def test_the_types_of_raw_methods_are_written():
    stub = ast.parse(
        "class Buf:\n"
        "    def get(self, mmap: Mmap, /, addr: int | None = None, *, submit: bool = True) -> Buf: ...\n"
        "    def close(self) -> None: ...\n"
        "    def _private(self) -> None: ...\n"
        "    @property\n"
        "    def len(self) -> int: ...\n"
    )
    assert list(raw_types.lines_of(stub)) == [
        "Buf.get(mmap: Mmap, addr: int | None = None, *, submit: bool = True) -> Buf\n",
        "Buf.close() -> None\n",
    ]


def test_an_extension_that_does_not_load_ends_the_installation(tmp_path):
    (tmp_path / "_core.so").write_bytes(b"")
    script = [sys.executable, "-I", stub_docs.__file__, str(tmp_path / "_core.so"), str(COMMITTED.parents[1])]
    run = subprocess.run([*script, str(tmp_path / "made")], capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode != 0
    assert "ImportError" in run.stderr
    assert not (tmp_path / "made").exists()
