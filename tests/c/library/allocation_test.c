/// After the start of its objects, what a program does for each task takes no memory.
#include "rdma/end.h"
#include "rig/allocations.h"
#include "rig/case.h"
#include "rig/device.h"
#include "rig/server.h"
#include "rig/stage.h"

#include <doca_comch.h>
#include <doca_dma.h>
#include <doca_graph.h>
#include <doca_sha.h>
#include <doca_sync_event.h>
#include <stdlib.h>

enum { rounds = 100, size = 4096 };

static const union doca_data none = {.u64 = 0};

// It has SHA. The first look at devices comes later.
__attribute__((constructor)) static void choose_card(void) { setenv("PYDOCA_PROFILE", "bluefield2", 1); }

CASE(allocation, is_counted) {
  const size_t before = allocations();
  void* volatile memory = malloc(1);
  CHECK(allocations() == before + 1);
  free(memory);
}

static void copied(struct doca_dma_task_memcpy* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  ++*(int*)ctx_data.ptr;
  doca_task_free(doca_dma_task_memcpy_as_task(task));
}

static struct doca_dma* make_dma(struct stage* stage, int* completions) {
  stage_open(stage, open_first_device(), (size_t)2 * size);
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(stage->dev, &dma));
  CHECK_OK(doca_dma_task_memcpy_set_conf(dma, copied, copied, 2));
  CHECK_OK(doca_ctx_set_user_data(doca_dma_as_ctx(dma), (union doca_data){.ptr = completions}));
  stage_start(stage, doca_dma_as_ctx(dma));
  return dma;
}

static void end_dma(struct stage* stage, struct doca_dma* dma) {
  stage_stop(stage, doca_dma_as_ctx(dma));
  CHECK_OK(doca_dma_destroy(dma));
  stage_close(stage);
}

CASE(allocation, a_copy_takes_no_memory) {
  struct stage stage;
  int completions = 0;
  struct doca_dma* dma = make_dma(&stage, &completions);
  const size_t before = allocations();
  for (int round = 1; round <= rounds; ++round) {
    struct doca_buf* src = stage_data(&stage, 0, size);
    struct doca_buf* dst = stage_room(&stage, size, size);
    struct doca_dma_task_memcpy* task = NULL;
    CHECK_OK(doca_dma_task_memcpy_alloc_init(dma, src, dst, none, &task));
    CHECK_OK(doca_task_submit(doca_dma_task_memcpy_as_task(task)));
    stage_progress_until(&stage, &completions, round);
    give_back(src);
    give_back(dst);
  }
  CHECK_EQUAL(allocations() - before, 0);
  end_dma(&stage, dma);
}

static void counted(struct doca_sync_event_task_notify_add* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  ++*(int*)ctx_data.ptr;
  doca_task_free(doca_sync_event_task_notify_add_as_doca_task(task));
}

CASE(allocation, an_addition_to_an_event_takes_no_memory) {
  struct stage stage;
  int completions = 0;
  stage_open(&stage, open_first_device(), 64);
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_add_publisher_location_cpu(event, stage.dev));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, stage.dev));
  CHECK_OK(doca_sync_event_task_notify_add_set_conf(event, counted, counted, 1));
  struct doca_ctx* ctx = doca_sync_event_as_ctx(event);
  CHECK_OK(doca_ctx_set_user_data(ctx, (union doca_data){.ptr = &completions}));
  stage_start(&stage, ctx);
  const size_t before = allocations();
  for (int round = 1; round <= rounds; ++round) {
    uint64_t fetched = 0;
    struct doca_sync_event_task_notify_add* task = NULL;
    CHECK_OK(doca_sync_event_task_notify_add_alloc_init(event, 1, &fetched, none, &task));
    CHECK_OK(doca_task_submit(doca_sync_event_task_notify_add_as_doca_task(task)));
    stage_progress_until(&stage, &completions, round);
  }
  CHECK_EQUAL(allocations() - before, 0);
  stage_stop(&stage, ctx);
  CHECK_OK(doca_sync_event_destroy(event));
  stage_close(&stage);
}

