#include "pydoca/graph.hpp"

#include "detail/concat.hpp"
#include "detail/drops.hpp"
#include "detail/ready_list.hpp"
#include "library/graph/owned.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace pydoca {

using detail::concat;

namespace {

/// Whether a path leads from first to last.
bool leads_to(const GraphNode& first, const GraphNode& last, std::size_t num_nodes) {
  std::vector<bool> seen(num_nodes);
  std::vector<const GraphNode*> to_visit{&first};
  while (!to_visit.empty()) {
    const GraphNode* const node = to_visit.back();
    to_visit.pop_back();
    if (node == &last) {
      return true;
    }
    if (!seen[node->index()]) {
      seen[node->index()] = true;
      to_visit.insert(to_visit.end(), node->successors().begin(), node->successors().end());
    }
  }
  return false;
}

/// Whether inner is a sub-graph of outer, or of a sub-graph of it, and so on.
bool contains(const Graph& outer, const Graph& inner) {
  std::unordered_set<const Graph*> seen;
  std::vector<const Graph*> to_visit{&outer};
  while (!to_visit.empty()) {
    const Graph* const graph = to_visit.back();
    to_visit.pop_back();
    for (const auto& node : graph->nodes()) {
      const Graph* const next = node->sub_graph().get();
      if (next == &inner) {
        return true;
      }
      if (next != nullptr && seen.insert(next).second) {
        to_visit.push_back(next);
      }
    }
  }
  return false;
}

}  // namespace

std::string GraphNode::describe() const {
  switch (type_) {
    case Type::context:
      return concat("node ", index_, " (", context_->kind(), ")");
    case Type::user:
      return concat("node ", index_, " (function)");
    default:
      return concat("node ", index_, " (graph)");
  }
}

std::shared_ptr<Graph> Graph::create(std::shared_ptr<ProgressEngine> engine) {
  if (engine == nullptr) {
    throw Error(Status::invalid_value, "create graph: the progress engine is null");
  }
  return {new Graph(std::move(engine)),
          [](Graph* graph) { graph->engine_->ready_list().drops().drop(*graph->deferred_); }};
}

Graph::Graph(std::shared_ptr<ProgressEngine> engine)
    : engine_(std::move(engine)), deferred_(std::make_unique<detail::DeferredNodes>(*this)) {}

// Instances refer to nodes; both to what deferred_ lists.
Graph::~Graph() { instances_.clear(); }

void Graph::require_stopped(std::string_view what) const {
  if (started_) {
    throw Error(Status::bad_state, concat(what, ": the graph is started; stop it first"));
  }
}

void Graph::set_conf(Callback on_success, Callback on_error, std::uint32_t num_instances) {
  require_stopped("set conf of graph");
  if (on_success == nullptr || on_error == nullptr) {
    throw Error(Status::invalid_value, "set conf of graph: a callback is null");
  }
  if (num_instances == 0) {
    throw Error(Status::invalid_value, "set conf of graph: num_instances is 0; give at least 1");
  }
  on_success_ = on_success;
  on_error_ = on_error;
  max_instances_ = num_instances;
}

void Graph::set_user_data(std::uint64_t data) {
  require_stopped("set user data of graph");
  user_data_ = data;
}

void Graph::set_timing(bool on) {
  require_stopped("set timing of graph");
  timed_ = on;
}

GraphNode& Graph::node_from_context(std::shared_ptr<Context> context) {
  require_stopped("add context node");
  if (context == nullptr) {
    throw Error(Status::invalid_value, "add context node: the context is null");
  }
  if (context->progress_engine() != engine_) {
    throw Error(Status::invalid_value, concat("add context node: the ", context->kind(),
                                              " context is not on the graph's progress engine; connect it to that"));
  }
  return *nodes_.emplace_back(std::make_unique<detail::PlannedNode>(*this, nodes_.size(), std::move(context)));
}

GraphNode& Graph::node_from_user(GraphNode::User function) {
  require_stopped("add user node");
  if (function == nullptr) {
    throw Error(Status::invalid_value, "add user node: the function is null");
  }
  return *nodes_.emplace_back(std::make_unique<detail::PlannedNode>(*this, nodes_.size(), function));
}

