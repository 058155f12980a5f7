#include "library/graph.hpp"

#include "pydoca/handles.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/objects.hpp"
#include "common/ctx.hpp"
#include "common/pe.hpp"

#include <utility>

using namespace pydoca;
using capi::Call;

namespace {

/// The user data that the engine has are the objects of this API.
template <class Object>
Object& object_of(std::uint64_t address) noexcept {
  return *static_cast<Object*>(capi::pointer_to(address));
}

void call_back(doca_graph_completion_cb_t callback, std::uint64_t instance, const doca_graph& graph) noexcept {
  auto& ended = object_of<doca_graph_instance>(instance);
  callback(&ended, ended.user_data, graph.user_data);
}

void succeeded(GraphInstance& /*instance*/, std::uint64_t instance, std::uint64_t graph) noexcept {
  const auto& of = object_of<doca_graph>(graph);
  call_back(of.on_success, instance, of);
}

void failed(GraphInstance& /*instance*/, std::uint64_t instance, std::uint64_t graph) noexcept {
  const auto& of = object_of<doca_graph>(graph);
  call_back(of.on_error, instance, of);
}

Status run_user_node(std::uint64_t run) noexcept {
  const auto& of = object_of<capi::UserRun>(run);
  return static_cast<Status>(of.function(of.cookie));
}

/// Makes the object before the engine's node, which cannot be taken back.
template <class Make>
doca_error_t create_node(const Call& call, doca_graph& graph, doca_graph_node** node, doca_graph_user_node_cb_t user,
                         Make make) noexcept {
  return call.run([&] {
    graph.nodes.reserve(graph.nodes.size() + 1);
    doca_graph_node* const made = capi::Slab<doca_graph_node>::make();
    try {
      made->node = &make(*graph.graph);
    } catch (...) {
      capi::Slab<doca_graph_node>::end(*made);
      throw;
    }
    made->user = user;
    graph.nodes.push_back(made);
    *node = made;
  });
}

/// Gives each user node its function, and NULL as its cookie.
void add_runs(doca_graph_instance& instance) {
  instance.runs.resize(instance.graph->nodes.size());
  for (const doca_graph_node* node : instance.graph->nodes) {
    if (node->user != nullptr) {
      capi::UserRun& run = instance.runs[node->node->index()];
      run.function = node->user;
      instance.instance->set_cookie(*node->node, capi::address_of(&run));
    }
  }
}

/// The engine checks the node and the state; its own cookie stays as it was.
void set_cookie(doca_graph_instance& instance, const GraphNode& node, void* cookie) {
  capi::UserRun* const run = node.index() < instance.runs.size() ? &instance.runs[node.index()] : nullptr;
  instance.instance->set_cookie(node, capi::address_of(run));
  run->cookie = cookie;
}

/// Submitting an instance again before it has ended, or with nodes without data, is the program's mistake; a full queue
/// is not.
Status submit(GraphInstance& instance) {
  const Status status = instance.submit();
  if (status != Status::success && status != Status::again) {
    throw Error(status, instance.explain(status));
  }
  return status;
}

}  // namespace

doca_error_t doca_graph_create(doca_pe* pe, doca_graph** graph) {
  const Call call;
  if (!call.has(pe, graph)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    std::shared_ptr<Graph> made = Graph::create(pe->engine);
    doca_graph* const handle = capi::Slab<doca_graph>::make();
    made->set_user_data(capi::address_of(handle));
    handle->graph = std::move(made);
    *graph = handle;
  });
}

