#pragma once

#include "pydoca/dma.hpp"
#include "pydoca/progress_engine.hpp"

#include "rig/memory_rig.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <utility>
#include <vector>

namespace pydoca {

/// A DMA context on a progress engine that records every completion and every state.
class DmaRig {
 public:
  struct Completion {
    std::uint64_t user_data = 0;
    Status status = Status::success;
    bool by_error_callback = false;

    friend bool operator==(const Completion&, const Completion&) = default;
  };
  using Transition = std::pair<ContextState, ContextState>;

  DmaRig(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& engine, std::uint32_t num_tasks)
      : dma(Dma::create(device)), pe(engine) {
    dma->set_memcpy_conf(on_success, on_error, num_tasks);
    dma->set_user_data(std::bit_cast<std::uint64_t>(this));
    dma->set_state_changed([](std::uint64_t self, Context& context, ContextState previous, ContextState next) {
      EXPECT_EQ(context.state(), next);
      std::bit_cast<DmaRig*>(self)->transitions.emplace_back(previous, next);
    });
    pe->connect(dma);
  }
  DmaRig(const DmaRig&) = delete;
  DmaRig& operator=(const DmaRig&) = delete;

  /// A task that is not submitted.
  DmaMemcpyTask& task(Buf* src, Buf* dst, std::uint64_t user_data = 0) {
    DmaMemcpyTask* task = nullptr;
    EXPECT_EQ(dma->memcpy(src, dst, user_data, task), Status::success);
    return *task;
  }
  DmaMemcpyTask& submitted(Buf* src, Buf* dst, std::uint64_t user_data = 0) {
    DmaMemcpyTask& posted = task(src, dst, user_data);
    EXPECT_EQ(posted.submit(), Status::success);
    return posted;
  }
  /// Progresses until count completions were seen in all.
  void progress_until(std::size_t count) {
    while (completions.size() < count) {
      pe->progress();
    }
  }
  void progress_until_idle() {
    while (dma->state() != ContextState::idle) {
      pe->progress();
    }
  }

  std::shared_ptr<Dma> dma;
  std::shared_ptr<ProgressEngine> pe;
  std::vector<Completion> completions;
  std::vector<Transition> transitions;
  /// Runs in each completion callback, before the task is freed.
  std::function<void(DmaMemcpyTask&)> in_callback;
  bool free_tasks = true;

 private:
  void completed(Task& task, std::uint64_t user_data, bool by_error_callback) {
    completions.push_back({user_data, task.status(), by_error_callback});
    if (in_callback) {
      in_callback(static_cast<DmaMemcpyTask&>(task));
    }
    if (free_tasks && task.state() == Task::State::idle) {
      EXPECT_EQ(task.free(), Status::success);
    }
  }
  static void on_success(Task& task, std::uint64_t user_data, std::uint64_t self) {
    std::bit_cast<DmaRig*>(self)->completed(task, user_data, false);
  }
  static void on_error(Task& task, std::uint64_t user_data, std::uint64_t self) {
    std::bit_cast<DmaRig*>(self)->completed(task, user_data, true);
  }
};

/// A started rig with memory of its own on a fake device.
class DmaTest : public testing::Test {
 protected:
  static constexpr std::size_t memory_size = std::size_t{4} << 20;   ///< and the device's limit
  static constexpr std::size_t large_size = std::size_t{512} << 10;  ///< goes to the device's workers

  /// A small source and destination at the same offset; offsets apart by 64.
  void submit_small(std::uint64_t user_data, std::size_t offset) {
    Buf* const src = bufs.by_data(src_memory, offset, 64);
    Buf* const dst = bufs.by_addr(dst_memory, offset, 64);
    rig.submitted(src, dst, user_data);
    held.insert(held.end(), {src, dst});
  }
  void submit_large(std::uint64_t user_data, std::size_t offset) {
    Buf* const src = bufs.by_data(src_memory, offset, large_size);
    Buf* const dst = bufs.by_addr(dst_memory, offset, large_size);
    rig.submitted(src, dst, user_data);
    held.insert(held.end(), {src, dst});
  }
  void free_held() {
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    held.clear();
  }
  void TearDown() override {
    free_held();
    EXPECT_EQ(bufs.inventory->num_free_elements(), bufs.inventory->num_elements());
  }

  fake::Backend backend;
  std::shared_ptr<Device> device = backend.open_device();
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes src_memory{device, memory_size};
  MappedBytes dst_memory{device, memory_size};
  Bufs bufs{1024};
  DmaRig rig{device, pe, 512};
  std::vector<Buf*> held;
};

}  // namespace pydoca
