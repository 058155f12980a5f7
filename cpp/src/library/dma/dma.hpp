#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/dma.hpp"

#include "library/queue_context.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace pydoca::library {

class alignas(64) DmaMemcpyTask final : public pydoca::DmaMemcpyTask, public backend::CopyOperation {
 public:
  using Task::status;
  DmaMemcpyTask(Dma& dma, detail::TaskPool& pool, std::size_t kind) noexcept;

  std::string explain(Status status) const override;
  detail::Limit check(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;

 private:
  Dma& dma() const noexcept;
  std::string explain_failed_copy() const;
};

class Dma final : public detail::QueueContext<pydoca::Dma> {
 public:
  explicit Dma(std::shared_ptr<Device> device);
  ~Dma() override;

  backend::CopyQueue& copy_queue() const noexcept { return static_cast<backend::CopyQueue&>(*queue()); }
  using QueueContext::expect_completion;

 private:
  Status begin() override;
  Task& task_of(backend::Operation& operation) const noexcept override;
  bool poll_one(bool& more) noexcept override;
};

}  // namespace pydoca::library
