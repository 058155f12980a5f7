#pragma once

#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"

#include "backend/verbs/memory/blob.hpp"

#include <memory>
#include <span>

namespace pydoca::verbs {

class Place;

/// A peer's counter: only tasks of an Rdma context reach it, so what a CPU would do is not_supported.
class RemoteCounter final : public backend::Counter {
 public:
  explicit RemoteCounter(const CounterBlob& blob) noexcept : address_(blob.address), rkey_(blob.rkey) {}

  std::uint64_t address() const noexcept { return address_; }
  std::uint32_t rkey() const noexcept { return rkey_; }

  std::uint64_t load() const noexcept override { return 0; }
  Status store(std::uint64_t /*value*/) noexcept override { return Status::not_supported; }
  Status fetch_add(std::uint64_t /*increment*/, std::uint64_t& /*previous*/) noexcept override {
    return Status::not_supported;
  }
  Status failure(std::uint32_t /*told*/) noexcept override { return Status::not_supported; }
  bool may_change_silently(bool /*by_peers*/) const noexcept override { return true; }
  void arm() noexcept override {}
  int wake_fd() const noexcept override { return -1; }
  std::vector<std::byte> export_to_remote_pci() override;
  std::vector<std::byte> export_to_remote_net() override;

 private:
  const std::uint64_t address_;
  const std::uint32_t rkey_;
};

// Throw as backend::Device does.
std::unique_ptr<backend::Counter> create_counter(Place& place, const backend::MemoryRange* memory);
std::unique_ptr<backend::Counter> import_counter(std::span<const std::byte> blob, backend::CounterScope scope);

}  // namespace pydoca::verbs
