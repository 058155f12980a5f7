"""A program that uses rdma-core itself, here by pyverbs, shares its protection domain with pydoca (DOCA's RDMA bridge):
its queue pair writes into memory that pydoca mapped.

It needs Debian's python3-pyverbs, or that of your rdma-core.
"""

import argparse
import sys

try:
    from pyverbs.addr import AHAttr, GlobalRoute
    from pyverbs.cq import CQ
    from pyverbs.device import Context
    from pyverbs.mr import MR
    from pyverbs.pd import PD
    from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
    from pyverbs.wr import SGE, SendWR
except ModuleNotFoundError as error:
    sys.exit(f"usage: rdma_bridge.py DEVICE\n\n{__doc__}\n{error}")

import pydoca
from pydoca import rdma_bridge

# These come from <infiniband/verbs.h>: their module in pyverbs differs between its versions.
IBV_QPT_RC, IBV_MTU_1024 = 2, 3
IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE = 1, 2
IBV_WR_RDMA_WRITE = 0
IBV_WC_SUCCESS = 0

TEXT = b"Hello from a queue pair of pyverbs"


def connect(one: QP, other: QP, context: Context, gid_index: int) -> None:
    """Connects two queue pairs of this process; over a network each would be told the other's GID and number."""
    for queue_pair, peer in ((one, other), (other, one)):
        route = GlobalRoute(dgid=context.query_gid(1, gid_index), sgid_index=gid_index)
        attributes = QPAttr(port_num=1)
        attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=1, dlid=context.query_port(1).lid)
        attributes.dest_qp_num = peer.qp_num
        attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE
        attributes.path_mtu = IBV_MTU_1024
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        attributes.timeout, attributes.retry_cnt = 14, 7
        queue_pair.to_rts(attributes)


def main(name: str) -> None:
    context = Context(name=name)
    pd = PD(context)
    cq = CQ(context, 2)
    init = QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap())
    writer, target = QP(pd, init), QP(pd, init)
    source = MR(pd, len(TEXT), IBV_ACCESS_LOCAL_WRITE)
    source.write(TEXT, len(TEXT))

    with rdma_bridge.open_dev_from_pd(pd) as dev:
        rdma = dev.info.capabilities.rdma
        connect(writer, target, context, rdma.default_gid_index if rdma else 0)
        memory = pydoca.alloc(64)
        with dev.mmap(memory, access="local_read_write|rdma_write") as mmap:
            write = SendWR(opcode=IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(source.buf, source.length, source.lkey)])
            write.set_wr_rdma(rdma_bridge.get_mmap_mkey_from_pd(mmap, pd), mmap.addr)
            writer.post_send(write)
            while not (completions := cq.poll()[1]):
                pass
            if completions[0].status != IBV_WC_SUCCESS:
                sys.exit(f"the write failed with status {completions[0].status}")
            print("pydoca's memory:", bytes(memory).rstrip(b"\0").decode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device", help="such as rxe0")
    main(parser.parse_args().device)
