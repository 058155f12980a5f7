// RDMA on a device of rdma-core, and the objects of rdma-core that a program shares with DOCA. script/test-rdma runs it
// where such a device is.

#include "rdma/end.h"
#include "rig/case.h"
#include "rig/device.h"

#include <infiniband/verbs.h>

#include <doca_rdma_bridge.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { port = 1 };

static const union doca_data none = {.u64 = 0};

static uint32_t usual_gid_index(const struct doca_rdma* rdma) {
  uint32_t index = 0;
  CHECK_OK(doca_rdma_get_gid_index(rdma, &index));
  return index;
}

/// An end with the settings that programs give for RoCE.
static void open_with_gid_index(struct end* end) {
  end_create(end, 1);
  CHECK_OK(doca_rdma_set_transport_type(end->rdma, DOCA_RDMA_TRANSPORT_TYPE_RC));
  CHECK_OK(doca_rdma_set_gid_index(end->rdma, usual_gid_index(end->rdma)));
  stage_start(&end->stage, doca_rdma_as_ctx(end->rdma));
}

CASE(rdma_verbs, reliable_connections_use_the_gid_index_that_is_set) {
  struct end a, b;
  uint8_t of_a[512];
  uint8_t of_b[512];
  open_with_gid_index(&a);
  open_with_gid_index(&b);
  const size_t size_a = end_export(&a, of_a);
  const size_t size_b = end_export(&b, of_b);
  end_connect(&a, of_b, size_b);
  end_connect(&b, of_a, size_a);
  memset(a.stage.memory, 0x5a, 100);
  struct doca_buf* src = stage_data(&a.stage, 0, 100);
  struct doca_buf* dst = stage_room(&b.stage, 0, 100);
  end_receive(&b, dst);
  struct doca_rdma_task_send* task = NULL;
  CHECK_OK(doca_rdma_task_send_allocate_init(a.rdma, a.connection, src, none, &task));
  end_submit(doca_rdma_task_send_as_task(task));
  ends_progress_until(&a, &b, &b.seen.successes, 1);
  ends_progress_until(&a, &b, &a.seen.successes, 1);
  CHECK(b.seen.length == 100 && b.stage.memory[99] == 0x5a);
  give_back(src);
  give_back(dst);
  ends_close(&a, &b);
}

CASE(rdma_verbs, dynamically_connected_transport_is_refused) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  struct doca_rdma* rdma = NULL;
  uint32_t size = 0;
  CHECK_OK(doca_rdma_cap_transport_type_is_supported(info, DOCA_RDMA_TRANSPORT_TYPE_RC));
  CHECK_STATUS(doca_rdma_cap_transport_type_is_supported(info, DOCA_RDMA_TRANSPORT_TYPE_DC), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_rdma_create(dev, &rdma));
  CHECK_STATUS(doca_rdma_set_transport_type(rdma, DOCA_RDMA_TRANSPORT_TYPE_DC), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_rdma_cap_get_gid_table_size(info, &size));
  CHECK_INVALID(doca_rdma_set_gid_index(rdma, size));
  CHECK_OK(doca_rdma_destroy(rdma));
  CHECK_OK(doca_dev_close(dev));
}

/// A queue pair of the program's own, connected to itself.
struct loop {
  struct ibv_cq* cq;
  struct ibv_qp* qp;
};

