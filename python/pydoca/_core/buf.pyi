from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, SupportsIndex, TypeAlias

from pydoca._core.memory import _Bytes
from pydoca._core.mmap import Mmap

# Head, len, data, data_len, in flight.
_Section: TypeAlias = tuple[int, int, int, int, bool]

class Buf(_Bytes):
    """A piece of a memory map: headroom, data, tailroom. It has the buffer protocol, which gives its data
    section, unless the memory is imported. It returns to its inventory when no Python object and no
    task has it any more.
    """

    data_len: int
    """The number of bytes in the data section. Setting it raises InvalidValueError beyond the tailroom, InUseError
    while a task has the buf.
    """
    @property
    def head(self) -> int:
        """The address of the first byte, in the memory owner's address space."""
    @property
    def len(self) -> int:
        """The number of bytes of headroom, data and tailroom together."""
    @property
    def data(self) -> int:
        """The address of the data section."""
    @property
    def headroom(self) -> int:
        """The number of bytes before the data section."""
    @property
    def tailroom(self) -> int:
        """The number of bytes behind the data section; a task appends its output there."""
    def set_data(self, data: SupportsIndex, data_len: SupportsIndex) -> None:
        """Moves the data section. Raises InvalidValueError unless it lies within the buf, InUseError while a
        task has it.
        """
    def reset_data_len(self) -> None:
        """Empties the data section and keeps its address. Call it before a destination is used again."""
    @property
    def mmap(self) -> Mmap:
        """The Mmap of its memory. Raises BadStateError once released."""
    @property
    def refcount(self) -> int:
        """The number of references, 1 for a buf from the inventory. Releasing the last one releases the buf.
        BadStateError once released.
        """
    def inc_refcount(self) -> int:
        """Adds a reference, and returns the count before. Raises NotPermittedError on an inner element,
        TooBigError at 65535.
        """
    def dec_refcount(self) -> int:
        """Removes a reference, and returns the count before. At 0 every element of the list is released.
        Raises NotPermittedError on an inner element and, for the last reference, while a task has the buf;
        BadStateError once released.
        """
    def close(self) -> None:
        """Releases the buf with its list, whatever the count; idempotent. Raises the errors of dec_refcount()."""
    @property
    def is_released(self) -> bool:
        """Whether it has returned to its inventory; every other member then raises BadStateError."""
    @property
    def is_first(self) -> bool:
        """Whether the buf is the head of a list, or in no list."""
    @property
    def is_last(self) -> bool:
        """Whether no element follows the buf."""
    @property
    def is_in_list(self) -> bool:
        """Whether the buf is chained to others."""
    def chain(self, other: Buf) -> None:
        """Appends other's list; its head becomes an inner element. Raises NotPermittedError unless both are
        heads of different lists and other's count is 1; InUseError while a task has one of them.
        """
    def chain_tail(self, tail: Buf, other: Buf) -> None:
        """Appends other's list as chain() does, for a caller that knows the last element, tail. Raises
        NotPermittedError, too, when tail is not the last element (doca_buf_chain_list_tail).
        """
    def unchain(self, element: Buf) -> None:
        """Cuts the list before element, which becomes a head with count 1. Raises InvalidValueError unless
        element is a later element of this list, NotPermittedError unless this buf is a head.
        """
    @property
    def next(self) -> Buf | None:
        """The next element; None after the last."""
    @property
    def last(self) -> Buf:
        """The last element of the list; the buf itself when it is in no list."""
    @property
    def list_len(self) -> int:
        """The number of elements in the list. Raises NotPermittedError on an inner element."""
    def __bool__(self) -> bool: ...
    def _snapshot(self, limit: int) -> tuple[int, int, int, str, int, list[_Section]]: ...
    def __iter__(self) -> Iterator[Buf]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class BufInventory:
    """A fixed number of buf descriptors, for any memory map. Only one thread may use it."""

    user_data: Any
    """Anything."""
    def __init__(self, num_elements: SupportsIndex, *, start: bool = True, user_data: Any = None) -> None:
        """Makes an inventory. Raises InvalidValueError for 0 elements, NoMemoryError."""
    def get_by_args(
        self,
        mmap: Mmap,
        addr: SupportsIndex,
        len: SupportsIndex,
        data: SupportsIndex,
        data_len: SupportsIndex,
    ) -> Buf:
        """A buf of len bytes at addr with the given data section. Addresses are ints; for an imported map, the
        exporter's addresses. Raises InvalidValueError for a range outside the map's, BadStateError unless
        inventory and map are started, NoMemoryError when no element is free.
        """
    def get_by_addr(self, mmap: Mmap, addr: SupportsIndex | None = None, len: SupportsIndex | None = None) -> Buf:
        """A buf with an empty data section: a destination. None means the map's start, and all bytes that
        follow. Raises the errors of get_by_args().
        """
    def get_by_data(self, mmap: Mmap, data: SupportsIndex | None = None, data_len: SupportsIndex | None = None) -> Buf:
        """A buf whose data section is all of it: a source. None means the map's start, and all bytes that
        follow. Raises the errors of get_by_args().
        """
    def dup(self, buf: Buf) -> Buf:
        """A copy of every element of buf's list, with the same sections. Raises NotPermittedError on an inner
        element, NoMemoryError, BadStateError.
        """
    def start(self) -> None:
        """Lets bufs be taken; does nothing when started. Raises BadStateError when closed."""
    def stop(self) -> None:
        """Stops the inventory: it gives no more bufs; those that are out stay valid."""
    def close(self) -> None:
        """Releases the elements; idempotent. Raises InUseError while a buf is out."""
    def expand(self, num_elements: SupportsIndex) -> None:
        """Adds elements. Raises BadStateError unless started."""
    @property
    def num_elements(self) -> int:
        """How many bufs can be out at a time; 0 once closed."""
    @property
    def num_free_elements(self) -> int:
        """How many more bufs can be taken now."""
    @property
    def is_started(self) -> bool:
        """Whether it is started, and gives bufs."""
    def _snapshot(self, limit: int) -> tuple[str, list[_Section]]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class BufPool:
    """Bufs of equal size in one memory map, in elements that it gives and takes back. Only one
    thread may use it.
    """

    user_data: Any
    """Anything."""
    def __init__(
        self,
        num_elements: SupportsIndex,
        element_size: SupportsIndex,
        mmap: Mmap,
        *,
        element_alignment: SupportsIndex = 1,
        start: bool = True,
        user_data: Any = None,
    ) -> None:
        """Makes a pool of num_elements bufs of element_size bytes, one after another in mmap. Each begins at a
        multiple of element_alignment, a power of 2. Raises InvalidValueError for 0 elements or bytes and for
        another alignment, BadStateError unless the map is started, InitializationError when the map is too
        small, NoMemoryError (doca_buf_pool_create).
        """
    def alloc(self) -> Buf:
        """Any free buf of the pool: all of an element, with an empty data section. Raises EmptyError when all are
        out, BadStateError unless pool and map are started (doca_buf_pool_buf_alloc).
        """
    def start(self) -> None:
        """Lets bufs be taken; does nothing when started. Raises BadStateError when closed."""
    def stop(self) -> None:
        """Stops the pool: it gives no more bufs. Raises InUseError while a buf is out."""
    def close(self) -> None:
        """Releases the elements; idempotent. Raises InUseError while a buf is out."""
    def set_element_alignment(self, element_alignment: SupportsIndex) -> None:
        """Every element begins at a multiple of it; a power of 2, 1 at first. Raises InvalidValueError for
        another number, BadStateError while started (doca_buf_pool_set_element_alignment).
        """
    @property
    def mmap(self) -> Mmap:
        """The map of its elements."""
    @property
    def element_size(self) -> int:
        """Bytes of each buf."""
    @property
    def element_alignment(self) -> int:
        """What the address of each buf is a multiple of, in bytes."""
    @property
    def num_elements(self) -> int:
        """How many bufs can be out at a time; 0 once closed."""
    @property
    def num_free_elements(self) -> int:
        """How many more bufs can be taken now."""
    @property
    def is_started(self) -> bool:
        """Whether it is started, and gives bufs."""
    def _snapshot(self, limit: int) -> tuple[str, list[_Section]]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
