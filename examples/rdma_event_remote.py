"""Signals a sync event of a network peer, and waits for its answer in the same event; see rdma_event_local.py."""

import argparse
import asyncio
import sys

import pydoca

SIGNAL = 10


async def main(address: str, port: int, name: str | None) -> None:
    dev = pydoca.open_device(name, capability="rdma_connection_manager")
    async with pydoca.ProgressEngine() as pe, pydoca.Rdma(pe, dev) as rdma:
        inventory = pydoca.BufInventory(3)
        blob = inventory.get_by_addr(dev.mmap(bytearray(512)))
        value = inventory.get_by_data(dev.mmap(bytearray(SIGNAL.to_bytes(8, sys.byteorder))))
        seen = inventory.get_by_addr(dev.mmap(bytearray(8)))

        described = rdma.receive(blob)
        with await rdma.connect(address, port) as peer:
            await peer.while_connected(described)
            with dev.import_sync_event_remote_net(bytes(blob)) as event:
                await peer.remote_net_sync_event_notify_set(event, value)
                get = peer.remote_net_sync_event_get(event, seen)
                while await get == SIGNAL:
                    seen.reset_data_len()
                    get.submit()
                print("the peer answered", get.result())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="the one that rdma_event_local.py prints")
    parser.add_argument("port", type=int)
    parser.add_argument("device", nargs="?", help="unless told, the first that can connect")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.address, arguments.port, arguments.device))
