"""Owns a sync event that a network peer signals (DOCA's remote-net handshake): waits for it, without a message.

The peer is rdma_event_remote.py.
"""

import argparse
import asyncio

import pydoca

SIGNAL = 10


async def accepted(listener: pydoca.RdmaListener) -> pydoca.RdmaConnection:
    """The first peer that is still there when it is accepted."""
    while True:
        request = await listener.request()
        try:
            return await request.accept()
        except ConnectionError as error:
            print("a peer has gone before it was accepted:", error, flush=True)


async def main(port: int, name: str | None) -> None:
    dev = pydoca.open_device(name, capability="rdma_connection_manager")
    permissions = "rdma_read|rdma_write|rdma_atomic"
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev, permissions=permissions) as rdma:
        with pydoca.SyncEvent(dev, publisher="remote_net") as event, rdma.listen(port) as listener:
            address = dev.info.ipv4_addr
            print(f"listening at {address}, for rdma_event_remote.py {address} {port}", flush=True)
            peer = await accepted(listener)
            inventory = pydoca.BufInventory(1)
            await peer.send(inventory.get_by_data(dev.mmap(event.export_to_remote_net())))
            while event.get() < SIGNAL:
                if not peer.is_connected:
                    raise ConnectionResetError("the peer has gone before it had signalled")
                await asyncio.sleep(0.0001)
            print("the peer signalled", event.get())
            event.update_set(SIGNAL + 10)
            await peer.ended()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("device", nargs="?", help="unless told, the first that can listen")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.port, arguments.device))
