#pragma once

#include "pydoca/backend/counter.hpp"

#include "backend/sim/place/place.hpp"
#include "backend/sim/time/function_model.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace pydoca::sim {

/// A counter whose changes take their time: each is made when it is due, for this process and for the others.
class ModelledCounter final : public backend::Counter {
 public:
  /// Whether the model has an update of sync events.
  static bool applies_to(const FunctionModel& model) noexcept;
  /// crossing: the bytes of an update, where the counter is at the other end of the card's link.
  ModelledCounter(std::unique_ptr<backend::Counter> inner, std::shared_ptr<FunctionModel> model,
                  const Crossing& crossing);

  std::uint64_t load() const noexcept override { return inner_->load(); }
  Status store(std::uint64_t value) noexcept override;
  Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept override;
  bool leave_waiting_to_caller() noexcept override;
  std::uint64_t due_of_update(bool adds) noexcept override;
  std::uint32_t losses_told() const noexcept override { return inner_->losses_told(); }
  Status failure(std::uint32_t told) noexcept override { return inner_->failure(told); }
  bool is_abandoned() const noexcept override { return inner_->is_abandoned(); }
  bool may_change_silently(bool by_peers) const noexcept override { return inner_->may_change_silently(by_peers); }
  bool may_change_elsewhere(Cpus here) noexcept override { return inner_->may_change_elsewhere(here); }
  void arm() noexcept override { inner_->arm(); }
  int wake_fd() const noexcept override { return inner_->wake_fd(); }
  std::vector<std::byte> export_to_remote_pci() override { return inner_->export_to_remote_pci(); }
  std::vector<std::byte> export_to_remote_net() override { return inner_->export_to_remote_net(); }
  Status withdraw() noexcept override { return inner_->withdraw(); }

 private:
  /// again: a signal ended the wait.
  Status wait_for_update(bool adds) noexcept;

  const std::unique_ptr<backend::Counter> inner_;
  const std::shared_ptr<FunctionModel> model_;
  const Crossing crossing_;
  bool caller_waits_ = false;
  std::mutex mutex_;  ///< guards what follows: updates may come from any thread
  Random of_sets_;
  Random of_adds_;
  std::uint64_t last_due_ = 0;
};

}  // namespace pydoca::sim
