// Graphs of copies and functions: doca_graph.h.

#include "rig/dma_rig.h"

#include <doca_graph.h>

enum { size = 4096 };

static const union doca_data no_data = {.u64 = 0};

// A graph of one copy and then one function.
struct graph_rig {
  struct dma_rig dma;
  struct doca_graph* graph;
  struct doca_graph_node* copy;
  struct doca_graph_node* function;
  int num_calls;
  doca_error_t answer;  // what the function returns
  int num_succeeded;
  int num_failed;
};

static doca_error_t note_call(void* cookie) {
  struct graph_rig* rig = cookie;
  rig->num_calls++;
  return rig->answer;
}

static void succeeded(struct doca_graph_instance* instance, union doca_data instance_user_data,
                      union doca_data graph_user_data) {
  struct graph_rig* rig = graph_user_data.ptr;
  CHECK(instance != NULL);
  CHECK_EQUAL(instance_user_data.u64, 5);
  rig->num_succeeded++;
}

static void failed(struct doca_graph_instance* instance, union doca_data instance_user_data,
                   union doca_data graph_user_data) {
  struct graph_rig* rig = graph_user_data.ptr;
  CHECK(instance != NULL);
  (void)instance_user_data;
  rig->num_failed++;
}

static void configure(struct graph_rig* rig) {
  memset(rig, 0, sizeof *rig);
  dma_rig_set_up(&rig->dma, size, count_success, count_failure, 4);
  CHECK_OK(doca_graph_create(rig->dma.stage.pe, &rig->graph));
  CHECK_OK(doca_graph_set_conf(rig->graph, succeeded, failed, 2));
  CHECK_OK(doca_graph_set_user_data(rig->graph, (union doca_data){.ptr = rig}));
  CHECK_OK(doca_graph_node_create_from_ctx(rig->graph, rig->dma.ctx, &rig->copy));
  CHECK_OK(doca_graph_node_create_from_user(rig->graph, note_call, &rig->function));
  CHECK_OK(doca_graph_add_dependency(rig->graph, rig->copy, rig->function));
}

static void set_up(struct graph_rig* rig) {
  configure(rig);
  CHECK_OK(doca_graph_start(rig->graph));
}

static void tear_down(struct graph_rig* rig) {
  CHECK_OK(doca_graph_stop(rig->graph));
  CHECK_OK(doca_graph_destroy(rig->graph));
  dma_rig_tear_down(&rig->dma);
}

static struct doca_graph_instance* new_instance(struct graph_rig* rig, struct doca_dma_task_memcpy* task) {
  struct doca_graph_instance* instance = NULL;
  CHECK_OK(doca_graph_instance_create(rig->graph, &instance));
  CHECK_OK(doca_graph_instance_set_ctx_node_data(instance, rig->copy, as_task(task)));
  CHECK_OK(doca_graph_instance_set_user_node_data(instance, rig->function, rig));
  CHECK_OK(doca_graph_instance_set_user_data(instance, (union doca_data){.u64 = 5}));
  return instance;
}

static void progress_until(struct graph_rig* rig, int num_completed) {
  while (rig->num_succeeded + rig->num_failed < num_completed) doca_pe_progress(rig->dma.stage.pe);
}

CASE(graphs, run_again_and_again) {
  struct graph_rig rig;
  set_up(&rig);
  struct doca_dma_task_memcpy* task = take_copy(&rig.dma, rig.dma.src, rig.dma.dst);
  struct doca_graph_instance* instance = new_instance(&rig, task);
  for (int i = 1; i <= 5; i++) {
    CHECK_OK(doca_buf_reset_data_len(rig.dma.dst));
    CHECK_OK(doca_graph_instance_submit(instance));
    progress_until(&rig, i);
  }
  CHECK_EQUAL(rig.num_succeeded, 5);
  CHECK_EQUAL(rig.num_calls, 5);
  CHECK_EQUAL(rig.dma.num_succeeded, 0);
  CHECK_OK(doca_graph_instance_destroy(instance));
  doca_task_free(as_task(task));
  tear_down(&rig);
}

