"""Imports that an engine progresses: an event loop goes on while the exporting process is slow, stopped or gone."""

import asyncio
import os
import warnings

import pytest

import pydoca
from export_owner import KINDS, owner_in_own_fabric


@pytest.fixture
def owner():
    with owner_in_own_fabric() as owner:
        yield owner


@pytest.fixture
def card(owner):
    with pydoca.open_device("03:00.0", side="dpu") as card:
        yield card


@pytest.fixture
def pe():
    with pydoca.ProgressEngine() as pe:
        yield pe


def begin(pe, card, owner, kind):
    blob = owner.blobs[kind]
    if kind == "event":
        return pe.import_sync_event(card, blob)
    if kind == "net":
        return pe.import_sync_event_remote_net(card, blob)
    return pe.import_mmap(card, blob, user_data=kind)


def waiting(card, owner, kind):
    blob = owner.blobs[kind]
    if kind == "event":
        return card.import_sync_event(blob)
    return card.import_sync_event_remote_net(blob) if kind == "net" else card.import_mmap(blob, user_data=kind)


def describe(imported):
    if isinstance(imported, pydoca.Mmap):
        return (imported.addr, len(imported), imported.access, imported.user_data, imported.devices)
    return (type(imported), imported.device)


@pytest.mark.parametrize("kind", KINDS)
def test_the_result_is_that_of_the_call_that_waits(run, pe, card, owner, kind):
    async def main():
        with await begin(pe, card, owner, kind) as imported, waiting(card, owner, kind) as same:
            assert describe(imported) == describe(same)

    run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_waited_for_without_a_loop(pe, card, owner, kind):
    with begin(pe, card, owner, kind).wait(10) as imported, waiting(card, owner, kind) as same:
        assert describe(imported) == describe(same)


def test_an_event_is_used(run, pe, card, owner):
    async def main():
        with await pe.import_sync_event(card, owner.blobs["event"]) as event:
            event.update_add(3)
            assert event.get() == 3

    run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_the_loop_goes_on_while_the_owner_is_stopped(run, pe, card, owner, kind):
    async def main():
        owner.freeze()
        pending = asyncio.ensure_future(begin(pe, card, owner, kind))
        for _ in range(20):  # the loop's turns: none of them waits for the owner
            await asyncio.sleep(0)
        assert not pending.done()
        owner.go_on()
        (await pending).close()

    run(main())


def test_many_imports_wait_for_room_with_a_stopped_owner(run, pe, card, owner):
    """The imports are more than the 128 that the backlog of the owner's socket takes."""

    async def main():
        owner.freeze()
        pending = [begin(pe, card, owner, "own") for _ in range(140)]
        gathered = asyncio.gather(*(asyncio.ensure_future(one) for one in pending))
        await asyncio.sleep(0.01)
        owner.go_on()
        for imported in await gathered:
            imported.close()

    run(main())


def test_an_owner_that_does_not_answer_is_named_in_time(run, pe, card, owner):
    async def main():
        owner.freeze()
        with pytest.raises(pydoca.TimeOutError, match=rf"process {owner.process.pid}, does not answer"):
            await pe.import_mmap(card, owner.blobs["own"])

    run(main())


def test_an_owner_that_dies_is_named_at_once(run, pe, card, owner):
    async def main():
        owner.freeze()
        pending = asyncio.ensure_future(begin(pe, card, owner, "own"))
        await asyncio.sleep(0)
        owner.end()
        with pytest.raises(pydoca.NotConnectedError, match="is gone"):
            await pending
        with pytest.raises(pydoca.NotConnectedError, match="is gone"):
            await begin(pe, card, owner, "own")

    run(main())


def test_a_cancelled_await_gives_the_import_up(run, pe, card, owner):
    async def main():
        owner.freeze()
        made = begin(pe, card, owner, "own")
        pending = asyncio.ensure_future(made)
        await asyncio.sleep(0)
        pending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pending
        owner.go_on()
        with pytest.raises(pydoca.BadStateError, match="given up"):
            await made
        (await begin(pe, card, owner, "own")).close()

    run(main())


def test_a_time_limit_ends_the_wait_and_not_the_import(pe, card, owner):
    owner.freeze()
    pending = begin(pe, card, owner, "own")
    with pytest.raises(pydoca.TimeOutError, match="import_mmap: the timeout has passed"):
        pending.wait(0.01)
    owner.go_on()
    first = pending.wait(10)
    assert pending.wait(0) is first
    first.close()


@pytest.mark.parametrize("blob", [b"", b"nonsense"])
def test_what_is_not_an_export_is_refused_at_once(pe, card, blob):
    with pytest.raises(pydoca.InvalidValueError) as at_once:
        pe.import_mmap(card, blob)
    with pytest.raises(pydoca.InvalidValueError) as waited:
        card.import_mmap(blob)
    assert str(at_once.value) == str(waited.value)


def test_arguments_of_other_types_are_refused(pe, card):
    for call in (pe.import_mmap, pe.import_sync_event, pe.import_sync_event_remote_net):
        with pytest.raises(TypeError, match="blob must be bytes"):
            call(card, "text")
    with pytest.raises(TypeError, match="Device"):
        pe.import_mmap("p0", b"")


def test_an_export_for_another_device_is_refused_without_its_owner(pe, owner):
    owner.freeze()
    with pytest.raises(pydoca.NotSupportedError):
        pe.import_mmap(pydoca.open_device("0b:00.0", side="host"), owner.blobs["own"])
    owner.go_on()


def test_a_device_that_is_closed_meanwhile(owner, pe):
    card = pydoca.open_device("03:00.0", side="dpu")
    owner.freeze()
    pending = begin(pe, card, owner, "own")
    card.close()
    owner.go_on()
    with pytest.raises(pydoca.BadStateError, match="closed"):
        pending.wait(10)


def test_an_import_that_is_dropped_is_told_of_and_leaves_nothing(pe, card, owner):
    before = len(os.listdir("/proc/self/fd"))
    owner.freeze()
    with pytest.warns(RuntimeWarning, match=r"^import_mmap\(\) was never awaited"):
        begin(pe, card, owner, "own")
    owner.go_on()
    assert len(os.listdir("/proc/self/fd")) == before
    begin(pe, card, owner, "own").wait(10).close()


def test_an_engine_is_closed_before_its_import_is_over(card, owner):
    pe = pydoca.ProgressEngine()
    owner.freeze()
    pending = begin(pe, card, owner, "own")
    pe.close()
    with pytest.raises(pydoca.BadStateError, match="closed"):
        pending.wait(1)
    with pytest.raises(pydoca.BadStateError, match="closed"):
        begin(pe, card, owner, "own")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        del pending


@pytest.mark.parametrize("kind", ["own", "event"])
def test_an_engine_that_is_closed_ends_the_await(run, card, owner, kind):
    async def main():
        owner.freeze()
        async with pydoca.ProgressEngine() as pe:
            pending = asyncio.ensure_future(begin(pe, card, owner, kind))
            await asyncio.sleep(0)
            with pytest.raises(pydoca.InUseError, match="import"):
                pe.release_thread()
        with pytest.raises(pydoca.ShutdownError, match="its progress engine was closed"):
            await asyncio.wait_for(pending, 20)

    run(main())
