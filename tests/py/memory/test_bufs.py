"""Inventories and bufs: sections, reference counts, lists."""

import gc
import weakref

import numpy as np
import pytest

import pydoca

BAD_STATE, NOT_PERMITTED, INVALID = pydoca.BadStateError, pydoca.NotPermittedError, pydoca.InvalidValueError


@pytest.fixture
def mmap():
    return pydoca.open_device("p0").mmap(bytearray(range(64)))


@pytest.fixture
def inventory():
    return pydoca.BufInventory(8)


@pytest.fixture
def bufs(inventory, mmap):
    """Four bufs of 16 bytes, all data."""
    return [inventory.get_by_data(mmap, mmap.addr + 16 * i, 16) for i in range(4)]


def sections(buf):
    return buf.headroom, buf.data_len, buf.tailroom


class TestInventory:
    def test_counts(self, mmap):
        inventory = pydoca.BufInventory(2, user_data="mine")
        assert (inventory.num_elements, inventory.num_free_elements, inventory.user_data) == (2, 2, "mine")
        assert inventory.is_started
        first, second = inventory.get_by_addr(mmap), inventory.get_by_addr(mmap)
        assert inventory.num_free_elements == 0
        with pytest.raises(pydoca.NoMemoryError, match="all 2 elements of the inventory are out"):
            inventory.get_by_addr(mmap)
        inventory.expand(1)
        third = inventory.get_by_addr(mmap)
        assert (inventory.num_elements, inventory.num_free_elements) == (3, 0)
        with pytest.raises(pydoca.InUseError, match="3 of 3"):
            inventory.close()
        del first, second, third
        assert inventory.num_free_elements == 3
        inventory.close()
        inventory.close()
        assert "closed" in repr(inventory)

    def test_states(self, mmap):
        inventory = pydoca.BufInventory(2, start=False)
        for use in (lambda: inventory.get_by_addr(mmap), lambda: inventory.expand(1)):
            with pytest.raises(BAD_STATE, match="start"):
                use()
        inventory.start()
        inventory.start()
        buf = inventory.get_by_addr(mmap)
        inventory.stop()
        assert buf.len == 64
        with pytest.raises(BAD_STATE, match="the inventory is stopped; start it first"):
            inventory.get_by_addr(mmap)
        with pytest.raises(BAD_STATE, match="start"):
            inventory.dup(buf)
        inventory.start()
        assert inventory.dup(buf).len == 64
        buf.close()
        inventory.close()
        with pytest.raises(BAD_STATE, match="closed"):
            inventory.start()

    def test_needs_a_started_map(self, inventory, mmap):
        mmap.stop()
        with pytest.raises(BAD_STATE, match=r"the mmap of 64 bytes at .* is not started; start it first"):
            inventory.get_by_addr(mmap)

    @pytest.mark.parametrize("count", [0, -1, 1 << 32, 1 << 70])
    def test_needs_a_possible_number(self, count, inventory):
        with pytest.raises(INVALID, match=rf"num_elements must be .*, not {count}"):
            pydoca.BufInventory(count)
        with pytest.raises(INVALID):
            inventory.expand(count)

    def test_with_starts_and_closes(self, mmap):
        with pydoca.BufInventory(1, start=False) as inventory:
            buf = inventory.get_by_addr(mmap)
            buf.close()
        assert inventory.num_elements == 0

    def test_is_kept_by_its_bufs(self, mmap):
        buf = pydoca.BufInventory(1).get_by_addr(mmap)
        assert buf.len == 64


