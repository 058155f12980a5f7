#include "pydoca/graph.hpp"

#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pydoca {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using NodeState = GraphInstance::NodeState;

/// Copies of 64 bytes between the two memories, and a record of every node and end.
class GraphTest : public DmaTest {
 protected:
  struct End {
    GraphInstance* instance = nullptr;
    std::uint64_t user_data = 0;
    Status status = Status::success;
    bool by_error_callback = false;

    friend bool operator==(const End&, const End&) = default;
  };
  /// What a user node's cookie points to.
  struct Step {
    std::vector<int>* order;
    int number;
    Status answer = Status::success;
  };

  GraphTest() {
    rig.free_tasks = false;
    EXPECT_EQ(rig.context->start(), Status::success);
  }

  std::shared_ptr<Graph> make_graph(std::uint32_t num_instances = 4) {
    auto graph = Graph::create(pe);
    graph->set_conf(&ended_well, &ended_badly, num_instances);
    graph->set_user_data(std::bit_cast<std::uint64_t>(this));
    return graph;
  }
  /// A task that copies 64 bytes at offset.
  DmaMemcpyTask& copy(std::size_t offset, const MappedBytes& from, const MappedBytes& to) {
    Buf* const src = hold(bufs.by_data(from, offset, 64));
    destinations.push_back(hold(bufs.by_addr(to, offset, 64)));
    DmaMemcpyTask& task = rig.task(src, destinations.back());
    tasks.push_back(&task);
    return task;
  }
  DmaMemcpyTask& copy(std::size_t offset) { return copy(offset, src_memory, dst_memory); }
  std::uint64_t step(int number, Status answer = Status::success) {
    steps_.push_back(std::make_unique<Step>(Step{&order, number, answer}));
    return std::bit_cast<std::uint64_t>(steps_.back().get());
  }
  static Status run_step(std::uint64_t cookie) noexcept {
    const Step& step = *std::bit_cast<const Step*>(cookie);
    step.order->push_back(step.number);
    return step.answer;
  }
  /// Empties the destinations, so that the copies have room again.
  void reset_destinations() {
    for (Buf* const buf : destinations) {
      EXPECT_EQ(buf->reset_data_len(), Status::success);
    }
  }
  void progress_until_ended(std::size_t count) {
    while (ends.size() < count) {
      pe->progress();
    }
  }
  void TearDown() override {
    for (const auto& task : tasks) {
      EXPECT_EQ(task->free(), Status::success);
    }
    DmaTest::TearDown();
  }

  std::vector<int> order;
  std::vector<Task*> tasks;
  std::vector<Buf*> destinations;
  std::vector<End> ends;
  std::function<void(GraphInstance&)> at_end;

 private:
  static void ended(GraphInstance& instance, std::uint64_t user_data, std::uint64_t self, bool badly) {
    auto& test = *std::bit_cast<GraphTest*>(self);
    EXPECT_FALSE(instance.is_running());
    test.ends.push_back({&instance, user_data, instance.status(), badly});
    if (test.at_end) {
      test.at_end(instance);
    }
  }
  static void ended_well(GraphInstance& instance, std::uint64_t user_data, std::uint64_t self) noexcept {
    ended(instance, user_data, self, false);
  }
  static void ended_badly(GraphInstance& instance, std::uint64_t user_data, std::uint64_t self) noexcept {
    ended(instance, user_data, self, true);
  }

  std::vector<std::unique_ptr<Step>> steps_;
};

/// DOCA's sample: two copies side by side, then a function that compares.
class CompareGraphTest : public GraphTest {
 protected:
  CompareGraphTest() {
    graph->add_dependency(first, compare);
    graph->add_dependency(second, compare);
    graph->start();
  }
  GraphInstance& make_instance(std::size_t offset, int number, Status answer = Status::success) {
    GraphInstance& instance = graph->create_instance();
    instance.set_task(first, copy(offset));
    instance.set_task(second, copy(offset + 64));
    instance.set_cookie(compare, step(number, answer));
    return instance;
  }

