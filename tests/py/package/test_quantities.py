"""Numbers with units, and the words that wrong ones may be meant for: one meaning in Python and in the engine."""

import pytest

import pydoca
from pydoca import faults, sim
from pydoca._text.nearest import beside, did_you_mean, nearest
from pydoca._text.quantities import TIMES, UNITS, to_bytes, to_seconds, to_share, to_whole

SPEEDS = {f"{name}/s": unit.factor for name, unit in UNITS.items() if unit.dimension == "data"}


def number_in(factor):
    """Short enough for the engine, and not below a nanosecond."""
    return 7 if factor < 60 else 0.007


@pytest.mark.parametrize("unit", TIMES)
def test_a_time_is_the_same_for_commands_timing_models_and_fault_plans(unit):
    text = f"{number_in(TIMES[unit])} {unit}"
    seconds = number_in(TIMES[unit]) * TIMES[unit]
    assert to_seconds(text) == pytest.approx(seconds)
    assert sim.Config(dma={"latency": text}) == sim.Config(dma={"latency": f"{round(seconds * 1e9)}ns"})
    assert faults.FaultRule("delay", by=text)._engines.by == round(seconds * 1e9)


@pytest.mark.parametrize("unit", SPEEDS)
def test_a_speed_is_the_same_for_limits_and_timing_models(unit):
    assert sim.Config(dma={"bandwidth": f"8 {unit}"}) == sim.Config(dma={"bandwidth": 8 * SPEEDS[unit]})


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[("4096", 4096), ("64K", 65_536), ("64 KiB", 65_536), ("1kB", 1000), ("2MB", 2_000_000), ("0", 0), ("7B", 7)],
        *[("4M", 4 << 20), ("1GiB", 1 << 30), ("3T", 3 << 40)],
        *[("1m", None), ("64KB", None), ("64k", None), ("1.5M", None), ("1e3", None), ("-1", None), ("1 M B", None)],
        *[("8bit", None), ("M", None), ("", None)],
    ],
)
def test_a_size(text, size):
    assert to_bytes(text) == size


@pytest.mark.parametrize("text", ["", "s", "10m", "1 M", "nan", "inf", "1_0", "1 s s", "0x1", "3 S", "\u0663"])
def test_other_words_are_not_times(text):
    assert to_seconds(text) is None


@pytest.mark.parametrize("text", ["1e3", "+.5", "2."])
def test_a_number_may_have_a_sign_a_fraction_and_an_exponent(text):
    assert to_seconds(text) == float(text)


def test_percentages_and_whole_numbers():
    assert (to_share(" 3 % "), to_share("3"), to_share("3%%")) == (pytest.approx(0.03), None, None)
    assert (to_whole("007", 1, 9), to_whole("10", 1, 9), to_whole("9" * 10_000)) == (7, None, None)


def test_a_similar_word_is_named_whatever_its_case():
    assert nearest("BLUEFELD3", ["bluefield2", "BlueField3"]) == "BlueField3"
    assert did_you_mean("quik", ["smoke", "quick"]) == "; did you mean 'quick'?"
    assert beside("qick", ["quick"]) == "; the nearest one is 'quick'"
    assert did_you_mean("soak", ["quick"]) == beside("soak", ["quick"]) == nearest("\udcff", ["quick"]) == ""


def test_the_engine_names_the_same_word():
    with pytest.raises(pydoca.InvalidValueError, match="did you mean 'bluefield3'"):
        sim.Config(preset="bluefeld3")
    assert nearest("bluefeld3", ["ideal", "bluefield2", "bluefield3"]) == "bluefield3"
