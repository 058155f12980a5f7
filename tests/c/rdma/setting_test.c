#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_rdma.h>
#include <doca_rdma_bridge.h>
#include <string.h>

static struct doca_rdma* make(struct doca_dev** dev) {
  *dev = open_first_device();
  struct doca_rdma* rdma = NULL;
  CHECK_OK(doca_rdma_create(*dev, &rdma));
  return rdma;
}

static void end(struct doca_rdma* rdma, struct doca_dev* dev) {
  CHECK_OK(doca_rdma_destroy(rdma));
  CHECK_OK(doca_dev_close(dev));
}

#define CHECK_SETTING(type, name, value, stored)      \
  do {                                                \
    type got;                                         \
    CHECK_OK(doca_rdma_set_##name(rdma, value));      \
    CHECK_OK(doca_rdma_get_##name(rdma, &got));       \
    CHECK(got == (stored));                           \
    CHECK_INVALID(doca_rdma_set_##name(NULL, value)); \
    CHECK_INVALID(doca_rdma_get_##name(rdma, NULL));  \
  } while (0)

CASE(rdma_setting, is_kept) {
  struct doca_dev* dev = NULL;
  struct doca_rdma* rdma = make(&dev);
  CHECK_SETTING(uint32_t, send_queue_size, 100, 128);
  CHECK_SETTING(uint32_t, max_send_buf_list_len, 3, 3);
  CHECK_SETTING(enum doca_rdma_transport_type, transport_type, DOCA_RDMA_TRANSPORT_TYPE_RC,
                DOCA_RDMA_TRANSPORT_TYPE_RC);
  CHECK_SETTING(enum doca_mtu_size, mtu, DOCA_MTU_SIZE_4K_BYTES, DOCA_MTU_SIZE_4K_BYTES);
  CHECK_SETTING(uint32_t, permissions, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ, 3);
  CHECK_SETTING(uint8_t, grh_enabled, 1, 1);
  CHECK_SETTING(uint32_t, gid_index, 0, 0);
  CHECK_SETTING(uint32_t, sl, 3, 3);
  CHECK_SETTING(uint16_t, connection_request_timeout, 500, 500);
  CHECK_SETTING(uint16_t, max_num_connections, 8, 8);
  CHECK_SETTING(uint8_t, rnr_retry_count, 3, 3);
  uint32_t length = 0;
  CHECK_OK(doca_rdma_task_receive_set_dst_buf_list_len(rdma, 4));
  CHECK_OK(doca_rdma_task_receive_get_dst_buf_list_len(rdma, &length));
  CHECK(length == 4);
  end(rdma, dev);
}

CASE(rdma_setting, is_refused_outside_its_range) {
  struct doca_dev* dev = NULL;
  struct doca_rdma* rdma = make(&dev);
  CHECK_INVALID(doca_rdma_set_send_queue_size(rdma, 0));
  CHECK_STATUS(doca_rdma_set_send_queue_size(rdma, UINT32_MAX), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_rdma_set_recv_queue_size(rdma, 4), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_rdma_set_max_send_buf_list_len(rdma, 0));
  CHECK_STATUS(doca_rdma_task_receive_set_dst_buf_list_len(rdma, UINT32_MAX), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_rdma_set_transport_type(rdma, DOCA_RDMA_TRANSPORT_TYPE_DC), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_rdma_set_transport_type(rdma, (enum doca_rdma_transport_type)256));
  CHECK_INVALID(doca_rdma_set_mtu(rdma, DOCA_MTU_SIZE_RAW_ETHERNET));
  CHECK_INVALID(doca_rdma_set_permissions(rdma, DOCA_ACCESS_FLAG_PCI_READ_ONLY));
  CHECK_INVALID(doca_rdma_set_gid_index(rdma, 100000));
  CHECK_INVALID(doca_rdma_set_sl(rdma, 16));
  CHECK_INVALID(doca_rdma_set_connection_request_timeout(rdma, 0));
  CHECK_STATUS(doca_rdma_set_max_num_connections(rdma, 0), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_rdma_set_rnr_retry_count(rdma, 8));
  end(rdma, dev);
}

static void completed(struct doca_rdma_task_receive* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  (void)ctx_data;
  doca_task_free(doca_rdma_task_receive_as_task(task));
}

CASE(rdma_setting, is_refused_unless_idle) {
  struct stage stage;
  stage_open(&stage, open_first_device(), 64);
  struct doca_rdma* rdma = NULL;
  CHECK_OK(doca_rdma_create(stage.dev, &rdma));
  CHECK_INVALID(doca_rdma_task_receive_set_conf(rdma, NULL, completed, 3));
  CHECK_INVALID(doca_rdma_task_receive_set_conf(rdma, completed, completed, 0));
  CHECK_OK(doca_rdma_task_receive_set_conf(rdma, completed, completed, 3));
  struct doca_rdma_task_receive* task = NULL;
  CHECK_STATUS(doca_rdma_task_receive_allocate_init(rdma, NULL, (union doca_data){.u64 = 0}, &task),
               DOCA_ERROR_BAD_STATE);
  stage_start(&stage, doca_rdma_as_ctx(rdma));
  CHECK_STATUS(doca_rdma_set_sl(rdma, 1), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_rdma_task_receive_set_conf(rdma, completed, completed, 3), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_rdma_destroy(rdma), DOCA_ERROR_BAD_STATE);
  uint32_t size = 0;
  CHECK_OK(doca_rdma_get_recv_queue_size(rdma, &size));
  CHECK(size >= 3);
  stage_stop(&stage, doca_rdma_as_ctx(rdma));
  CHECK_OK(doca_rdma_set_sl(rdma, 1));
  CHECK_OK(doca_rdma_destroy(rdma));
  CHECK_INVALID(doca_rdma_destroy(rdma));
  CHECK(doca_rdma_as_ctx(rdma) == NULL);
  stage_close(&stage);
}

CASE(rdma_setting, capabilities_answer_by_device) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  uint32_t number = 0;
  CHECK_OK(doca_rdma_cap_task_send_is_supported(info));
  CHECK_OK(doca_rdma_cap_task_remote_net_sync_event_notify_add_is_supported(info));
  CHECK_INVALID(doca_rdma_cap_task_receive_is_supported(NULL));
  CHECK_OK(doca_rdma_cap_get_max_recv_queue_size(info, &number));
  CHECK_OK(doca_rdma_cap_get_max_send_queue_size(info, &number));
  CHECK_OK(doca_rdma_cap_get_max_send_buf_list_len(info, &number));
  CHECK(number > 0);
  CHECK_OK(doca_rdma_cap_get_max_message_size(info, &number));
  CHECK_INVALID(doca_rdma_cap_get_max_message_size(info, NULL));
  CHECK_OK(doca_rdma_cap_transport_type_is_supported(info, DOCA_RDMA_TRANSPORT_TYPE_RC));
  CHECK_STATUS(doca_rdma_cap_transport_type_is_supported(info, DOCA_RDMA_TRANSPORT_TYPE_DC), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_rdma_cap_task_receive_get_max_dst_buf_list_len(info, DOCA_RDMA_TRANSPORT_TYPE_RC, &number));
  CHECK(number > 0);
  CHECK_OK(doca_dev_close(dev));
}

CASE(rdma_setting, gids_are_those_of_the_table) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  const struct doca_rdma_gid empty = {.raw = {0}};
  struct doca_rdma_gid gids[2] = {{.raw = {0}}, {.raw = {0}}};
  uint32_t size = 0;
  CHECK_OK(doca_rdma_cap_get_gid_table_size(info, &size));
  CHECK(size >= 1);
  CHECK_OK(doca_rdma_cap_get_gid(info, 0, 1, gids));
  CHECK(memcmp(&gids[0], &empty, sizeof empty) != 0 && memcmp(&gids[1], &empty, sizeof empty) == 0);
  CHECK_INVALID(doca_rdma_cap_get_gid(info, size, 1, gids));
  CHECK_INVALID(doca_rdma_cap_get_gid(info, 0, 1, NULL));
  CHECK_OK(doca_dev_close(dev));
}

CASE(rdma_setting, kernels_are_refused) {
  struct doca_dev* dev = NULL;
  struct doca_rdma* rdma = make(&dev);
  doca_dpa_dev_rdma_t dpa = 0;
  struct doca_gpu_dev_rdma* gpu = NULL;
  CHECK_STATUS(doca_rdma_get_dpa_handle(rdma, &dpa), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_rdma_get_gpu_handle(rdma, &gpu), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_rdma_dpa_completion_attach(rdma, NULL));
  end(rdma, dev);
}

CASE(rdma_bridge, a_simulated_device_has_no_protection_domain) {
  struct stage stage;
  int any = 0;
  stage_open(&stage, open_first_device(), 64);
  struct ibv_pd* pd = NULL;
  uint32_t key = 0;
  CHECK_STATUS(doca_rdma_bridge_get_dev_pd(stage.dev, &pd), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_rdma_bridge_get_dev_pd(stage.dev, NULL));
  struct doca_dev* dev = NULL;
  CHECK_INVALID(doca_rdma_bridge_open_dev_from_pd(NULL, &dev));
  struct doca_buf* buf = stage_data(&stage, 0, 8);
  CHECK_STATUS(doca_rdma_bridge_get_buf_mkey(buf, stage.dev, &key), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_rdma_bridge_get_buf_mkey(NULL, stage.dev, &key));
  CHECK_STATUS(doca_rdma_bridge_get_mmap_mkey_from_pd(stage.mmap, (struct ibv_pd*)(void*)&any, &key),
               DOCA_ERROR_NOT_FOUND);
  give_back(buf);
  stage_close(&stage);
}