CASE(graphs, fail_when_a_function_fails) {
  struct graph_rig rig;
  set_up(&rig);
  rig.answer = DOCA_ERROR_UNEXPECTED;
  struct doca_dma_task_memcpy* task = take_copy(&rig.dma, rig.dma.src, rig.dma.dst);
  struct doca_graph_instance* instance = new_instance(&rig, task);
  CHECK_OK(doca_graph_instance_submit(instance));
  progress_until(&rig, 1);
  CHECK_EQUAL(rig.num_failed, 1);
  CHECK_OK(doca_graph_instance_destroy(instance));
  doca_task_free(as_task(task));
  tear_down(&rig);
}

// A graph checks its tasks: what this side can see is the answer of the submission.
CASE(graphs, refuse_a_first_task_that_breaks_a_limit) {
  struct graph_rig rig;
  set_up(&rig);
  CHECK_OK(doca_buf_reset_data_len(rig.dma.src));
  struct doca_dma_task_memcpy* task = take_copy(&rig.dma, rig.dma.src, rig.dma.dst);
  struct doca_graph_instance* instance = new_instance(&rig, task);
  CHECK_STATUS(doca_graph_instance_submit(instance), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_buf_set_data_len(rig.dma.src, 8));
  CHECK_OK(doca_graph_instance_submit(instance));
  progress_until(&rig, 1);
  CHECK_EQUAL(rig.num_succeeded, 1);
  CHECK_OK(doca_graph_instance_destroy(instance));
  doca_task_free(as_task(task));
  tear_down(&rig);
}

CASE(graphs, fail_when_a_task_fails) {
  struct graph_rig rig;
  struct doca_graph_node* second = NULL;
  configure(&rig);
  CHECK_OK(doca_graph_node_create_from_ctx(rig.graph, rig.dma.ctx, &second));
  CHECK_OK(doca_graph_add_dependency(rig.graph, rig.function, second));
  CHECK_OK(doca_graph_start(rig.graph));
  CHECK_OK(doca_buf_set_data_len(rig.dma.src, 8));
  struct doca_buf* empty = stage_room(&rig.dma.stage, 0, 8);
  struct doca_dma_task_memcpy* task = take_copy(&rig.dma, rig.dma.src, rig.dma.dst);
  struct doca_dma_task_memcpy* other = take_copy(&rig.dma, empty, rig.dma.dst);
  struct doca_graph_instance* instance = new_instance(&rig, task);
  CHECK_OK(doca_graph_instance_set_ctx_node_data(instance, second, as_task(other)));
  CHECK_OK(doca_graph_instance_submit(instance));
  progress_until(&rig, 1);
  CHECK_EQUAL(rig.num_calls, 1);
  CHECK_EQUAL(rig.num_failed, 1);
  CHECK_OK(doca_graph_instance_destroy(instance));
  doca_task_free(as_task(task));
  doca_task_free(as_task(other));
  CHECK_OK(doca_buf_dec_refcount(empty, NULL));
  tear_down(&rig);
}

CASE(graphs, that_run_are_in_use) {
  struct graph_rig rig;
  set_up(&rig);
  struct doca_dma_task_memcpy* task = take_copy(&rig.dma, rig.dma.src, rig.dma.dst);
  struct doca_graph_instance* instance = new_instance(&rig, task);
  CHECK_OK(doca_graph_instance_submit(instance));
  CHECK_STATUS(doca_graph_instance_submit(instance), DOCA_ERROR_IN_USE);
  CHECK_STATUS(doca_graph_instance_destroy(instance), DOCA_ERROR_IN_USE);
  CHECK_STATUS(doca_graph_instance_set_user_data(instance, no_data), DOCA_ERROR_IN_USE);
  CHECK_STATUS(doca_graph_stop(rig.graph), DOCA_ERROR_IN_USE);
  progress_until(&rig, 1);
  CHECK_OK(doca_graph_instance_destroy(instance));
  doca_task_free(as_task(task));
  tear_down(&rig);
}

CASE(graphs, have_a_limited_number_of_instances) {
  struct graph_rig rig;
  struct doca_graph_instance* instances[2];
  struct doca_graph_instance* more = NULL;
  set_up(&rig);
  for (int i = 0; i < 2; i++) CHECK_OK(doca_graph_instance_create(rig.graph, &instances[i]));
  CHECK_STATUS(doca_graph_instance_create(rig.graph, &more), DOCA_ERROR_NO_MEMORY);
  for (int i = 0; i < 2; i++) CHECK_OK(doca_graph_instance_destroy(instances[i]));
  tear_down(&rig);
}

