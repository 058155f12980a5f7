#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_dma.h>
#include <doca_graph.h>
#include <string.h>

enum { part = 256, num_instances = 2 };

static const union doca_data none = {.u64 = 0};

/// Two copies at once, and a function that compares their results.
struct plan {
  struct stage stage;
  struct doca_dma* dma;
  struct doca_graph* graph;
  struct doca_graph_node* copies[2];
  struct doca_graph_node* comparison;
  struct doca_dma_task_memcpy* tasks[2];
  struct doca_buf* src;
  struct doca_buf* dst[2];
  int completions;
  int failures;
  int comparisons;
  doca_error_t result;  ///< what the function answers
  struct doca_graph_instance* ended;
  uint64_t instance_data;
};

static void no_callback(struct doca_dma_task_memcpy* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task;
  (void)task_data;
  (void)ctx_data;
  CHECK(false);
}

static void completed(struct doca_graph_instance* instance, union doca_data instance_data, union doca_data graph_data) {
  struct plan* plan = graph_data.ptr;
  ++plan->completions;
  plan->ended = instance;
  plan->instance_data = instance_data.u64;
}

static void failed(struct doca_graph_instance* instance, union doca_data instance_data, union doca_data graph_data) {
  struct plan* plan = graph_data.ptr;
  (void)instance_data;
  ++plan->failures;
  CHECK_OK(doca_graph_instance_destroy(instance));
}

static doca_error_t compare(void* cookie) {
  struct plan* plan = cookie;
  ++plan->comparisons;
  CHECK(memcmp(plan->stage.memory + part, plan->stage.memory + (size_t)2 * part, part) == 0);
  return plan->result;
}

static void make_dma(struct plan* plan) {
  CHECK_OK(doca_dma_create(plan->stage.dev, &plan->dma));
  CHECK_OK(doca_dma_task_memcpy_set_conf(plan->dma, no_callback, no_callback, 4));
  stage_start(&plan->stage, doca_dma_as_ctx(plan->dma));
  plan->src = stage_data(&plan->stage, 0, part);
  for (int i = 0; i < 2; ++i) {
    plan->dst[i] = stage_room(&plan->stage, (size_t)(i + 1) * part, part);
    CHECK_OK(doca_dma_task_memcpy_alloc_init(plan->dma, plan->src, plan->dst[i], none, &plan->tasks[i]));
  }
}

static void make_graph(struct plan* plan) {
  CHECK_OK(doca_graph_create(plan->stage.pe, &plan->graph));
  CHECK_OK(doca_graph_set_conf(plan->graph, completed, failed, num_instances));
  CHECK_OK(doca_graph_set_user_data(plan->graph, (union doca_data){.ptr = plan}));
  CHECK_OK(doca_graph_node_create_from_user(plan->graph, compare, &plan->comparison));
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(doca_graph_node_create_from_ctx(plan->graph, doca_dma_as_ctx(plan->dma), &plan->copies[i]));
    CHECK_OK(doca_graph_add_dependency(plan->graph, plan->copies[i], plan->comparison));
  }
  CHECK_OK(doca_graph_start(plan->graph));
}

static void begin(struct plan* plan) {
  memset(plan, 0, sizeof *plan);
  stage_open(&plan->stage, open_first_device(), (size_t)3 * part);
  memset(plan->stage.memory, 0x77, part);
  make_dma(plan);
  make_graph(plan);
}

static struct doca_graph_instance* make_instance(struct plan* plan) {
  struct doca_graph_instance* instance = NULL;
  CHECK_OK(doca_graph_instance_create(plan->graph, &instance));
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(
        doca_graph_instance_set_ctx_node_data(instance, plan->copies[i], doca_dma_task_memcpy_as_task(plan->tasks[i])));
  }
  CHECK_OK(doca_graph_instance_set_user_node_data(instance, plan->comparison, plan));
  return instance;
}

