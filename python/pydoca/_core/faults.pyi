from collections.abc import Iterable
from typing import Any, final

FAULT_ACTIONS: tuple[str, ...]
FAULT_OPCODES: tuple[str, ...]
CORRUPTIONS: tuple[str, ...]

@final
class FaultPlanInForce:
    """The engine's part of a fault plan."""
    def __init__(self, rules: Iterable[Any], seed: int) -> None: ...
    def install(self) -> None: ...
    def install_silently(self) -> None: ...
    def leave_force(self) -> bool: ...
    def report(self) -> list[tuple[int, int, int, str]]: ...
    @property
    def is_in_force(self) -> bool: ...

def fault_opcodes_of(action: str) -> list[str]:
    """The opcodes that the action can meet."""
