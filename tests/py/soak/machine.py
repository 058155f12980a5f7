"""The state machine: the rules of all nouns."""

from soak.strays import Strays


class Machine(Strays):
    pass
