// The data path allocates nothing after start. This executable counts every allocation of C++ code, in all its threads.
#include "rig/allocation_counter.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pydoca {
namespace {

template <typename Action>
std::uint64_t allocations_of(Action action) {
  const std::uint64_t before = num_allocations();
  action();
  return num_allocations() - before;
}

/// A context whose callbacks free their tasks and count; they record nothing else.
class AllocationTest : public testing::Test {
 protected:
  static constexpr std::size_t large_size = std::size_t{1} << 20;

  void SetUp() override {
    dma_->set_memcpy_conf(count, count, 64);
    dma_->set_user_data(address_of(&completed_));
    pe_->connect(dma_);
    ASSERT_EQ(dma_->start(), Status::success);
  }
  static void count(Task& task, std::uint64_t, std::uint64_t counter) noexcept {
    ++*std::bit_cast<std::uint64_t*>(counter);
    EXPECT_EQ(task.free(), Status::success);
  }
  void copy_once(std::size_t len, SubmitFlags flags) {
    Buf* src = nullptr;
    Buf* dst = nullptr;
    DmaMemcpyTask* task = nullptr;
    bool ok = bufs_.inventory->get_by_data(src_.mmap, src_.addr(), len, src) == Status::success;
    ok = ok && bufs_.inventory->get_by_addr(dst_.mmap, dst_.addr(), len, dst) == Status::success;
    ok = ok && dma_->memcpy(src, dst, 0, task) == Status::success && task->try_submit(flags) == Status::success;
    dma_->flush_tasks();
    const std::uint64_t before = completed_;
    while (ok && completed_ == before) {
      pe_->progress();
    }
    ASSERT_TRUE(ok && src->dec_refcount() == Status::success && dst->dec_refcount() == Status::success);
  }

  fake::Backend backend_;
  std::shared_ptr<Device> device_ = backend_.open_device();
  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::shared_ptr<Dma> dma_ = Dma::create(device_);
  MappedBytes src_{device_, large_size};
  MappedBytes dst_{device_, large_size};
  Bufs bufs_{64};
  std::uint64_t completed_ = 0;
};

TEST_F(AllocationTest, TheCounterCounts) {
  // Called by name, because a compiler may remove a pair of new and delete expressions.
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(8)); }), 1U);
  EXPECT_EQ(allocations_of([] { fake::Backend().open_device(); }) > 0, true);
}

TEST_F(AllocationTest, NoneInTenThousandSmallTasks) {
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 10'000; ++i) {
                copy_once(64, i % 2 == 0 ? SubmitFlags::flush : SubmitFlags::none);
              }
            }),
            0U);
  EXPECT_EQ(completed_, 10'000U);
}

TEST_F(AllocationTest, NoneInLargeTasksNotEvenTheFirst) {
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 200; ++i) {
                copy_once(large_size, SubmitFlags::flush);
              }
            }),
            0U);
}

TEST_F(AllocationTest, NoneInNotification) {
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 1000; ++i) {
                pe_->request_notification();
                copy_once(64, SubmitFlags::flush);
                pe_->clear_notification();
                pe_->wait(0);
              }
            }),
            0U);
}

TEST_F(AllocationTest, NoneInBufsAndLists) {
  EXPECT_EQ(allocations_of([&] {
              std::array<Buf*, 16> bufs{};
              for (int i = 0; i < 1000; ++i) {
                for (Buf*& buf : bufs) {
                  EXPECT_EQ(bufs_.inventory->get_by_addr(src_.mmap, src_.addr(), 64, buf), Status::success);
                }
                for (std::size_t k = 1; k < bufs.size(); ++k) {
                  EXPECT_EQ(bufs[0]->chain(*bufs[k]), Status::success);
                }
                Buf* copy = nullptr;
                EXPECT_EQ(bufs_.inventory->dup(*bufs[0], copy), Status::success);
                EXPECT_EQ(bufs[0]->unchain(*bufs[8]), Status::success);
                EXPECT_EQ(bufs[0]->dec_refcount(), Status::success);
                EXPECT_EQ(bufs[8]->dec_refcount(), Status::success);
                EXPECT_EQ(copy->dec_refcount(), Status::success);
              }
            }),
            0U);
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 64U);
}

TEST_F(AllocationTest, NoneInFailureAndFlush) {
  std::array<DmaMemcpyTask*, 64> tasks{};
  EXPECT_EQ(allocations_of([&] {
              for (DmaMemcpyTask*& task : tasks) {
                static_cast<void>(dma_->memcpy(nullptr, nullptr, 0, task));
                static_cast<void>(task->submit());
              }
              while (dma_->state() != ContextState::idle) {
                pe_->progress();
              }
            }),
            0U);
  EXPECT_EQ(completed_, 64U);
}

}  // namespace
}  // namespace pydoca
