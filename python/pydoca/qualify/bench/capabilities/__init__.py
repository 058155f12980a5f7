"""The limits that a device states for each library: each is reached, and one more is refused."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import NamedTuple

import pydoca
from pydoca.qualify.bench.capabilities import copies, events, expansions, messages, transfers
from pydoca.qualify.bench.sides import both_sides, names_of_link

_OTHERS = 128  # descriptors
_BYTES = 64 << 20
_TASKS = 1 << 16
_ELEMENTS = 1 << 12


class Limit(NamedTuple):
    """The check of one limit, and how far a case of a level goes."""

    check: Callable[[pydoca.Device, int], None]
    quick: int
    full: int
    descriptors: int = 0  # descriptors of this process for each one


# The names are those of the capabilities.
LIMITS: dict[str, Limit] = {
    "dma.max_buf_size": Limit(copies.copied_bytes, _BYTES, _BYTES),
    "dma.max_buf_list_len": Limit(copies.copied_elements, _ELEMENTS, _ELEMENTS),
    "dma.max_num_tasks": Limit(copies.copies, _TASKS, _TASKS),
    "sha.max_src_buf_size": Limit(copies.hashed_bytes, _BYTES, _BYTES),
    "sha.max_list_buf_num_elem": Limit(copies.hashed_elements, _ELEMENTS, _ELEMENTS),
    "sha.max_num_tasks": Limit(copies.digests, _TASKS, _TASKS),
    "compress.decompress_deflate_max_buf_size": Limit(expansions.expanded_bytes, _BYTES, _BYTES),
    "compress.decompress_deflate_max_buf_list_len": Limit(expansions.expanded_elements, _ELEMENTS, _ELEMENTS),
    "compress.max_num_tasks": Limit(expansions.expansions, _TASKS, _TASKS),
    "mmap_advise.max_buf_size": Limit(copies.invalidated_bytes, _BYTES, _BYTES),
    "mmap_advise.max_num_tasks": Limit(copies.invalidations, _TASKS, _TASKS),
    "sync_event.max_num_tasks": Limit(events.tasks, _TASKS, _TASKS),
    "comch.max_msg_size": Limit(messages.bytes_of_message, _BYTES, _BYTES),
    "comch.max_name_len": Limit(messages.bytes_of_name, _ELEMENTS, _ELEMENTS),
    "comch.max_recv_queue_size": Limit(messages.waiting_messages, _TASKS, _TASKS),
    "comch.max_send_tasks": Limit(messages.sends, _TASKS, _TASKS),
    "comch.max_clients": Limit(messages.clients, 1 << 7, 1 << 11, descriptors=4),
    "rdma.max_send_queue_size": Limit(transfers.writes, _TASKS, _TASKS),
    "rdma.max_recv_queue_size": Limit(transfers.receives, _TASKS, _TASKS),
    "rdma.max_send_buf_list_len": Limit(transfers.sent_elements, _ELEMENTS, _ELEMENTS),
    "rdma.max_recv_buf_list_len": Limit(transfers.received_elements, _ELEMENTS, _ELEMENTS),
    "rdma.max_message_size": Limit(transfers.bytes_of_message, _BYTES, _BYTES),
    "rdma.max_num_connections": Limit(transfers.connections, 1 << 8, 1 << 10, descriptors=20),
}


def value_of(device: pydoca.Device, name: str) -> int:
    """The limit that the device states; 0 if it does not have the library."""
    library, _, field = name.partition(".")
    return int(getattr(getattr(device.info.capabilities, library), field, 0))


def why_not(device: pydoca.Device, name: str, level: str) -> str:
    """The reason why the limit is not checked; empty if it is checked."""
    library, value = name.partition(".")[0], value_of(device, name)
    limit = LIMITS[name]
    farthest = limit.quick if level == "quick" else limit.full
    if not value:
        return f"{device.name} has no {library}"
    if library == "comch":
        if device.info.backend != "sim" or names_of_link(device) is None:
            return f"this process does not see both ends of the link of {device.name}"
        with both_sides(device) as sides:
            if value_of(sides.host, name) != value_of(sides.dpu, name):
                return "the two ends of the link have different limits"
    if value > farthest:
        return f"{device.name} has {value:,}, and this case goes to {farthest:,}"
    may_open, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit.descriptors * (value + 1) + _OTHERS > may_open:
        return f"{value:,} would take more descriptors than the {may_open:,} that this process may open (ulimit -n)"
    return ""
