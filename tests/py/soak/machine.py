"""The state machine: the rules of all nouns."""

from soak.rules.strays import Strays


class Machine(Strays):
    pass