GraphNode& Graph::node_from_graph(std::shared_ptr<Graph> sub_graph) {
  require_stopped("add graph node");
  if (sub_graph == nullptr) {
    throw Error(Status::invalid_value, "add graph node: the sub-graph is null");
  }
  if (sub_graph.get() == this) {
    throw Error(Status::not_permitted, "add graph node: a graph cannot be a node of itself");
  }
  if (sub_graph->engine_ != engine_) {
    throw Error(Status::invalid_value, "add graph node: the sub-graph has another progress engine");
  }
  if (!sub_graph->started_) {
    throw Error(Status::bad_state, "add graph node: the sub-graph is not started; start it first");
  }
  if (is_sub_graph_ && contains(*sub_graph, *this)) {
    throw Error(Status::not_permitted,
                "add graph node: this graph is a sub-graph of that one already, so this would be a cycle");
  }
  sub_graph->is_sub_graph_ = true;
  return *nodes_.emplace_back(std::make_unique<detail::PlannedNode>(*this, nodes_.size(), std::move(sub_graph)));
}

void Graph::add_dependency(GraphNode& from, GraphNode& to) {
  require_stopped("add dependency");
  if (&from.graph() != this || &to.graph() != this) {
    throw Error(Status::invalid_value, concat("add dependency: ", (&from.graph() != this ? from : to).describe(),
                                              " is a node of another graph"));
  }
  if (std::ranges::find(from.successors(), &to) != from.successors().end()) {
    throw Error(Status::already_exist,
                concat("add dependency: ", to.describe(), " depends on ", from.describe(), " already"));
  }
  if (leads_to(to, from, nodes_.size())) {
    throw Error(Status::not_permitted, concat("add dependency: ", to.describe(), " must end before ", from.describe(),
                                              " already, so this would be a cycle"));
  }
  static_cast<detail::PlannedNode&>(from).precede(static_cast<detail::PlannedNode&>(to));
}

/// A sub-graph that is started has one: its own start has seen to that.
bool Graph::has_context_node() const noexcept {
  return std::ranges::any_of(nodes_, [](const auto& node) { return node->type() != GraphNode::Type::user; });
}

void Graph::require_ready(const GraphNode& node) const {
  if (node.type() == GraphNode::Type::context && node.context()->state() != ContextState::running) {
    throw Error(Status::bad_state, concat("start graph: the context of ", node.describe(), " does not run; start it"));
  }
  if (node.type() == GraphNode::Type::graph && !node.sub_graph()->started_) {
    throw Error(Status::bad_state, concat("start graph: the sub-graph of ", node.describe(), " is not started"));
  }
}

void Graph::flatten() {
  std::vector<std::uint32_t> successors;
  for (const auto& node : nodes_) {
    for (const GraphNode* const successor : node->successors()) {
      successors.push_back(successor->index());
    }
  }
  successors_ = std::move(successors);
}

void Graph::start() {
  require_stopped("start graph");
  if (max_instances_ == 0) {
    throw Error(Status::invalid_value, "start graph: nothing is configured; give its conf first (set_conf)");
  }
  if (!has_context_node()) {
    throw Error(Status::bad_state, "start graph: it has no context node, and needs at least one");
  }
  for (const auto& node : nodes_) {
    require_ready(*node);
  }
  flatten();
  instances_.reserve(max_instances_);
  started_ = true;
}

void Graph::stop() {
  if (!instances_.empty()) {
    throw Error(Status::in_use, concat("stop graph: ", instances_.size(), " instance(s) exist; destroy them first"));
  }
  started_ = false;
}

GraphInstance& Graph::create_instance() {
  if (!started_) {
    throw Error(Status::bad_state, "create graph instance: the graph is not started; start it first");
  }
  if (instances_.size() == max_instances_) {
    throw Error(Status::no_memory, concat("create graph instance: all ", max_instances_,
                                          " exist; destroy one, or set a larger num_instances"));
  }
  return *instances_.emplace_back(std::make_unique<detail::OwnedInstance>(
      *this, instances_, successors_, *deferred_, detail::InstanceCallbacks{on_success_, on_error_}));
}

}  // namespace pydoca