class TestGet:
    def test_by_args(self, inventory, mmap):
        buf = inventory.get_by_args(mmap, mmap.addr + 8, 32, mmap.addr + 12, 4)
        assert (buf.head, buf.len, buf.data, buf.data_len) == (mmap.addr + 8, 32, mmap.addr + 12, 4)
        assert sections(buf) == (4, 4, 24)
        assert buf.refcount == 1
        assert buf.mmap is mmap
        assert "headroom 4, data 4, tailroom 24, refcount 1" in repr(buf)

    def test_by_addr_is_a_destination(self, inventory, mmap):
        assert sections(inventory.get_by_addr(mmap, mmap.addr + 4, 8)) == (0, 0, 8)
        assert sections(inventory.get_by_addr(mmap)) == (0, 0, 64)
        assert sections(inventory.get_by_addr(mmap, mmap.addr + 60)) == (0, 0, 4)
        assert sections(inventory.get_by_addr(mmap, len=5)) == (0, 0, 5)

    def test_by_data_is_a_source(self, inventory, mmap):
        assert sections(inventory.get_by_data(mmap, mmap.addr + 4, 8)) == (0, 8, 0)
        assert sections(inventory.get_by_data(mmap)) == (0, 64, 0)
        assert sections(inventory.get_by_data(mmap, data_len=5)) == (0, 5, 0)
        assert inventory.get_by_data(mmap, np.uint64(mmap.addr), np.int8(3)).data_len == 3

    @pytest.mark.parametrize(
        ("addr", "length"),
        [(-1, 8), (64, 1), (60, 5), (0, 65), (0, 0), (0, (1 << 64) - 1), (8, (1 << 64) - 4), (1 << 63, 1)],
    )
    def test_outside_the_map_is_refused(self, inventory, mmap, addr, length):
        with pytest.raises(INVALID, match=r"64 bytes at|at least 1 byte|addr must be|len must be"):
            inventory.get_by_addr(mmap, mmap.addr + addr, length)
        assert inventory.num_free_elements == 8

    @pytest.mark.parametrize(("data", "data_len"), [(7, 1), (25, 0), (8, 17), (24, 1), (8, (1 << 64) - 1)])
    def test_data_outside_the_buf_is_refused(self, inventory, mmap, data, data_len):
        with pytest.raises(INVALID, match="data"):
            inventory.get_by_args(mmap, mmap.addr + 8, 16, mmap.addr + data, data_len)

    def test_arguments_of_other_types_are_refused(self, inventory, mmap):
        for call in (
            lambda: inventory.get_by_addr(bytearray(8)),
            lambda: inventory.get_by_addr(None),
            lambda: inventory.get_by_addr(mmap, 1.5),
            lambda: inventory.get_by_addr(mmap, None, "8"),
            lambda: inventory.dup(mmap),
        ):
            with pytest.raises(TypeError):
                call()
        for number in (-5, 1 << 64):
            with pytest.raises(INVALID, match=f"addr must be .* not {number}"):
                inventory.get_by_addr(mmap, number)


class TestSections:
    def test_data_moves_within_the_buf(self, inventory, mmap):
        buf = inventory.get_by_addr(mmap)
        buf.set_data(buf.head + 16, 8)
        assert sections(buf) == (16, 8, 40)
        buf.data_len = 48
        assert sections(buf) == (16, 48, 0)
        buf.reset_data_len()
        assert sections(buf) == (16, 0, 48)
        buf.set_data(buf.head + 64, 0)
        assert sections(buf) == (64, 0, 0)

    @pytest.mark.parametrize(("offset", "length"), [(-1, 1), (65, 0), (60, 5), (0, 65), (1, (1 << 64) - 1)])
    def test_and_not_outside(self, inventory, mmap, offset, length):
        buf = inventory.get_by_data(mmap)
        with pytest.raises(INVALID, match="within the buf"):
            buf.set_data(buf.head + offset, length)
        assert sections(buf) == (0, 64, 0)
        with pytest.raises(INVALID, match="data_len = 65"):
            buf.data_len = 65
        with pytest.raises(INVALID, match="-1"):
            buf.data_len = -1


class TestReferences:
    def test_counts(self, inventory, mmap):
        buf = inventory.get_by_addr(mmap)
        assert buf.inc_refcount() == 1
        assert buf.refcount == 2
        assert buf.dec_refcount() == 2
        assert inventory.num_free_elements == 7
        assert buf.dec_refcount() == 1
        assert inventory.num_free_elements == 8

    def test_the_object_drops_what_it_has(self, inventory, mmap):
        buf = inventory.get_by_addr(mmap)
        buf.inc_refcount()
        buf.inc_refcount()
        del buf
        assert inventory.num_free_elements == 8
        assert mmap.num_bufs == 0

    def test_there_are_65535_at_most(self, inventory, mmap):
        buf = inventory.get_by_addr(mmap)
        for _ in range(65534):
            buf.inc_refcount()
        with pytest.raises(pydoca.TooBigError, match="65535"):
            buf.inc_refcount()
        assert buf.refcount == 65535
        buf.close()

    def test_a_released_buf_answers_bad_state(self, bufs):
        buf, other = bufs[:2]
        buf.dec_refcount()
        assert buf.is_released
        assert "released" in repr(buf)
        for attribute in [
            "head",
            "len",
            "data",
            "data_len",
            "headroom",
            "tailroom",
            "mmap",
            "refcount",
            "next",
            "last",
            "list_len",
            "is_first",
            "is_last",
            "is_in_list",
        ]:
            with pytest.raises(BAD_STATE, match="released"):
                getattr(buf, attribute)
        for use in (
            lambda: buf.set_data(0, 0),
            lambda: setattr(buf, "data_len", 0),
            buf.reset_data_len,
            buf.inc_refcount,
            buf.dec_refcount,
            lambda: buf.chain(other),
            lambda: other.chain(buf),
            lambda: buf.unchain(other),
            lambda: other.unchain(buf),
            lambda: list(buf),
            lambda: memoryview(buf),
            lambda: buf.__array_interface__,
            buf.__dlpack__,
            buf.__enter__,
            lambda: pydoca.BufInventory(1).dup(buf),
        ):
            with pytest.raises(BAD_STATE, match="released"):
                use()
        buf.close()

    def test_a_descriptor_used_again_is_another_buf(self, inventory, mmap):
        inventory.expand(1)
        old = inventory.get_by_addr(mmap, mmap.addr, 8)
        old.close()
        new = inventory.get_by_addr(mmap, mmap.addr + 8, 8)
        assert old.is_released
        assert new.head == mmap.addr + 8

    def test_with_releases(self, inventory, mmap):
        with inventory.get_by_addr(mmap) as buf:
            buf.inc_refcount()
            assert inventory.num_free_elements == 7
        assert inventory.num_free_elements == 8
        assert buf.is_released


