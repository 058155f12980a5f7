/// Handles give bufs, tasks and instances of graphs back.

#include "pydoca/handles.hpp"

#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace pydoca {
namespace {

// The engine's memory ends by the engine: a program cannot delete what it was lent.
static_assert(!std::is_destructible_v<Buf> && !std::is_destructible_v<Task>);
static_assert(!std::is_destructible_v<GraphInstance>);

class Handles : public DmaTest {
 protected:
  Status take(BufRef& buf) { return bufs.inventory->get_by_addr(src_memory.mmap, src_memory.addr(), 64, Into(buf)); }
  std::size_t num_free() const { return bufs.inventory->num_free_elements(); }
};

TEST_F(Handles, ABufIsGivenBackAtTheEnd) {
  const std::size_t before = num_free();
  {
    BufRef buf;
    ASSERT_EQ(take(buf), Status::success);
    EXPECT_EQ(num_free(), before - 1);
    ASSERT_EQ(take(buf), Status::success);  // gives the first one back
    EXPECT_EQ(num_free(), before - 1);
  }
  EXPECT_EQ(num_free(), before);
}

TEST_F(Handles, AFunctionThatFailsLeavesAHandleAsItWas) {
  BufRef buf;
  ASSERT_EQ(take(buf), Status::success);
  const Buf* const had = buf.get();
  const Status status = bufs.inventory->get_by_addr(src_memory.mmap, 0, 64, Into(buf));
  EXPECT_EQ(status, Status::invalid_value);
  EXPECT_EQ(buf.get(), had);
}

TEST_F(Handles, ATaskIsFreedAtTheEnd) {
  EXPECT_EQ(rig.dma->start(), Status::success);
  DmaMemcpyTask* first = nullptr;
  {
    TaskRef<DmaMemcpyTask> task;
    ASSERT_EQ(rig.dma->memcpy(nullptr, nullptr, 0, Into(task)), Status::success);
    first = task.get();
  }
  EXPECT_EQ(first->state(), Task::State::free);
}

TEST_F(Handles, AnInstanceIsDestroyedAtTheEnd) {
  const auto graph = Graph::create(pe);
  graph->set_conf([](GraphInstance&, std::uint64_t, std::uint64_t) noexcept {},
                  [](GraphInstance&, std::uint64_t, std::uint64_t) noexcept {}, 1);
  EXPECT_EQ(rig.dma->start(), Status::success);
  graph->node_from_context(rig.dma);
  graph->start();
  {
    const InstanceRef instance(&graph->create_instance());
  }
  EXPECT_EQ(graph->num_instances(), 0U);
  graph->stop();
}

}  // namespace
}  // namespace pydoca
