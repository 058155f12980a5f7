"""Classes and functions belong to the public modules, as tracebacks, help() and messages show them."""

import builtins
import inspect
import pickle
import subprocess
import sys
import typing

import pytest

import pydoca
from public_names import MODULES, public_classes
from pydoca import _core, comch


@pytest.mark.parametrize("owner", [each for each in public_classes() if each.__module__ != "pydoca._core"])
def test_a_public_class_is_where_its_module_says(owner):
    module = sys.modules[owner.__module__]
    if not owner.__module__.startswith("pydoca._"):
        assert module in MODULES
    assert getattr(module, owner.__qualname__) is owner
    for name, member in vars(owner).items():
        is_foreign = name == "__module__" or name.startswith("_pybind11_")
        assert is_foreign or "_core" not in str(getattr(member, "__module__", "")), name


def test_only_classes_without_a_public_name_remain_in_the_extension():
    left = {each.__name__ for each in public_classes() if each.__module__ == "pydoca._core"}
    assert left == {
        "AcceptedConnection", "EndedConnection", "EstablishedConnection", "Import", "ReceivedMessage",
        "RequestedConnection",
    }  # fmt: skip


def test_a_traceback_names_the_public_class():
    line = [sys.executable, "-c", "import pydoca; pydoca.BufInventory(0)"]
    errors = subprocess.run(line, capture_output=True, text=True, check=False).stderr
    assert errors.splitlines()[-1].startswith("pydoca.InvalidValueError: ")


def test_the_messages_of_the_interpreter_name_the_public_class():
    with pydoca.BufInventory(1) as inventory:
        for wrong in (lambda: inventory + 1, lambda: inventory[0]):
            with pytest.raises(TypeError, match=r"'pydoca\.BufInventory'"):
                wrong()
    assert repr(comch.Server) == "<class 'pydoca.comch.Server'>"


def test_errors_and_enumerations_can_be_pickled():
    error = pickle.loads(pickle.dumps(pydoca.ConnectionResetError("gone")))
    assert (type(error), str(error)) == (pydoca.ConnectionResetError, "gone")
    assert pickle.loads(pickle.dumps(pydoca.TaskState.IDLE)) is pydoca.TaskState.IDLE


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_star_import_shadows_no_builtin(module):
    assert set(module.__all__) & set(vars(builtins)) == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_completion_offers_every_name(module):
    # A new interpreter has not used any name before.
    code = "import sys; from importlib import import_module as get; print(*dir(get(sys.argv[1])))"
    offered = subprocess.run([sys.executable, "-c", code, module.__name__], capture_output=True, text=True, check=True)
    assert set(module.__all__) <= set(offered.stdout.split())


def test_help_shows_types():
    signature = inspect.signature(pydoca.BufInventory)
    assert str(signature) == "(num_elements: SupportsIndex, *, start: bool = True, user_data: Any = None) -> None"
    assert str(inspect.signature(pydoca.Device.mmap).return_annotation) == "Mmap"
    assert "timeout: float | None = None" in str(inspect.signature(comch.Client))


def test_every_method_with_a_stub_has_types_in_help():
    without = []
    for name, owner in vars(_core).items():
        for member, value in vars(owner).items() if inspect.isclass(owner) else ():
            if type(value).__name__ == "method" and not member.startswith("_"):
                given = [each for each in inspect.signature(value).parameters.values() if each.name != "self"]
                if any(each.annotation is inspect.Parameter.empty for each in given):
                    without.append(f"{name}.{member}{inspect.signature(value)}")
    assert without == []


def test_a_function_without_a_stub_keeps_its_plain_signature():
    from pydoca._signatures import typed_signature

    assert typed_signature("Buf.unheard_of", "(self, /, size=1)") is None


def test_functions_of_the_engine_have_no_type_hints_as_builtin_ones():
    for function in (pydoca.open_device, pydoca.Device.mmap, pydoca.BufInventory.get_by_addr, len):
        assert typing.get_type_hints(function) == {}


def _functions_of(owner: type) -> list[typing.Any]:
    found = [value for name, value in vars(owner).items() if name == "__init__" or not name.startswith("_")]
    found = [each.fget if isinstance(each, property) else getattr(each, "__func__", each) for each in found]
    return [each for each in found if inspect.isfunction(each)]


def test_type_hints_of_all_that_is_public_can_be_read():
    """An annotation cannot be read if it names an import that only type checkers or other modules have."""
    unreadable = []
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            for each in [value, *_functions_of(value)] if isinstance(value, type) else [value]:
                if isinstance(each, type) or inspect.isfunction(each):
                    try:
                        typing.get_type_hints(each)
                    except NameError as error:
                        unreadable.append(f"{module.__name__}.{name}: {error}")
    assert unreadable == []
