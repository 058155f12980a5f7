"""The timing model of simulated devices, as programs and files give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydoca import _core
from pydoca._errors import InvalidValueError


class Config:
    """The timing model of simulated devices: what each operation takes, and the seed of its random numbers.

    A device without a model is as fast as this machine. With one, an operation comes back when its engine has
    served what came before it, and then after size / bandwidth + latency + jitter. One engine of a function serves
    all contexts of this process; the four operations of RDMA share one, and so do the two of sync events. A single
    operation takes latency + size / bandwidth, a stream of them reaches the bandwidth, as far as the memory of this
    machine does.

    A message of comch is on its way for this time before the peer can receive it; then its send task ends. A change of
    a sync event is seen, by all sides, after this time; then the call ends, or the task. Without a task the call waits.

    seed: the seed of all random numbers. preset: the values to begin with: "ideal" (nothing is modelled), "bluefield2",
    "bluefield3". The presets have no figure for compress, which is as fast as this machine until it has a table.
    dma, sha, cache, compress, rdma_write, rdma_read, rdma_send, rdma_atomic, comch_send, sync_event_set,
    sync_event_add: a table each, with these keys:

    * latency: "1.9us"; a number is in seconds
    * bandwidth: "25GB/s" or "200Gbit/s"; a number is in bytes a second. The bytes are those of the source, also where
      compress makes more of them
    * rate: operations a second at most, as "10M/s"
    * jitter: {"distribution": "exponential", "spread": "50ns"}, added to the latency. spread is the mean of an
      exponential distribution, the median of a lognormal one, the standard deviation of a normal one, and the
      largest value of a uniform one
    * queue_depth: tasks that a context, or a comch connection, may have in the queue; a further submission fails with
      AgainError (not for RDMA and sync events)
    * reorder_window: 1: tasks come back in the order of their submission; N: one may come back before others that
      were submitted up to N - 1 places earlier (for dma, sha, cache and compress; the others are in order)
    * executes_in_submit: whether submit() does the work of small tasks. By default nothing is done inside it, as on
      hardware (for dma, sha, cache and compress; the others are done when they are due)

    pcie: {"bandwidth": "31.5GB/s"}, of the link of a card, in each direction, which all that crosses it shares.
    profiles, devices: tables like this one, without a seed, for the functions of a profile, or for one function. The
    narrower table wins, key by key; its preset takes the place of what wider ones say.

    Raises InvalidValueError for keys and units that do not exist, and for values that make no sense.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        preset: str | None = None,
        pcie: Mapping[str, Any] | None = None,
        profiles: Mapping[str, Mapping[str, Any]] | None = None,
        devices: Mapping[str, Mapping[str, Any]] | None = None,
        **operations: Mapping[str, Any] | None,
    ) -> None:
        named = {"seed": seed, "preset": preset, "pcie": pcie, "profiles": profiles, "devices": devices}
        self._engines = _core.SimConfig(operations | named)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Config:
        """The configuration of a mapping whose keys are the keywords of the constructor."""
        if not isinstance(table, Mapping):
            raise InvalidValueError(f"timing must be a table, not {table!r}")
        return _of(_core.SimConfig(table))

    def to_dict(self) -> dict[str, Any]:
        """The keywords that make this configuration, with units."""
        return self._engines.to_dict()

    def __eq__(self, other: object) -> bool:
        return self._engines == other._engines if isinstance(other, Config) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{key}={value!r}' for key, value in self.to_dict().items())})"


def _of(engines: _core.SimConfig) -> Config:
    config = Config.__new__(Config)
    config._engines = engines
    return config


def in_force() -> Config:
    """The configuration of this process."""
    return _of(_core.sim_config())


def load(config: Config | Mapping[str, Any]) -> None:
    """Makes it the configuration of this process."""
    own = config if isinstance(config, Config) else Config.from_dict(config)
    _core.sim_set_config(own._engines)
