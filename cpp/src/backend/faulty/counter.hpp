#pragma once

#include "pydoca/backend/counter.hpp"

#include "backend/faulty/plan/device_faults.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace pydoca::faulty {

/// What a sync event is made of, with the faults of its device. Network peers' counters are operands of RDMA's tasks,
/// which have faults of their own, and have no such wrapper.
class Counter final : public backend::Counter {
 public:
  Counter(std::unique_ptr<backend::Counter> inner, DeviceFaults& faults) noexcept
      : inner_(std::move(inner)), faults_(faults) {}

  std::uint64_t load() const noexcept override { return inner_->load(); }
  Status store(std::uint64_t value) noexcept override;
  Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept override;
  std::uint32_t failed_by(Status status) const noexcept override;
  bool leave_waiting_to_caller() noexcept override { return inner_->leave_waiting_to_caller(); }
  std::uint64_t due_of_update(bool adds) noexcept override { return inner_->due_of_update(adds); }
  std::uint32_t losses_told() const noexcept override { return inner_->losses_told(); }
  Status failure(std::uint32_t told) noexcept override { return inner_->failure(told); }
  bool is_abandoned() const noexcept override { return inner_->is_abandoned(); }
  bool may_change_silently(bool by_peers) const noexcept override { return inner_->may_change_silently(by_peers); }
  bool may_change_elsewhere(Cpus here) noexcept override { return inner_->may_change_elsewhere(here); }
  void arm() noexcept override;
  int wake_fd() const noexcept override { return inner_->wake_fd(); }
  std::vector<std::byte> export_to_remote_pci() override { return inner_->export_to_remote_pci(); }
  std::vector<std::byte> export_to_remote_net() override { return inner_->export_to_remote_net(); }
  Status withdraw() noexcept override { return inner_->withdraw(); }

 private:
  template <class Update>
  Status update(LinkOpcode opcode, std::uint64_t operand, Update apply) noexcept;

  const std::unique_ptr<backend::Counter> inner_;
  DeviceFaults& faults_;
  std::atomic<std::uint32_t> failed_by_{0};           ///< the rule that failed the last change
  std::atomic<Status> failed_with_{Status::success};  ///< the status of that change
};

}  // namespace pydoca::faulty
