"""Every public class, property, method and function has a docstring for help()."""

import enum
import inspect

import pytest

from public_names import MODULES, PROTOCOLS, members, public_classes


def own_lines(doc: str | None) -> list[str]:
    """The lines without pybind11's signature."""
    return [line for line in (doc or "").splitlines() if line.strip() and "->" not in line]


@pytest.mark.parametrize("owner", public_classes(), ids=lambda owner: owner.__name__)
def test_every_public_class_is_explained(owner):
    assert own_lines(owner.__doc__)
    if issubclass(owner, (enum.Enum, BaseException)):
        return
    fields = getattr(owner, "__dataclass_fields__", {}).keys()  # the class's docstring explains them
    for name in members(owner).keys() - PROTOCOLS - fields:
        lines = own_lines(getattr(owner, name).__doc__)
        assert lines, name
        assert not lines[0].startswith("The same"), name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_function_is_explained(module):
    functions = [name for name in module.__all__ if inspect.isroutine(getattr(module, name))]
    assert [name for name in functions if not own_lines(getattr(module, name).__doc__)] == []
