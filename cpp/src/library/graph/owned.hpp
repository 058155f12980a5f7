#pragma once

#include "pydoca/graph.hpp"

#include "library/graph/instance_run.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// What a graph owns, as only the graph makes and changes it.
namespace pydoca::detail {

class PlannedNode final : public GraphNode {
 public:
  PlannedNode(Graph& graph, std::size_t index, std::shared_ptr<Context> context) noexcept
      : PlannedNode(graph, index, Type::context) {
    context_ = std::move(context);
  }
  PlannedNode(Graph& graph, std::size_t index, User function) noexcept : PlannedNode(graph, index, Type::user) {
    user_ = function;
  }
  PlannedNode(Graph& graph, std::size_t index, std::shared_ptr<Graph> sub_graph) noexcept
      : PlannedNode(graph, index, Type::graph) {
    sub_graph_ = std::move(sub_graph);
  }

  void precede(PlannedNode& other) {
    successors_.push_back(&other);
    ++other.num_predecessors_;
  }

 private:
  PlannedNode(Graph& graph, std::size_t index, Type type) noexcept
      : GraphNode(graph, static_cast<std::uint32_t>(index), type) {}
};

class OwnedInstance final : public GraphInstance {
 public:
  using List = std::vector<std::unique_ptr<OwnedInstance>>;

  /// It will be the last of list, the graph's.
  OwnedInstance(Graph& graph, List& list, std::span<const std::uint32_t> successors, DeferredNodes& deferred,
                InstanceCallbacks callbacks)
      : GraphInstance(graph), list_(list), place_(list.size()) {
    run_ = std::make_unique<InstanceRun>(*this, successors, deferred, callbacks);
  }

  /// Ends this. The last of the list takes its place.
  void remove() noexcept {
    List& list = list_;
    const std::size_t place = place_;
    list.back()->place_ = place;
    std::swap(list[place], list.back());
    list.pop_back();
  }

 private:
  List& list_;
  std::size_t place_;
};

}  // namespace pydoca::detail
