#include "pydoca/graph.hpp"

#include "detail/concat.hpp"
#include "library/graph/owned.hpp"

namespace pydoca {

using detail::concat;

GraphInstance::GraphInstance(Graph& graph) noexcept : graph_(&graph) {}

GraphInstance::~GraphInstance() = default;

void GraphInstance::require_own(std::string_view what, const GraphNode& node) const {
  if (&node.graph() != graph_) {
    throw Error(Status::invalid_value, concat(what, ": ", node.describe(), " is a node of another graph"));
  }
}

void GraphInstance::require_settable(std::string_view what, const GraphNode& node, GraphNode::Type type) const {
  require_own(what, node);
  if (is_running()) {
    throw Error(Status::bad_state, concat(what, ": the instance is running; wait for its end"));
  }
  if (node.type() != type) {
    throw Error(Status::not_permitted, concat(what, ": ", node.describe(), " takes other data"));
  }
}

void GraphInstance::set_task(const GraphNode& node, Task& task) {
  require_settable("set task", node, GraphNode::Type::context);
  if (&task.context() != node.context().get()) {
    throw Error(Status::not_permitted,
                concat("set task: the task is of another context than ", node.describe(), " was made for"));
  }
  run_->set_task(node.index(), task);
}

void GraphInstance::set_cookie(const GraphNode& node, std::uint64_t cookie) {
  require_settable("set cookie", node, GraphNode::Type::user);
  run_->set_cookie(node.index(), cookie);
}

void GraphInstance::set_instance(const GraphNode& node, GraphInstance& instance) {
  require_settable("set instance", node, GraphNode::Type::graph);
  if (instance.graph_ != node.sub_graph().get()) {
    throw Error(Status::not_permitted,
                concat("set instance: the instance is of another graph than ", node.describe(), " was made for"));
  }
  if (instance.is_running() || instance.run_->is_sub()) {
    throw Error(Status::in_use, concat("set instance: the instance ",
                                       instance.is_running() ? "is running" : "belongs to a node already"));
  }
  run_->set_sub(node.index(), *instance.run_);
}

void GraphInstance::set_user_data(std::uint64_t data) {
  if (is_running()) {
    throw Error(Status::in_use, "set user data of graph instance: it is running; wait for its end");
  }
  user_data_ = data;
}

Status GraphInstance::submit() noexcept {
  if (const Status thread = graph_->progress_engine()->check_thread(); thread != Status::success) {
    return thread;
  }
  if (is_running() || run_->is_sub()) {
    return Status::in_use;
  }
  return run_->submit();
}

Status GraphInstance::destroy() noexcept {
  if (is_running() || run_->is_sub()) {
    return Status::in_use;
  }
  static_cast<detail::OwnedInstance*>(this)->remove();
  return Status::success;
}

bool GraphInstance::is_running() const noexcept { return run_->is_running(); }
Status GraphInstance::status() const noexcept { return run_->status(); }

const GraphNode* GraphInstance::failed_node() const noexcept {
  const std::size_t index = run_->failed_node();
  return index < graph_->nodes().size() ? graph_->nodes()[index].get() : nullptr;
}

GraphInstance::NodeState GraphInstance::node_state(const GraphNode& node) const {
  require_own("node state", node);
  return run_->node_state(node.index());
}

GraphInstance::NodeTimes GraphInstance::node_times(const GraphNode& node) const {
  require_own("node times", node);
  if (!graph_->is_timed()) {
    throw Error(Status::not_permitted, "node times: the graph takes no times; set its timing before start()");
  }
  return run_->node_times(node.index());
}

std::string GraphInstance::explain(Status status) const {
  if (status == Status::in_use) {
    return is_running() ? "the instance is running; wait for its end"
                        : "the instance is the sub-graph of another; submit that one";
  }
  const std::size_t node = run_->failed_node();
  if (node == graph_->nodes().size() || status != run_->status()) {
    return status == Status::not_permitted || status == Status::bad_state ? graph_->progress_engine()->describe_thread()
                                                                          : std::string(error_descr(status));
  }
  return concat(graph_->nodes()[node]->describe(), ": ",
                run_->why().empty() ? error_descr(status) : std::string_view(run_->why()));
}

}  // namespace pydoca