static void end(struct plan* plan) {
  CHECK_OK(doca_graph_stop(plan->graph));
  CHECK_OK(doca_graph_destroy(plan->graph));
  for (int i = 0; i < 2; ++i) {
    doca_task_free(doca_dma_task_memcpy_as_task(plan->tasks[i]));
    give_back(plan->dst[i]);
  }
  give_back(plan->src);
  stage_stop(&plan->stage, doca_dma_as_ctx(plan->dma));
  CHECK_OK(doca_dma_destroy(plan->dma));
  stage_close(&plan->stage);
}

CASE(graph, an_instance_runs_again_and_again) {
  struct plan plan;
  begin(&plan);
  struct doca_graph_instance* instance = make_instance(&plan);
  CHECK_OK(doca_graph_instance_set_user_data(instance, (union doca_data){.u64 = 21}));
  for (int run = 1; run <= 2; ++run) {
    CHECK_OK(doca_graph_instance_submit(instance));
    CHECK_STATUS(doca_graph_instance_submit(instance), DOCA_ERROR_IN_USE);
    CHECK_STATUS(doca_graph_instance_set_user_data(instance, none), DOCA_ERROR_IN_USE);
    CHECK_STATUS(doca_graph_instance_destroy(instance), DOCA_ERROR_IN_USE);
    CHECK_STATUS(doca_graph_instance_set_user_node_data(instance, plan.comparison, &plan), DOCA_ERROR_BAD_STATE);
    stage_progress_until(&plan.stage, &plan.completions, run);
    CHECK(plan.comparisons == run && plan.ended == instance && plan.instance_data == 21);
    CHECK_OK(doca_buf_reset_data_len(plan.dst[0]));
    CHECK_OK(doca_buf_reset_data_len(plan.dst[1]));
  }
  union doca_data data = none;
  CHECK_OK(doca_graph_instance_get_user_data(instance, &data));
  CHECK(data.u64 == 21);
  CHECK_OK(doca_graph_get_user_data(plan.graph, &data));
  CHECK(data.ptr == &plan);
  CHECK_STATUS(doca_graph_stop(plan.graph), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_graph_instance_destroy(instance));
  CHECK_INVALID(doca_graph_instance_destroy(instance));
  CHECK_INVALID(doca_graph_instance_submit(instance));
  end(&plan);
}

CASE(graph, a_function_that_fails_fails_its_instance) {
  struct plan plan;
  begin(&plan);
  plan.result = DOCA_ERROR_UNEXPECTED;
  CHECK_OK(doca_graph_instance_submit(make_instance(&plan)));
  stage_progress_until(&plan.stage, &plan.failures, 1);
  CHECK(plan.comparisons == 1 && plan.completions == 0);
  end(&plan);
}

CASE(graph, more_instances_than_configured_are_no_memory) {
  struct plan plan;
  begin(&plan);
  struct doca_graph_instance* instances[num_instances + 1] = {NULL};
  for (int i = 0; i < num_instances; ++i) {
    CHECK_OK(doca_graph_instance_create(plan.graph, &instances[i]));
  }
  CHECK_STATUS(doca_graph_instance_create(plan.graph, &instances[num_instances]), DOCA_ERROR_NO_MEMORY);
  CHECK_INVALID(doca_graph_instance_submit(instances[0]));
  for (int i = 0; i < num_instances; ++i) {
    CHECK_OK(doca_graph_instance_destroy(instances[i]));
  }
  end(&plan);
}

CASE(graph, the_data_are_those_of_the_node) {
  struct plan plan;
  begin(&plan);
  struct doca_graph_instance* instance = make_instance(&plan);
  struct doca_task* task = doca_dma_task_memcpy_as_task(plan.tasks[0]);
  CHECK_STATUS(doca_graph_instance_set_ctx_node_data(instance, plan.comparison, task), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_graph_instance_set_user_node_data(instance, plan.copies[0], NULL), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_graph_instance_set_sub_graph_node_data(instance, plan.copies[0], instance),
               DOCA_ERROR_NOT_PERMITTED);
  CHECK_INVALID(doca_graph_instance_set_ctx_node_data(instance, plan.copies[0], NULL));
  CHECK_INVALID(doca_graph_instance_set_user_node_data(instance, NULL, NULL));
  CHECK_OK(doca_graph_instance_destroy(instance));
  end(&plan);
}

