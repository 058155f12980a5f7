"""The engines of measurement: patterns, red zones, refusals.

test_planted_defects.py shows the faults that they find.
"""

import contextlib
import itertools
import random

import numpy as np
import pytest

import pydoca
from pydoca.qualify.bench import contexts, dma, misuse, origins, patterns, resources, waiting, walk
from pydoca.qualify.bench.delays import tail
from pydoca.qualify.bench.sides import both_sides, names_of_link
from pydoca.qualify.bench.tasks import destinations
from pydoca.qualify.bench.waiting import DeviceFault, Stand, refused
from pydoca.qualify.bench.zones import ZONE, Zoned, difference, require_equal


@pytest.fixture
def device():
    with pydoca.open_device("p0", side="dpu") as device:
        yield device


@pytest.mark.parametrize("size", [1, 30, 31, 32, 1000, 100_003])
def test_prbs31_follows_its_polynomial(size):
    bits = np.unpackbits(patterns.prbs31(size, 12345)).astype(int)
    assert len(bits) == 8 * size
    assert (bits[31:] == bits[3 : len(bits) - 28] ^ bits[: len(bits) - 31]).all()


def test_prbs31_has_as_many_ones_as_zeros_and_depends_on_its_seed():
    data = patterns.prbs31(1 << 16, 1)
    assert abs(np.unpackbits(data).mean() - 0.5) < 0.01
    assert (data != patterns.prbs31(1 << 16, 2)).any()


def test_walking_sets_one_bit_of_each_word_and_each_in_turn():
    words = patterns.walking(64 * 8).view(np.uint64)
    assert sorted(words.tolist()) == [1 << bit for bit in range(64)]


def test_address_in_data_tells_its_place_and_its_transfer():
    words = patterns.address_in_data(64, 7).view(np.uint64)
    assert (words & 0xFFFFFFFFFFFF).tolist() == list(range(0, 64, 8))
    assert set((words >> np.uint64(48)).tolist()) == {7}


def test_numbers_have_the_ends_of_all_widths():
    assert {0, 1, 255, 256, 257, 2**31 - 1, 2**32, 2**64 - 1, 0x0102030405060708} <= set(patterns.numbers())
    assert {2**24, 2**31, 2**32 - 1, 0xF1F2F3F4} <= set(patterns.numbers(32))
    assert max(patterns.numbers(32)) == 2**32 - 1


def test_a_difference_is_counted_in_bits_and_begins_at_its_first_byte():
    expected = patterns.zeros(100)
    actual = expected.copy()
    assert difference(actual, expected) == (0, None)
    actual[[40, 60]] = [3, 1]
    assert difference(actual, expected) == (3, 40)
    with pytest.raises(DeviceFault, match="a copy: 3 wrong bits, the first one in byte 40"):
        require_equal(actual, expected, "a copy")


@pytest.mark.parametrize("place", [-ZONE, -1, 100, 99 + ZONE])
def test_a_byte_around_the_destination_is_found(device, place):
    with Stand() as stand:
        zoned = Zoned(stand, device, 200)
        data = patterns.prbs31(100, 3)
        zoned.guard(10, 100)
        zoned.data(10, 100)[:] = data
        assert not zoned.damage("nothing", 10, data)
        zoned.array[ZONE + 10 + place] ^= 1
        damage = zoned.damage("a copy", 10, data)
        assert (damage.bit_errors, damage.outside) == (0, 1)
        assert "1 bytes were written outside" in str(damage)


def test_what_must_be_refused_is_a_fault_when_it_is_accepted_or_refused_otherwise():
    with refused("this", pydoca.BadStateError):
        raise pydoca.BadStateError("so")
    with pytest.raises(DeviceFault, match="this: accepted; it must be"), refused("this", pydoca.BadStateError):
        pass
    with pytest.raises(DeviceFault, match="refused with InUseError"), refused("this", pydoca.BadStateError):
        raise pydoca.InUseError("so")


def test_closing_does_not_hide_a_failure():
    def fail():
        raise pydoca.InUseError("still used")

    with pytest.raises(DeviceFault, match="after the test, closing: still used"), Stand() as stand:
        stand.callback(fail)
    with contextlib.suppress(KeyError), Stand() as stand:
        stand.callback(fail)
        raise KeyError


def test_sizes_have_both_ends_and_the_neighbours_of_powers_of_two():
    sizes = dma.sizes_up_to(1000)
    assert {1, 511, 512, 513, 1000} <= set(sizes)
    assert max(sizes) == 1000
    assert sizes == sorted(set(sizes))


def test_lengths_have_each_remainder_and_the_neighbours_of_pages_and_follow_from_the_seed():
    lengths = dma.lengths(1 << 16, 1)
    assert {*range(1, 131), 4095, 4096, 4097, 1 << 16} <= set(lengths)
    assert {length % 64 for length in lengths if length > 127} == set(range(64))
    assert lengths == dma.lengths(1 << 16, 1) != dma.lengths(1 << 16, 2)
    assert dma.lengths(3) == [1, 2, 3]


