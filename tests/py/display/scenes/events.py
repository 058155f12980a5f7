"""Sync events."""

from __future__ import annotations

import contextlib

import pydoca
from scenes.stack import Stack, scene


@scene
def event_new(stack: Stack) -> object:
    return pydoca.SyncEvent(stack.host())


@scene
def event_started(stack: Stack) -> object:
    event = stack.event(subscriber="remote_pci")
    event.update_set(0x1234567890)
    return event


@scene
def event_imported(stack: Stack) -> object:
    blob = stack.event(publisher="remote_pci").export_to_remote_pci()
    return stack.enter_context(stack.dpu().import_sync_event(blob))


@scene
def event_of_a_dead_peer(stack: Stack) -> object:
    with pydoca.SyncEvent(stack.host(), publisher="remote_pci") as event:
        return stack.enter_context(stack.dpu().import_sync_event(event.export_to_remote_pci()))


@scene
def event_asynchronous(stack: Stack) -> object:
    event = pydoca.SyncEvent(stack.host())
    stack.enter_context(event.as_context(stack.engine()))
    return event


@scene
def event_stopped(stack: Stack) -> object:
    event = pydoca.SyncEvent(stack.host())
    event.start()
    event.stop()
    return event


@scene
def event_closed(stack: Stack) -> object:
    with pydoca.SyncEvent(stack.host()) as event:
        return event


@scene
def event_context(stack: Stack) -> object:
    context = stack.enter_context(pydoca.SyncEvent(stack.host()).as_context(stack.engine(), {"get": 4, "wait_eq": 100}))
    waits = [context.wait_eq(index + 1) for index in range(3)]
    stack.callback(_cancel, waits)
    return context


def _cancel(waits: list[pydoca.SyncEventTask]) -> None:
    for wait in waits:
        wait.cancel()
        with contextlib.suppress(pydoca.ShutdownError):
            wait.wait(10)


@scene
def event_task(stack: Stack) -> object:
    context = stack.enter_context(pydoca.SyncEvent(stack.host()).as_context(stack.engine()))
    task = context.wait_eq(0xFF00, 0xFF00)
    stack.callback(_cancel, [task])
    return task


@scene
def event_of_a_network_peer(stack: Stack) -> object:
    event = stack.enter_context(pydoca.SyncEvent(stack.host(), publisher="remote_net"))
    return stack.enter_context(stack.dpu().import_sync_event_remote_net(event.export_to_remote_net()))
