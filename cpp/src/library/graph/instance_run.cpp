#include "library/graph/instance_run.hpp"

#include "library/graph/deferred.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::detail {

InstanceRun::InstanceRun(GraphInstance& instance, std::span<const std::uint32_t> successors)
    : instance_(instance),
      nodes_(std::make_unique<NodeRun[]>(instance.graph().nodes().size())),
      num_nodes_(instance.graph().nodes().size()) {
  std::size_t first = 0;
  for (const auto& plan : graph().nodes()) {
    NodeRun& node = nodes_[plan->index()];
    node.instance_ = this;
    node.user_ = plan->user_;
    node.successors_ = successors.subspan(first, plan->successors().size());
    node.num_predecessors_ = plan->num_predecessors();
    node.type_ = plan->type();
    first += node.successors_.size();
  }
}

InstanceRun::~InstanceRun() {
  for (NodeRun& node : std::span(nodes_.get(), num_nodes_)) {
    if (node.type_ == GraphNode::Type::graph && node.sub_ != nullptr) {
      node.sub_->parent_ = nullptr;
    } else if (running_ && node.type_ == GraphNode::Type::context && node.state_ == NodeRun::State::started) {
      NodeRun::forget(*node.task_);
    }
  }
  if (parent_ != nullptr) {
    parent_->sub_ = nullptr;
  }
}

void InstanceRun::set_sub(std::size_t node, InstanceRun& sub) noexcept {
  NodeRun& run = nodes_[node];
  if (run.sub_ != nullptr) {
    run.sub_->parent_ = nullptr;
  }
  run.sub_ = &sub;
  sub.parent_ = &run;
}

std::size_t InstanceRun::node_without_data() const noexcept {
  const std::span nodes(nodes_.get(), num_nodes_);
  const auto lacks_data = [](const NodeRun& node) {
    return node.type_ == GraphNode::Type::context ? node.task_ == nullptr
                                                  : node.type_ == GraphNode::Type::graph && node.sub_ == nullptr;
  };
  return static_cast<std::size_t>(std::ranges::find_if(nodes, lacks_data) - nodes.begin());
}

void InstanceRun::reset() noexcept {
  for (NodeRun& node : std::span(nodes_.get(), num_nodes_)) {
    node.waiting_for_ = node.num_predecessors_;
    node.state_ = NodeRun::State::not_started;
    if (node.num_predecessors_ == 0) {
      ready_.push(node);
    }
  }
  failure_ = Status::success;
  failed_ = nullptr;
  running_ = true;
}

Status InstanceRun::submit() noexcept {
  reset();
  while (NodeRun* const node = failure_ == Status::success ? ready_.pop() : nullptr) {
    if (node->type_ == GraphNode::Type::context) {
      start(*node);
    } else {
      defer(*node);
    }
  }
  ready_.clear();
  if (num_started_ == 0) {  // the first root was refused
    running_ = false;
    return failure_;
  }
  return Status::success;
}

void InstanceRun::start_deferred(NodeRun& node) noexcept {
  --num_started_;
  ready_.push(node);
  advance();
}

void InstanceRun::start(NodeRun& node) noexcept {
  node.state_ = NodeRun::State::started;
  Status status = Status::success;
  switch (node.type_) {
    case GraphNode::Type::context:
      ++num_started_;
      status = node.submit(*node.task_);
      if (status == Status::success) [[likely]] {
        return;
      }
      --num_started_;
      if (status == Status::again) {
        return defer(node);
      }
      break;
    case GraphNode::Type::user:
      status = node.user_(node.cookie_);
      break;
    case GraphNode::Type::graph:
      status = start_sub(node);
      if (status == Status::success) {
        return;
      }
      break;
  }
  settle(node, status);
}

Status InstanceRun::start_sub(NodeRun& node) noexcept {
  InstanceRun& sub = *node.sub_;
  if (const std::size_t missing = sub.node_without_data(); missing != sub.num_nodes_) {
    sub.failed_ = &sub.nodes_[missing];
    return Status::invalid_value;
  }
  ++num_started_;
  sub.reset();
  sub.advance();
  return Status::success;
}

void InstanceRun::defer(NodeRun& node) noexcept {
  ++num_started_;
  node.state_ = NodeRun::State::not_started;
  graph().deferred_->push(node);
}

void InstanceRun::settle(NodeRun& node, Status status) noexcept {
  if (status != Status::success) [[unlikely]] {
    node.state_ = NodeRun::State::error;
    if (failure_ == Status::success) {
      failure_ = status;
      failed_ = &node;
    }
    return;
  }
  node.state_ = NodeRun::State::completed;
  for (const std::uint32_t successor : node.successors_) {
    NodeRun& next = nodes_[successor];
    if (--next.waiting_for_ == 0) {
      ready_.push(next);
    }
  }
}

void InstanceRun::ended(NodeRun& node, Status status) noexcept {
  --num_started_;
  settle(node, status);
  // A sub-graph without tasks ends while its node is being started.
  if (!advancing_) {
    advance();
  }
}

void InstanceRun::advance() noexcept {
  advancing_ = true;
  while (NodeRun* const node = ready_.pop()) {
    if (failure_ == Status::success) {
      start(*node);
    }
  }
  advancing_ = false;
  if (num_started_ == 0) {
    finish();
  }
}

void InstanceRun::finish() noexcept {
  running_ = false;
  if (parent_ != nullptr) {
    parent_->instance_->ended(*parent_, failure_);
    return;
  }
  const Graph& ended = graph();
  const Graph::Callback callback = failure_ == Status::success ? ended.on_success_ : ended.on_error_;
  callback(instance_, instance_.user_data(), ended.user_data());
}

std::string InstanceRun::explain_node(std::size_t node, Status status) const {
  const NodeRun& run = nodes_[node];
  if (run.type_ == GraphNode::Type::context && run.task_ != nullptr) {
    return run.task_->explain(status);
  }
  if (run.type_ == GraphNode::Type::graph && run.sub_ != nullptr) {
    return run.sub_->instance_.explain(status);
  }
  return run.type_ == GraphNode::Type::user ? "its function answered so" : "it has no data";
}

}  // namespace pydoca::detail
