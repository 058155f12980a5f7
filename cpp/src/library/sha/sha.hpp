#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/sha.hpp"

#include "library/data_task.hpp"

#include <memory>

namespace pydoca::library {

class Sha;

class alignas(64) ShaHashTask final : public detail::DataTask<pydoca::ShaHashTask, backend::HashOperation, Sha> {
 public:
  using DataTask::DataTask;

  detail::Limit check(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
};

class Sha final : public detail::DataContext<pydoca::Sha, ShaHashTask, backend::HashQueue> {
 public:
  explicit Sha(std::shared_ptr<Device> device);
  ~Sha() override;

 private:
  std::unique_ptr<backend::HashQueue> create_queue(const backend::QueueOptions& options) override;
};

}  // namespace pydoca::library