  std::shared_ptr<Graph> graph = make_graph();
  GraphNode& first = graph->node_from_context(rig.context);
  GraphNode& second = graph->node_from_context(rig.context);
  GraphNode& compare = graph->node_from_user(&run_step);
};

TEST_F(CompareGraphTest, RunsANodeWhenItsPredecessorsHaveEnded) {
  std::memset(src_memory.bytes.data(), 7, 128);
  GraphInstance& instance = make_instance(0, 1);
  instance.set_user_data(5);
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_TRUE(instance.is_running());
  EXPECT_EQ(instance.status(), Status::in_progress);
  EXPECT_THAT(order, IsEmpty());
  progress_until_ended(1);
  EXPECT_THAT(ends, ElementsAre(End{&instance, 5, Status::success, false}));
  EXPECT_THAT(order, ElementsAre(1));
  EXPECT_EQ(std::memcmp(src_memory.bytes.data(), dst_memory.bytes.data(), 128), 0);
  EXPECT_THAT(rig.completions, IsEmpty()) << "tasks of a graph do not call their own callbacks";
  EXPECT_EQ(instance.node_state(compare), NodeState::completed);
  EXPECT_EQ(instance.destroy(), Status::success);
}

TEST_F(CompareGraphTest, RunsAnInstanceAgain) {
  GraphInstance& instance = make_instance(0, 1);
  for (std::size_t run = 1; run <= 3; ++run) {
    reset_destinations();
    ASSERT_EQ(instance.submit(), Status::success);
    progress_until_ended(run);
    EXPECT_EQ(instance.status(), Status::success);
  }
  EXPECT_THAT(order, ElementsAre(1, 1, 1));
}

TEST_F(CompareGraphTest, ATimedGraphRecordsWhenItsNodesRan) {
  GraphInstance& untimed = make_instance(0, 1);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(untimed.node_times(compare)); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { graph->set_timing(true); }), Status::bad_state);
  EXPECT_EQ(untimed.destroy(), Status::success);
  graph->stop();
  graph->set_timing(true);
  graph->start();
  GraphInstance& instance = make_instance(0, 1);
  for (std::size_t run = 1; run <= 2; ++run) {
    reset_destinations();
    ASSERT_EQ(instance.submit(), Status::success);
    EXPECT_EQ(instance.node_times(compare).started, 0U);
    progress_until_ended(run);
    const GraphInstance::NodeTimes copy = instance.node_times(first);
    const GraphInstance::NodeTimes comparison = instance.node_times(compare);
    EXPECT_LE(copy.started, copy.ended);
    EXPECT_LE(copy.ended, comparison.started);
    EXPECT_LE(comparison.started, comparison.ended);
  }
}

TEST_F(CompareGraphTest, RunsInstancesSideBySide) {
  make_instance(0, 1);
  GraphInstance& second_run = make_instance(128, 2);
  GraphInstance& third_run = make_instance(256, 3);
  ASSERT_EQ(third_run.submit(), Status::success);
  ASSERT_EQ(second_run.submit(), Status::success);
  progress_until_ended(2);
  EXPECT_THAT(order, UnorderedElementsAre(2, 3));
}

TEST_F(CompareGraphTest, SubmitsAnInstanceAgainInItsCallback) {
  GraphInstance& instance = make_instance(0, 1);
  at_end = [&](GraphInstance& ended) {
    reset_destinations();
    EXPECT_EQ(ends.size() < 4 ? ended.submit() : Status::success, Status::success);
  };
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(4);
  EXPECT_THAT(order, ElementsAre(1, 1, 1, 1));
}

TEST_F(CompareGraphTest, DestroysAnInstanceInItsCallback) {
  at_end = [](GraphInstance& ended) { EXPECT_EQ(ended.destroy(), Status::success); };
  ASSERT_EQ(make_instance(0, 1).submit(), Status::success);
  progress_until_ended(1);
  EXPECT_EQ(graph->num_instances(), 0U);
}

