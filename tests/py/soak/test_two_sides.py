"""The driver of script/soak explore: its runs repeat, and it notices planted faults."""

from collections import Counter

import pytest

from pydoca.faults import FaultPlan
from soak.two_sides import KINDS, Kind, Ledger, LedgerError, explore


def digests_of(kind, seeds):
    counts = Counter()
    digests = explore(kind, seeds, counts)
    assert counts["runs"] == len(seeds)
    assert counts["tasks"] > 0
    return digests


@pytest.mark.filterwarnings("ignore::pydoca.faults.FaultPlanWarning")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_seed_repeats_its_run(kind):
    several = digests_of(kind, [3, 4, 5])
    alone = digests_of(kind, [4])
    assert alone[4] == several[4]


@pytest.mark.parametrize(
    ("action", "opcode", "finding"),
    [
        ("duplicate", "comch.send", "message"),
        ("corrupt", "dma.memcpy", "data"),
        ("drop", "dma.memcpy", ""),
    ],
)
def test_what_a_device_does_wrong_is_found(action, opcode, finding):
    kind = Kind("late", FaultPlan({"action": action, "opcode": opcode, "nth": 4}))
    with pytest.raises((AssertionError, TimeoutError, ExceptionGroup)) as raised:
        explore(kind, range(20), Counter())
    assert finding in repr(raised.value)


def test_the_ledger_notices_lost_and_doubled_completions():
    ledger = Ledger()
    for _ in range(3):
        ledger.submit(lambda user_data: None)
    ledger.note(None, 0, None)
    ledger.note(None, 2, None)
    ledger.note(None, 2, None)
    with pytest.raises(LedgerError, match=r"of 3 tasks \[1\] were lost; ended more than once: \{2: 2\}"):
        ledger.require_balance()
