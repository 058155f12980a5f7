"""The figures of the benchmarks of RDMA on a real device."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """An operation's latency, or its bandwidth, at one size in bytes."""

    operation: str
    is_latency: bool
    size: int

    @property
    def name(self) -> str:
        size = f"{self.size} B" if self.size < 1024 else f"{self.size // 1024} KiB"
        return f"{self.operation} {'latency' if self.is_latency else 'bandwidth'}, {size}"

    @property
    def unit(self) -> str:
        return "us" if self.is_latency else "MiB/s"
