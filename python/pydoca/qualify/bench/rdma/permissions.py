"""Permissions of a peer: it may do what both the memory's and the context's permissions allow, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import pydoca
from pydoca import Access
from pydoca.qualify.bench import waiting
from pydoca.qualify.bench.maps import is_refused
from pydoca.qualify.bench.patterns import prbs31
from pydoca.qualify.bench.rdma.pair import Pair, see
from pydoca.qualify.bench.waiting import DeviceFault, Stand, duty
from pydoca.qualify.bench.zones import require_equal

_FLAGS = (Access.RDMA_READ, Access.RDMA_WRITE, Access.RDMA_ATOMIC)
_SIZE = 64


class _Operation(NamedTuple):
    """An operation: the permission that it needs, how it begins, and the end whose memory it changes."""

    needs: Access
    begin: Callable[[Pair, pydoca.Buf, pydoca.Buf], pydoca.RdmaTask]  # local and remote bufs
    changes_peer: bool
    kind: str


def _read(pair: Pair, here: pydoca.Buf, there: pydoca.Buf) -> pydoca.RdmaTask:
    here.reset_data_len()
    return pair.ab.read(there, here)


def _write(pair: Pair, here: pydoca.Buf, there: pydoca.Buf) -> pydoca.RdmaTask:
    there.reset_data_len()
    return pair.ab.write(here, there)


def _write_imm(pair: Pair, here: pydoca.Buf, there: pydoca.Buf) -> pydoca.RdmaTask:
    there.reset_data_len()
    pair.b.receive(None).add_done_callback(see)
    return pair.ab.write_imm(here, there, 1)


def _swap(pair: Pair, here: pydoca.Buf, there: pydoca.Buf) -> pydoca.RdmaTask:
    here.reset_data_len()
    value = int.from_bytes(pair.theirs.data(0, 8).tobytes(), "little")
    return pair.ab.atomic_cmp_swp(there, here, value, value ^ 1)


def _add(pair: Pair, here: pydoca.Buf, there: pydoca.Buf) -> pydoca.RdmaTask:
    here.reset_data_len()
    return pair.ab.atomic_fetch_add(there, here, 1)


_OPERATIONS: dict[str, _Operation] = {
    "read": _Operation(Access.RDMA_READ, _read, False, "read"),
    "write": _Operation(Access.RDMA_WRITE, _write, True, "write"),
    "write with a number": _Operation(Access.RDMA_WRITE, _write_imm, True, "write_imm"),
    "exchange": _Operation(Access.RDMA_ATOMIC, _swap, True, "atomic_cmp_swp"),
    "addition": _Operation(Access.RDMA_ATOMIC, _add, True, "atomic_fetch_add"),
}


def cells(device: pydoca.Device, is_complete: bool) -> Iterator[tuple[str, bool, bool]]:
    """Tries each operation with permissions of memory and context; yields name, permission and success.

    is_complete means all combinations; otherwise all permissions, and all but one, of both.
    """
    whole = reduce(or_, _FLAGS)
    some = [Access(bits) for bits in range(1, 16) if bits & int(whole) == bits] if is_complete else []
    choices = some or [whole, *(whole & ~flag for flag in _FLAGS)]
    operations = {
        name: each
        for name, each in _OPERATIONS.items()
        if pydoca.Rdma.is_task_supported(device.info, each.kind)  # type: ignore[arg-type]
    }
    for of_memory, of_context in itertools.product(choices, repeat=2):
        for name, operation in operations.items():
            where = f"{name} with {_said(of_memory)} of the memory and {_said(of_context)} of the context"
            is_allowed = bool(operation.needs & of_memory & of_context)
            yield where, is_allowed, _is_done(device, operation, of_memory, of_context, where)


def _said(access: Access) -> str:
    return "+".join(str(flag.name).removeprefix("RDMA_").lower() for flag in _FLAGS if flag in access)


def _is_done(device: pydoca.Device, operation: _Operation, of_memory: Access, of_context: Access, what: str) -> bool:
    """Tells whether the operation succeeds; a refused one must not change memory of either end."""
    options: dict[str, Any] = {"access": of_memory | Access.LOCAL_READ_WRITE, "permissions": of_context}
    with Stand() as stand:
        pair = Pair(stand, device, device, _SIZE, **options)
        ends = pair.here, pair.theirs
        for number, end in enumerate(ends):
            end.guard(0, _SIZE)
            end.data(0, _SIZE)[:] = prbs31(_SIZE, number + 1)
        before = [end.array.copy() for end in ends]
        with duty(what):
            here = pair.data(pair.here.mmap, pair.here.address(0), _SIZE)
            there = pair.data(pair.there, pair.theirs.address(0), _SIZE)
        if is_refused(lambda: operation.begin(pair, here, there).wait(timeout=waiting.PATIENCE)):
            for end, array in zip(ends, before, strict=True):
                require_equal(end.array, array, f"{what}, which is refused")
            return False
        changed = pair.theirs if operation.changes_peer else pair.here
        if (changed.array == before[operation.changes_peer]).all():
            raise DeviceFault(f"{what} succeeds, and changes nothing")
        return True