TEST_F(CompareGraphTest, AnswersAFunctionsStatus) {
  GraphInstance& instance = make_instance(0, 1, Status::full);
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(1);
  EXPECT_THAT(ends, ElementsAre(End{&instance, 0, Status::full, true}));
  EXPECT_EQ(instance.failed_node(), &compare);
  EXPECT_EQ(instance.node_state(compare), NodeState::error);
  EXPECT_EQ(instance.node_state(first), NodeState::completed);
  EXPECT_EQ(instance.explain(Status::full), "node 2 (function): its function answered so");
}

TEST_F(CompareGraphTest, RefusesARootThatCannotBeSubmitted) {
  GraphInstance& instance = make_instance(0, 1);
  DmaMemcpyTask& task = copy(512);
  EXPECT_EQ(task.set_src(nullptr), Status::success);
  instance.set_task(first, task);
  EXPECT_EQ(instance.submit(), Status::invalid_value);
  EXPECT_FALSE(instance.is_running());
  EXPECT_THAT(instance.explain(Status::invalid_value), HasSubstr("node 0 (dma): "));
  EXPECT_EQ(pe->progress(), 0);
  EXPECT_THAT(ends, IsEmpty());
}

TEST_F(CompareGraphTest, AwaitsWhatRunsWhenARootFails) {
  GraphInstance& instance = make_instance(0, 1);
  DmaMemcpyTask& task = copy(512);
  EXPECT_EQ(task.set_src(nullptr), Status::success);
  instance.set_task(second, task);
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(1);
  EXPECT_THAT(ends, ElementsAre(End{&instance, 0, Status::invalid_value, true}));
  EXPECT_THAT(order, IsEmpty());
  EXPECT_EQ(instance.node_state(first), NodeState::completed);
  EXPECT_EQ(instance.node_state(second), NodeState::error);
  EXPECT_EQ(instance.node_state(compare), NodeState::not_started);
  EXPECT_EQ(instance.failed_node(), &second);
}

TEST_F(CompareGraphTest, FailsWhenTheContextStops) {
  GraphInstance& instance = make_instance(0, 1);
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_EQ(rig.context->stop(), Status::in_progress);
  progress_until_ended(1);
  // The device may have begun a copy before the stop.
  EXPECT_THAT(ends.front().status, AnyOf(Status::success, Status::shutdown));
  reset_destinations();
  EXPECT_EQ(instance.submit(), Status::bad_state);
}