static void hashed(struct doca_sha_task_hash* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  ++*(int*)ctx_data.ptr;
  doca_task_free(doca_sha_task_hash_as_task(task));
}

CASE(allocation, a_digest_takes_no_memory) {
  struct stage stage;
  int completions = 0;
  struct doca_sha* sha = NULL;
  stage_open(&stage, open_first_device(), (size_t)2 * size);
  CHECK_OK(doca_sha_create(stage.dev, &sha));
  CHECK_OK(doca_sha_task_hash_set_conf(sha, hashed, hashed, 1));
  CHECK_OK(doca_ctx_set_user_data(doca_sha_as_ctx(sha), (union doca_data){.ptr = &completions}));
  stage_start(&stage, doca_sha_as_ctx(sha));
  struct doca_buf* src = stage_data(&stage, 0, size);
  struct doca_buf* dst = stage_room(&stage, size, size);
  const size_t before = allocations();
  for (int round = 1; round <= rounds; ++round) {
    struct doca_sha_task_hash* task = NULL;
    CHECK_OK(doca_sha_task_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA256, src, dst, none, &task));
    CHECK_OK(doca_task_submit(doca_sha_task_hash_as_task(task)));
    stage_progress_until(&stage, &completions, round);
    CHECK_EQUAL(data_len(dst), 32);
    CHECK_OK(doca_buf_reset_data_len(dst));
  }
  CHECK_EQUAL(allocations() - before, 0);
  give_back(src);
  give_back(dst);
  stage_stop(&stage, doca_sha_as_ctx(sha));
  CHECK_OK(doca_sha_destroy(sha));
  stage_close(&stage);
}

CASE(allocation, a_write_takes_no_memory) {
  struct end here;
  struct end there;
  ends_open(&here, &there);
  struct doca_buf* src = stage_data(&here.stage, 0, end_half);
  struct doca_buf* dst = end_remote_room(&here, 0, end_half);
  const size_t before = allocations();
  for (int round = 1; round <= rounds; ++round) {
    struct doca_rdma_task_write* task = NULL;
    CHECK_OK(doca_rdma_task_write_allocate_init(here.rdma, here.connection, src, dst, none, &task));
    CHECK_OK(doca_task_submit(doca_rdma_task_write_as_task(task)));
    ends_progress_until(&here, &there, &here.seen.successes, round);
    CHECK_OK(doca_buf_reset_data_len(dst));
  }
  CHECK_EQUAL(allocations() - before, 0);
  give_back(src);
  give_back(dst);
  ends_close(&here, &there);
}

static void sent(struct doca_comch_task_send* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  CHECK_OK(doca_task_get_status(doca_comch_task_send_as_task(task)));
  ++*(int*)ctx_data.ptr;
  doca_task_free(doca_comch_task_send_as_task(task));
}

static void received(struct doca_comch_event_msg_recv* event, uint8_t* message, uint32_t length,
                     struct doca_comch_connection* connection) {
  (void)event;
  (void)message;
  (void)length;
  (void)connection;
}

