/// After the start of its objects, what a program does for each task takes no memory.
#include "rig/allocations.h"
#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_dma.h>
#include <doca_graph.h>
#include <doca_sync_event.h>

enum { rounds = 100, size = 4096 };

static const union doca_data none = {.u64 = 0};

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
  CHECK(allocations() == before);
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
  CHECK(allocations() == before);
  stage_stop(&stage, ctx);
  CHECK_OK(doca_sync_event_destroy(event));
  stage_close(&stage);
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
