"""Whoever asks help() for a public class gets an answer, for each of its properties and methods."""

import enum
import inspect
from collections.abc import Iterator

import pytest

import pydoca
from pydoca import comch, rdma_bridge, sim

MODULES = (pydoca, comch, rdma_bridge, sim)


def public_classes() -> list[type]:
    named = [getattr(module, name) for module in MODULES for name in module.__all__]
    given = [pydoca._core.EstablishedConnection, pydoca._core.EndedConnection, pydoca._core.RequestedConnection]
    from pydoca._names import ConnectionByName
    from pydoca._receives import Receives

    return list(dict.fromkeys(each for each in (*named, *given, ConnectionByName, Receives) if inspect.isclass(each)))


def members(owner: type) -> Iterator[tuple[str, object]]:
    """Of the class and of those of pydoca's that it inherits from."""
    for base in owner.__mro__:
        if base.__module__.startswith("pydoca"):
            yield from ((name, getattr(owner, name)) for name in vars(base) if not name.startswith("_"))


def own_lines(doc: str | None) -> list[str]:
    """Without the signature, which is pybind11's."""
    return [line for line in (doc or "").splitlines() if line.strip() and "->" not in line]


@pytest.mark.parametrize("owner", public_classes(), ids=lambda owner: owner.__name__)
def test_every_public_class_is_explained(owner):
    assert own_lines(owner.__doc__)
    if issubclass(owner, (enum.Enum, BaseException)):
        return
    for name, member in members(owner):
        lines = own_lines(member.__doc__)
        assert lines, name
        assert not lines[0].startswith("The same"), name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_function_is_explained(module):
    functions = [name for name in module.__all__ if inspect.isroutine(getattr(module, name))]
    assert [name for name in functions if not own_lines(getattr(module, name).__doc__)] == []
