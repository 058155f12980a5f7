"""Peers by name: `Rdma.connect` returns these connections where the address is the name of a host."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import time
from collections.abc import Generator, Iterator
from typing import Any

from pydoca._core import Device, DeviceInfo, EstablishedConnection, Rdma, RdmaConnection, warn_never_awaited
from pydoca._core import devices as visible_devices
from pydoca._coroutine import driven_by_asyncio
from pydoca._errors import InvalidValueError, NotFoundError, NotSupportedError, OperatingSystemError, TimeOutError

_Host = ipaddress.IPv4Address | ipaddress.IPv6Address

_FAMILIES = {None: socket.AF_UNSPEC, "ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}

# The next address of a name may work after one of these errors.
_UNREACHED = (NotFoundError, TimeOutError, NotSupportedError, OperatingSystemError, InvalidValueError)


def is_name(address: str) -> bool:
    """Whether this is a name: IPv6 addresses and GIDs have a colon, IPv4 addresses have only digits and dots."""
    return ":" not in address and not set(address) <= set("0123456789.")


def look_up(device: Device, name: str, address_type: str | None = None) -> list[str]:
    """The addresses where a peer of that name may listen, in the order of trying; an address gives itself.

    IPv4 comes first, as devices listen there by default. The name of this machine (localhost, or its own) gives the
    addresses of its devices: the given one, then the others of its backend and side. Raises NotFoundError for an
    unknown name.
    """
    if not is_name(name):
        return [name]
    hosts = sorted(_hosts(name, _FAMILIES[address_type]), key=lambda host: host.version)
    addresses = [address for host in hosts for address in _addresses_of(device, host)]
    if not addresses:
        raise NotFoundError(f'connect to "{name}": that is this machine, where no device has an address of that type')
    return list(dict.fromkeys(addresses))


def _hosts(name: str, family: int) -> list[_Host]:
    if name.lower().rstrip(".") == "localhost":  # this name works also on a system without /etc/hosts (RFC 6761, 6.3)
        both = {socket.AF_INET: ipaddress.ip_address("127.0.0.1"), socket.AF_INET6: ipaddress.ip_address("::1")}
        return [host for its, host in both.items() if family in {its, socket.AF_UNSPEC}]
    try:
        found = socket.getaddrinfo(name, None, family=family, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotFoundError(f'connect to "{name}": the name is not known: {error.strerror}') from None
    except ValueError:  # raised for parts that are empty or longer than 63 characters, for example
        raise InvalidValueError(f'connect to "{name}": that is neither an address nor a name of a host') from None
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0])) for entry in found))


def _addresses_of(device: Device, host: _Host) -> Iterator[str]:
    if not host.is_loopback:
        yield str(host)
        return
    for info in (device.info, *visible_devices(side=device.side)):
        try:
            if info.backend == device.info.backend:
                yield _own_address(info, host.version)
        except NotFoundError:
            continue  # the device has no such address


def _own_address(info: DeviceInfo, version: int) -> str:
    return info.ipv4_addr if version == 4 else info.ipv6_addr


async def connect_in_turn(rdma: Rdma, addresses: list[str], port: int, **options: Any) -> RdmaConnection:
    """A connection to the first address where a peer listens; without any, raises the error of the first address."""
    try:
        return await rdma.connect(addresses[0], port, **options)
    except _UNREACHED:
        for address in addresses[1:]:
            with contextlib.suppress(*_UNREACHED):
                return await rdma.connect(address, port, **options)
        raise


@driven_by_asyncio
class ConnectionByName:
    """A connection to the peer of that name, once it is established: awaitable, or by wait().

    Awaiting it begins the work: the system looks up the name, and its addresses are tried in turn. The timeout of
    wait() does not limit the look-up.
    """

    def __init__(self, rdma: Rdma, name: str, port: int, address_type: str | None, options: dict[str, Any]) -> None:
        self._rdma = rdma
        self._name = name
        self._port = port
        self._address_type = address_type
        self._options = options
        self._connection: RdmaConnection | None = None
        self._used = False

    def _use(self) -> None:
        self._used = True

    def __del__(self) -> None:
        if not self._used:
            warn_never_awaited("connect", 2)  # names the caller of this method

    @property
    def connection(self) -> RdmaConnection | None:
        """The established connection; None before."""
        return self._connection

    def __await__(self) -> Generator[Any, None, RdmaConnection]:
        self._use()
        return self._connect().__await__()

    def wait(self, timeout: float | None = None) -> RdmaConnection:
        """Waits as await does, without an event loop. timeout: seconds, None for no limit; TimeOutError after that."""
        self._use()
        if self._connection is None:
            end = None if timeout is None else time.monotonic() + timeout
            self._connection = self._wait_in_turn(self._look_up(), end)
        return self._connection

    async def _connect(self) -> RdmaConnection:
        from pydoca._aio.bridge import running_loop

        if self._connection is None:
            addresses = await running_loop().run_in_executor(None, self._look_up)
            self._connection = await connect_in_turn(self._rdma, addresses, self._port, **self._options)
        return self._connection

    def _wait_in_turn(self, addresses: list[str], end: float | None) -> RdmaConnection:
        try:
            return self._attempt(addresses[0]).wait(_left(end))
        except _UNREACHED:
            for address in addresses[1:]:
                with contextlib.suppress(*_UNREACHED):
                    return self._attempt(address).wait(_left(end))
            raise

    def _attempt(self, address: str) -> EstablishedConnection:
        attempt = self._rdma.connect(address, self._port, **self._options)
        assert not isinstance(attempt, ConnectionByName)
        return attempt

    def _look_up(self) -> list[str]:
        return look_up(self._rdma.device, self._name, self._address_type)

    def __repr__(self) -> str:
        return f"<pydoca connection to {self._name!r}, port {self._port}>"


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())
