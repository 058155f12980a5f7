// A graph: two copies by DMA run beside each other, then a function compares their results. Several instances of it run
// at once.

#include "dma_common.h"

#include <doca_graph.h>
#include <doca_log.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

DOCA_LOG_REGISTER(GRAPH_COPY);

enum { num_instances = 5, num_copies = 2, size = 1024 };

// One run: a source, and a destination for each copy.
struct instance {
  struct doca_graph_instance* instance;
  struct doca_dma_task_memcpy* tasks[num_copies];
  struct doca_buf* src;
  struct doca_buf* dst[num_copies];
  const char* dst_memory[num_copies];
};

struct resources {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_dma* dma;
  struct doca_buf_inventory* inventory;
  struct region region;
  struct doca_graph* graph;
  struct doca_graph_node* copies[num_copies];
  struct doca_graph_node* comparison;
  struct instance instances[num_instances];
  uint32_t num_succeeded;
  uint32_t num_failed;
};

// The callbacks of tasks: nodes of a graph do not call them, but a library wants them.
static void not_called(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                       union doca_data ctx_user_data) {
  (void)task;
  (void)task_user_data;
  (void)ctx_user_data;
}

static void succeeded(struct doca_graph_instance* instance, union doca_data instance_user_data,
                      union doca_data graph_user_data) {
  struct resources* all = graph_user_data.ptr;
  (void)instance;
  DOCA_LOG_INFO("Instance %" PRIu64 " is complete", instance_user_data.u64);
  all->num_succeeded++;
}

static void failed(struct doca_graph_instance* instance, union doca_data instance_user_data,
                   union doca_data graph_user_data) {
  struct resources* all = graph_user_data.ptr;
  (void)instance;
  DOCA_LOG_ERR("Instance %" PRIu64 " has failed", instance_user_data.u64);
  all->num_failed++;
}

static doca_error_t compare(void* cookie) {
  const struct instance* one = cookie;
  return memcmp(one->dst_memory[0], one->dst_memory[1], size) == 0 ? DOCA_SUCCESS : DOCA_ERROR_UNEXPECTED;
}

static doca_error_t start_dma(struct resources* all) {
  doca_error_t result = doca_pe_create(&all->pe);
  if (result != DOCA_SUCCESS) return result;
  result = doca_dma_create(all->dev, &all->dma);
  if (result != DOCA_SUCCESS) return result;
  result = doca_dma_task_memcpy_set_conf(all->dma, not_called, not_called, num_instances * num_copies);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_connect_ctx(all->pe, doca_dma_as_ctx(all->dma));
  if (result != DOCA_SUCCESS) return result;
  return doca_ctx_start(doca_dma_as_ctx(all->dma));
}

static doca_error_t add_nodes(struct resources* all) {
  doca_error_t result = doca_graph_node_create_from_user(all->graph, compare, &all->comparison);
  for (int i = 0; i < num_copies && result == DOCA_SUCCESS; i++) {
    result = doca_graph_node_create_from_ctx(all->graph, doca_dma_as_ctx(all->dma), &all->copies[i]);
    if (result != DOCA_SUCCESS) return result;
    result = doca_graph_add_dependency(all->graph, all->copies[i], all->comparison);
  }
  return result;
}

static doca_error_t start_graph(struct resources* all) {
  doca_error_t result = doca_graph_create(all->pe, &all->graph);
  if (result != DOCA_SUCCESS) return result;
  result = doca_graph_set_conf(all->graph, succeeded, failed, num_instances);
  if (result != DOCA_SUCCESS) return result;
  result = doca_graph_set_user_data(all->graph, (union doca_data){.ptr = all});
  if (result != DOCA_SUCCESS) return result;
  result = add_nodes(all);
  return result == DOCA_SUCCESS ? doca_graph_start(all->graph) : result;
}

// Takes the bufs of an instance from its part of the region: a source, which gets some content, and the destinations.
static doca_error_t get_bufs(struct resources* all, uint32_t index) {
  struct instance* one = &all->instances[index];
  char* memory = all->region.memory + (size_t)index * (1 + num_copies) * size;
  memset(memory, 'a' + (int)index, size);
  doca_error_t result = doca_buf_inventory_buf_get_by_data(all->inventory, all->region.mmap, memory, size, &one->src);
  for (int i = 0; i < num_copies && result == DOCA_SUCCESS; i++) {
    memory += size;
    one->dst_memory[i] = memory;
    result = doca_buf_inventory_buf_get_by_addr(all->inventory, all->region.mmap, memory, size, &one->dst[i]);
  }
  return result;
}

