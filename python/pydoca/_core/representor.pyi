from types import TracebackType
from typing import Any, Self

from pydoca._core.types import PciFuncType

class RepresentorInfo:
    """A function of the other side, or an SF, as the DPU saw it. pci_addr is the function's address on its
    own side.
    """
    @property
    def name(self) -> str:
        """Unique on its DPU device, such as "hpf0"."""
    @property
    def pci_addr(self) -> str:
        """The address of the represented function on its own side, in the long form; for an SF, that of its parent
        function.
        """
    @property
    def func_type(self) -> PciFuncType:
        """The type of the represented function: PF, VF or SF."""
    @property
    def vuid(self) -> str:
        """The represented function's unique identifier."""
    @property
    def iface_name(self) -> str:
        """The representor's network interface."""
    @property
    def vhca_id(self) -> int:
        """The card's number for the represented function."""
    @property
    def is_hotplug(self) -> bool:
        """Whether the function was plugged in while the machine was running."""
    @property
    def is_emulated(self) -> bool:
        """Whether the DPU emulates the function in software."""
    def is_equal_pci_addr(self, addr: str) -> bool:
        """Compares with an address in the long or the short form; raises InvalidValueError for another form."""
    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python, fit for JSON."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> RepresentorInfo: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> RepresentorInfo: ...
    def __reduce__(self) -> Any: ...

class Representor:
    """An opened representor: it stands for a function on the DPU."""
    @property
    def info(self) -> RepresentorInfo:
        """The RepresentorInfo at the time of the opening."""
    @property
    def name(self) -> str:
        """Unique on its DPU device, such as "hpf0"."""
    @property
    def pci_addr(self) -> str:
        """The address of the represented function on its own side, in the long form; for an SF, that of its parent
        function.
        """
    @property
    def func_type(self) -> PciFuncType:
        """The type of the represented function: PF, VF or SF."""
    @property
    def vuid(self) -> str:
        """The represented function's unique identifier."""
    @property
    def iface_name(self) -> str:
        """The representor's network interface."""
    @property
    def vhca_id(self) -> int:
        """The card's number for the represented function."""
    @property
    def is_hotplug(self) -> bool:
        """Whether the function was plugged in while the machine was running."""
    @property
    def is_emulated(self) -> bool:
        """Whether the DPU emulates the function in software."""
    @property
    def is_open(self) -> bool:
        """False once it is closed."""
    def is_equal_pci_addr(self, addr: str) -> bool:
        """Compares with an address in the long or the short form; raises InvalidValueError for another form."""
    def close(self) -> None:
        """Closes the representor; idempotent. Raises InUseError while a server is on it."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
