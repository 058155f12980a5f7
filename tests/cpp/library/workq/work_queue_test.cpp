#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/workq.hpp"

#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/memory_rig.hpp"
#include "rig/library/sync_event_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <poll.h>
#include <vector>

namespace pydoca::workq {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// Copies of 64 bytes at offsets, by a queue of 4 jobs on the DPU of a BlueField-2 or -3.
class WorkQueueTest : public testing::Test {
 protected:
  static constexpr std::size_t memory_size = std::size_t{8} << 20;
  static constexpr std::size_t large_size = std::size_t{512} << 10;

  explicit WorkQueueTest(const char* profile = "bluefield3") {
    sim::set_topology(sim::default_topology(profile));
    device = Device::open(find_device("p0", Side::dpu));
    src_memory = std::make_unique<MappedBytes>(device, memory_size);
    dst_memory = std::make_unique<MappedBytes>(device, memory_size);
    fill_pattern(src_memory->bytes, 1);
    dma = Dma::create(device);
  }
  void TearDown() override {
    queue.reset();
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
  }

  Buf* source(std::size_t offset, std::size_t size = 64) {
    return held.emplace_back(bufs.by_data(*src_memory, offset, size));
  }
  Buf* target(std::size_t offset, std::size_t size = 64) {
    return held.emplace_back(bufs.by_addr(*dst_memory, offset, size));
  }
  DmaMemcpyJob copy(std::size_t offset, std::uint64_t user_data = 0, std::size_t size = 64) {
    return {
        .ctx = dma.get(), .dst_buff = target(offset, size), .src_buff = source(offset, size), .user_data = user_data};
  }
  /// Polls as the guides do. Returns what progress_retrieve() answered.
  Status retrieve(Event& event) const {
    for (;;) {
      if (const Status status = queue->progress_retrieve(event); status != Status::again) {
        return status;
      }
    }
  }
  Event success() const {
    Event event;
    EXPECT_EQ(retrieve(event), Status::success);
    EXPECT_EQ(event.result, Status::success);
    return event;
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<MappedBytes> src_memory;
  std::unique_ptr<MappedBytes> dst_memory;
  Bufs bufs{512};
  std::vector<Buf*> held;
  std::unique_ptr<WorkQueue> queue = WorkQueue::create(4);
  std::shared_ptr<Dma> dma;
};

TEST_F(WorkQueueTest, RunsTheFlowOfTheGuides) {
  queue->add(dma);
  EXPECT_EQ(dma->state(), ContextState::running);
  ASSERT_EQ(queue->submit(copy(64, 5)), Status::success);
  EXPECT_EQ(queue->num_jobs(), 1U);
  const Event event = success();
  EXPECT_EQ(event.type, JobType::dma_memcpy);
  EXPECT_EQ(event.user_data, 5U);
  EXPECT_EQ(queue->num_jobs(), 0U);
  EXPECT_TRUE(
      std::ranges::equal(std::span(src_memory->bytes).subspan(64, 64), std::span(dst_memory->bytes).subspan(64, 64)));
  Event none;
  EXPECT_EQ(queue->progress_retrieve(none), Status::again);
  queue->remove(*dma);
  EXPECT_EQ(dma->state(), ContextState::idle);
}

TEST_F(WorkQueueTest, GivesOneEventForEveryJob) {
  queue->add(dma);
  std::vector<std::uint64_t> seen(100);
  for (std::uint64_t i = 0; i < 100; ++i) {
    // Some are done by the device's workers, in memory of their own: the order is not the submissions'.
    const bool is_large = i % 13 == 0;
    const std::size_t offset = is_large ? memory_size / 2 + i / 13 * large_size : i * 64;
    ASSERT_EQ(queue->submit(copy(offset, i, is_large ? large_size : 64)), Status::success);
    if (queue->num_jobs() == queue->depth()) {
      ++seen[success().user_data];
    }
  }
  while (queue->num_jobs() != 0) {
    ++seen[success().user_data];
  }
  EXPECT_THAT(seen, testing::Each(1U));
}

TEST_F(WorkQueueTest, RejectsSubmitWhenFull) {
  queue->add(dma);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(queue->submit(copy(i * 64)), Status::success);
  }
  EXPECT_EQ(queue->submit(copy(0)), Status::no_memory);
  success();
  EXPECT_EQ(queue->submit(copy(4 * 64)), Status::success);
}

TEST_F(WorkQueueTest, RefusesWhatCannotBeSubmitted) {
  EXPECT_EQ(queue->submit(copy(0)), Status::not_found);
  EXPECT_EQ(queue->submit(DmaMemcpyJob{}), Status::invalid_value);
  queue->add(dma);
  DmaMemcpyJob job = copy(0);
  job.dst_buff = target(0, 63);
  EXPECT_EQ(queue->submit(job), Status::invalid_value);
  job.dst_buff = nullptr;
  EXPECT_EQ(queue->submit(job), Status::invalid_value);
  EXPECT_EQ(queue->num_jobs(), 0U);
  queue->remove(*dma);
  EXPECT_EQ(queue->submit(copy(0)), Status::not_found);
  SyncEventJob other;
  other.type = JobType::dma_memcpy;
  EXPECT_EQ(queue->submit(other), Status::invalid_value);
}

TEST_F(WorkQueueTest, TakesAContextOnceAndLetsItGoWithoutJobs) {
  EXPECT_EQ(thrown_by([&] { queue->remove(*dma); }), Status::not_found);
  queue->add(dma);
  EXPECT_EQ(thrown_by([&] { queue->add(dma); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { queue->add(std::shared_ptr<Dma>()); }), Status::invalid_value);
  const auto other = WorkQueue::create(1);
  EXPECT_EQ(thrown_by([&] { other->add(dma); }), Status::not_permitted);
  ASSERT_EQ(queue->submit(copy(0)), Status::success);
  EXPECT_EQ(thrown_by([&] { queue->remove(*dma); }), Status::not_permitted);
  success();
  DmaMemcpyTask* task = nullptr;
  ASSERT_EQ(dma->memcpy(nullptr, nullptr, 0, task), Status::success);
  EXPECT_THAT(reason_of([&] { queue->remove(*dma); }),
              HasSubstr("1 task(s) of it, of nodes or sessions, are not freed"));
  EXPECT_EQ(task->free(), Status::success);
  queue->remove(*dma);
  queue->add(dma);
  ASSERT_EQ(queue->submit(copy(64)), Status::success);
  success();
}

TEST_F(WorkQueueTest, AJobThatFailsGivesItsEventAndTheOthersToo) {
  queue->add(dma);
  MappedBytes fixed(device, 4096, Access::local_read_only);
  Buf* const wrong = bufs.by_addr(fixed, 0, 64);
  ASSERT_EQ(queue->submit(DmaMemcpyJob{dma.get(), wrong, source(0), 1}), Status::success);
  ASSERT_EQ(queue->submit(copy(64, 2)), Status::success);
  Event event;
  EXPECT_EQ(retrieve(event), Status::io_failed);
  EXPECT_EQ(event.user_data, 1U);
  EXPECT_EQ(event.result, Status::io_failed);
  EXPECT_EQ(queue->submit(copy(128)), Status::bad_state);
  EXPECT_EQ(retrieve(event), Status::io_failed);
  EXPECT_EQ(event.result, Status::shutdown);
  queue->remove(*dma);
  queue->add(dma);
  ASSERT_EQ(queue->submit(copy(128)), Status::success);
  success();
  EXPECT_EQ(wrong->dec_refcount(), Status::success);
}

TEST_F(WorkQueueTest, AppendsOrOverwrites) {
  for (const auto& [destinations, data_len] : {std::pair{Destinations::append, 128U}, {Destinations::overwrite, 64U}}) {
    queue = WorkQueue::create(2, destinations);
    dma = Dma::create(device);
    queue->add(dma);
    Buf* const dst = target(0, 200);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(queue->submit(DmaMemcpyJob{dma.get(), dst, source(0), 0}), Status::success);
      success();
    }
    EXPECT_EQ(dst->data_len(), data_len);
  }
}

TEST_F(WorkQueueTest, WakesAnEventDrivenProgram) {
  EXPECT_EQ(thrown_by([&] { static_cast<void>(queue->event_handle()); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { queue->event_handle_arm(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { queue->event_handle_clear(); }), Status::bad_state);
  queue->add(dma);
  queue->set_event_driven(true);
  pollfd handle{.fd = queue->event_handle(), .events = POLLIN, .revents = 0};
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(queue->submit(copy(i * 64, i, i % 2 == 0 ? 64 : large_size)), Status::success);
    EXPECT_EQ(thrown_by([&] { queue->set_event_driven(false); }), Status::bad_state);
    Event event;
    Status status = Status::again;
    while (status == Status::again) {
      queue->event_handle_arm();
      ASSERT_EQ(::poll(&handle, 1, 20'000), 1);
      queue->event_handle_clear();
      status = queue->progress_retrieve(event);
    }
    EXPECT_EQ(event.user_data, i);
  }
  queue->event_handle_arm();
  EXPECT_EQ(::poll(&handle, 1, 1), 0) << "nothing is left";
  queue->event_handle_clear();
  queue->set_event_driven(false);
}

TEST_F(WorkQueueTest, RunsJobsOfSyncEvents) {
  const auto ctx = local_event(device)->as_context();
  queue->add(ctx);
  ASSERT_EQ(queue->submit(SyncEventJob{.ctx = ctx.get(), .type = JobType::sync_event_update_set, .value = 10}),
            Status::success);
  EXPECT_EQ(success().type, JobType::sync_event_update_set);
  ASSERT_EQ(queue->submit(SyncEventJob{.ctx = ctx.get(), .type = JobType::sync_event_update_add, .value = 5}),
            Status::success);
  EXPECT_EQ(success().value, 10U);
  ASSERT_EQ(queue->submit(SyncEventJob{.ctx = ctx.get(), .type = JobType::sync_event_get, .user_data = 3}),
            Status::success);
  const Event got = success();
  EXPECT_EQ(got.value, 15U);
  EXPECT_EQ(got.user_data, 3U);
  EXPECT_EQ(queue->submit(SyncEventJob{.ctx = ctx.get(), .type = JobType::sync_event_wait, .value = 255}),
            Status::invalid_value);
  ASSERT_EQ(queue->submit(SyncEventJob{.ctx = ctx.get(), .type = JobType::sync_event_wait, .value = 15}),
            Status::success);
  ASSERT_EQ(queue->submit(SyncEventJob{.ctx = ctx.get(), .type = JobType::sync_event_update_add, .value = 1}),
            Status::success);
  EXPECT_THAT((std::vector{success().type, success().type}),
              UnorderedElementsAre(JobType::sync_event_wait, JobType::sync_event_update_add));
  queue->remove(*ctx);
}

TEST_F(WorkQueueTest, RunsGraphsBesideJobs) {
  queue->add(dma);
  const auto graph = queue->create_graph(1);
  GraphNode& node = graph->node_from_context(dma);
  GraphNode& then = graph->node_from_user([](std::uint64_t cookie) noexcept { return static_cast<Status>(cookie); });
  graph->add_dependency(node, then);
  graph->start();
  GraphInstance& instance = graph->create_instance();
  DmaMemcpyTask* task = nullptr;
  Buf* const dst = target(0, 200);
  ASSERT_EQ(dma->memcpy(source(0), dst, 0, task), Status::success);
  instance.set_task(node, *task);
  instance.set_cookie(then, static_cast<std::uint64_t>(Status::success));
  ASSERT_EQ(queue->submit(instance, 7), Status::success);
  EXPECT_EQ(queue->submit(instance, 8), Status::in_use);
  EXPECT_EQ(thrown_by([&] { queue->remove(*graph); }), Status::not_permitted);
  const Event event = success();
  EXPECT_EQ(event.type, JobType::graph);
  EXPECT_EQ(event.user_data, 7U);
  instance.set_cookie(then, static_cast<std::uint64_t>(Status::empty));
  ASSERT_EQ(queue->submit(instance, 9), Status::success);
  Event failed;
  EXPECT_EQ(retrieve(failed), Status::success) << "the event tells of the failure";
  EXPECT_EQ(failed.type, JobType::graph);
  EXPECT_EQ(failed.result, Status::empty);
  EXPECT_EQ(instance.destroy(), Status::success);
  EXPECT_EQ(task->free(), Status::success);
  queue->remove(*graph);
  EXPECT_EQ(thrown_by([&] { queue->remove(*graph); }), Status::not_found);
}

/// How many answers of again come before the event of an instance of that many copies and functions in a row.
class GraphAgainsTest : public WorkQueueTest,
                        public testing::WithParamInterface<std::pair<std::size_t, std::size_t>> {};

TEST_P(GraphAgainsTest, EachNodeAnswersAgainAndTheInstanceSuccess) {
  const auto [copies, functions] = GetParam();
  queue->add(dma);
  const auto graph = queue->create_graph(1);
  std::vector<GraphNode*> nodes;
  for (std::size_t i = 0; i < copies + functions; ++i) {
    nodes.push_back(i < copies ? &graph->node_from_context(dma)
                               : &graph->node_from_user([](std::uint64_t status) noexcept { return Status(status); }));
    if (i > 0) {
      graph->add_dependency(*nodes[i - 1], *nodes[i]);
    }
  }
  graph->start();
  GraphInstance& instance = graph->create_instance();
  std::vector<DmaMemcpyTask*> tasks(copies);
  for (std::size_t i = 0; i < copies; ++i) {
    ASSERT_EQ(dma->memcpy(source(0), target(i * 64, 200), 0, tasks[i]), Status::success);
    instance.set_task(*nodes[i], *tasks[i]);
  }
  for (const Status last : {Status::success, Status::empty}) {
    if (functions > 0) {
      instance.set_cookie(*nodes.back(), static_cast<std::uint64_t>(last));
    }
    ASSERT_EQ(queue->submit(instance, 1), Status::success);
    std::size_t agains = 0;
    Event event;
    Status status = Status::again;
    while ((status = queue->progress_retrieve(event)) == Status::again) {
      ++agains;
    }
    EXPECT_EQ(status, Status::success);
    EXPECT_EQ(event.result, functions > 0 ? last : Status::success);
    EXPECT_GE(agains, copies + functions);
  }
  EXPECT_EQ(instance.destroy(), Status::success);
  for (DmaMemcpyTask* const task : tasks) {
    EXPECT_EQ(task->free(), Status::success);
  }
  queue->remove(*graph);
}

TEST_F(WorkQueueTest, WakesAProgramUntilTheEventOfAGraphIsRetrieved) {
  queue->add(dma);
  queue->set_event_driven(true);
  const auto graph = queue->create_graph(1);
  GraphNode& copy_node = graph->node_from_context(dma);
  GraphNode& function = graph->node_from_user([](std::uint64_t) noexcept { return Status::success; });
  graph->add_dependency(copy_node, function);
  graph->start();
  GraphInstance& instance = graph->create_instance();
  DmaMemcpyTask* task = nullptr;
  ASSERT_EQ(dma->memcpy(source(0), target(0, 200), 0, task), Status::success);
  instance.set_task(copy_node, *task);
  ASSERT_EQ(queue->submit(instance, 1), Status::success);
  pollfd handle{.fd = queue->event_handle(), .events = POLLIN, .revents = 0};
  Event event;
  do {  // one look a wake-up
    queue->event_handle_arm();
    ASSERT_EQ(::poll(&handle, 1, 20'000), 1);
    queue->event_handle_clear();
  } while (queue->progress_retrieve(event) == Status::again);
  EXPECT_EQ(event.type, JobType::graph);
  EXPECT_EQ(instance.destroy(), Status::success);
  EXPECT_EQ(task->free(), Status::success);
  queue->remove(*graph);
}

TEST_F(WorkQueueTest, ATaskThatTheProgramSubmitsIsNotAJob) {
  queue->add(dma);
  DmaMemcpyTask* task = nullptr;
  ASSERT_EQ(dma->memcpy(source(0), target(0), 0, task), Status::success);
  ASSERT_EQ(task->submit(), Status::success);
  Event event;
  while (dma->num_inflight_tasks() != 0) {
    EXPECT_EQ(queue->progress_retrieve(event), Status::again);
  }
  EXPECT_EQ(queue->progress_retrieve(event), Status::again);
  EXPECT_EQ(queue->num_jobs(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GraphAgainsTest,
                         testing::Values(std::pair{1U, 0U}, std::pair{1U, 1U}, std::pair{3U, 2U}, std::pair{2U, 5U}));

TEST_F(WorkQueueTest, ItsEndStopsContextsWithJobsInFlight) {
  queue->add(dma);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(queue->submit(copy(i * memory_size / 4, i, memory_size / 4)), Status::success);
  }
  queue.reset();
  EXPECT_EQ(dma->state(), ContextState::idle);
}

TEST(WorkQueue, NeedsADepth) {
  EXPECT_EQ(thrown_by([] { static_cast<void>(WorkQueue::create(0)); }), Status::invalid_value);
  EXPECT_EQ(WorkQueue::create(3)->depth(), 3U);
}

class ShaWorkQueueTest : public WorkQueueTest {
 protected:
  ShaWorkQueueTest() : WorkQueueTest("bluefield2") {}
};

TEST_F(ShaWorkQueueTest, ServesSeveralContexts) {
  const auto sha = Sha::create(device);
  queue->add(dma);
  queue->add(sha);
  ASSERT_EQ(queue->submit(copy(0)), Status::success);
  ASSERT_EQ(queue->submit(ShaJob{sha.get(), target(512, 64), source(0), ShaAlgorithm::sha1, 0}), Status::success);
  ASSERT_EQ(queue->submit(ShaJob{sha.get(), target(1024, 64), source(0), ShaAlgorithm::sha512, 0}), Status::success);
  EXPECT_THAT((std::vector{success().type, success().type, success().type}),
              UnorderedElementsAre(JobType::dma_memcpy, JobType::sha1, JobType::sha512));
}

TEST_F(ShaWorkQueueTest, HashesAMessagePieceByPiece) {
  const auto sha = Sha::create(device);
  queue->add(sha);
  ShaPartialHashTask* session = nullptr;
  ASSERT_EQ(sha->partial_hash(nullptr, nullptr, ShaAlgorithm::sha1, 0, session), Status::success);
  Buf* const digest = target(0, 64);
  ShaPartialJob job{.ctx = sha.get(), .resp_buf = digest, .req_buf = source(0, 64), .session = session};
  for (std::uint32_t message = 0; message < 2; ++message) {
    job.is_final = true;
    EXPECT_EQ(queue->submit(job), Status::bad_state);  // it has no other piece
    job.is_final = false;
    ASSERT_EQ(queue->submit(job), Status::success);
    EXPECT_EQ(success().type, JobType::sha256);
    EXPECT_EQ(digest->data_len(), 32U * message);
    ShaPartialJob other = job;
    other.algorithm = ShaAlgorithm::sha512;
    EXPECT_EQ(queue->submit(other), Status::bad_state);
    job.is_final = true;
    job.user_data = 5;
    ASSERT_EQ(queue->submit(job), Status::success);
    EXPECT_EQ(success().user_data, 5U);
    EXPECT_EQ(digest->data_len(), 32U * (message + 1));
    EXPECT_EQ(queue->submit(job), Status::bad_state);
    EXPECT_EQ(session->reset(), Status::success);
  }
  EXPECT_EQ(thrown_by([&] { queue->remove(*sha); }), Status::in_use);
  EXPECT_EQ(session->free(), Status::success);
  queue->remove(*sha);
}

TEST_F(ShaWorkQueueTest, APieceNeedsASessionOfItsContext) {
  const auto sha = Sha::create(device);
  const auto other = Sha::create(device);
  queue->add(sha);
  queue->add(other);
  ShaPartialHashTask* session = nullptr;
  ASSERT_EQ(other->partial_hash(nullptr, nullptr, ShaAlgorithm::sha1, 0, session), Status::success);
  ShaPartialJob job{.ctx = sha.get(), .resp_buf = target(0, 64), .req_buf = source(0, 64)};
  EXPECT_EQ(queue->submit(job), Status::invalid_value);
  job.session = session;
  EXPECT_EQ(queue->submit(job), Status::invalid_value);
  EXPECT_EQ(queue->num_jobs(), 0U);
  EXPECT_EQ(session->free(), Status::success);
}

}  // namespace
}  // namespace pydoca::workq
