"""The counts of a driver, printed as one JSON object in the last line of its output."""

import json
import os
from collections import Counter
from typing import NoReturn


class Report:
    """Counts of one driver. Each driver counts other things: runs, operations, kills, messages, bytes."""

    def __init__(self, part: str, seed: int) -> None:
        self.part = part
        self.seed = seed
        self.counts: Counter[str] = Counter()

    def line(self) -> str:
        return json.dumps({"part": self.part, "seed": self.seed, **self.counts})

    def fail(self, seed: int, why: str) -> NoReturn:
        """Ends the program at once: threads and children of a run that went wrong may never end."""
        print(why, flush=True)
        print(f"FINDING in {self.part}; to repeat it: {replay(self.part, seed)}", flush=True)
        self.counts["findings"] += 1
        self.seed = seed
        print(self.line(), flush=True)
        os._exit(1)


def replay(part: str, seed: int) -> str:
    return f"PYDOCA_SEED={seed} script/soak 1 {part}"
