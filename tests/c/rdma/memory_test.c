#include "rdma/end.h"
#include "rig/case.h"

#include <string.h>

static const union doca_data none = {.u64 = 0};

static void write_to(struct end* end, struct doca_buf* src, struct doca_buf* dst) {
  struct doca_rdma_task_write* task = NULL;
  CHECK_OK(doca_rdma_task_write_allocate_init(end->rdma, end->connection, src, dst, none, &task));
  CHECK(doca_rdma_task_write_get_src_buf(task) == src && doca_rdma_task_write_get_dst_buf(task) == dst);
  end_submit(doca_rdma_task_write_as_task(task));
}

CASE(rdma_memory, is_written_without_the_peers_progress) {
  struct end a, b;
  ends_open(&a, &b);
  memset(a.stage.memory, 0x5a, 100);
  struct doca_buf* src = stage_data(&a.stage, 0, 100);
  struct doca_buf* dst = end_remote_room(&a, end_half, 100);
  write_to(&a, src, dst);
  ends_progress_until(&a, NULL, &a.seen.successes, 1);
  CHECK(b.stage.memory[end_half] == 0x5a && b.stage.memory[end_half + 99] == 0x5a);
  CHECK(b.stage.memory[end_half + 100] == 0 && data_len(dst) == 0);
  give_back(src);
  give_back(dst);
  ends_close(&a, &b);
}

CASE(rdma_memory, is_read_without_the_peers_progress) {
  struct end a, b;
  ends_open(&a, &b);
  memset(b.stage.memory, 0x5a, 100);
  struct doca_buf* src = end_remote_data(&a, 0, 100);
  struct doca_buf* dst = stage_room(&a.stage, 0, 200);
  struct doca_rdma_task_read* task = NULL;
  CHECK_OK(doca_rdma_task_read_allocate_init(a.rdma, a.connection, src, dst, none, &task));
  end_submit(doca_rdma_task_read_as_task(task));
  ends_progress_until(&a, NULL, &a.seen.successes, 1);
  CHECK(a.seen.length == 100 && a.seen.over == a.connection);
  CHECK(data_len(dst) == 100 && a.stage.memory[99] == 0x5a && a.stage.memory[100] == 0);
  give_back(src);
  give_back(dst);
  ends_close(&a, &b);
}

static uint64_t word_at(const struct end* end, size_t offset) {
  uint64_t word = 0;
  memcpy(&word, end->stage.memory + offset, sizeof word);
  return word;
}

CASE(rdma_memory, atomics_change_eight_bytes_and_give_the_old_ones) {
  struct end a, b;
  ends_open(&a, &b);
  const uint64_t before = 40;
  memcpy(b.stage.memory, &before, sizeof before);
  struct doca_buf* dst = end_remote_data(&a, 0, 8);
  struct doca_buf* result = stage_room(&a.stage, 0, 16);
  struct doca_rdma_task_atomic_fetch_add* add = NULL;
  CHECK_OK(doca_rdma_task_atomic_fetch_add_allocate_init(a.rdma, a.connection, dst, result, 2, none, &add));
  CHECK(doca_rdma_task_atomic_fetch_add_get_add_data(add) == 2);
  CHECK(doca_rdma_task_atomic_fetch_add_get_result_buf(add) == result);
  end_submit(doca_rdma_task_atomic_fetch_add_as_task(add));
  ends_progress_until(&a, NULL, &a.seen.successes, 1);
  CHECK(word_at(&a, 0) == 40 && word_at(&b, 0) == 42 && data_len(result) == 8);
  struct doca_rdma_task_atomic_cmp_swp* swap = NULL;
  CHECK_OK(doca_rdma_task_atomic_cmp_swp_allocate_init(a.rdma, a.connection, dst, result, 42, 0, none, &swap));
  doca_rdma_task_atomic_cmp_swp_set_swap_data(swap, 7);
  CHECK(doca_rdma_task_atomic_cmp_swp_get_cmp_data(swap) == 42);
  CHECK(doca_rdma_task_atomic_cmp_swp_get_swap_data(swap) == 7);
  end_submit(doca_rdma_task_atomic_cmp_swp_as_task(swap));
  ends_progress_until(&a, NULL, &a.seen.successes, 2);
  CHECK(word_at(&a, 8) == 42 && word_at(&b, 0) == 7);
  give_back(dst);
  give_back(result);
  ends_close(&a, &b);
}

