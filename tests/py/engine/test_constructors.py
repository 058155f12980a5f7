"""Classes that programs do not call tell how to get their objects."""

from __future__ import annotations

import re

import pytest

import pydoca
from pydoca import comch

CLASSES = {name: getattr(module, name) for module in (pydoca, comch) for name in module.__all__}


def _refusals() -> dict[str, str]:
    """The messages of classes without a constructor, by name."""
    found = {}
    for name, each in CLASSES.items():
        if isinstance(each, type) and not issubclass(each, BaseException):
            try:
                each()
            except TypeError as error:
                if "constructor" in str(error):
                    found[name] = str(error)
            except pydoca.DocaError:
                pass
    return found


REFUSALS = _refusals()


def test_the_error_names_the_call():
    with pytest.raises(TypeError, match=r"^Device has no constructor: get one from open_device\(\)$"):
        pydoca.Device("p0")
    assert len(REFUSALS) > 30


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_named_is_there(name):
    found = re.fullmatch(r"(\w+) has no constructor: get one from (.+)", REFUSALS[name])
    assert found
    assert found[1] == name
    for path in re.findall(r"[A-Z]\w+\.\w+|\b[a-z]\w+(?=\(\))|[A-Z]\w+(?=\(\))", found[2]):
        owner, _, member = path.partition(".")
        assert not member or hasattr(CLASSES[owner], member)
        assert member or hasattr(pydoca, owner)