static doca_error_t add_tasks(struct resources* all, struct instance* one) {
  const union doca_data none = {0};
  doca_error_t result = DOCA_SUCCESS;
  for (int i = 0; i < num_copies && result == DOCA_SUCCESS; i++) {
    result = doca_dma_task_memcpy_alloc_init(all->dma, one->src, one->dst[i], none, &one->tasks[i]);
    if (result != DOCA_SUCCESS) return result;
    result = doca_graph_instance_set_ctx_node_data(one->instance, all->copies[i],
                                                   doca_dma_task_memcpy_as_task(one->tasks[i]));
  }
  return result;
}

static doca_error_t add_instance(struct resources* all, uint32_t index) {
  struct instance* one = &all->instances[index];
  doca_error_t result = get_bufs(all, index);
  if (result != DOCA_SUCCESS) return result;
  result = doca_graph_instance_create(all->graph, &one->instance);
  if (result != DOCA_SUCCESS) return result;
  result = add_tasks(all, one);
  if (result != DOCA_SUCCESS) return result;
  result = doca_graph_instance_set_user_node_data(one->instance, all->comparison, one);
  if (result != DOCA_SUCCESS) return result;
  return doca_graph_instance_set_user_data(one->instance, (union doca_data){.u64 = index});
}

static doca_error_t create(struct resources* all) {
  const size_t num_bufs = (size_t)num_instances * (1 + num_copies);
  doca_error_t result = open_device(NULL, doca_dma_cap_task_memcpy_is_supported, &all->dev);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, num_bufs * size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &all->region);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_create(num_bufs, &all->inventory);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_start(all->inventory);
  if (result == DOCA_SUCCESS) result = start_dma(all);
  if (result == DOCA_SUCCESS) result = start_graph(all);
  for (uint32_t i = 0; i < num_instances && result == DOCA_SUCCESS; i++) result = add_instance(all, i);
  return result;
}

static doca_error_t run(struct resources* all) {
  uint32_t num_submitted = 0;
  doca_error_t result = DOCA_SUCCESS;
  while (num_submitted < num_instances && result == DOCA_SUCCESS) {
    result = doca_graph_instance_submit(all->instances[num_submitted].instance);
    if (result == DOCA_SUCCESS) num_submitted++;
  }
  while (all->num_succeeded + all->num_failed < num_submitted) doca_pe_progress(all->pe);
  printf("%" PRIu32 " of %d instances have succeeded\n", all->num_succeeded, num_instances);
  return result == DOCA_SUCCESS && all->num_failed > 0 ? DOCA_ERROR_UNEXPECTED : result;
}

static void remove_instance(struct instance* one) {
  if (one->instance != NULL) doca_graph_instance_destroy(one->instance);
  for (int i = 0; i < num_copies; i++) {
    if (one->tasks[i] != NULL) doca_task_free(doca_dma_task_memcpy_as_task(one->tasks[i]));
    if (one->dst[i] != NULL) doca_buf_dec_refcount(one->dst[i], NULL);
  }
  if (one->src != NULL) doca_buf_dec_refcount(one->src, NULL);
}

static doca_error_t destroy_graph(struct doca_graph* graph) {
  const doca_error_t result = doca_graph_stop(graph);
  return result == DOCA_SUCCESS ? doca_graph_destroy(graph) : result;
}

static doca_error_t destroy(struct resources* all) {
  struct copier copier = {.pe = all->pe, .dma = all->dma, .inventory = all->inventory};
  doca_error_t result = DOCA_SUCCESS;
  for (int i = 0; i < num_instances; i++) remove_instance(&all->instances[i]);
  if (all->graph != NULL) result = destroy_graph(all->graph);
  const doca_error_t stopped = copier_destroy(&copier);
  const doca_error_t unmapped = region_destroy(&all->region);
  DOCA_ERROR_PROPAGATE(result, stopped);
  DOCA_ERROR_PROPAGATE(result, unmapped);
  if (all->dev != NULL) {
    const doca_error_t closed = doca_dev_close(all->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

int main(void) {
  struct resources all = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(&all);
  if (result == DOCA_SUCCESS) result = run(&all);
  const doca_error_t destroyed = destroy(&all);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("graph_copy", result);
}
