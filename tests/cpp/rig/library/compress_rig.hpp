#pragma once

#include "pydoca/compress.hpp"

#include "rig/deflate.hpp"
#include "rig/library/data_rig.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace pydoca {

class CompressRig : public DataRig<Compress, CompressDecompressDeflateTask> {
 public:
  CompressRig(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& engine,
              std::uint32_t num_tasks)
      : DataRig(Compress::create(device), engine, &Compress::set_decompress_deflate_conf, num_tasks) {}

  /// A task that is not submitted.
  CompressDecompressDeflateTask& task(Buf* src, Buf* dst, std::uint64_t user_data = 0) {
    CompressDecompressDeflateTask* task = nullptr;
    EXPECT_EQ(compress->decompress_deflate(src, dst, user_data, task), Status::success);
    return *task;
  }
  CompressDecompressDeflateTask& submitted(Buf* src, Buf* dst, std::uint64_t user_data = 0) {
    CompressDecompressDeflateTask& posted = task(src, dst, user_data);
    EXPECT_EQ(posted.submit(), Status::success);
    return posted;
  }

  const std::shared_ptr<Compress>& compress = context;
};

}  // namespace pydoca
