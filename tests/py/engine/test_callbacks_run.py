"""Callbacks whose call would run nothing, such as coroutine functions, are refused wherever one is given.

The places are those of the stubs and of the package's modules that take a Callable: a new place needs a row here.
"""

import ast
import asyncio
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pydoca

PACKAGE = Path(__file__).parents[3] / "python/pydoca"


async def coroutine_function(*_: Any) -> None:
    pytest.fail("a refused callback was called")


def generator_function(*_: Any) -> Iterator[None]:
    yield pytest.fail("a refused callback was called")


async def asynchronous_generator_function(*_: Any) -> Any:
    yield pytest.fail("a refused callback was called")


class AsyncCall:
    async def __call__(self, *_: Any) -> None:
        pytest.fail("a refused callback was called")

    async def method(self, *_: Any) -> None:
        pytest.fail("a refused callback was called")


REFUSED: dict[str, Callable[..., Any]] = {
    "coroutine function": coroutine_function,
    "partial of a partial": functools.partial(functools.partial(coroutine_function, 1), 2),
    "method": AsyncCall().method,
    "object": AsyncCall(),
    "partial of an object": functools.partial(AsyncCall(), 1),
    "generator function": generator_function,
    "asynchronous generator function": asynchronous_generator_function,
    "old coroutine": types.coroutine(generator_function),
}
if hasattr(inspect, "markcoroutinefunction"):  # Python 3.12 and later have it
    REFUSED["marked"] = inspect.markcoroutinefunction(lambda *_: coroutine_function())


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def _takes_function(annotation: ast.expr | None) -> bool:
    text = ast.unparse(annotation) if annotation else ""
    return "Callable" in text or any(f"{word} " in f"{text} " for word in ("_Ended", "Progress", "Kernel"))


def _places_of(node: Any, owner: str) -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.ClassDef) and _is_public(each.name):
            yield from _places_of(each, f"{each.name}.")
        elif isinstance(each, ast.AnnAssign) and owner and isinstance(each.target, ast.Name):
            if _is_public(each.target.id) and _takes_function(each.annotation):
                yield f"{owner}{each.target.id}"
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(each.name):
            is_setter = any(ast.unparse(decorator).endswith(".setter") for decorator in each.decorator_list)
            parameters = each.args
            given = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
            for parameter in [*given, *filter(None, [parameters.vararg])]:
                if _takes_function(parameter.annotation):
                    yield f"{owner}{each.name}" if is_setter else f"{owner}{each.name}({parameter.arg})"


def places() -> set[str]:
    """All parameters and attributes of public names that take a function."""
    stubs = (PACKAGE / "_core").glob("*.pyi")
    modules = [PACKAGE / name for name in ("_dpa.py", "sim.py", "log.py", "_time/virtual_time.py", "_time/explore.py")]
    modules += [PACKAGE / "faults/__init__.py", PACKAGE / "rdma_bridge.py", *(PACKAGE / "workq").glob("*.py")]
    return {place for file in [*stubs, *modules] for place in _places_of(ast.parse(file.read_text()), "")}


# Places that may have another kind of function.
OTHERS = {
    "spawn(target)": "runs coroutine functions",
    "Task.remove_done_callback(fn)": "looks for a function that add_done_callback() has taken",
}

Call = Callable[[Any, Any], Any]


def constructor(name: str) -> Callable[[Any], Callable[..., Any]]:
    """Returns a function that gives, for a rig, a function of the constructor's keywords."""
    of: dict[str, Callable[[Any], Callable[..., Any]]] = {
        "Server": lambda rig: functools.partial(
            pydoca.comch.Server, rig.pe, rig.device, rig.device.open_representor("0b:00.0"), "callbacks"
        ),
        "Client": lambda rig: functools.partial(
            pydoca.comch.Client, rig.pe, pydoca.open_device("0b:00.0", side="host"), "callbacks"
        ),
        "Graph": lambda rig: functools.partial(pydoca.Graph, rig.pe),
        "Mmap": lambda rig: pydoca.Mmap,
        "FaultRule": lambda rig: functools.partial(pydoca.faults.FaultRule, "fail", "dma.memcpy"),
    }
    return of.get(name, lambda rig: functools.partial(getattr(pydoca, name), rig.pe, rig.device))


def configured(rig: Any, owner: str) -> Any:
    """Makes an object that is not started."""
    if owner == "SyncEventContext":
        return pydoca.SyncEvent(rig.device).as_context(rig.pe)
    if owner == "Endpoint":
        owner = "Server"
    if owner == "Dma":
        return pydoca.Dma(rig.pe, rig.device)
    return rig.dma if owner == "Context" else constructor(owner)(rig)()


def configuring(owner: str, method: str, parameter: str) -> Call:
    def call(rig: Any, callback: Any) -> None:
        context = configured(rig, owner)
        first = ["write"] if (owner, method) == ("Rdma", "set_conf") else []
        if (owner, method) == ("SyncEventContext", "set_conf"):
            first = ["get"]
        getattr(context, method)(*first, **{"num_tasks": 2, parameter: callback})

    return call


