#include "library/graph/instance_run.hpp"

#include "detail/clock.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace pydoca::detail {

InstanceRun::InstanceRun(GraphInstance& instance, std::span<const std::uint32_t> successors, DeferredNodes& deferred,
                         InstanceCallbacks callbacks)
    : instance_(instance),
      deferred_(deferred),
      callbacks_(callbacks),
      nodes_(std::make_unique<NodeRun[]>(instance.graph().nodes().size())),
      times_(instance.graph().is_timed() ? std::make_unique<GraphInstance::NodeTimes[]>(instance.graph().nodes().size())
                                         : nullptr),
      num_nodes_(instance.graph().nodes().size()) {
  std::size_t first = 0;
  for (const auto& plan : graph().nodes()) {
    NodeRun& node = nodes_[plan->index()];
    node.instance_ = this;
    node.user_ = plan->user();
    node.successors_ = successors.subspan(first, plan->successors().size());
    node.num_predecessors_ = plan->num_predecessors();
    node.type_ = plan->type();
    first += node.successors_.size();
  }
}

InstanceRun::~InstanceRun() {
  if (running_) {
    abandon();
  }
  for (NodeRun& node : std::span(nodes_.get(), num_nodes_)) {
    if (node.type_ == GraphNode::Type::graph && node.sub_ != nullptr) {
      node.sub_->parent_ = nullptr;
    }
  }
  if (parent_ != nullptr) {
    parent_->sub_ = nullptr;
  }
}

void InstanceRun::abandon() noexcept {
  deferred_.forget(*this);
  for (NodeRun& node : std::span(nodes_.get(), num_nodes_)) {
    if (node.type_ == GraphNode::Type::context && node.state_ == NodeRun::State::started) {
      NodeRun::forget(*node.task_);
    } else if (node.type_ == GraphNode::Type::graph && node.sub_ != nullptr && node.sub_->running_) {
      node.sub_->abandon();
    }
  }
  unclaim();
}

void InstanceRun::set_sub(std::size_t node, InstanceRun& sub) noexcept {
  NodeRun& run = nodes_[node];
  if (run.sub_ != nullptr) {
    run.sub_->parent_ = nullptr;
  }
  run.sub_ = &sub;
  sub.parent_ = &run;
}

Status InstanceRun::claim(NodeRun& node) noexcept {
  node.waiting_for_ = node.num_predecessors_;
  node.state_ = NodeRun::State::not_started;
  switch (node.type_) {
    case GraphNode::Type::context:
      return node.task_ != nullptr ? node.claim(*node.task_) : Status::invalid_value;
    case GraphNode::Type::graph:
      return node.sub_ != nullptr ? node.sub_->claim() : Status::invalid_value;
    default:
      return Status::success;
  }
}

Status InstanceRun::claim() noexcept {
  failure_ = Status::success;
  failed_ = nullptr;
  why_.clear();
  running_ = true;
  if (times_ != nullptr) [[unlikely]] {
    note_begin();
  }
  for (NodeRun& node : std::span(nodes_.get(), num_nodes_)) {
    if (const Status status = claim(node); status != Status::success) {
      unclaim();
      fail(node, status);
      return status;
    }
  }
  return Status::success;
}

void InstanceRun::unclaim() noexcept {
  running_ = false;
  for (NodeRun& node : std::span(nodes_.get(), num_nodes_)) {
    if (node.type_ == GraphNode::Type::context && node.task_ != nullptr) {
      node.unclaim(*node.task_);
    } else if (node.type_ == GraphNode::Type::graph && node.sub_ != nullptr && node.sub_->running_) {
      node.sub_->unclaim();
    }
  }
}

void InstanceRun::push_roots() noexcept {
  for (NodeRun& node : std::span(nodes_.get(), num_nodes_)) {
    if (node.num_predecessors_ == 0) {
      ready_.push(node);
    }
  }
}

Status InstanceRun::submit() noexcept {
  if (const Status status = claim(); status != Status::success) {
    return status;
  }
  push_roots();
  while (NodeRun* const node = failure_ == Status::success ? ready_.pop() : nullptr) {
    if (node->type_ == GraphNode::Type::context) {
      start(*node);
    } else {
      defer(*node);
    }
  }
  ready_.clear();
  if (num_started_ != 0) {
    return Status::success;
  }
  unclaim();  // the first root was refused
  return failure_;
}

