"""`pydoca sync-event local` and `pydoca sync-event remote`: two processes that signal each other by a sync event.

There is one event, as in DOCA's sample. local makes it, hands its blob over comch, publishes the signal and waits for
the answer; remote imports it, waits for the signal and publishes the answer. Each may run on either side.
"""

from __future__ import annotations

import argparse
import os
import shlex
import time
from contextlib import AsyncExitStack
from typing import Any

import pydoca
from pydoca.cli._errors import CommandError
from pydoca.cli._log_output import log
from pydoca.cli._output import print_json
from pydoca.cli._two_processes import comch_link
from pydoca.cli._two_processes.event_loop import run as run_loop
from pydoca.cli._two_processes.messages import Closed, Event, Imported, Part
from pydoca.cli._two_processes.peer import Peer
from pydoca.cli._two_processes.report import Terminal
from pydoca.cli.sync_event._counter import Counter, start

# The values of the event, one after another; adding the difference has the same result as setting.
BEGIN, SIGNAL, ANSWER = 0, 10, 20
_HANG_UP = 1.0  # seconds that the local part has to hang up

_OTHER = {"local": "remote", "remote": "local"}
_USUAL_SIDE = {"local": pydoca.Side.HOST, "remote": pydoca.Side.DPU}


def run(arguments: argparse.Namespace) -> int:
    result = run_loop(_handshake(arguments))
    if arguments.json:
        print_json(result)
    else:
        _print_text(result)
    return 0


async def _handshake(arguments: argparse.Namespace) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        device = stack.enter_context(_open_device(arguments))
        _require_tasks(device.info, arguments)
        engine = await stack.enter_async_context(pydoca.ProgressEngine())
        peer = await _meet(stack, engine, device, arguments)
        async with comch_link.at_most(arguments.timeout, f"the handshake with the {_OTHER[arguments.part]} process"):
            await _agree_on_parts(peer, arguments.part)
            play = _play_local if arguments.part == "local" else _play_remote
            result = await peer.while_there(play(peer, engine, device, arguments))
        if arguments.part == "remote":
            await peer.wait_for_end(_HANG_UP)
        return {**_setting(device, arguments), **result}


def _open_device(arguments: argparse.Namespace) -> pydoca.Device:
    """Opens a device of the part's usual side, unless the given representor or device is of the other side."""
    selector, rep = arguments.pci_addr, arguments.rep_pci_addr
    if rep is not None or (selector is None and _USUAL_SIDE[arguments.part] == pydoca.Side.DPU):
        return comch_link.open_dpu_device(selector, rep)
    if selector is None:
        return comch_link.open_host_device(None)
    try:
        return pydoca.open_device(selector, side=_USUAL_SIDE[arguments.part])
    except pydoca.NotFoundError:
        return pydoca.open_device(selector)


def _require_tasks(info: pydoca.DeviceInfo, arguments: argparse.Namespace) -> None:
    if arguments.async_num_tasks is None:
        arguments.async_num_tasks = 1
    if arguments.async_num_tasks > (most := pydoca.SyncEventContext.max_num_tasks(info)):
        raise CommandError(
            f"--async_num_tasks {arguments.async_num_tasks}: {info.name} takes at most {most} tasks of a kind"
        )


async def _meet(
    stack: AsyncExitStack, engine: pydoca.ProgressEngine, device: pydoca.Device, arguments: argparse.Namespace
) -> Peer:
    meeting = comch_link.Meeting(arguments.name, arguments.timeout, _command_of_other(device, arguments))
    reporter = Terminal(quiet=False)
    if device.side == pydoca.Side.DPU:
        rep = stack.enter_context(comch_link.open_representor(device, arguments.rep_pci_addr))
        arguments.rep_pci_addr = rep.pci_addr
        link = await comch_link.accept(stack, engine, device, rep, meeting, reporter)
    else:
        link = await comch_link.connect(stack, engine, device, meeting, reporter)
    return await stack.enter_async_context(Peer(link, f"the {_OTHER[arguments.part]} process", "handshake"))


async def _agree_on_parts(peer: Peer, part: str) -> None:
    await peer.send(Part(part))
    if (other := (await peer.receive(Part)).name) == part:
        raise CommandError(f"both processes are {other!r}: one must be {_OTHER[other]!r}")


def _command_of_other(device: pydoca.Device, arguments: argparse.Namespace) -> str:
    name = f" --name {shlex.quote(arguments.name)}" if arguments.name != "sync-event" else ""
    if device.side == _USUAL_SIDE[arguments.part]:
        return f"pydoca sync-event {_OTHER[arguments.part]}{name}"
    return f"pydoca sync-event {_OTHER[arguments.part]} -d DEVICE{name}"  # DEVICE is one of the other side


async def _play_local(
    peer: Peer, engine: pydoca.ProgressEngine, device: pydoca.Device, arguments: argparse.Namespace
) -> dict[str, Any]:
    event = pydoca.SyncEvent(device, subscriber="remote_pci")
    async with AsyncExitStack() as stack:
        counter = await start(stack, engine, event, arguments)
        await peer.send(Event.of(event.export_to_remote_pci()))
        await peer.receive(Imported)
        begin = time.perf_counter()
        before = await _publish(counter, SIGNAL, BEGIN)
        seen = await _wait(counter, ANSWER)
        seconds = time.perf_counter() - begin
        await peer.receive(Closed)
    return {**_outcome(counter, SIGNAL, before, seen), "round_trip_seconds": round(seconds, 9)}


async def _play_remote(
    peer: Peer, engine: pydoca.ProgressEngine, device: pydoca.Device, arguments: argparse.Namespace
) -> dict[str, Any]:
    blob = (await peer.receive(Event)).decoded_blob()
    async with AsyncExitStack() as stack:
        counter = await start(stack, engine, device.import_sync_event(blob), arguments)
        await peer.send(Imported())
        seen = await _wait(counter, SIGNAL)
        before = await _publish(counter, ANSWER, SIGNAL)
    await peer.send(Closed())
    return _outcome(counter, ANSWER, before, seen)


async def _publish(counter: Counter, value: int, over: int) -> int | None:
    before = await counter.publish(value, over)
    log.info("published %d", value)
    return before


async def _wait(counter: Counter, value: int) -> int:
    log.info("waiting for %d with %s", value, counter.waited_with)
    return await counter.wait(value)


def _setting(device: pydoca.Device, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "part": arguments.part,
        "side": device.side.name.lower(),
        "device": device.pci_addr,
        "representor": arguments.rep_pci_addr,
        "mode": "asynchronous" if arguments.is_async else "synchronous",
        "pid": os.getpid(),
    }


def _outcome(counter: Counter, published: int, before: int | None, seen: int) -> dict[str, Any]:
    return {
        "published": published,
        "published_with": counter.published_with,
        "before": before,
        "seen": seen,
        "waited_with": counter.waited_with,
    }


def _print_text(result: dict[str, Any]) -> None:
    part, before = result["part"], result["before"]
    published = f"{part}: published {result['published']} with {result['published_with']}"
    if before is not None:
        published += f", over {before}"
    seen = f"{part}: saw {result['seen']} of the {_OTHER[part]} process with {result['waited_with']}"
    if part == "remote":
        print(seen, published, sep="\n")
    else:
        print(published, f"{seen}, {result['round_trip_seconds'] * 1e6:.0f} us later", sep="\n")
