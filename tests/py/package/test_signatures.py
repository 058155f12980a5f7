"""Every callable says how it is called, and a call that does not fit is answered as Python answers it."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import pydoca
from pydoca import _core, comch
from pydoca._signatures import types_of, words_of


def own_callables() -> Iterator[tuple[str, Any]]:
    for name, value in vars(_core).items():
        if inspect.isclass(value) and value.__module__ in ("pydoca", "pydoca.comch", "pydoca._core"):
            yield name, value
            for member in vars(value):
                if not member.startswith("_"):
                    yield f"{name}.{member}", getattr(value, member)
        elif callable(value):
            yield name, value


CALLABLES = {name: value for name, value in own_callables() if callable(value)}
METHODS = {name: value for name, value in CALLABLES.items() if "." in name and not inspect.isclass(value)}
# Classes whose objects the test makes itself.
CONSTRUCTED = [pydoca.BufInventory, pydoca.Dma, pydoca.Mmap, pydoca.ProgressEngine, pydoca.Rdma, pydoca.SyncEvent,
               comch.Client, comch.Server]  # fmt: skip


def test_every_method_and_function_has_a_signature():
    without = []
    for name, value in CALLABLES.items():
        if inspect.isclass(value):
            continue
        try:
            inspect.signature(value)
        except ValueError as error:
            without.append(f"{name}: {error}")
    assert without == []


@pytest.mark.parametrize("owner", CONSTRUCTED, ids=lambda owner: owner.__name__)
def test_every_class_with_a_constructor_has_a_signature(owner):
    assert "self" not in inspect.signature(owner).parameters


def test_every_method_has_the_name_of_its_class():
    assert {name: value.__qualname__ for name, value in METHODS.items() if value.__qualname__ != name} == {}


def test_a_bound_method_has_the_parameters_without_self():
    with pydoca.BufInventory(1) as inventory:
        assert list(inspect.signature(inventory.expand).parameters) == ["num_elements"]
        assert list(inspect.signature(pydoca.BufInventory.expand).parameters) == ["self", "num_elements"]
        assert repr(inventory.expand).startswith("<bound method BufInventory.expand of <pydoca.BufInventory")


def test_defaults_are_shown():
    assert str(inspect.signature(pydoca.BufInventory)) == (
        "(num_elements: SupportsIndex, *, start: bool = True, user_data: Any = None) -> None"
    )
    assert inspect.signature(pydoca.Rdma).parameters["mtu"].default is None
    assert inspect.signature(comch.Server).parameters["num_send_tasks"].default == 64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pydoca.open_device("p0", sde="dpu"), "unexpected keyword argument 'sde'; did you mean 'side'?"),
        (lambda: pydoca.open_device("p0", zzz=1), "unexpected keyword argument 'zzz'$"),
        (lambda: pydoca.open_device(1, 2), r"open_device\(\) takes at most 1 positional argument"),
        (lambda: pydoca.BufInventory(), r"^BufInventory\(\) needs the argument 'num_elements'"),
        (lambda: pydoca.BufInventory(1, strat=True), r"^BufInventory\(\) .*did you mean 'start'"),
        (lambda: pydoca.BufInventory(1, num_elements=2), "got the argument 'num_elements' twice"),
        (lambda: pydoca.Dma(None, None, num_task=3), "did you mean 'num_tasks'"),
        (lambda: pydoca.Rdma(None, None, max_num_connection=3), "did you mean 'max_num_connections'"),
        (lambda: comch.Server(None, None, None, "name", on_mesage=print), "did you mean 'on_message'"),
        (lambda: pydoca.BufInventory(1).get_by_addr(adr=1), "did you mean 'addr'"),
        (lambda: pydoca.BufInventory.stop(), "needs an object to work on"),
        (lambda: pydoca.BufInventory(1)._snapshot("x"), r"^_snapshot\(\) takes \(limit: int\), not \('x'\)$"),
        (lambda: pydoca.BufInventory(1).dup(buf=2), r"^dup\(\) takes \(buf: pydoca\.Buf\), not \(buf=2\)$"),
        (lambda: pydoca.Sha.is_supported(3), r"^is_supported\(\) takes \(info: pydoca\.DeviceInfo\), not \(3\)$"),
    ],
)
def test_a_call_that_does_not_fit_is_answered_as_python_does(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_method_that_is_called_without_keywords_needs_no_bound_object():
    expand = pydoca.BufInventory.expand
    with pydoca.BufInventory(1) as inventory:
        expand(inventory, 2)
        assert inventory.num_elements == 3


def type_of(function, place):
    return next(types[place] for types in types_of(function) if place in types)


@pytest.mark.parametrize(
    ("function", "place", "words", "may_join"),
    [
        ("open_device", "side", "host dpu", False),
        ("open_device", "capability", " ".join(pydoca.CAPABILITIES), False),
        ("ProgressEngine", "latency", "low balanced power", False),
        ("hash", 2, "sha1 sha256 sha512", False),
        ("representors", 0, "all net emulated", True),
        ("mmap", "access", " ".join(pydoca.Access.__members__).lower(), True),
        ("is_equal_pci_addr", 0, "", False),
    ],
)
def test_types_say_the_words_that_an_argument_takes(function, place, words, may_join):
    assert words_of(type_of(function, place)) == (words.split(), may_join)


@pytest.mark.parametrize(
    ("call", "function", "place"),
    [
        (lambda: pydoca.devices(side="none"), "devices", "side"),
        (lambda: pydoca.open_device(capability="none"), "open_device", "capability"),
        (lambda: pydoca.open_device("p0").representors("none"), "representors", "filter"),
        (lambda: pydoca.open_device("p0").mmap(bytearray(8), access="none"), "mmap", "access"),
        (lambda: pydoca.ProgressEngine(latency="none"), "ProgressEngine", "latency"),
        (lambda: pydoca.SyncEvent(pydoca.open_device("p0"), publisher="none"), "SyncEvent", "publisher"),
    ],
)
def test_the_engine_refuses_other_words_and_names_those_of_the_type(call, function, place):
    words, _ = words_of(type_of(function, place))
    with pytest.raises(pydoca.InvalidValueError, match=f": {', '.join(words)}$"):
        call()