void InstanceRun::start_deferred(NodeRun& node) noexcept {
  --num_started_;
  ready_.push(node);
  advance();
}

void InstanceRun::note_begin() noexcept {
  begin_ = nanoseconds_of(CLOCK_MONOTONIC);
  std::fill_n(times_.get(), num_nodes_, GraphInstance::NodeTimes{});
}

void InstanceRun::note_start(const NodeRun& node) noexcept {
  times_[index_of(node)].started = nanoseconds_of(CLOCK_MONOTONIC) - begin_;
}

void InstanceRun::note_end(const NodeRun& node) noexcept {
  times_[index_of(node)].ended = nanoseconds_of(CLOCK_MONOTONIC) - begin_;
}

void InstanceRun::start(NodeRun& node) noexcept {
  node.state_ = NodeRun::State::started;
  if (times_ != nullptr) [[unlikely]] {
    note_start(node);
  }
  Status status = Status::success;
  switch (node.type_) {
    case GraphNode::Type::context:
      status = node.task_ != nullptr ? node.submit(*node.task_) : Status::bad_state;
      if (status == Status::success) [[likely]] {
        ++num_started_;
        return;
      }
      if (status == Status::again) {
        return defer(node);
      }
      break;
    case GraphNode::Type::user:
      status = deferred_.is_silent() ? Status::shutdown : node.user_(node.cookie_);
      break;
    case GraphNode::Type::graph:
      return start_sub(node);
  }
  settle(node, deferred_.is_silent() ? Status::shutdown : status);
}

void InstanceRun::start_sub(NodeRun& node) noexcept {
  ++num_started_;
  node.sub_->push_roots();
  node.sub_->advance();
}

void InstanceRun::defer(NodeRun& node) noexcept {
  ++num_started_;
  node.state_ = NodeRun::State::not_started;
  deferred_.push(node);
}

void InstanceRun::settle(NodeRun& node, Status status) noexcept {
  if (times_ != nullptr) [[unlikely]] {
    note_end(node);
  }
  if (status != Status::success) [[unlikely]] {
    node.state_ = NodeRun::State::error;
    if (failure_ == Status::success) {
      fail(node, status);
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

void InstanceRun::fail(NodeRun& node, Status status) noexcept {
  failure_ = status;
  failed_ = &node;
  try {
    why_ = explain_node(node, status);
  } catch (const std::bad_alloc&) {
    why_.clear();
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
  if (failure_ != Status::success) {
    unclaim();
  }
  if (parent_ != nullptr) {
    parent_->instance_->ended(*parent_, failure_);
    return;
  }
  if (deferred_.is_silent()) [[unlikely]] {
    return;
  }
  const Graph::Callback callback = failure_ == Status::success ? callbacks_.on_success : callbacks_.on_error;
  callback(instance_, instance_.user_data(), graph().user_data());
}

std::string InstanceRun::explain_node(const NodeRun& run, Status status) {
  if (run.type_ == GraphNode::Type::context && run.task_ != nullptr) {
    return run.task_->explain(status);
  }
  if (run.type_ == GraphNode::Type::graph && run.sub_ != nullptr) {
    return run.sub_->instance_.explain(status);
  }
  if (run.type_ == GraphNode::Type::user) {
    return "its function answered so";
  }
  return status == Status::bad_state ? "its task was freed" : "it has no data";
}

DeferredNodes::DeferredNodes(Graph& graph) noexcept : graph_(graph) { join(graph.progress_engine()->ready_list()); }

void DeferredNodes::forget(const InstanceRun& run) noexcept {
  auto all = std::exchange(nodes_, {});
  while (NodeRun* const node = all.pop()) {
    if (&InstanceRun::of(*node) != &run) {
      nodes_.push(*node);
    }
  }
}

bool DeferredNodes::progress_one(bool& more) noexcept {
  NodeRun* const node = nodes_.pop();
  if (node == nullptr) {
    return false;
  }
  InstanceRun::of(*node).start_deferred(*node);
  more = !nodes_.empty();
  return true;
}

}  // namespace pydoca::detail
