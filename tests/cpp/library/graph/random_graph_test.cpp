/// Random graphs, held against what their dependencies allow.
#include "pydoca/graph.hpp"

#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace pydoca {
namespace {

using NodeState = GraphInstance::NodeState;

/// How many graphs each seed makes. PYDOCA_RANDOM_GRAPHS sets another number, for long runs.
int num_graphs() {
  const char* const chosen = std::getenv("PYDOCA_RANDOM_GRAPHS");
  return chosen == nullptr ? 100 : static_cast<int>(std::strtol(chosen, nullptr, 10));
}

/// Copies, functions and sub-graphs with random dependencies. Some nodes fail in the first run, none in the second.
class RandomGraphTest : public DmaTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  struct Step {
    GraphNode* node = nullptr;
    std::vector<const Step*> predecessors;
    GraphInstance* instance = nullptr;      ///< the instance of the whole graph
    GraphInstance* sub_instance = nullptr;  ///< the instance of a graph node
    Task* task = nullptr;                   ///< the task of a context node
    int calls = 0;                          ///< the calls of a user node
    bool fails = false;

    NodeState state() const { return instance->node_state(*node); }
  };

  RandomGraphTest() {
    rig.free_tasks = false;
    EXPECT_EQ(rig.context->start(), Status::success);
  }

  bool one_in(unsigned n) { return random() % n == 0; }

  void make_graph() {
    graph = new_graph();
    sub_graph = new_graph();
    sub_copy = &sub_graph->node_from_context(rig.context);
    sub_function = &sub_graph->node_from_user(&visit);
    sub_graph->add_dependency(*sub_copy, *sub_function);
    sub_graph->start();
    make_nodes(2 + random() % 20);
    add_dependencies();
    graph->set_timing(true);
    graph->start();
  }
  std::shared_ptr<Graph> new_graph() {
    auto made = Graph::create(pe);
    made->set_conf(&ended, &ended, 32);
    made->set_user_data(std::bit_cast<std::uint64_t>(this));
    return made;
  }
  void make_nodes(std::size_t count) {
    steps.clear();
    for (std::size_t i = 0; i < count; ++i) {
      Step& step = *steps.emplace_back(std::make_unique<Step>());
      const auto kind = i == 0 ? 0 : random() % 8;
      step.node = kind < 4   ? &graph->node_from_context(rig.context)
                  : kind < 7 ? &graph->node_from_user(&visit)
                             : &graph->node_from_graph(sub_graph);
      step.fails = one_in(16);
    }
  }
  /// Adds them in an order that is not the nodes' own.
  void add_dependencies() {
    std::vector<Step*> order;
    for (const auto& step : steps) {
      order.push_back(step.get());
    }
    std::ranges::shuffle(order, random);
    const unsigned sparseness = 1 + static_cast<unsigned>(random() % 8);
    for (std::size_t to = 1; to < order.size(); ++to) {
      for (std::size_t from = 0; from < to; ++from) {
        if (one_in(sparseness)) {
          graph->add_dependency(*order[from]->node, *order[to]->node);
          order[to]->predecessors.push_back(order[from]);
        }
      }
    }
  }

  void make_instance() {
    instance = &graph->create_instance();
    for (const auto& step : steps) {
      step->instance = instance;
      switch (step->node->type()) {
        case GraphNode::Type::context:
          step->task = &copy(step->fails);
          instance->set_task(*step->node, *step->task);
          break;
        case GraphNode::Type::user:
          instance->set_cookie(*step->node, std::bit_cast<std::uint64_t>(step.get()));
          break;
        case GraphNode::Type::graph:
          make_sub_instance(*step);
          break;
      }
    }
  }
  void make_sub_instance(Step& step) {
    step.sub_instance = &sub_graph->create_instance();
    step.task = &copy(step.fails);
    step.sub_instance->set_task(*sub_copy, *step.task);
    instance->set_instance(*step.node, *step.sub_instance);
  }
  /// 64 bytes, now and then enough for the device's workers. One that fails has a destination without room.
  DmaMemcpyTask& copy(bool fails) {
    const std::size_t size = next_offset < memory_size / 2 && one_in(12) ? large_size : 64;
    Buf* const src = hold(bufs.by_data(src_memory, next_offset, size));
    destinations.push_back(
        hold(fails ? bufs.by_data(dst_memory, next_offset, size) : bufs.by_addr(dst_memory, next_offset, size)));
    next_offset += size;
    return rig.task(src, destinations.back());
  }

