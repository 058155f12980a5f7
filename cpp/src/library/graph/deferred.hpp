#pragma once

#include "pydoca/graph.hpp"

#include "detail/ready_node.hpp"
#include "library/graph/instance_run.hpp"

namespace pydoca {

/// Nodes that progress() starts: roots that are functions or graphs, as submit() calls nothing of the application's;
/// and tasks whose queue was full.
class Graph::Deferred final : public detail::ReadyNode {
 public:
  Deferred(Graph& graph, detail::ReadyList& ready) noexcept : graph_(graph) { join(ready); }
  ~Deferred() override { leave(); }
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  void push(detail::NodeRun& node) noexcept {
    nodes_.push(node);
    notify();
  }
  /// Forgets the nodes of an instance that is being destroyed.
  void forget(const detail::InstanceRun& run) noexcept;

 private:
  bool progress_one(bool& more) noexcept override;

  Graph& graph_;
  detail::IntrusiveQueue<detail::NodeRun, &detail::NodeRun::next> nodes_;
};

}  // namespace pydoca