CASE(allocation, a_message_takes_no_memory) {
  struct stage stage;
  int completions = 0;
  struct doca_comch_client* client = NULL;
  struct doca_comch_connection* connection = NULL;
  struct server* server = server_open("allocation");
  stage_open(&stage, open_device("0b:00.0"), size);
  CHECK_OK(doca_comch_client_create(stage.dev, "allocation", &client));
  CHECK_OK(doca_comch_client_task_send_set_conf(client, sent, sent, 1));
  CHECK_OK(doca_comch_client_event_msg_recv_register(client, received));
  struct doca_ctx* ctx = doca_comch_client_as_ctx(client);
  CHECK_OK(doca_ctx_set_user_data(ctx, (union doca_data){.ptr = &completions}));
  CHECK_OK(doca_pe_connect_ctx(stage.pe, ctx));
  CHECK_STATUS(doca_ctx_start(ctx), DOCA_ERROR_IN_PROGRESS);
  while (state_of(ctx) != DOCA_CTX_STATE_RUNNING) {
    (void)doca_pe_progress(stage.pe);
    server_progress(server);
  }
  CHECK_OK(doca_comch_client_get_connection(client, &connection));
  const size_t before = allocations();
  for (int round = 1; round <= rounds; ++round) {
    struct doca_comch_task_send* task = NULL;
    CHECK_OK(doca_comch_client_task_send_alloc_init(client, connection, stage.memory, 64, &task));
    CHECK_OK(doca_task_submit(doca_comch_task_send_as_task(task)));
    stage_progress_until(&stage, &completions, round);
    server_progress(server);
  }
  CHECK_EQUAL(allocations() - before, 0);
  stage_stop(&stage, ctx);
  CHECK_OK(doca_comch_client_destroy(client));
  server_close(server);
  stage_close(&stage);
}

CASE(allocation, an_event_that_is_set_and_waited_for_takes_no_memory) {
  struct doca_dev* dev = open_first_device();
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_add_publisher_location_cpu(event, dev));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, dev));
  CHECK_OK(doca_sync_event_start(event));
  const size_t before = allocations();
  for (uint64_t round = 1; round <= rounds; ++round) {
    uint64_t value = 0;
    CHECK_OK(doca_sync_event_update_set(event, round));
    CHECK_OK(doca_sync_event_get(event, &value));
    CHECK_OK(doca_sync_event_wait_eq(event, value, UINT64_MAX));
  }
  CHECK_EQUAL(allocations() - before, 0);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

static void ran(struct doca_graph_instance* instance, union doca_data instance_data, union doca_data graph_data) {
  (void)instance;
  (void)instance_data;
  ++*(int*)graph_data.ptr;
}

static doca_error_t succeed(void* cookie) {
  (void)cookie;
  return DOCA_SUCCESS;
}

CASE(allocation, a_run_of_a_graph_takes_no_memory) {
  struct stage stage;
  int runs = 0;
  int completions = 0;
  struct doca_dma* dma = make_dma(&stage, &completions);
  struct doca_graph* graph = NULL;
  struct doca_graph_node* copy = NULL;
  struct doca_graph_node* function = NULL;
  CHECK_OK(doca_graph_create(stage.pe, &graph));
  CHECK_OK(doca_graph_set_conf(graph, ran, ran, 1));
  CHECK_OK(doca_graph_set_user_data(graph, (union doca_data){.ptr = &runs}));
  CHECK_OK(doca_graph_node_create_from_ctx(graph, doca_dma_as_ctx(dma), &copy));
  CHECK_OK(doca_graph_node_create_from_user(graph, succeed, &function));
  CHECK_OK(doca_graph_add_dependency(graph, copy, function));
  CHECK_OK(doca_graph_start(graph));
  struct doca_graph_instance* instance = NULL;
  CHECK_OK(doca_graph_instance_create(graph, &instance));
  struct doca_buf* src = stage_data(&stage, 0, size);
  struct doca_buf* dst = stage_room(&stage, size, size);
  struct doca_dma_task_memcpy* task = NULL;
  CHECK_OK(doca_dma_task_memcpy_alloc_init(dma, src, dst, none, &task));
  CHECK_OK(doca_graph_instance_set_ctx_node_data(instance, copy, doca_dma_task_memcpy_as_task(task)));
  const size_t before = allocations();
  for (int round = 1; round <= rounds; ++round) {
    CHECK_OK(doca_graph_instance_submit(instance));
    stage_progress_until(&stage, &runs, round);
    CHECK_OK(doca_buf_reset_data_len(dst));
  }
  CHECK(allocations() == before && completions == 0);
  CHECK_OK(doca_graph_instance_destroy(instance));
  CHECK_OK(doca_graph_stop(graph));
  CHECK_OK(doca_graph_destroy(graph));
  doca_task_free(doca_dma_task_memcpy_as_task(task));
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}
