"""A process of the host and one of the DPU, whose functions a case calls."""

from pydoca.qualify.session.pair.ends import End, NoPair
from pydoca.qualify.session.pair.side import Call, Pair, PairError, SideProcess, open_pair

__all__ = ["Call", "End", "NoPair", "Pair", "PairError", "SideProcess", "open_pair"]
