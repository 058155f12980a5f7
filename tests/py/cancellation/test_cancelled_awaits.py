"""Each call that gives something to await is cancelled at every step, on every loop: nothing is lost, nothing goes on.

`awaitables.calls()` finds the calls, `scene.SCENES` has an await of each, and `ways.WAYS` the ways in which it ends.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import scenes_of_connections
import scenes_of_imports
import scenes_of_others
import scenes_of_rdma
import scenes_of_tasks
from awaitables import calls
from scene import SCENES
from ways import WAYS, run

assert all(
    (scenes_of_connections, scenes_of_imports, scenes_of_others, scenes_of_rdma, scenes_of_tasks)
)  # each module adds its scenes

# Calls that need no scene, and the reason.
OTHERS = {
    "Process.__aenter__": "gives the process of sim.spawn(), and never suspends",
    "Process.__enter__": "gives the process of sim.spawn()",
    "ProgressEngine.__aenter__": "never suspends",
    "Rdma.receives": "gives an iterator, which has a scene",
    "Trace.__aenter__": "never suspends",
    "Trace.__aexit__": "never suspends",
    "WorkQueue.make_task": "makes the tasks of the libraries",
}

EAGER = pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="tasks start eagerly since Python 3.12")
LOOPS = ["asyncio", "asyncio-debug", "uvloop", pytest.param("eager", marks=EAGER)]
Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=LOOPS)
def run_in(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine as asyncio.run does, on one of the loops."""
    kind = request.param
    factory = pytest.importorskip("uvloop").new_event_loop if kind == "uvloop" else asyncio.new_event_loop

    def run_main(coroutine: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(debug=kind == "asyncio-debug", loop_factory=factory) as runner:
            if kind == "eager":
                runner.get_loop().set_task_factory(asyncio.eager_task_factory)
            runner.run(coroutine)

    return run_main


@pytest.mark.parametrize("call", sorted(SCENES))
def test_a_cancelled_await(run_in, call):
    for name, way in WAYS.items():
        try:
            run_in(run(SCENES[call], way))
        except BaseException as error:
            error.add_note(f"{call}, {name}")
            raise


def test_each_call_has_a_scene():
    assert calls() == {name.partition(" ")[0] for name in (*SCENES, *OTHERS)}
