"""Messages between a server on the DPU and clients on the host: reliable, in order (DOCA Comch, control path).

A `Server` gives a `Connection` per client (``async for link in server``), a `Client` gives one
(``async with Client(...) as link``). ``await link.send(data)`` and ``await link.recv()`` do the rest.
"""

from pydoca._core import Client, Connection, SendTask, Server
from pydoca._publication import publish as _publish

__all__ = ["Client", "Connection", "SendTask", "Server"]

_publish(__name__)