CASE(graphs, without_data_are_not_submitted) {
  struct graph_rig rig;
  struct doca_graph_instance* instance = NULL;
  set_up(&rig);
  CHECK_OK(doca_graph_instance_create(rig.graph, &instance));
  CHECK(doca_graph_instance_submit(instance) != DOCA_SUCCESS);
  CHECK_OK(doca_graph_instance_destroy(instance));
  tear_down(&rig);
}

CASE(graphs, have_no_cycles) {
  struct graph_rig rig;
  configure(&rig);
  CHECK_STATUS(doca_graph_add_dependency(rig.graph, rig.function, rig.copy), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_graph_add_dependency(rig.graph, rig.copy, rig.copy), DOCA_ERROR_NOT_PERMITTED);
  tear_down(&rig);
}

CASE(graphs, need_a_context) {
  struct graph_rig rig;
  struct doca_graph* graph = NULL;
  struct doca_graph_node* node = NULL;
  configure(&rig);
  CHECK_OK(doca_graph_create(rig.dma.stage.pe, &graph));
  CHECK_OK(doca_graph_set_conf(graph, succeeded, failed, 1));
  CHECK_OK(doca_graph_node_create_from_user(graph, note_call, &node));
  CHECK_STATUS(doca_graph_start(graph), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_graph_destroy(graph));
  tear_down(&rig);
}

CASE(graphs, are_configured_while_stopped) {
  struct graph_rig rig;
  struct doca_graph_node* node = NULL;
  set_up(&rig);
  CHECK_STATUS(doca_graph_set_conf(rig.graph, succeeded, failed, 1), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_node_create_from_user(rig.graph, note_call, &node), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_add_dependency(rig.graph, rig.copy, rig.function), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_destroy(rig.graph), DOCA_ERROR_BAD_STATE);
  tear_down(&rig);
}

static void destroy_instance(struct doca_graph_instance* instance, union doca_data instance_user_data,
                             union doca_data graph_user_data) {
  struct graph_rig* rig = graph_user_data.ptr;
  (void)instance_user_data;
  CHECK_OK(doca_graph_instance_destroy(instance));
  rig->num_succeeded++;
}

CASE(graphs, destroy_their_instance_in_the_callback) {
  struct graph_rig rig;
  configure(&rig);
  CHECK_OK(doca_graph_set_conf(rig.graph, destroy_instance, failed, 2));
  CHECK_OK(doca_graph_start(rig.graph));
  struct doca_dma_task_memcpy* task = take_copy(&rig.dma, rig.dma.src, rig.dma.dst);
  CHECK_OK(doca_graph_instance_submit(new_instance(&rig, task)));
  progress_until(&rig, 1);
  doca_task_free(as_task(task));
  tear_down(&rig);
}

CASE(graphs, run_graphs) {
  struct graph_rig rig;
  struct doca_graph* outer = NULL;
  struct doca_graph_node* node = NULL;
  struct doca_graph_instance* run = NULL;
  set_up(&rig);
  CHECK_OK(doca_graph_create(rig.dma.stage.pe, &outer));
  CHECK_OK(doca_graph_set_conf(outer, succeeded, failed, 1));
  CHECK_OK(doca_graph_set_user_data(outer, (union doca_data){.ptr = &rig}));
  CHECK_OK(doca_graph_node_create_from_graph(outer, rig.graph, &node));
  CHECK_OK(doca_graph_start(outer));
  struct doca_dma_task_memcpy* task = take_copy(&rig.dma, rig.dma.src, rig.dma.dst);
  struct doca_graph_instance* inner = new_instance(&rig, task);
  CHECK_OK(doca_graph_instance_create(outer, &run));
  CHECK_OK(doca_graph_instance_set_sub_graph_node_data(run, node, inner));
  CHECK_OK(doca_graph_instance_set_user_data(run, (union doca_data){.u64 = 5}));
  CHECK_OK(doca_graph_instance_submit(run));
  progress_until(&rig, 1);
  CHECK_EQUAL(rig.num_calls, 1);
  CHECK_STATUS(doca_graph_instance_destroy(inner), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_graph_instance_destroy(run));
  CHECK_OK(doca_graph_instance_destroy(inner));
  CHECK_OK(doca_graph_stop(outer));
  CHECK_OK(doca_graph_destroy(outer));
  doca_task_free(as_task(task));
  tear_down(&rig);
}
