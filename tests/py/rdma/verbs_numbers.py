"""Numbers of <infiniband/verbs.h> and <rdma/rdma_cma.h>: their module in pyverbs differs between its versions."""

IBV_QPT_RC = 2
IBV_MTU_1024 = 3
IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ = 1, 2, 4
IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ = 0, 4
IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR = 0, 10
RDMA_PS_TCP = 0x106
RAI_PASSIVE = 1
