#pragma once

#include "pydoca/graph.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include "core/task_observer.hpp"
#include "detail/drops.hpp"
#include "detail/intrusive_list.hpp"
#include "detail/ready_node.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace pydoca::detail {

class DeferredNodes;
class InstanceRun;

/// The callbacks of a graph, which do not change while it has instances.
struct InstanceCallbacks {
  Graph::Callback on_success;
  Graph::Callback on_error;
};

/// A node in one instance: its data, its place in the plan, and how far it has got.
class NodeRun final : public Task::Observer {
 public:
  NodeRun* next = nullptr;  ///< the next of the nodes that are ready, or deferred

 private:
  friend class InstanceRun;
  using State = GraphInstance::NodeState;

  void completed(Task& task, Status status) noexcept override;
  void freed(Task& /*task*/) noexcept override { task_ = nullptr; }

  InstanceRun* instance_ = nullptr;
  union {
    Task* task_ = nullptr;
    std::uint64_t cookie_;
    InstanceRun* sub_;
  };
  GraphNode::User user_ = nullptr;
  std::span<const std::uint32_t> successors_;  ///< their indexes
  std::uint32_t num_predecessors_ = 0;
  std::uint32_t waiting_for_ = 0;  ///< predecessors that have not succeeded
  GraphNode::Type type_{};
  State state_{};
};

/// What an instance does from its submission to its callback: each node that succeeds releases its successors; one that
/// fails ends the run when the nodes that were started have ended. Replays a flat copy of the plan.
class InstanceRun {
 public:
  /// successors are those of all nodes, as Graph::start() has laid them out; they and deferred outlive this.
  InstanceRun(GraphInstance& instance, std::span<const std::uint32_t> successors, DeferredNodes& deferred,
              InstanceCallbacks callbacks);
  ~InstanceRun();
  InstanceRun(const InstanceRun&) = delete;
  InstanceRun& operator=(const InstanceRun&) = delete;

  void set_task(std::size_t node, Task& task) noexcept { nodes_[node].task_ = &task; }
  void set_cookie(std::size_t node, std::uint64_t cookie) noexcept { nodes_[node].cookie_ = cookie; }
  void set_sub(std::size_t node, InstanceRun& sub) noexcept;

  Status submit() noexcept;
  /// Starts a node that was deferred to progress().
  void start_deferred(NodeRun& node) noexcept;
  static InstanceRun& of(NodeRun& node) noexcept { return *node.instance_; }

  bool is_running() const noexcept { return running_; }
  bool is_sub() const noexcept { return parent_ != nullptr; }
  Status status() const noexcept { return running_ ? Status::in_progress : failure_; }
  /// The index of the first node that failed, or the number of nodes.
  std::size_t failed_node() const noexcept { return failed_ != nullptr ? index_of(*failed_) : num_nodes_; }
  GraphInstance::NodeState node_state(std::size_t node) const noexcept { return nodes_[node].state_; }
  /// Call only when the graph is timed.
  GraphInstance::NodeTimes node_times(std::size_t node) const noexcept { return times_[node]; }
  /// Why that node failed, recorded when it did, as its task may be gone since then.
  const std::string& why() const noexcept { return why_; }
  Graph& graph() const noexcept { return instance_.graph(); }

 private:
  friend class NodeRun;

  std::size_t index_of(const NodeRun& node) const noexcept { return static_cast<std::size_t>(&node - nodes_.get()); }
  /// The run begins: nothing has started, and every task is claimed, also those of the sub-graphs.
  Status claim() noexcept;
  Status claim(NodeRun& node) noexcept;
  /// The run ends without a callback: the completions of the tasks that are in flight are dropped.
  void abandon() noexcept;
  /// The run is over: gives back what has not started.
  void unclaim() noexcept;
  void push_roots() noexcept;
  // Apart, as their local variables would have the compiler guard the stack of every function that starts or ends
  // nodes.
  [[gnu::noinline]] void note_begin() noexcept;
  [[gnu::noinline]] void note_start(const NodeRun& node) noexcept;
  [[gnu::noinline]] void note_end(const NodeRun& node) noexcept;
  void start(NodeRun& node) noexcept;
  void start_sub(NodeRun& node) noexcept;
  void defer(NodeRun& node) noexcept;
  /// The node has ended: releases its successors, or fails the run.
  void settle(NodeRun& node, Status status) noexcept;
  [[gnu::cold, gnu::noinline]] void fail(NodeRun& node, Status status) noexcept;
  static std::string explain_node(const NodeRun& run, Status status);
  void ended(NodeRun& node, Status status) noexcept;
  /// Starts what is ready; ends the run when nothing runs any more. Last act of a call: the callback may destroy this.
  void advance() noexcept;
  void finish() noexcept;

  GraphInstance& instance_;
  DeferredNodes& deferred_;  ///< the graph's
  InstanceCallbacks callbacks_;
  std::unique_ptr<NodeRun[]> nodes_;
  std::unique_ptr<GraphInstance::NodeTimes[]> times_;  ///< indexed by the node's index; null: the graph is not timed
  std::uint64_t begin_ = 0;                            ///< when the run began, on the monotonic clock
  std::size_t num_nodes_;
  IntrusiveQueue<NodeRun, &NodeRun::next> ready_;
  std::size_t num_started_ = 0;  ///< nodes that are started or deferred, and have not ended
  NodeRun* parent_ = nullptr;    ///< the node whose sub-graph this instance is
  const NodeRun* failed_ = nullptr;
  Status failure_ = Status::success;
  std::string why_;
  bool running_ = false;
  bool advancing_ = false;
};

/// The nodes of a graph's instances that progress() starts: roots that are functions or graphs, as submit() calls
/// nothing of the application's; and tasks whose queue was full. They represent the graph where that is dropped.
class DeferredNodes final : public ReadyNode, public Droppable {
 public:
  explicit DeferredNodes(Graph& graph) noexcept;
  ~DeferredNodes() override { leave(); }
  DeferredNodes(const DeferredNodes&) = delete;
  DeferredNodes& operator=(const DeferredNodes&) = delete;

  void push(NodeRun& node) noexcept {
    nodes_.push(node);
    notify();
  }
  /// Forgets the nodes of an instance that is being destroyed.
  void forget(const InstanceRun& run) noexcept;
  /// Whether the graph was dropped in a callback: nothing starts any more, and none of its callbacks is called.
  bool is_silent() const noexcept { return is_silent_; }

 private:
  bool progress_one(bool& more) noexcept override;
  void silence() noexcept override { is_silent_ = true; }
  void destroy() noexcept override { delete &graph_; }

  Graph& graph_;
  bool is_silent_ = false;
  IntrusiveQueue<NodeRun, &NodeRun::next> nodes_;
};

inline void NodeRun::completed(Task& /*task*/, Status status) noexcept { instance_->ended(*this, status); }

}  // namespace pydoca::detail
