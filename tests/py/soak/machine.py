"""The state machine: the rules of all nouns."""

from soak.graphs import Graphs
from soak.memory import ACCESSES, SIZES


class Machine(Graphs):
    def populate(self) -> None:
        """One object of every kind, most of the time: Hypothesis leaves rules out, those that make objects as well."""
        chance = self.random.randrange
        for number in range(chance(4)):
            size, access = self.random.choice(SIZES), self.random.choice(ACCESSES[1:])
            self.map_memory_of(size, number * 3 % 3, number, access)
        for make in (self.add_dma, self.add_sha, self.add_event, self.add_counter, self.add_link, self.add_pair):
            if chance(4):
                make(chance(256))