  /// A function of the graph's, or, without a step, of a sub-graph's.
  static Status visit(std::uint64_t cookie) noexcept {
    Step* const step = std::bit_cast<Step*>(cookie);
    if (step == nullptr) {
      return Status::success;
    }
    ++step->calls;
    EXPECT_EQ(step->state(), NodeState::started);
    for (const Step* const earlier : step->predecessors) {
      EXPECT_EQ(earlier->state(), NodeState::completed);
    }
    return step->fails ? Status::operating_system : Status::success;
  }
  static void ended(GraphInstance& run, std::uint64_t /*data*/, std::uint64_t self) noexcept {
    auto& test = *std::bit_cast<RandomGraphTest*>(self);
    if (&run == test.instance) {
      ++test.num_ended;
    }
  }

  /// Whether it was started; a root that no other node preceded may be refused at once.
  bool run() {
    num_ended = 0;
    for (const auto& step : steps) {
      step->calls = 0;
    }
    if (const Status status = instance->submit(); status != Status::success) {
      EXPECT_TRUE(std::ranges::any_of(steps, [](const auto& step) {
        return step->fails && step->predecessors.empty() && step->task != nullptr;
      })) << instance->explain(status);
      return false;
    }
    while (instance->is_running()) {
      pe->progress();
    }
    EXPECT_EQ(num_ended, 1);
    return true;
  }

  void expect_consistent() const {
    bool failed = false;
    for (const auto& step : steps) {
      const NodeState state = step->state();
      failed |= state == NodeState::error;
      EXPECT_NE(state, NodeState::started);
      EXPECT_EQ(step->calls, step->node->type() == GraphNode::Type::user && state != NodeState::not_started ? 1 : 0);
      if (state == NodeState::not_started) {
        continue;
      }
      EXPECT_EQ(state, step->fails ? NodeState::error : NodeState::completed);
      for (const Step* const earlier : step->predecessors) {
        EXPECT_EQ(earlier->state(), NodeState::completed);
        EXPECT_LE(instance->node_times(*earlier->node).ended, instance->node_times(*step->node).started);
      }
    }
    EXPECT_EQ(failed, instance->status() != Status::success);
    EXPECT_EQ(failed, instance->failed_node() != nullptr);
    if (failed) {
      EXPECT_EQ(instance->node_state(*instance->failed_node()), NodeState::error);
    }
  }
  void expect_all_completed() const {
    EXPECT_EQ(instance->status(), Status::success) << instance->explain(instance->status());
    for (const auto& step : steps) {
      EXPECT_EQ(step->state(), NodeState::completed);
    }
  }

  /// Repairs the graph, so that no node fails, and every copy has room.
  void mend() {
    for (Buf* const buf : std::exchange(destinations, {})) {
      EXPECT_EQ(buf->reset_data_len(), Status::success);
    }
    for (const auto& step : steps) {
      step->fails = false;
    }
  }
  void clear() {
    EXPECT_EQ(instance->destroy(), Status::success);
    for (const auto& step : steps) {
      if (step->sub_instance != nullptr) {
        EXPECT_EQ(step->sub_instance->destroy(), Status::success);
      }
      if (step->task != nullptr) {
        EXPECT_EQ(step->task->free(), Status::success);
      }
    }
    free_held();
    next_offset = 0;
    graph->stop();
    sub_graph->stop();
  }

  std::mt19937 random{GetParam()};
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Graph> sub_graph;
  GraphNode* sub_copy = nullptr;
  GraphNode* sub_function = nullptr;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Buf*> destinations;
  GraphInstance* instance = nullptr;
  std::size_t next_offset = 0;
  int num_ended = 0;
};

TEST_P(RandomGraphTest, RunsWhatItsDependenciesAllow) {
  for (int i = 0; i < num_graphs() && !HasFailure(); ++i) {
    SCOPED_TRACE("graph " + std::to_string(i));
    make_graph();
    make_instance();
    if (run()) {
      expect_consistent();
    }
    mend();
    EXPECT_TRUE(run());
    expect_consistent();
    expect_all_completed();
    clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphTest, testing::Range(0U, 20U));

}  // namespace
}  // namespace pydoca
