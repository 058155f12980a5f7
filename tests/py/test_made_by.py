"""Classes that programs do not call say what makes their objects."""

from __future__ import annotations

import re

import pytest

import pydoca
from pydoca import comch
from pydoca._classes import made_by

CLASSES = {name: getattr(module, name) for module in (pydoca, comch) for name in module.__all__}


def _without_constructor() -> list[str]:
    found = []
    for name, each in CLASSES.items():
        if isinstance(each, type) and not issubclass(each, BaseException):
            try:
                each()
            except TypeError as error:
                if "constructor" in str(error):
                    found.append(name)
            except pydoca.DocaError:
                pass
    return found


def test_each_class_without_a_constructor_says_what_to_do():
    assert set(_without_constructor()) == set(made_by._MADE_BY)


def test_the_error_names_the_call():
    with pytest.raises(TypeError, match=r"^Device has no constructor: get one from open_device\(\)$"):
        pydoca.Device("p0")


@pytest.mark.parametrize("name", made_by._MADE_BY)
def test_what_is_named_is_there(name):
    for path in re.findall(r"[A-Z]\w+\.\w+|\b[a-z]\w+(?=\(\))|[A-Z]\w+(?=\(\))", made_by._MADE_BY[name]):
        owner, _, member = path.partition(".")
        found = CLASSES.get(owner) or getattr(pydoca, owner)
        assert not member or hasattr(found, member)
