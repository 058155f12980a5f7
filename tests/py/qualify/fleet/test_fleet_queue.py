"""The queue decides which worker tests which card, and counts the losses of workers."""

from pydoca.qualify.fleet.queue import CardQueue, State, Worker
from qualify.fleet.fleets import card


def worker(name, cards, slots=1):
    return Worker(name, name, slots, frozenset(each.key for each in cards))


def started(queue):
    return [(entry.card.host, where.address) for entry, where in queue.assign()]


def test_each_worker_gets_as_many_cards_as_it_has_slots():
    cards = [card(number) for number in range(5)]
    queue = CardQueue()
    assert queue.join(worker("a", cards), cards) == cards
    assert queue.join(worker("b", cards, slots=2), cards) == []
    assert sorted(where for _, where in started(queue)) == ["a", "b", "b"]
    assert started(queue) == []
    queue.finish(queue.entries[cards[0].key])
    assert len(started(queue)) == 1
    assert not queue.is_over()


def test_a_card_goes_only_to_a_worker_that_has_it():
    cards = [card(number) for number in range(2)]
    queue = CardQueue()
    queue.join(worker("a", cards[:1], slots=8), cards[:1])
    queue.join(worker("b", cards[1:], slots=8), cards[1:])
    assert started(queue) == [("host0", "a"), ("host1", "b")]


def test_functions_of_one_card_are_tested_one_after_the_other():
    functions = [card(1, serial="S"), card(2, serial="S")]
    queue = CardQueue()
    queue.join(worker("a", functions, slots=8), functions)
    assert started(queue) == [("host1", "a")]
    queue.finish(queue.entries[functions[0].key])
    assert started(queue) == [("host2", "a")]


def test_the_cards_of_a_lost_worker_go_to_another_one():
    cards = [card(number) for number in range(2)]
    queue = CardQueue()
    queue.join(worker("a", cards, slots=2), cards)
    assert len(started(queue)) == 2
    lost = queue.leave("a")
    assert [entry.losses for entry in lost] == [["the worker a was lost"]] * 2
    assert started(queue) == [], "a lost worker gets nothing"
    queue.join(worker("b", cards, slots=2), cards)
    assert started(queue) == [("host0", "b"), ("host1", "b")]


def test_a_card_that_was_lost_twice_is_given_up():
    cards = [card(0)]
    queue = CardQueue()
    for name in ("a", "b"):
        queue.join(worker(name, cards), cards)
        assert started(queue) == [("host0", name)]
        [entry] = queue.leave(name)
    assert entry.state is State.GIVEN_UP
    assert len(entry.losses) == 2
    queue.join(worker("c", cards), cards)
    assert started(queue) == []
    assert queue.is_over()


def test_a_worker_at_the_address_of_a_lost_one_is_another_one():
    queue = CardQueue()
    queue.join(worker("a", [card(0)]), [card(0)])
    queue.leave("a")
    queue.join(worker("a", [card(0)]), [card(0)])
    assert [each.lost for each in (*queue.gone, *queue.workers.values())] == [True, False]
    assert started(queue) == [("host0", "a")]


def test_a_card_without_a_worker_is_stranded_after_some_time():
    queue = CardQueue()
    queue.join(worker("a", [card(0)]), [card(0)])
    assert queue.stranded(0.0, 10.0) == []
    queue.leave("a")
    assert queue.stranded(100.0, 10.0) == []
    assert queue.stranded(109.0, 10.0) == []
    assert [entry.card for entry in queue.stranded(110.0, 10.0)] == [card(0)]
    queue.join(worker("b", [card(0)]), [card(0)])
    assert queue.stranded(200.0, 10.0) == []