CASE(graph, a_plan_is_changed_while_stopped_only) {
  struct plan plan;
  begin(&plan);
  struct doca_graph_node* node = NULL;
  CHECK_STATUS(doca_graph_node_create_from_user(plan.graph, compare, &node), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_add_dependency(plan.graph, plan.copies[0], plan.copies[1]), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_set_conf(plan.graph, completed, failed, 1), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_set_user_data(plan.graph, none), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_destroy(plan.graph), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_start(plan.graph), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_graph_stop(plan.graph));
  CHECK_OK(doca_graph_stop(plan.graph));
  struct doca_graph_instance* instance = NULL;
  CHECK_STATUS(doca_graph_instance_create(plan.graph, &instance), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_graph_add_dependency(plan.graph, plan.comparison, plan.copies[0]), DOCA_ERROR_NOT_PERMITTED);
  end(&plan);
}

CASE(graph, a_graph_needs_a_conf_and_a_context) {
  struct stage stage;
  stage_open(&stage, open_first_device(), 64);
  struct doca_graph* graph = NULL;
  struct doca_graph_node* node = NULL;
  CHECK_INVALID(doca_graph_create(NULL, &graph));
  CHECK_INVALID(doca_graph_create(stage.pe, NULL));
  CHECK_OK(doca_graph_create(stage.pe, &graph));
  CHECK_INVALID(doca_graph_set_conf(graph, NULL, failed, 1));
  CHECK_INVALID(doca_graph_set_conf(graph, completed, failed, 0));
  CHECK_INVALID(doca_graph_start(graph));
  CHECK_OK(doca_graph_set_conf(graph, completed, failed, 1));
  CHECK_INVALID(doca_graph_node_create_from_user(graph, NULL, &node));
  CHECK_INVALID(doca_graph_node_create_from_ctx(graph, NULL, &node));
  CHECK_OK(doca_graph_node_create_from_user(graph, compare, &node));
  CHECK_STATUS(doca_graph_start(graph), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_graph_destroy(graph));
  CHECK_INVALID(doca_graph_destroy(graph));
  CHECK_INVALID(doca_graph_add_dependency(graph, node, node));
  stage_close(&stage);
}

CASE(graph, a_graph_runs_in_another) {
  struct plan plan;
  begin(&plan);
  struct doca_graph* outer = NULL;
  struct doca_graph_node* inner = NULL;
  CHECK_OK(doca_graph_create(plan.stage.pe, &outer));
  CHECK_OK(doca_graph_set_conf(outer, completed, failed, 1));
  CHECK_OK(doca_graph_set_user_data(outer, (union doca_data){.ptr = &plan}));
  CHECK_STATUS(doca_graph_node_create_from_graph(outer, outer, &inner), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_graph_node_create_from_graph(outer, plan.graph, &inner));
  CHECK_OK(doca_graph_start(outer));
  struct doca_graph_instance* instance = NULL;
  struct doca_graph_instance* part_of_it = make_instance(&plan);
  CHECK_OK(doca_graph_instance_create(outer, &instance));
  CHECK_OK(doca_graph_instance_set_sub_graph_node_data(instance, inner, part_of_it));
  CHECK_STATUS(doca_graph_instance_destroy(part_of_it), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_graph_instance_submit(instance));
  stage_progress_until(&plan.stage, &plan.completions, 1);
  CHECK(plan.comparisons == 1 && plan.ended == instance);
  CHECK_OK(doca_graph_instance_destroy(instance));
  CHECK_OK(doca_graph_instance_destroy(part_of_it));
  CHECK_OK(doca_graph_stop(outer));
  CHECK_OK(doca_graph_destroy(outer));
  end(&plan);
}
