"""The distribution of cases among xdist's workers."""

from __future__ import annotations

from typing import Any

import pytest

from pydoca.qualify.session.shared.cases import SharedPlan


def scheduler_of(config: pytest.Config, log: Any, shared: SharedPlan) -> Any:
    """The scheduler; xdist's own one for another --dist than the usual: then its workers wait for the device."""
    if config.getoption("dist") not in ("load", "loadgroup"):
        return None
    from xdist.scheduler import LoadScopeScheduling

    class DeviceScheduling(LoadScopeScheduling):  # type: ignore[misc]
        """A scope is a device, or a test that uses none."""

        def _split_scope(self, nodeid: str) -> str:
            return shared.scope_of(nodeid)

        def remove_node(self, node: Any) -> str | None:
            """Does not repeat the case during which a worker ended, as xdist's own one does: it may end each worker."""
            for unit in self.assigned_work[node].values():
                for nodeid, is_complete in unit.items():
                    if not is_complete:
                        unit[nodeid] = True
                        self._give_back(node)
                        return str(nodeid)
            return None if (nodeid := super().remove_node(node)) is None else str(nodeid)

        def _give_back(self, node: Any) -> None:
            left = self.assigned_work.pop(node)
            self.workqueue.update({scope: unit for scope, unit in left.items() if not all(unit.values())})
            for other in self.assigned_work:
                self._reschedule(other)

    return DeviceScheduling(config, log)