doca_error_t doca_graph_destroy(doca_graph* graph) {
  const Call call;
  if (!call.has(graph)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (graph->graph->is_started()) {
    return call.refuse(Status::bad_state, "the graph is started; stop it first");
  }
  for (doca_graph_node* node : graph->nodes) {
    capi::Slab<doca_graph_node>::end(*node);
  }
  capi::Slab<doca_graph>::end(*graph);
  return DOCA_SUCCESS;
}

doca_error_t doca_graph_set_conf(doca_graph* graph, doca_graph_completion_cb_t graph_completion_cb,
                                 doca_graph_completion_cb_t graph_error_cb, std::uint32_t num_instances) {
  const Call call;
  if (!call.has(graph)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (graph_completion_cb == nullptr || graph_error_cb == nullptr) {
    return call.invalid("both callbacks must be given; they may be the same function");
  }
  return call.run([&] {
    graph->graph->set_conf(succeeded, failed, num_instances);
    graph->on_success = graph_completion_cb;
    graph->on_error = graph_error_cb;
  });
}

doca_error_t doca_graph_set_user_data(doca_graph* graph, doca_data user_data) {
  const Call call;
  if (!call.has(graph)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (graph->graph->is_started()) {
    return call.refuse(Status::bad_state, "the graph is started; stop it first");
  }
  graph->user_data = user_data;
  return DOCA_SUCCESS;
}

doca_error_t doca_graph_get_user_data(const doca_graph* graph, doca_data* user_data) {
  const Call call;
  if (!call.has(graph, user_data)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *user_data = graph->user_data;
  return DOCA_SUCCESS;
}

doca_error_t doca_graph_node_create_from_ctx(doca_graph* graph, doca_ctx* ctx, doca_graph_node** node) {
  const Call call;
  if (!call.has(graph, ctx, node)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return create_node(call, *graph, node, nullptr,
                     [&](Graph& of) -> GraphNode& { return of.node_from_context(ctx->context); });
}

doca_error_t doca_graph_node_create_from_user(doca_graph* graph, doca_graph_user_node_cb_t user_cb,
                                              doca_graph_node** node) {
  const Call call;
  if (!call.has(graph, node)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (user_cb == nullptr) {
    return call.invalid("the node's function is NULL");
  }
  return create_node(call, *graph, node, user_cb,
                     [](Graph& of) -> GraphNode& { return of.node_from_user(run_user_node); });
}

doca_error_t doca_graph_node_create_from_graph(doca_graph* graph, doca_graph* sub_graph, doca_graph_node** node) {
  const Call call;
  if (!call.has(graph, sub_graph, node)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return create_node(call, *graph, node, nullptr,
                     [&](Graph& of) -> GraphNode& { return of.node_from_graph(sub_graph->graph); });
}

doca_error_t doca_graph_add_dependency(doca_graph* graph, doca_graph_node* from, doca_graph_node* to) {
  const Call call;
  if (!call.has(graph, from, to)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { graph->graph->add_dependency(*from->node, *to->node); });
}

doca_error_t doca_graph_start(doca_graph* graph) {
  const Call call;
  if (!call.has(graph)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { graph->graph->start(); });
}

doca_error_t doca_graph_stop(doca_graph* graph) {
  const Call call;
  if (!call.has(graph)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { graph->graph->stop(); });
}

doca_error_t doca_graph_instance_create(doca_graph* graph, doca_graph_instance** graph_instance) {
  const Call call;
  if (!call.has(graph, graph_instance)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    InstanceRef made(&graph->graph->create_instance());
    doca_graph_instance* const handle = capi::Slab<doca_graph_instance>::make();
    handle->instance = made.get();
    handle->graph = graph;
    try {
      made->set_user_data(capi::address_of(handle));
      add_runs(*handle);
    } catch (...) {
      capi::Slab<doca_graph_instance>::end(*handle);
      throw;
    }
    handle->instance = made.release();
    *graph_instance = handle;
  });
}

doca_error_t doca_graph_instance_destroy(doca_graph_instance* graph_instance) {
  const Call call;
  if (!call.has(graph_instance)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (const Status status = graph_instance->instance->destroy(); status != Status::success) {
    return call.refuse(status, "the instance is running, or belongs to another instance");
  }
  capi::Slab<doca_graph_instance>::end(*graph_instance);
  return DOCA_SUCCESS;
}

doca_error_t doca_graph_instance_set_user_data(doca_graph_instance* graph_instance, doca_data user_data) {
  const Call call;
  if (!call.has(graph_instance)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (graph_instance->instance->is_running()) {
    return call.refuse(Status::in_use, "the instance is running; wait for its end");
  }
  graph_instance->user_data = user_data;
  return DOCA_SUCCESS;
}

doca_error_t doca_graph_instance_get_user_data(const doca_graph_instance* graph_instance, doca_data* user_data) {
  const Call call;
  if (!call.has(graph_instance, user_data)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *user_data = graph_instance->user_data;
  return DOCA_SUCCESS;
}

doca_error_t doca_graph_instance_set_ctx_node_data(doca_graph_instance* graph_instance, doca_graph_node* node,
                                                   doca_task* task) {
  const Call call;
  if (!call.has(graph_instance, node, capi::engine(task))) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { graph_instance->instance->set_task(*node->node, *capi::engine(task)); });
}

doca_error_t doca_graph_instance_set_user_node_data(doca_graph_instance* graph_instance, doca_graph_node* node,
                                                    void* cookie) {
  const Call call;
  if (!call.has(graph_instance, node)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { set_cookie(*graph_instance, *node->node, cookie); });
}

doca_error_t doca_graph_instance_set_sub_graph_node_data(doca_graph_instance* graph_instance, doca_graph_node* node,
                                                         doca_graph_instance* sub_graph_instance) {
  const Call call;
  if (!call.has(graph_instance, node, sub_graph_instance)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { graph_instance->instance->set_instance(*node->node, *sub_graph_instance->instance); });
}

doca_error_t doca_graph_instance_submit(doca_graph_instance* graph_instance) {
  const Call call;
  if (!call.has(graph_instance)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { return submit(*graph_instance->instance); });
}