@pytest.mark.parametrize("origin", origins.of_this_machine())
def test_memory_of_every_origin_can_be_written(origin):
    array = patterns.view(origins.ORIGINS[origin](5000))
    array[:] = patterns.prbs31(5000, 1)
    assert len(array) == 5000
    assert (array == patterns.prbs31(5000, 1)).all()


def test_the_other_end_of_a_link_is_found_from_either_side():
    assert names_of_link(pydoca.DeviceInfo("p0", side="dpu")) == ("pf0", "p0")
    assert names_of_link(pydoca.DeviceInfo("pf1", side="host")) == ("pf1", "p1")
    with (
        pydoca.open_device("p0s0", side="dpu") as sf,
        pytest.raises(pydoca.NotFoundError, match="p0s0"),
        both_sides(sf),
    ):
        pass


def test_growth_counts_what_a_cycle_leaves():
    kept = []

    def leak():
        kept.append(pydoca.alloc(4096))

    assert resources.growth(leak, 5).mappings == 5
    for memory in kept:
        memory.close()
    kept.clear()
    assert resources.growth(lambda: pydoca.alloc(4096).close(), 5)[:3] == (0, 0, 0)


def test_memory_that_each_cycle_leaves_is_told_from_memory_that_some_leave():
    kept, numbers = [], itertools.count()
    assert resources.growth(lambda: kept.append(b"\x01" * (50_000 + next(numbers))), 200).resident > 2 << 20
    kept.clear()
    large = iter([*[0] * 20, 50 << 20, *[0] * 300])
    assert resources.growth(lambda: kept.append(b"\x01" * next(large)), 200).resident < 1 << 20


def test_the_same_walk_follows_from_the_same_seed(device):
    def places(seed):
        with Stand() as stand:
            walker = walk.Walk(stand, device, random.Random(seed))
            for _ in range(50):
                walker.step()
            return [model.tobytes() for model in walker.model]

    assert places(1) == places(1)
    assert places(1) != places(2)


def test_a_plain_copy_works_and_a_larger_one_than_the_device_takes_does_not(device):
    misuse.works(device, 100)
    with pytest.raises(DeviceFault, match="a copy of 2097153 bytes"):
        misuse.works(device, (2 << 20) + 1)


@pytest.mark.parametrize("name", ["pf0", "pf0vf0", "p0", "p1", "p0s0"])
def test_a_good_device_of_any_type_passes_the_life_of_each_context(name):
    with pydoca.open_device(name) as device:
        found = contexts.cycles(device)
        assert ("comch" in found) == (name in ("p0", "p1"))
        for live in found.values():
            live(device)


@pytest.mark.parametrize(("late", "found"), [(0, False), (3, False), (100, True)])
def test_late_operations_are_found_beyond_chance(late, found):
    """Some of 1,000 operations take 30 ms.

    A count that chance may cause is not a finding: the control runs on one machine.
    """
    times = iter([1_000] * 100 + [30_000_000 if index < late else 1_000 for index in range(1_000)])
    assert (tail.late_share(lambda: next(times), 1_000) > 0) == found


def test_a_thread_that_loses_its_processor_is_not_late(monkeypatch):
    switches = itertools.count()
    monkeypatch.setattr(tail, "_of_thread", lambda: (next(switches), 0))
    times = itertools.chain([1_000] * 100, itertools.repeat(30_000_000))
    assert tail.late_share(lambda: next(times), 1_000) == 0


def test_a_thread_that_was_busy_for_long_is_late_although_it_lost_its_processor(monkeypatch):
    switches = itertools.count()
    monkeypatch.setattr(tail, "_of_thread", lambda: (number := next(switches), number * 5_000_000))
    times = itertools.chain([1_000] * 100, itertools.repeat(30_000_000))
    assert tail.late_share(lambda: next(times), 1_000) > 0.9


def test_operations_that_take_turns_are_late_together():
    """One device stalls three times and four times: each count alone could be chance."""
    several = [tail.Lateness(lambda: 1_000) for _ in range(2)]
    for number, lateness in enumerate(several):
        lateness.count, lateness.late = 1_000, 3 + number
    assert [tail.share_of(each) for each in several] == [0, 0]
    assert tail.share_of(*several) == 7 / 2_000


def test_an_operation_that_never_ends_is_a_fault(monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    with pydoca.ProgressEngine() as pe, pytest.raises(DeviceFault, match=r"it: no answer within 0.01 s"):
        waiting.poll(pe, lambda: False, "it")


@pytest.mark.parametrize("name", ["pf0", "pf0vf0", "p0", "p0s0"])
def test_a_good_device_of_any_type_appends_and_refuses(name):
    with pydoca.open_device(name) as device:
        kinds = destinations.kinds(device)
        assert ("copy to the host" in kinds) == (name in ("pf0", "pf0vf0", "p0"))
        for kind in kinds:
            assert destinations.append(device, kind) >= 10
            assert destinations.refuse(device, kind) >= 20


def test_a_slow_device_has_fewer_samples(monkeypatch):
    monkeypatch.setattr(tail, "_LONGEST", 0.0)
    times = iter([1_000] * 101)  # the warm-up takes 100, one operation the last
    assert tail.late_share(lambda: next(times), 1_000) == 0
