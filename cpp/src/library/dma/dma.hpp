#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/dma.hpp"

#include "library/data_task.hpp"

#include <memory>

namespace pydoca::library {

class Dma;

class alignas(64) DmaMemcpyTask final : public detail::DataTask<pydoca::DmaMemcpyTask, backend::CopyOperation, Dma> {
 public:
  using DataTask::DataTask;

  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override { return post_data(flush); }
  void finish(Status status) noexcept override { take_back_data(status, length); }
};

class Dma final : public detail::DataContext<pydoca::Dma, DmaMemcpyTask, backend::CopyQueue> {
 public:
  explicit Dma(std::shared_ptr<Device> device);
  ~Dma() override;

 private:
  std::unique_ptr<backend::CopyQueue> create_queue(const backend::QueueOptions& options) override;
};

}  // namespace pydoca::library
