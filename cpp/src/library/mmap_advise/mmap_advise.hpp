#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/mmap_advise.hpp"

#include "library/data_task.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace pydoca::library {

class MmapAdvise;

class alignas(64) InvalidateCacheTask final : public MmapAdviseInvalidateCacheTask, public backend::CacheOperation {
 public:
  using Library = MmapAdvise;
  using Task::status;  // not the operation's
  InvalidateCacheTask(MmapAdvise& context, detail::TaskPool& pool, std::size_t kind) noexcept;

  std::string explain(Status outcome) const override;
  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  void promise_operands(std::int32_t change, detail::Promise promise) noexcept override {
    detail::Operands::promise(buf(), change, promise);
  }

 private:
  MmapAdvise& library() const noexcept;
};

class MmapAdvise final : public detail::DataContext<pydoca::MmapAdvise, InvalidateCacheTask, backend::CacheQueue> {
 public:
  explicit MmapAdvise(std::shared_ptr<Device> device);
  ~MmapAdvise() override;

 private:
  std::unique_ptr<backend::CacheQueue> create_queue(const backend::QueueOptions& options) override;
};

}  // namespace pydoca::library
