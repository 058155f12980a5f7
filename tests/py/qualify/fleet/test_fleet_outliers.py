"""Cards whose measurements differ from those of equal cards."""

import numpy as np
import pytest

from pydoca.qualify.fleet.outliers import LEAST, compare_cards, cutoff, find, kinds_not_judged
from qualify.fleet.fleets import card, run_of, value


def fleet(values, *, better="higher", name="dma.bw"):
    return [(card(number), run_of(value(name, each, better=better))) for number, each in enumerate(values)]


def good(count, seed=1, sigma=0.01):
    return 10 * (1 + sigma * np.random.default_rng(seed).normal(size=count))


@pytest.mark.parametrize("count", [5, 6, 7, 8, 20, 1000])
def test_one_bad_card_is_found_and_no_other(count):
    values = good(count)
    values[count // 2] *= 0.5
    _, [outlier] = compare_cards(fleet(values))
    assert outlier.card == card(count // 2).key
    assert (outlier.word, outlier.cards) == ("worse", count)
    assert f"worse than the median of {count:,} equal cards" in outlier.reason


def test_two_bad_cards_do_not_hide_each_other():
    values = good(8)
    values[[1, 5]] *= 0.5
    _, outliers = compare_cards(fleet(values))
    assert [each.card for each in outliers] == [card(1).key, card(5).key]


@pytest.mark.parametrize(("better", "word"), [("lower", "better"), ("higher", "worse"), ("none", "different")])
def test_the_direction_has_a_word(better, word):
    values = good(8)
    values[3] /= 2
    _, [outlier] = compare_cards(fleet(values, better=better))
    assert outlier.word == word


def test_among_fewer_than_five_cards_nothing_is_judged():
    spreads, outliers = compare_cards(fleet([10, 10, 10.1, 1]))
    assert outliers == []
    assert [each.judged for each in spreads] == [False]
    assert kinds_not_judged(spreads) == {card(0).kind: 4}
    assert LEAST == 5
    assert compare_cards(fleet([10, 10, 10.1, 9.9, 1]))[1]


def test_cards_of_another_kind_are_not_compared():
    values = [*fleet(good(4)), (card(9, profile="bluefield2"), run_of(value("dma.bw", 1.0)))]
    assert compare_cards(values)[1] == []


def test_a_card_that_deviates_by_less_than_is_worth_a_look_is_no_outlier():
    values = np.array([10.0, 10.0001, 9.9999, 10.0, 10.0002, 9.9998, 10.3])
    assert find(values) == []
    assert find(np.array([*values[:-1], 10.6])) == [6]


def test_where_most_values_are_equal_only_an_exception_is_one():
    assert find(np.array([0.0] * 7 + [3.0])) == [7]
    assert find(np.array([0.0] * 5 + [1.0, 2.0, 3.0])) == []


def test_good_fleets_have_few_outliers():
    """The cut-off lets one measurement of a hundred have an outlier; the values vary as much as 20 %."""
    marked = sum(bool(find(good(count, seed, 0.2))) for count in (5, 8, 20, 100) for seed in range(250))
    assert 0 < marked <= 30


def test_more_cards_need_less_distance():
    cutoffs = [cutoff(count) for count in range(LEAST, 60)]
    assert cutoffs == sorted(cutoffs, reverse=True)