CASE(rdma_memory, is_protected_by_the_contexts_permissions) {
  struct end a, b;
  uint8_t of_a[512];
  uint8_t of_b[512];
  end_open(&a, 1);
  end_create(&b, 1);
  CHECK_OK(doca_rdma_set_permissions(b.rdma, DOCA_ACCESS_FLAG_RDMA_READ));
  stage_start(&b.stage, doca_rdma_as_ctx(b.rdma));
  const size_t size_a = end_export(&a, of_a);
  const size_t size_b = end_export(&b, of_b);
  end_connect(&a, of_b, size_b);
  end_connect(&b, of_a, size_a);
  const void* description = NULL;
  size_t size = 0;
  CHECK_OK(doca_mmap_export_rdma(b.stage.mmap, b.stage.dev, &description, &size));
  end_import(&a, description, size);
  struct doca_buf* src = stage_data(&a.stage, 0, 10);
  struct doca_buf* dst = end_remote_room(&a, 0, 10);
  write_to(&a, src, dst);
  ends_progress_until(&a, &b, &a.seen.failures, 1);
  CHECK(a.seen.status == DOCA_ERROR_IO_FAILED);
  CHECK(state_of(doca_rdma_as_ctx(a.rdma)) != DOCA_CTX_STATE_RUNNING);
  give_back(src);
  give_back(dst);
  ends_close(&a, &b);
}

static struct doca_sync_event* make_event(struct end* end, struct end* importer,
                                          struct doca_sync_event_remote_net** remote) {
  struct doca_sync_event* event = NULL;
  const uint8_t* data = NULL;
  size_t size = 0;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_add_publisher_location_remote_net(event));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, end->stage.dev));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_export_to_remote_net(event, &data, &size));
  CHECK_OK(doca_sync_event_remote_net_create_from_export(importer->stage.dev, data, size, remote));
  return event;
}

CASE(rdma_memory, tasks_change_the_peers_sync_event) {
  struct end a, b;
  ends_open(&a, &b);
  struct doca_sync_event_remote_net* remote = NULL;
  struct doca_sync_event* event = make_event(&b, &a, &remote);
  const uint64_t five = 5;
  memcpy(a.stage.memory, &five, sizeof five);
  struct doca_buf* src = stage_data(&a.stage, 0, 8);
  struct doca_buf* result = stage_room(&a.stage, 8, 16);
  struct doca_rdma_task_remote_net_sync_event_notify_set* set = NULL;
  CHECK_OK(
      doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(a.rdma, a.connection, remote, src, none, &set));
  CHECK(doca_rdma_task_remote_net_sync_event_notify_set_get_sync_event(set) == remote);
  end_submit(doca_rdma_task_remote_net_sync_event_notify_set_as_task(set));
  ends_progress_until(&a, NULL, &a.seen.successes, 1);
  CHECK_OK(doca_sync_event_wait_eq(event, 5, UINT64_MAX));
  struct doca_rdma_task_remote_net_sync_event_notify_add* add = NULL;
  CHECK_OK(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(a.rdma, a.connection, remote, result, 3, none,
                                                                         &add));
  end_submit(doca_rdma_task_remote_net_sync_event_notify_add_as_task(add));
  ends_progress_until(&a, NULL, &a.seen.successes, 2);
  CHECK_OK(doca_sync_event_wait_eq(event, 8, UINT64_MAX));
  struct doca_rdma_task_remote_net_sync_event_get* get = NULL;
  CHECK_OK(doca_rdma_task_remote_net_sync_event_get_allocate_init(a.rdma, a.connection, remote, result, none, &get));
  end_submit(doca_rdma_task_remote_net_sync_event_get_as_task(get));
  ends_progress_until(&a, NULL, &a.seen.successes, 3);
  CHECK(a.seen.length == 8 && word_at(&a, 8) == 5 && word_at(&a, 16) == 8);
  CHECK_INVALID(doca_rdma_task_remote_net_sync_event_get_allocate_init(a.rdma, a.connection, NULL, result, none, &get));
  CHECK_OK(doca_sync_event_remote_net_destroy(remote));
  CHECK_INVALID(
      doca_rdma_task_remote_net_sync_event_get_allocate_init(a.rdma, a.connection, remote, result, none, &get));
  give_back(src);
  give_back(result);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  ends_close(&a, &b);
}
