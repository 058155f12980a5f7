"""throw() of all that an await makes: what is not an exception is refused, as coroutines do, and nothing is lost."""

import re
from array import array

import pytest


def batch(rig):
    words = array("Q", [rig.source.addr, rig.source.addr + 32, 32, 0])
    return rig.dma.memcpy_many(rig.source, rig.source, memoryview(words).cast("B").cast("Q", (1, 4)))


AWAITED = {
    "a task": lambda rig, task: task,
    "a task's future": lambda rig, task: task.as_future(),
    "a gather": lambda rig, task: rig.pe.gather([task]),
    "a batch": lambda rig, task: batch(rig),
}
REFUSED = {
    (): "throw() takes one to three arguments, not 0",
    (ValueError, None, None, None): "throw() takes one to three arguments, not 4",
    (1,): "throw() takes an exception, not int",
    (int,): "throw() takes an exception, not type",
    (None,): "throw() takes an exception, not NoneType",
    (ValueError, None, 5): "throw() takes a traceback as its third argument, not int",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=map(repr, REFUSED))
@pytest.mark.parametrize("awaited", AWAITED)
def test_what_is_not_an_exception_is_refused(run, rig, awaited, arguments):
    async def main():
        task = rig.held()
        awaiter = AWAITED[awaited](rig, task).__await__()
        with pytest.raises(TypeError, match=re.escape(REFUSED[arguments])):
            awaiter.throw(*arguments)
        awaiter.close()
        rig.release()
        await task

    run(main())


def test_an_exception_takes_no_value_beside_it(run, rig):
    async def main():
        task = rig.held()
        awaiter = task.__await__()
        with pytest.raises(TypeError, match="takes a value beside a class"):
            awaiter.throw(ValueError("one"), "two")
        rig.release()
        assert await task is None

    run(main())
