"""Promises of tasks on sync events of network peers: each changes its own event, and reports the event's end."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import pydoca
from pydoca.qualify.bench.contracts.transfers import MOST, WORD, require_freed, tasks
from pydoca.qualify.bench.objects.told import require_told
from pydoca.qualify.bench.rdma.pair import Pair
from pydoca.qualify.bench.waiting import Stand, duty, finish, require_value

_SIZE = 64  # bytes of memory at each end


def events(device: pydoca.Device, rounds: int, rng: random.Random) -> int:
    """Tasks on one of two events of a peer change only that event, and append eight bytes; returns how many rounds."""
    with Stand() as stand:
        pair = Pair(stand, device, device, _SIZE, num_tasks=tasks(device))
        with duty("two sync events of a network peer"):
            own = [
                stand.enter_context(pydoca.SyncEvent(device, publisher="remote_net", subscriber="cpu")) for _ in "ab"
            ]
            there = [
                stand.enter_context(device.import_sync_event_remote_net(each.export_to_remote_net())) for each in own
            ]
        require_told(
            "an event of a network peer",
            {"of": there[0].device, "closed": there[0].closed},
            {"of": device, "closed": False},
        )
        src = pair.data(pair.here.mmap, pair.here.address(8), WORD)
        dst = pair.room(pair.here.mmap, pair.here.address(16), 3 * WORD)
        with duty("tasks on an event of a network peer"):
            setting = pair.ab.remote_net_sync_event_notify_set(there[0], src, submit=False)
            adding = pair.ab.remote_net_sync_event_notify_add(there[0], dst, 1, submit=False)
            getting = pair.ab.remote_net_sync_event_get(there[0], dst, submit=False)
        values = [0, 0]
        for number in range(rounds):
            place, what = rng.randrange(2), f"round {number} of tasks on an event of a network peer"
            first, step = rng.getrandbits(64), rng.choice((1, MOST, rng.getrandbits(64)))
            dst.reset_data_len()
            pair.here.data(8, WORD).view(np.uint64)[0] = first
            for task in (setting, adding, getting):
                task.sync_event = there[place]
            adding.add_data = step
            values[place] = (first + step) & MOST
            results = [_submitted(task, what) for task in (setting, adding, getting)]
            told = {"results": results, "values": [event.get() for event in own], "appended": dst.data_len}
            told["written"] = pair.here.data(16, 2 * WORD).view(np.uint64).tolist()
            must = {"results": [None, first, values[place]], "values": values, "appended": 2 * WORD}
            require_told(what, told, {**must, "written": [first, values[place]]})
        for task in (setting, adding, getting):
            require_freed(task)
        _closed(device, own[0], there[0], values[0])
    return rounds


def _submitted(task: pydoca.RdmaTask, what: str) -> Any:
    with duty(what):
        task.submit()
    return finish(task, what)


def _closed(device: pydoca.Device, own: pydoca.SyncEvent, there: pydoca.SyncEventRemoteNet, value: int) -> None:
    """Checks that a closed import refuses, may be closed again, and leaves the event; another import is possible."""
    there.close()
    there.close()
    require_told("an event of a peer that is closed", {"closed": there.closed}, {"closed": True})
    require_value(own.get(), value, "an event after the end of its import")
    with duty("another import of an event"), device.import_sync_event_remote_net(own.export_to_remote_net()) as other:
        require_told("another import of an event", {"closed": other.closed}, {"closed": False})
    require_told("an event of a peer behind its with block", {"closed": other.closed}, {"closed": True})
