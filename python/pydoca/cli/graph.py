"""`pydoca graph`: DOCA's graph sample. Two engines work on a message side by side, then a function compares."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

import pydoca
from pydoca.cli._arguments import Subparsers, add_command, add_json, add_profile, load_profile, offer, tell_doca_flags
from pydoca.cli._candidates import devices
from pydoca.cli._errors import CommandError, UsageError
from pydoca.cli._output import print_json
from pydoca.cli._values import count, size, utf8

_DESCRIPTION = "Run a graph: two engines work on a message side by side, then a function compares what they made."


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "graph", _DESCRIPTION, check=check, run=run)
    tell_doca_flags(parser, {"-p -d --pci-addr": "--device"})
    add_json(parser)
    device = parser.add_argument(
        "--device", type=utf8, metavar="NAME", help="unless told, one with a SHA engine if there is one"
    )
    offer(device, devices)
    add_profile(parser)
    parser.add_argument(
        "--instances", type=count, metavar="N", default=10, help="that run at the same time (default: 10)"
    )
    parser.add_argument(
        "--size", type=size, metavar="BYTES", default=1024, help="of each message; also 4K, 1M (default: 1024)"
    )
    parser.add_argument("--dot", action="store_true", help="write the graph in Graphviz' language, and run nothing")


def check(arguments: argparse.Namespace) -> None:
    """argparse checks the rest."""
    if arguments.dot and arguments.json:
        raise UsageError("--dot writes Graphviz' language, and --json JSON: give one of them")


def run(arguments: argparse.Namespace) -> int:
    load_profile(arguments)
    with contextlib.ExitStack() as stack:
        device = stack.enter_context(_open(arguments.device))
        _check_size(device.info, arguments.size)
        most = pydoca.Dma.max_num_tasks(device.info) // 2
        if arguments.instances > most:
            raise CommandError(f"--instances {arguments.instances}: {device.name} runs at most {most} at a time")
        sample = _Sample(stack, device, arguments.instances)
        if arguments.dot:
            print(sample.graph.to_dot(), end="")
            return 0
        runs = [sample.submit(secrets.token_bytes(arguments.size)) for _ in range(arguments.instances)]
        for instance in runs:
            instance.wait()
        _tell(sample, runs, arguments)
    return 0


def _check_size(info: pydoca.DeviceInfo, size: int) -> None:
    """Raises for a size that the device cannot take, before any memory of that size is made."""
    limits = [pydoca.Dma.max_buf_size(info)]
    if pydoca.Sha.is_supported(info):
        limits.append(pydoca.Sha.max_src_buf_size(info))
    if size > min(limits):
        raise CommandError(f"--size {size}: a task of {info.name} takes at most {min(limits)} bytes; give fewer")


def _open(name: str | None) -> pydoca.Device:
    if name is not None:
        return pydoca.open_device(name, capability="dma")
    try:
        return pydoca.open_device(side="dpu", capability="sha")
    except pydoca.NotFoundError:
        return pydoca.open_device(side="dpu", capability="dma")


@dataclass
class _Message:
    """The operands of an instance, and the results of its two engines."""

    source: bytes
    copy: pydoca.Memory
    other: pydoca.Memory  # a digest, or another copy
    digest: str | None = None  # in hexadecimal, as compare() got it


class _Sample:
    """The graph: a copy beside a digest, or beside another copy where the device has no SHA engine; then compare()."""

    def __init__(self, stack: contextlib.ExitStack, device: pydoca.Device, num_instances: int) -> None:
        self.device = device
        self._stack = stack
        pe = stack.enter_context(pydoca.ProgressEngine())
        self._dma = stack.enter_context(pydoca.Dma(pe, device, num_tasks=2 * num_instances))
        has_sha = device.info.capabilities.sha is not None
        self._sha = stack.enter_context(pydoca.Sha(pe, device, num_tasks=num_instances)) if has_sha else None
        self._inventory = stack.enter_context(pydoca.BufInventory(4 * num_instances))
        self.messages: list[_Message] = []
        self.graph = pydoca.Graph(pe, num_instances=num_instances, timing=True)
        self._copying = self.graph.node(self._dma)
        self._other = self.graph.node(self._sha or self._dma)
        self._comparing = self.graph.node(self.compare, after=[self._copying, self._other])
        stack.enter_context(self.graph)

    def submit(self, source: bytes) -> pydoca.GraphInstance:
        digest_size = hashlib.sha256().digest_size
        message = _Message(source, pydoca.alloc(len(source)), pydoca.alloc(digest_size if self._sha else len(source)))
        self.messages.append(message)
        maps = [self._stack.enter_context(self.device.mmap(memory)) for memory in (source, message.copy, message.other)]
        copy_of = self._inventory.get_by_addr(maps[1])
        made = self._inventory.get_by_addr(maps[2])
        other: pydoca.Task
        if self._sha is not None:
            other = self._sha.hash(self._inventory.get_by_data(maps[0]), made, submit=False)
        else:
            other = self._dma.memcpy(self._inventory.get_by_data(maps[0]), made, submit=False)
        copying = self._dma.memcpy(self._inventory.get_by_data(maps[0]), copy_of, submit=False)
        return self.graph.run({self._copying: copying, self._other: other, self._comparing: message})

    def compare(self, message: _Message) -> None:
        copied, other = bytes(message.copy), bytes(message.other)
        expected = hashlib.sha256(message.source).digest() if self._sha else message.source
        if (copied, other) != (message.source, expected):
            raise ValueError("the engines do not agree about the message")
        message.digest = other.hex() if self._sha else None


def _tell(sample: _Sample, runs: list[pydoca.GraphInstance], arguments: argparse.Namespace) -> None:
    if not arguments.json:
        print(f"{len(runs)} instance(s) on {sample.device.name}, {arguments.size} bytes each; the last one:")
        print(runs[-1])
        if (digest := sample.messages[-1].digest) is not None:
            print(f"compare got the SHA-256 {digest}")
        return
    print_json(
        {
            "device": sample.device.name,
            "size": arguments.size,
            "digests": [message.digest for message in sample.messages],
            "instances": [[_node(instance, node) for node in sample.graph.nodes] for instance in runs],
        }
    )


def _node(instance: pydoca.GraphInstance, node: pydoca.GraphNode) -> dict[str, Any]:
    started, ended = instance.node_times(node)
    return {
        "node": node.index,
        "type": node.type,
        "state": instance.node_state(node).name,
        "started_ns": started,
        "ended_ns": ended,
    }