class TestLists:
    def test_a_single_buf_is_a_list(self, bufs):
        buf = bufs[0]
        assert (buf.is_first, buf.is_last, buf.is_in_list, buf.list_len) == (True, True, False, 1)
        assert buf.next is None
        assert buf.last is buf
        assert list(buf) == [buf]

    def test_chaining(self, bufs):
        a, b, c, d = bufs
        a.chain(b)
        c.chain(d)
        a.chain(c)
        assert list(a) == bufs
        assert list(c) == [c, d]
        assert a.list_len == 4
        assert [buf.is_first for buf in bufs] == [True, False, False, False]
        assert [buf.is_last for buf in bufs] == [False, False, False, True]
        assert all(buf.is_in_list for buf in bufs)
        assert a.next is b
        assert a.last is b.last is d
        assert d.next is None

    def test_the_repr_of_a_list_says_what_it_has(self, bufs):
        bufs[0].chain(bufs[1])
        bufs[0].chain(bufs[2])
        assert "refcount 1, head of a list of 3 bufs with 48 bytes of data>" in repr(bufs[0])
        assert "refcount 1, chained to a buf before it>" in repr(bufs[1])
        assert "refcount 1>" in repr(bufs[3])

    def test_chaining_behind_a_tail_that_is_known(self, bufs):
        a, b, c, d = bufs
        a.chain_tail(a, b)
        a.chain_tail(b, c)
        assert list(a) == [a, b, c]
        assert a.last is c
        for head, tail in [(a, b), (b, c), (a, d)]:
            with pytest.raises(NOT_PERMITTED, match=r"chain_tail.*(tail is not the last|use the list's head)"):
                head.chain_tail(tail, d)
        assert d.is_first
        with pytest.raises(TypeError):
            a.chain_tail(None, d)

    def test_inner_elements_refuse_list_calls(self, bufs):
        a, b, c, _ = bufs
        a.chain(b)
        for call in (b.inc_refcount, b.dec_refcount, b.close, lambda: b.list_len, lambda: b.chain(c)):
            with pytest.raises(NOT_PERMITTED, match="head"):
                call()
        with pytest.raises(NOT_PERMITTED):
            c.chain(b)
        with pytest.raises(NOT_PERMITTED):
            a.chain(a)
        with pytest.raises(NOT_PERMITTED):
            pydoca.BufInventory(1).dup(b)
        assert b.refcount == 1

    def test_a_shared_list_is_not_chained(self, bufs):
        a, b, *_ = bufs
        b.inc_refcount()
        with pytest.raises(NOT_PERMITTED, match="chain"):
            a.chain(b)
        b.dec_refcount()
        a.chain(b)
        assert a.list_len == 2

    def test_unchaining(self, bufs):
        a, b, c, d = bufs
        for buf in (b, c, d):
            a.chain(buf)
        a.inc_refcount()
        a.unchain(c)
        assert (list(a), list(c)) == ([a, b], [c, d])
        assert (a.list_len, c.list_len) == (2, 2)
        assert (a.refcount, c.refcount) == (2, 1)
        assert c.is_first
        for list_, element in ((a, c), (a, a), (c, c), (b, a)):
            with pytest.raises((INVALID, NOT_PERMITTED), match="unchain"):
                list_.unchain(element)
        a.dec_refcount()
        c.chain(a)
        assert list(c) == [c, d, a, b]

    def test_releasing_the_head_releases_all(self, bufs, inventory, mmap):
        a, b, c, d = bufs
        a.chain(b)
        a.chain(c)
        a.dec_refcount()
        assert [buf.is_released for buf in bufs] == [True, True, True, False]
        assert inventory.num_free_elements == 7
        assert mmap.num_bufs == 1
        assert d.data_len == 16

    def test_one_elements_object_keeps_the_list(self, bufs, inventory):
        last = bufs[3]
        bufs[0].chain(bufs[1])
        bufs[0].chain(last)
        bufs.clear()
        assert inventory.num_free_elements == 5
        assert last.data_len == 16
        assert last.is_in_list
        del last
        assert inventory.num_free_elements == 8

    def test_elements_without_objects_get_new_ones(self, inventory, mmap):
        head = inventory.get_by_data(mmap, None, 8)
        for i in range(1, 4):
            head.chain(inventory.get_by_data(mmap, mmap.addr + 8 * i, 8))
        assert [buf.head - mmap.addr for buf in head] == [0, 8, 16, 24]
        second = head.next
        assert second is head.next
        assert second.mmap is mmap
        head.unchain(second.next)
        assert inventory.num_free_elements == 6

    def test_elements_of_several_inventories_go_back_to_theirs(self, mmap):
        one, two = pydoca.BufInventory(1), pydoca.BufInventory(1)
        head = one.get_by_addr(mmap)
        head.chain(two.get_by_addr(mmap))
        assert (one.num_free_elements, two.num_free_elements) == (0, 0)
        del head
        assert (one.num_free_elements, two.num_free_elements) == (1, 1)

    def test_dup_copies_the_list(self, bufs, inventory):
        a, b, c, _ = bufs
        a.chain(b)
        a.chain(c)
        b.set_data(b.head + 2, 3)
        a.inc_refcount()
        copy = inventory.dup(a)
        assert copy is not a
        assert copy.refcount == 1
        assert [sections(buf) for buf in copy] == [sections(buf) for buf in a]
        assert [buf.mmap for buf in copy] == [a.mmap] * 3
        assert inventory.num_free_elements == 1
        with pytest.raises(pydoca.NoMemoryError, match="1 of 8"):
            inventory.dup(a)
        assert inventory.num_free_elements == 1
        copy.close()
        assert inventory.num_free_elements == 4


