"""The other end of a connection: a program of pyverbs alone, for the interpreter that Debian built it for.

pyverbs_peer.py listen|connect ADDRESS PORT

It receives an address, a key and a size (big endian), reads that memory, writes it back reversed, and sends a message.
"""

import struct
import sys

from pyverbs.cmid import CMID, AddrInfo
from pyverbs.qp import QPCap, QPInitAttr
from verbs_numbers import IBV_QPT_RC, IBV_WC_SUCCESS, RAI_PASSIVE, RDMA_PS_TCP

LENT = struct.Struct("!QIQ")
ROOM = 4096


def make_id(address: str, port: str, flags: int) -> CMID:
    info = AddrInfo(dst=address, dst_service=port, port_space=RDMA_PS_TCP, flags=flags)
    if flags:
        info = AddrInfo(src=address, src_service=port, port_space=RDMA_PS_TCP, flags=flags)
    return CMID(creator=info, qp_init_attr=QPInitAttr(qp_type=IBV_QPT_RC, cap=QPCap(max_recv_wr=1), sq_sig_all=1))


def listen(address: str, port: str) -> tuple[CMID, ...]:
    listener = make_id(address, port, RAI_PASSIVE)
    listener.listen()
    print("listening at", address, flush=True)
    return listener.get_request(), listener


def require_success(completion: object) -> None:
    if completion.status != IBV_WC_SUCCESS:
        sys.exit(f"completion with status {completion.status}")


def main(role: str, address: str, port: str) -> None:
    cmid, *_ = listen(address, port) if role == "listen" else (make_id(address, port, 0),)
    message = cmid.reg_msgs(ROOM)
    cmid.post_recv(message)
    cmid.accept() if role == "listen" else cmid.connect()

    require_success(cmid.get_recv_comp())
    lent, key, size = LENT.unpack(message.read(LENT.size, 0))
    work = cmid.reg_msgs(ROOM)
    cmid.post_read(work, size, lent, key)
    require_success(cmid.get_send_comp())
    work.write(work.read(size, 0)[::-1], size)
    cmid.post_write(work, size, lent, key)
    require_success(cmid.get_send_comp())
    message.write("reversed", 8)
    cmid.post_send(message, length=8)
    require_success(cmid.get_send_comp())
    cmid.disconnect()


if __name__ == "__main__":
    main(*sys.argv[1:])
