// This executable counts allocations (rig/allocation_counter.cpp).
#include "pydoca/graph.hpp"

#include "rig/allocation_counter.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace pydoca {
namespace {

void count_end(GraphInstance& /*instance*/, std::uint64_t /*instance_user_data*/, std::uint64_t counter) noexcept {
  ++*std::bit_cast<int*>(counter);
}

Status count_step(std::uint64_t counter) noexcept {
  ++*std::bit_cast<int*>(counter);
  return Status::success;
}

TEST_F(DmaTest, AnInstanceOfAGraphRunsWithoutAllocations) {
  int ends = 0;
  int steps = 0;
  ASSERT_EQ(rig.context->start(), Status::success);
  const auto graph = Graph::create(pe);
  graph->set_conf(&count_end, &count_end, 1);
  graph->set_user_data(address_of(&ends));
  GraphNode& before = graph->node_from_user(&count_step);
  GraphNode& copy = graph->node_from_context(rig.context);
  graph->add_dependency(before, copy);
  graph->start();
  Buf* const dst = hold(bufs.by_addr(dst_memory, 0, 64));
  DmaMemcpyTask& task = rig.task(hold(bufs.by_data(src_memory, 0, 64)), dst);
  GraphInstance& instance = graph->create_instance();
  instance.set_cookie(before, address_of(&steps));
  instance.set_task(copy, task);

  const std::uint64_t allocations = num_allocations();
  for (int run = 1; run <= 50; ++run) {
    ASSERT_EQ(dst->reset_data_len(), Status::success);
    ASSERT_EQ(instance.submit(), Status::success);
    while (ends != run) {
      pe->progress();
    }
  }
  EXPECT_EQ(num_allocations(), allocations);
  EXPECT_EQ(steps, 50);
  EXPECT_EQ(task.free(), Status::success);
}

}  // namespace
}  // namespace pydoca