class TestObjectsThatServeAgain:
    """The Python object of a buf serves the next buf; nothing of the first one shows."""

    def test_a_weak_reference_ends_with_its_buf(self, inventory, mmap):
        buf = inventory.get_by_data(mmap)
        weak = weakref.ref(buf)
        del buf
        later = inventory.get_by_data(mmap)
        assert weak() is None
        assert weakref.ref(later)() is later

    def test_the_next_buf_has_its_own_sections_and_source(self, mmap):
        first, other = pydoca.BufInventory(1), pydoca.BufInventory(1)
        buf = first.get_by_data(mmap)
        buf.inc_refcount()
        buf.set_data(buf.head + 8, 4)
        del buf
        buf = other.get_by_addr(mmap, len=32)
        assert (sections(buf), buf.refcount, buf.is_released, buf.mmap) == ((0, 0, 32), 1, False, mmap)
        assert (first.num_free_elements, other.num_free_elements) == (1, 0)

    def test_one_that_was_released_serves_again(self, inventory, mmap):
        buf = inventory.get_by_data(mmap)
        buf.close()
        del buf
        later = inventory.get_by_data(mmap)
        assert not later.is_released
        assert len(later) == 64

    def test_it_keeps_neither_map_nor_inventory(self):
        mmap, inventory = pydoca.open_device("p0").mmap(bytearray(64)), pydoca.BufInventory(1)
        ends = [weakref.ref(mmap), weakref.ref(inventory)]
        buf = inventory.get_by_data(mmap)
        assert np.asarray(buf).nbytes == 64
        del buf, mmap, inventory
        assert [end() for end in ends] == [None, None]

    def test_the_end_of_a_map_may_take_the_object_that_ends(self, inventory, mmap):
        taken = []
        ending = pydoca.open_device("p0").mmap(
            bytearray(8), free_callback=lambda _: taken.append(inventory.get_by_data(mmap))
        )
        buf = inventory.get_by_data(ending)
        del ending
        del buf
        [buf] = taken
        assert (buf.mmap, len(buf), inventory.num_free_elements) == (mmap, 64, 7)

    def test_those_of_a_list_end(self, bufs, inventory):
        head, later = bufs[:2]
        head.chain(later)
        del bufs[:], head
        assert inventory.num_free_elements == 6
        assert (later.is_first, later.is_last) == (False, True)
        del later
        assert inventory.num_free_elements == 8

    def test_more_than_are_kept(self, mmap):
        inventory = pydoca.BufInventory(1000)
        for _ in range(2):
            bufs = [inventory.get_by_data(mmap) for _ in range(1000)]
            assert len({id(buf) for buf in bufs}) == 1000
            del bufs
            assert inventory.num_free_elements == 1000

    def test_it_can_be_in_a_cycle(self, mmap):
        inventory = pydoca.BufInventory(1)
        for _ in range(2):
            inventory.user_data = None
            inventory.user_data = inventory.get_by_data(mmap)
        end = weakref.ref(inventory)
        del inventory
        gc.collect()
        assert end() is None
        assert mmap.num_bufs == 0
