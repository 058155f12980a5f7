"""Statistics of a measurement's samples, their confidence, and what a limit says of them."""

from pydoca.qualify.statistics.blocks import block_length
from pydoca.qualify.statistics.bootstrap import interval
from pydoca.qualify.statistics.difference import Difference, difference, holm
from pydoca.qualify.statistics.judgement import judge
from pydoca.qualify.statistics.repeatability import Repeatability, repeatability
from pydoca.qualify.statistics.spread import outliers, robust_sigma
from pydoca.qualify.statistics.summary import LEAST, STATISTICS, summary, value_of
from pydoca.qualify.statistics.warmup import warmup

__all__ = [
    "LEAST",
    "STATISTICS",
    "Difference",
    "Repeatability",
    "block_length",
    "difference",
    "holm",
    "interval",
    "judge",
    "outliers",
    "repeatability",
    "robust_sigma",
    "summary",
    "value_of",
    "warmup",
]