def setting(owner: str, attribute: str) -> Call:
    def call(rig: Any, callback: Any) -> None:
        object = configured(rig, owner)
        before = getattr(object, attribute)
        try:
            setattr(object, attribute, callback)
        finally:
            assert getattr(object, attribute) is before

    return call


def awaiting(of: Callable[[Any, Any], Any]) -> Call:
    def call(rig: Any, callback: Any) -> None:
        async def main() -> None:
            await of(rig, callback)

        asyncio.run(main())

    return call


def polled(rig: Any, callback: Any) -> Any:
    return pydoca.SyncEvent(rig.device).as_context(rig.pe).poll_until(callback)


def in_virtual_time(callback: Any) -> None:
    with pydoca.sim.virtual_time() as time:
        time.run_threads(callback)


CALLS: dict[str, Call] = {
    "Device.mmap(free_callback)": lambda rig, callback: rig.device.mmap(bytearray(8), free_callback=callback),
    "open_device(selector)": lambda rig, callback: pydoca.open_device(callback),
    "Graph.node(source)": lambda rig, callback: pydoca.Graph(rig.pe).node(callback),
    "ProgressEngine.run_until(what)": lambda rig, callback: rig.pe.run_until(callback),
    "ProgressEngine.run_until(progress)": lambda rig, callback: rig.pe.run_until([rig.copy()], progress=callback),
    "ProgressEngine.gather(progress)": awaiting(lambda rig, callback: rig.pe.gather([rig.copy()], progress=callback)),
    "SyncEventContext.poll_until(predicate)": awaiting(polled),
    "Task.add_done_callback(fn)": lambda rig, callback: rig.held().add_done_callback(callback),
    "Dpa.register(kernel)": lambda rig, callback: pydoca.Dpa(rig.device).register("kernel", callback),
    "VirtualTime.run_threads(functions)": lambda rig, callback: in_virtual_time(callback),
    "explore(progress)": lambda rig, callback: pydoca.sim.explore(coroutine_function, seeds=1, progress=callback),
    "FaultRule.__init__(when)": lambda rig, callback: constructor("FaultRule")(rig)(when=callback),
}


def call_of(place: str) -> Call:
    """Returns a function that gives the callback at that place."""
    if place in CALLS:
        return CALLS[place]
    name, _, parameter = place.rstrip(")").partition("(")
    owner, _, method = name.partition(".")
    if not parameter:
        return setting(owner, method)
    if method == "__init__":
        return lambda rig, callback: constructor(owner)(rig)(**{parameter: callback})
    if method == "as_context":
        return lambda rig, callback: pydoca.SyncEvent(rig.device).as_context(rig.pe, **{parameter: callback})
    assert method.startswith("set_"), f"{place}: CALLS of this file needs a row for it"
    return configuring(owner, method, parameter)


def test_the_list_of_places_finds_known_ones():
    found = places()
    assert {"Dma.__init__(on_error)", "Rdma.on_failure", "Graph.node(source)", "Dpa.register(kernel)"} <= found
    assert {"Mmap.free_callback", *OTHERS} <= found
    assert set(CALLS) <= found


@pytest.mark.parametrize("place", sorted(places() - OTHERS.keys()))
def test_a_callback_that_a_call_would_not_run_is_refused(request, place):
    if place.startswith("Sha"):
        request.getfixturevalue("bluefield2")
    rig = request.getfixturevalue("rig")
    call = call_of(place)
    for kind, callback in REFUSED.items():
        with pytest.raises(TypeError, match=r"function.*would not run it") as refusal:
            call(rig, callback)
        parameter = place.rstrip(")").rpartition("(")[2].rpartition(".")[2]
        name = {"fn": "add_done_callback", "what": "run_until", "source": "node", "kernel": "register kernel"}
        name |= {"predicate": "poll_until", "functions": "run_threads"}
        assert name.get(parameter, parameter) in str(refusal.value), kind
        assert repr(callback) in str(refusal.value), kind


def test_the_refusal_of_a_coroutine_function_says_what_to_do_instead(rig):
    with pytest.raises(TypeError, match=r"a plain function start it with asyncio\.create_task\(\)"):
        rig.held().add_done_callback(coroutine_function)


def test_callables_of_other_kinds_are_taken(rig):
    class Called:
        def __init__(self, *_: Any) -> None:
            calls.append(type(self))

        def __call__(self, *_: Any) -> None:
            calls.append("object")

        def method(self, *_: Any) -> None:
            calls.append("method")

    calls: list[Any] = []
    called = Called()
    calls.clear()
    noted = functools.wraps(coroutine_function)(lambda *_: calls.append("wrapper"))
    task = rig.held()
    for callback in (called, called.method, Called, functools.partial(calls.append), noted):
        task.add_done_callback(callback)
    rig.release()
    task.wait()
    assert calls == ["object", "method", Called, task, "wrapper"]


def test_a_callback_that_returns_a_coroutine_is_told_of_by_python(rig):
    """The call ran, so nothing refuses it; Python warns of the coroutine, whose result is dropped."""
    task = rig.held()
    task.add_done_callback(lambda _: coroutine_function())
    rig.release()
    with pytest.warns(RuntimeWarning, match="coroutine 'coroutine_function' was never awaited"):
        task.wait()
