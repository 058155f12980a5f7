"""What several runs say together: whether one is worse than another, what is usual, and how well the tester repeats."""

from pydoca.qualify.history.comparison import Comparison, compare
from pydoca.qualify.history.golden import Golden, NotGolden, golden_toml, train
from pydoca.qualify.history.metrics import Runs, load_runs
from pydoca.qualify.history.study import Study, study

__all__ = [
    "Comparison",
    "Golden",
    "NotGolden",
    "Runs",
    "Study",
    "compare",
    "golden_toml",
    "load_runs",
    "study",
    "train",
]
