from types import TracebackType
from typing import Any, Self, SupportsIndex, overload

from typing_extensions import Buffer

class _Bytes:
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> bytes: ...
    @overload
    def __setitem__(self, key: SupportsIndex, value: SupportsIndex) -> None: ...
    @overload
    def __setitem__(self, key: slice, value: Buffer) -> None: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...

class Memory(_Bytes):
    """Memory that another process can be given without a copy: page-aligned, faulted in, zero-filled. It
    has the buffer protocol, writable. The memory is freed when the last map, view or object that has it
    ends.
    """
    @property
    def addr(self) -> int:
        """The address of its first byte, in this process."""
    def close(self) -> None:
        """Releases this share of the memory; maps and views keep theirs. Idempotent."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

def alloc(size: SupportsIndex, *, huge_pages: bool = False) -> Memory:
    """Allocates size bytes, in pages of 2 MiB if requested. Raises InvalidValueError for a size of 0 or
    less, NoMemoryError when the system has too little memory.
    """