static void make_ready(struct loop* loop, struct ibv_context* context, uint32_t gid_index) {
  struct ibv_port_attr attributes;
  union ibv_gid gid;
  CHECK(ibv_query_port(context, port, &attributes) == 0 && ibv_query_gid(context, port, (int)gid_index, &gid) == 0);
  struct ibv_qp_attr to_init = {.qp_state = IBV_QPS_INIT, .port_num = port, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  CHECK(ibv_modify_qp(loop->qp, &to_init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_qp_attr to_receive = {.qp_state = IBV_QPS_RTR,
                                   .path_mtu = attributes.active_mtu,
                                   .dest_qp_num = loop->qp->qp_num,
                                   .max_dest_rd_atomic = 1,
                                   .min_rnr_timer = 12};
  to_receive.ah_attr = (struct ibv_ah_attr){.dlid = attributes.lid, .port_num = port, .is_global = 1};
  to_receive.ah_attr.grh = (struct ibv_global_route){.dgid = gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 1};
  CHECK(ibv_modify_qp(loop->qp, &to_receive,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr to_send = {
      .qp_state = IBV_QPS_RTS, .timeout = 17, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  CHECK(ibv_modify_qp(loop->qp, &to_send,
                      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void open_loop(struct loop* loop, struct ibv_pd* pd, uint32_t gid_index) {
  struct ibv_qp_init_attr attributes = {
      .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  loop->cq = ibv_create_cq(pd->context, 4, NULL, NULL, 0);
  CHECK(loop->cq != NULL);
  attributes.send_cq = attributes.recv_cq = loop->cq;
  loop->qp = ibv_create_qp(pd, &attributes);
  CHECK(loop->qp != NULL);
  make_ready(loop, pd->context, gid_index);
}

static void close_loop(struct loop* loop) { CHECK(ibv_destroy_qp(loop->qp) == 0 && ibv_destroy_cq(loop->cq) == 0); }

/// Writes bytes of the program's own region to an address by the key of a DOCA map.
static void write_by_key(struct loop* loop, const struct ibv_mr* from, uint32_t size, const void* to, uint32_t key) {
  struct ibv_sge part = {.addr = (uint64_t)(uintptr_t)from->addr, .length = size, .lkey = from->lkey};
  struct ibv_send_wr request = {
      .sg_list = &part, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad = NULL;
  struct ibv_wc completion = {.status = IBV_WC_GENERAL_ERR};
  const time_t end = time(NULL) + 30;
  request.wr.rdma.remote_addr = (uint64_t)(uintptr_t)to;
  request.wr.rdma.rkey = key;
  CHECK(ibv_post_send(loop->qp, &request, &bad) == 0);
  while (ibv_poll_cq(loop->cq, 1, &completion) == 0) CHECK(time(NULL) < end);
  CHECK(completion.status == IBV_WC_SUCCESS);
}

static void write_to_map(struct stage* stage, struct ibv_pd* pd, uint32_t gid_index) {
  static char text[] = "written by a queue pair of the program's own";
  struct loop loop;
  uint32_t key = 0;
  struct ibv_mr* const region = ibv_reg_mr(pd, text, sizeof text, 0);
  CHECK(region != NULL);
  CHECK_OK(doca_rdma_bridge_get_mmap_mkey_from_pd(stage->mmap, pd, &key));
  open_loop(&loop, pd, gid_index);
  write_by_key(&loop, region, sizeof text, stage->memory + 100, key);
  CHECK(memcmp(stage->memory + 100, text, sizeof text) == 0);
  close_loop(&loop);
  CHECK(ibv_dereg_mr(region) == 0);
}

static uint32_t gid_index_of(struct doca_dev* dev) {
  struct doca_rdma* rdma = NULL;
  CHECK_OK(doca_rdma_create(dev, &rdma));
  const uint32_t index = usual_gid_index(rdma);
  CHECK_OK(doca_rdma_destroy(rdma));
  return index;
}

static void open_stage(struct stage* stage, struct doca_dev* dev) {
  stage_open(stage, dev, 4096);
  CHECK_OK(doca_mmap_stop(stage->mmap));
  CHECK_OK(doca_mmap_set_permissions(stage->mmap, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_WRITE));
  CHECK_OK(doca_mmap_start(stage->mmap));
}

CASE(rdma_verbs, a_queue_pair_of_the_program_uses_the_devices_domain) {
  struct stage stage;
  struct ibv_pd* pd = NULL;
  uint32_t of_map = 0;
  uint32_t of_buf = 0;
  struct doca_dev* dev = open_first_device();
  const uint32_t gid_index = gid_index_of(dev);
  open_stage(&stage, dev);
  CHECK_OK(doca_rdma_bridge_get_dev_pd(dev, &pd));
  CHECK_OK(doca_rdma_bridge_get_mmap_mkey_from_pd(stage.mmap, pd, &of_map));
  struct doca_buf* buf = stage_data(&stage, 0, 8);
  CHECK_OK(doca_rdma_bridge_get_buf_mkey(buf, dev, &of_buf));
  CHECK(of_buf == of_map && of_map != 0);
  give_back(buf);
  write_to_map(&stage, pd, gid_index);
  stage_close(&stage);
}

/// The context of the device that open_first_device() opens.
static struct ibv_context* open_context(void) {
  char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
  struct ibv_context* context = NULL;
  int count = 0;
  struct doca_dev* dev = open_first_device();
  CHECK_OK(doca_devinfo_get_ibdev_name(doca_dev_as_devinfo(dev), name, sizeof name));
  CHECK_OK(doca_dev_close(dev));
  struct ibv_device** list = ibv_get_device_list(&count);
  CHECK(list != NULL);
  for (int i = 0; i < count && context == NULL; i++) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  CHECK(context != NULL);
  return context;
}

CASE(rdma_verbs, a_map_is_made_of_the_programs_domain) {
  struct stage stage;
  struct doca_dev* dev = open_first_device();
  const uint32_t gid_index = gid_index_of(dev);
  CHECK_OK(doca_dev_close(dev));
  struct ibv_context* const context = open_context();
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_pd* same = NULL;
  uint32_t key = 0;
  CHECK(pd != NULL);
  CHECK_OK(doca_rdma_bridge_open_dev_from_pd(pd, &dev));
  CHECK_OK(doca_rdma_bridge_get_dev_pd(dev, &same));
  CHECK(same == pd);
  open_stage(&stage, dev);
  write_to_map(&stage, pd, gid_index);
  CHECK_OK(doca_mmap_stop(stage.mmap));
  CHECK_STATUS(doca_rdma_bridge_get_mmap_mkey_from_pd(stage.mmap, pd, &key), DOCA_ERROR_NOT_FOUND);
  stage_close(&stage);
  CHECK(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
}
