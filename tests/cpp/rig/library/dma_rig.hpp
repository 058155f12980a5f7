#pragma once

#include "pydoca/dma.hpp"

#include "rig/library/data_rig.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace pydoca {

/// A DMA context on a progress engine that records every completion and every state.
class DmaRig : public DataRig<Dma, DmaMemcpyTask> {
 public:
  DmaRig(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& engine, std::uint32_t num_tasks)
      : DataRig(Dma::create(device), engine, &Dma::set_memcpy_conf, num_tasks) {}

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

  const std::shared_ptr<Dma>& dma = context;
};

/// A started rig with memory of its own on a fake device.
class DmaTest : public HeldBufsTest {
 protected:
  static constexpr std::size_t memory_size = std::size_t{4} << 20;   ///< also the device's limit
  static constexpr std::size_t large_size = std::size_t{512} << 10;  ///< goes to the device's workers

  /// A small source and destination at the same offset; offsets apart by 64.
  void submit_small(std::uint64_t user_data, std::size_t offset) { submit_sized(user_data, offset, 64); }
  void submit_large(std::uint64_t user_data, std::size_t offset) { submit_sized(user_data, offset, large_size); }
  void submit_sized(std::uint64_t user_data, std::size_t offset, std::size_t size) {
    Buf* const src = hold(bufs.by_data(src_memory, offset, size));
    rig.submitted(src, hold(bufs.by_addr(dst_memory, offset, size)), user_data);
  }

  fake::Backend backend;
  std::shared_ptr<Device> device = backend.open_device();
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes src_memory{device, memory_size};
  MappedBytes dst_memory{device, memory_size};
  DmaRig rig{device, pe, 512};
};

}  // namespace pydoca
