"""The state machine: the rules of all nouns."""

from soak.graphs import Graphs


class Machine(Graphs):
    pass