TEST_F(CompareGraphTest, RefusesWhatDoesNotFitItsState) {
  GraphInstance& instance = graph->create_instance();
  EXPECT_EQ(instance.submit(), Status::invalid_value) << "a node has no data";
  EXPECT_EQ(instance.explain(Status::invalid_value), "node 0 (dma): it has no data");
  EXPECT_EQ(thrown_by([&] { graph->stop(); }), Status::in_use);
  EXPECT_EQ(thrown_by([&] { graph->start(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { graph->node_from_user(&run_step); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { graph->add_dependency(first, second); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { instance.set_cookie(first, 1); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { instance.set_task(compare, copy(0)); }), Status::not_permitted);
  GraphInstance& running = make_instance(128, 1);
  ASSERT_EQ(running.submit(), Status::success);
  EXPECT_EQ(running.submit(), Status::in_use);
  EXPECT_EQ(running.destroy(), Status::in_use);
  EXPECT_EQ(thrown_by([&] { running.set_cookie(compare, 1); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { running.set_user_data(1); }), Status::in_use);
  progress_until_ended(1);
  EXPECT_EQ(running.destroy(), Status::success);
  EXPECT_EQ(instance.destroy(), Status::success);
  graph->stop();
  graph->stop();
  EXPECT_EQ(thrown_by([&] { graph->create_instance(); }), Status::bad_state);
}

TEST_F(CompareGraphTest, LimitsItsInstances) {
  for (std::uint32_t i = 0; i < graph->max_instances(); ++i) {
    graph->create_instance();
  }
  EXPECT_EQ(thrown_by([&] { graph->create_instance(); }), Status::no_memory);
}

TEST_F(CompareGraphTest, DroppedWhileItRunsItLetsItsTasksComplete) {
  GraphInstance& instance = make_instance(0, 1);
  ASSERT_EQ(instance.submit(), Status::success);
  graph.reset();
  while (pe->num_inflight_tasks() != 0) {
    pe->progress();
  }
  EXPECT_THAT(ends, IsEmpty());
  EXPECT_THAT(order, IsEmpty());
  EXPECT_THAT(rig.completions, IsEmpty());
}

TEST_F(CompareGraphTest, DroppedInItsCallbackItIsGone) {
  at_end = [&](GraphInstance& ended) {
    EXPECT_EQ(ended.destroy(), Status::success);
    graph.reset();
  };
  ASSERT_EQ(make_instance(0, 1).submit(), Status::success);
  progress_until_ended(1);
}

TEST_F(CompareGraphTest, ATaskFreedWhileItsContextStopsEndsItsInstance) {
  GraphInstance& instance = make_instance(0, 1);
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_EQ(rig.context->stop(), Status::in_progress);
  for (Task* const task : std::exchange(tasks, {})) {
    EXPECT_EQ(task->free(), Status::success);
  }
  progress_until_ended(1);
  rig.progress_until_idle();
}

TEST_F(CompareGraphTest, ClaimsItsTasksWhileItRuns) {
  GraphInstance& instance = make_instance(0, 1);
  GraphInstance& other = graph->create_instance();
  other.set_task(first, *tasks.front());
  other.set_task(second, copy(512));
  other.set_cookie(compare, step(2));
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_EQ(other.submit(), Status::bad_state);
  EXPECT_THAT(other.explain(Status::bad_state), HasSubstr("node 0 (dma): it is in flight"));
  progress_until_ended(1);
  reset_destinations();
  EXPECT_EQ(other.submit(), Status::success);
  progress_until_ended(2);
}

/// A function, then a task, which is claimed as long as the function has not run.
class ClaimTest : public GraphTest {
 protected:
  ClaimTest() {
    instance.set_cookie(function, step(1));
    instance.set_task(task, waiting);
  }

  std::shared_ptr<Graph> graph = make_graph();
  GraphNode& function = graph->node_from_user(&run_step);
  GraphNode& task = graph->node_from_context(rig.context);
  DmaMemcpyTask& waiting = copy(0);
  GraphInstance& instance = created();

 private:
  GraphInstance& created() {
    graph->add_dependency(function, task);
    graph->start();
    return graph->create_instance();
  }
};

TEST_F(ClaimTest, ATaskThatWaitsForItsTurnCannotBeSubmitted) {
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_EQ(waiting.state(), Task::State::claimed);
  EXPECT_EQ(waiting.submit(), Status::bad_state);
  EXPECT_THAT(waiting.explain(Status::bad_state), HasSubstr("an instance of a graph that is running"));
  progress_until_ended(1);
  EXPECT_EQ(instance.status(), Status::success);
  EXPECT_EQ(waiting.state(), Task::State::idle);
}

TEST_F(ClaimTest, TheBufsOfATaskThatWaitsForItsTurnAreKept) {
  Buf& src = *waiting.src();
  Buf& dst = *waiting.dst();
  ASSERT_EQ(instance.submit(), Status::success);
  for (Buf* const buf : {&src, &dst}) {
    EXPECT_TRUE(buf->in_flight());
    EXPECT_EQ(buf->dec_refcount(), Status::not_permitted);
    EXPECT_EQ(buf->set_data(buf->head(), buf->data_len()), Status::success) << "a function before it may do that";
  }
  progress_until_ended(1);
  EXPECT_FALSE(src.in_flight());
  EXPECT_FALSE(dst.in_flight());
}

TEST_F(ClaimTest, ATaskThatWaitsForItsTurnCanGetAnotherBuf) {
  Buf& before = *waiting.src();
  Buf& src = *hold(bufs.by_data(src_memory, 64, 64));
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_EQ(waiting.set_src(&src), Status::success);
  EXPECT_FALSE(before.in_flight());
  EXPECT_TRUE(src.in_flight());
  progress_until_ended(1);
  EXPECT_EQ(instance.status(), Status::success);
  EXPECT_FALSE(src.in_flight());
}

TEST_F(ClaimTest, TheBufsOfATaskWhoseTurnDoesNotComeAreGivenBack) {
  Buf& src = *waiting.src();
  instance.set_cookie(function, step(1, Status::unexpected));
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(1);
  EXPECT_FALSE(src.in_flight());
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_EQ(waiting.free(), Status::success);
  tasks.clear();
  EXPECT_FALSE(src.in_flight());
  progress_until_ended(2);
}

TEST_F(ClaimTest, AFailureIsExplainedWhenItsTaskIsGone) {
  ASSERT_EQ(waiting.set_src(nullptr), Status::success);
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(1);
  const Status status = instance.status();
  EXPECT_EQ(waiting.free(), Status::success);
  tasks.clear();
  EXPECT_EQ(rig.context->stop(), Status::success);
  rig.progress_until_idle();
  EXPECT_THAT(instance.explain(status), HasSubstr("src is missing"));
}

TEST_F(ClaimTest, ATaskFreedBeforeItsTurnFailsTheInstance) {
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_EQ(waiting.free(), Status::success);
  tasks.clear();
  EXPECT_EQ(rig.context->stop(), Status::success) << "nothing is in flight";
  progress_until_ended(1);
  EXPECT_EQ(instance.status(), Status::bad_state);
  EXPECT_EQ(instance.explain(Status::bad_state), "node 1 (dma): its task was freed");
}

TEST_F(ClaimTest, AFailureBeforeItsTurnGivesTheTaskBack) {
  instance.set_cookie(function, step(1, Status::unexpected));
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(1);
  EXPECT_EQ(waiting.state(), Task::State::idle);
  EXPECT_EQ(waiting.submit(), Status::success);
  rig.progress_until(1);
}

TEST_F(ClaimTest, DroppedBeforeItsTurnTheGraphGivesTheTaskBack) {
  ASSERT_EQ(instance.submit(), Status::success);
  graph.reset();
  EXPECT_EQ(waiting.state(), Task::State::idle);
}

TEST_F(GraphTest, RunsAFunctionThatIsARootInProgress) {
  const auto graph = make_graph();
  GraphNode& before = graph->node_from_user(&run_step);
  GraphNode& task = graph->node_from_context(rig.context);
  GraphNode& after = graph->node_from_user(&run_step);
  graph->add_dependency(before, task);
  graph->add_dependency(task, after);
  graph->start();
  GraphInstance& instance = graph->create_instance();
  instance.set_cookie(before, step(1));
  instance.set_cookie(after, step(2));
  instance.set_task(task, copy(0));
  ASSERT_EQ(instance.submit(), Status::success);
  EXPECT_THAT(order, IsEmpty());
  progress_until_ended(1);
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST_F(GraphTest, WakesASleepingEngineForAFunction) {
  const auto graph = make_graph();
  GraphNode& function = graph->node_from_user(&run_step);
  GraphNode& task = graph->node_from_context(rig.context);
  graph->add_dependency(function, task);
  graph->start();
  GraphInstance& instance = graph->create_instance();
  instance.set_cookie(function, step(1));
  instance.set_task(task, copy(0));
  pe->request_notification();
  ASSERT_EQ(instance.submit(), Status::success);
  while (ends.empty()) {
    EXPECT_TRUE(pe->wait(-1));
    pe->drain(100);
  }
}

TEST_F(GraphTest, SubmitsATaskAgainUntilItsQueueHasRoom) {
  const auto graph = make_graph();
  GraphNode& first = graph->node_from_context(rig.context);
  GraphNode& second = graph->node_from_context(rig.context);
  graph->add_dependency(first, second);
  graph->start();
  GraphInstance& instance = graph->create_instance();
  instance.set_task(first, copy(0));
  instance.set_task(second, copy(64));
  int& busy = fake::behind(*device).busy;
  for (const int refusals : {1, 3}) {
    busy = refusals;
    ASSERT_EQ(instance.submit(), Status::success);
    EXPECT_EQ(instance.node_state(first), GraphInstance::NodeState::not_started);
    progress_until_ended(ends.size() + 1);
    EXPECT_EQ(busy, 0);
    EXPECT_EQ(ends.back().status, Status::success);
    reset_destinations();
  }
}

TEST_F(GraphTest, ForgetsADeferredFunctionWhenItIsDropped) {
  auto graph = make_graph();
  GraphNode& function = graph->node_from_user(&run_step);
  GraphNode& task = graph->node_from_context(rig.context);
  graph->start();
  GraphInstance& instance = graph->create_instance();
  instance.set_cookie(function, step(1));
  instance.set_task(task, copy(0));
  ASSERT_EQ(instance.submit(), Status::success);
  graph.reset();
  while (pe->progress() != 0) {
  }
  EXPECT_THAT(order, IsEmpty());
}

TEST_F(GraphTest, StartsNoNodeAfterAFailure) {
  const auto graph = make_graph();
  GraphNode& failing = graph->node_from_user(&run_step);
  GraphNode& beside = graph->node_from_user(&run_step);
  GraphNode& after = graph->node_from_context(rig.context);
  graph->add_dependency(failing, after);
  graph->start();
  GraphInstance& instance = graph->create_instance();
  instance.set_cookie(failing, step(1, Status::unexpected));
  instance.set_cookie(beside, step(2));
  instance.set_task(after, copy(0));
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(1);
  EXPECT_THAT(order, ElementsAre(1));
  EXPECT_EQ(instance.status(), Status::unexpected);
  EXPECT_EQ(instance.node_state(beside), NodeState::not_started);
}

/// A graph whose node is another graph.
class SubGraphTest : public GraphTest {
 protected:
  GraphInstance& make_inner(std::size_t offset, int number, Status answer = Status::success) {
    GraphInstance& instance = inner->create_instance();
    instance.set_task(inner_copy, copy(offset));
    instance.set_cookie(inner_step, step(number, answer));
    return instance;
  }

  std::shared_ptr<Graph> inner = make_graph();
  GraphNode& inner_copy = inner->node_from_context(rig.context);
  GraphNode& inner_step = inner->node_from_user(&run_step);
  std::shared_ptr<Graph> outer = make_graph();
  GraphNode& before = outer->node_from_user(&run_step);
  GraphNode& sub = start_inner();
  GraphNode& after = outer->node_from_user(&run_step);

 private:
  GraphNode& start_inner() {
    inner->add_dependency(inner_copy, inner_step);
    inner->start();
    return outer->node_from_graph(inner);
  }
};

TEST_F(SubGraphTest, RunsTheGraphOfANode) {
  outer->add_dependency(before, sub);
  outer->add_dependency(sub, after);
  outer->start();
  GraphInstance& instance = outer->create_instance();
  GraphInstance& part = make_inner(0, 2);
  instance.set_cookie(before, step(1));
  instance.set_instance(sub, part);
  instance.set_cookie(after, step(3));
  for (std::size_t run = 1; run <= 2; ++run) {
    reset_destinations();
    ASSERT_EQ(instance.submit(), Status::success);
    progress_until_ended(run);
  }
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(ends.back().instance, &instance);
  EXPECT_EQ(part.submit(), Status::in_use);
  EXPECT_EQ(part.destroy(), Status::in_use);
  EXPECT_EQ(instance.destroy(), Status::success);
  EXPECT_EQ(part.destroy(), Status::success);
}

TEST_F(SubGraphTest, FailsWithTheSubGraph) {
  outer->add_dependency(sub, after);
  outer->start();
  GraphInstance& instance = outer->create_instance();
  instance.set_cookie(before, step(1));
  instance.set_instance(sub, make_inner(0, 2, Status::unexpected));
  instance.set_cookie(after, step(3));
  ASSERT_EQ(instance.submit(), Status::success);
  progress_until_ended(1);
  EXPECT_THAT(order, ElementsAre(1, 2));
  EXPECT_EQ(instance.failed_node(), &sub);
  EXPECT_EQ(instance.explain(Status::unexpected), "node 1 (graph): node 1 (function): its function answered so");
}

TEST_F(SubGraphTest, DroppedWhileItRunsItEndsTheSubGraphToo) {
  outer->start();
  GraphInstance& instance = outer->create_instance();
  instance.set_cookie(before, step(1));
  instance.set_instance(sub, make_inner(0, 2));
  instance.set_cookie(after, step(3));
  ASSERT_EQ(instance.submit(), Status::success);
  while (pe->num_inflight_tasks() == 0) {
    pe->progress();
  }
  outer.reset();
  while (pe->num_inflight_tasks() != 0) {
    pe->progress();
  }
  EXPECT_THAT(ends, IsEmpty());
}

TEST_F(SubGraphTest, RefusesAnInstanceThatDoesNotFit) {
  outer->start();
  GraphInstance& instance = outer->create_instance();
  GraphInstance& part = make_inner(0, 1);
  instance.set_instance(sub, part);
  GraphInstance& other = outer->create_instance();
  EXPECT_EQ(thrown_by([&] { other.set_instance(sub, part); }), Status::in_use);
  EXPECT_EQ(thrown_by([&] { other.set_instance(sub, instance); }), Status::not_permitted);
  instance.set_instance(sub, make_inner(128, 2));
  other.set_instance(sub, part);
}

TEST_F(SubGraphTest, RefusesAGraphThatContainsIt) {
  outer->start();
  const auto outermost = make_graph();
  outermost->node_from_graph(outer);
  outermost->start();
  inner->stop();
  EXPECT_EQ(thrown_by([&] { inner->node_from_graph(outer); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { inner->node_from_graph(outermost); }), Status::not_permitted);
  EXPECT_EQ(inner->nodes().size(), 2U);
  const auto beside = make_graph();
  beside->node_from_context(rig.context);
  beside->start();
  inner->node_from_graph(beside);
}

TEST_F(GraphTest, RefusesCyclesAndForeignNodes) {
  const auto graph = make_graph();
  const auto other = make_graph();
  GraphNode& a = graph->node_from_context(rig.context);
  GraphNode& b = graph->node_from_user(&run_step);
  GraphNode& c = graph->node_from_user(&run_step);
  GraphNode& foreign = other->node_from_user(&run_step);
  graph->add_dependency(a, b);
  graph->add_dependency(b, c);
  EXPECT_EQ(thrown_by([&] { graph->add_dependency(c, a); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { graph->add_dependency(a, a); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { graph->add_dependency(a, b); }), Status::already_exist);
  EXPECT_EQ(thrown_by([&] { graph->add_dependency(a, foreign); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { graph->node_from_graph(graph); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { graph->node_from_graph(other); }), Status::bad_state);
}

TEST_F(GraphTest, StartsOnlyWhenItCanRun) {
  const auto graph = make_graph();
  graph->node_from_user(&run_step);
  EXPECT_EQ(reason_of([&] { graph->start(); }), "start graph: it has no context node, and needs at least one");
  const auto idle = Dma::create(device);
  EXPECT_EQ(thrown_by([&] { graph->node_from_context(idle); }), Status::invalid_value) << "on no engine";
  pe->connect(idle);
  graph->node_from_context(idle);
  EXPECT_EQ(thrown_by([&] { graph->start(); }), Status::bad_state) << "it does not run";
  EXPECT_EQ(thrown_by([&] { Graph::create(pe)->start(); }), Status::invalid_value) << "no conf";
  EXPECT_EQ(thrown_by([&] { Graph::create(nullptr); }), Status::invalid_value);
}

}  // namespace
}  // namespace pydoca
