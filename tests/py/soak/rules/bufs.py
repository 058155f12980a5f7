"""Bufs, lists of them, inventories and pools: an exact model of the owner of each element."""

from typing import Any

from hypothesis import strategies as st

import pydoca
from pydoca import Status
from soak.rules.memory import Memories
from soak.world import NUMBER, step

SIZE = 4096
ELEMENTS = 24
POOLED = 4


class Chain:
    """A list of bufs, by its head, with the count of its references."""

    def __init__(self, *elements: Any) -> None:
        self.elements = list(elements)
        self.count = 1


class Bufs(Memories):
    """One inventory and one pool; tasks do not use their bufs, so the model knows every element."""

    def set_up(self) -> None:
        super().set_up()
        self.inventory = pydoca.BufInventory(ELEMENTS)
        self.buf_map = self.dpu.mmap(pydoca.alloc(SIZE))
        self.chains: list[Chain] = []
        self.pool_map = self.dpu.mmap(bytearray(SIZE))
        self.pool = pydoca.BufPool(POOLED, 100, self.pool_map, element_alignment=1)
        self.pooled: list[Any] = []

    def chain(self, number: int) -> Chain | None:
        return self.chains[number % len(self.chains)] if self.chains else None

    def check_all(self) -> None:
        super().check_all()
        used = sum(len(chain.elements) for chain in self.chains)
        assert self.inventory.num_free_elements == ELEMENTS - used
        assert self.buf_map.num_bufs == used
        assert self.pool.num_free_elements == POOLED - len(self.pooled)

    @step(offset=st.integers(0, SIZE + 8), length=st.integers(0, SIZE + 8), data=NUMBER)
    def get_buf(self, offset: int, length: int, data: int) -> None:
        fits = offset + length <= SIZE and length > 0
        free = self.inventory.num_free_elements > 0
        expected = (set() if fits else {Status.INVALID_VALUE}) | (set() if free else {Status.NO_MEMORY})
        start = self.buf_map.addr + offset
        head = min(data, length)
        arguments = (self.buf_map, start, length, start + head, length - head)
        buf = self.attempt(expected | {Status.INVALID_VALUE}, self.inventory.get_by_args, *arguments)
        if buf is not None:
            assert fits
            assert (buf.len, buf.headroom, buf.data_len, buf.tailroom) == (length, head, length - head, 0)
            self.chains.append(Chain(buf))

    @step(number=NUMBER, other=NUMBER)
    def chain_bufs(self, number: int, other: int) -> None:
        first, second = self.chain(number), self.chain(other)
        if first is None or second is None:
            return
        can = first is not second and second.count == 1
        joined = self.attempt(set() if can else {Status.NOT_PERMITTED}, first.elements[0].chain, second.elements[0])
        assert joined is None
        if can:
            first.elements += second.elements
            self.chains.remove(second)

    @step(number=NUMBER, place=NUMBER)
    def unchain(self, number: int, place: int) -> None:
        chain = self.chain(number)
        if chain is None:
            return
        cut = place % len(chain.elements)
        expected = {Status.INVALID_VALUE, Status.NOT_PERMITTED} if cut == 0 else set()
        self.attempt(expected, chain.elements[0].unchain, chain.elements[cut])
        if cut:
            self.chains.append(Chain(*chain.elements[cut:]))
            del chain.elements[cut:]

    @step(number=NUMBER)
    def read_chain(self, number: int) -> None:
        chain = self.chain(number)
        if chain is None:
            return
        head = chain.elements[0]
        assert list(head) == chain.elements or [b.head for b in head] == [b.head for b in chain.elements]
        assert head.list_len == len(chain.elements)
        assert head.refcount == chain.count
        assert head.is_first
        assert head.last.is_last
        assert head.is_in_list == (len(chain.elements) > 1)

    @step(number=NUMBER)
    def duplicate(self, number: int) -> None:
        chain = self.chain(number)
        if chain is None:
            return
        enough = self.inventory.num_free_elements >= len(chain.elements)
        copy = self.attempt(set() if enough else {Status.NO_MEMORY}, self.inventory.dup, chain.elements[0])
        if copy is not None:
            self.chains.append(Chain(*copy))

    @step(number=NUMBER)
    def add_reference(self, number: int) -> None:
        if chain := self.chain(number):
            assert chain.elements[0].inc_refcount() == chain.count
            chain.count += 1

    @step(number=NUMBER, close=st.booleans())
    def remove_reference(self, number: int, close: bool) -> None:
        chain = self.chain(number)
        if chain is None:
            return
        head = chain.elements[0]
        if close:
            head.close()
            chain.count = 0
        else:
            assert head.dec_refcount() == chain.count
            chain.count -= 1
        if chain.count == 0:
            self.chains.remove(chain)
            assert all(buf.is_released for buf in chain.elements)
            self.refused((pydoca.BadStateError,), head.inc_refcount)
            self.keep("released buf", head)

    @step(number=NUMBER)
    def drop_chain(self, number: int) -> None:
        """A list whose handles are dropped is released."""
        chain = self.chain(number)
        if chain is not None:
            self.chains.remove(chain)

    @step(number=NUMBER, data=st.integers(-1, SIZE + 1), length=st.integers(-1, SIZE + 1))
    def move_data(self, number: int, data: int, length: int) -> None:
        chain = self.chain(number)
        if chain is None:
            return
        buf = chain.elements[0]
        fits = data >= 0 and length >= 0 and data + length <= buf.len
        if not fits:
            errors = (pydoca.InvalidValueError, OverflowError)
            self.refused(errors, buf.set_data, buf.head + data, length)
            return
        buf.set_data(buf.head + data, length)
        assert (buf.headroom, buf.data_len, buf.tailroom) == (data, length, buf.len - data - length)

    @step(number=NUMBER)
    def take_from_pool(self, number: int) -> None:
        expected = set() if len(self.pooled) < POOLED else {Status.EMPTY}
        if not self.pool.is_started:
            expected = {Status.BAD_STATE, Status.EMPTY}
        buf = self.attempt(expected, self.pool.alloc)
        if buf is not None:
            assert (buf.len, buf.data_len) == (100, 0)
            assert all(buf.head != other.head for other in self.pooled)
            self.pooled.append(buf)

    @step(number=NUMBER, close=st.booleans())
    def give_back_to_pool(self, number: int, close: bool) -> None:
        if self.pooled:
            buf = self.pooled.pop(number % len(self.pooled))
            if close:
                buf.close()

    @step()
    def stop_pool(self) -> None:
        self.attempt({Status.IN_USE} if self.pooled else set(), self.pool.stop)
        self.attempt({Status.BAD_STATE} if self.pooled else (), self.pool.set_element_alignment, 1)
        self.pool.start()

    @step()
    def close_what_is_in_use(self) -> None:
        if self.chains:
            self.refused((pydoca.InUseError,), self.inventory.close)
            self.refused((pydoca.NotPermittedError,), self.buf_map.close)
        if self.pooled:
            self.refused((pydoca.InUseError,), self.pool.close)

    def close_all(self) -> None:
        super().close_all()
        self.chains.clear()
        self.pooled.clear()
        self.made["released buf"].clear()
        assert self.inventory.num_free_elements == ELEMENTS
        self.inventory.close()
        self.pool.close()
        self.buf_map.close()
        self.pool_map.close()
