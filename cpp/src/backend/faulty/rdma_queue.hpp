#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/faulty/queue_pair.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace pydoca::faulty {

/// The queue pairs of one context, with the faults of its device. It is also the lane of the receives.
class RdmaQueue final : public backend::RdmaQueue, private RdmaShared, private RdmaLane {
 public:
  RdmaQueue(std::unique_ptr<backend::RdmaQueue> inner, DeviceFaults& of_device, backend::Device& device,
            backend::Notifier& notifier);

  int fd() const noexcept override { return tampering.fd(); }
  bool look() noexcept override;
  void arm() noexcept override;
  bool may_advance_elsewhere(Cpus here) noexcept override { return inner_->may_advance_elsewhere(here); }
  backend::Operation* poll(bool& more) noexcept override;
  bool assist() noexcept override { return inner_->assist(); }
  void flush() noexcept override { inner_->flush(); }
  void abort() noexcept override;
  Status post_receive(backend::RdmaOperation& operation, bool flush) noexcept override;
  std::unique_ptr<backend::QueuePair> create_queue_pair() override;
  void listen(std::uint16_t port) override { inner_->listen(port); }
  void stop_listening(std::uint16_t port) noexcept override { inner_->stop_listening(port); }
  std::unique_ptr<backend::QueuePair> connect_to(const backend::RdmaAddress& address,
                                                 std::span<const std::byte> private_data) override;
  bool next_event(backend::RdmaEvent& event) noexcept override;
  int event_fd() const noexcept override { return inner_->event_fd(); }

 private:
  Status pass_on(backend::RdmaOperation& operation, bool flush) noexcept override {
    return inner_->post_receive(operation, flush);
  }
  /// A receive that failed says nothing of the others.
  void break_down() noexcept override {}
  void follow_device() noexcept override { follow_device_of_all(); }
  void follow_device_of_all() noexcept override;
  void take_back(backend::RdmaOperation& operation) noexcept;
  bool is_device_changed() const noexcept {
    return (faults.removed() && !removed_) || faults.link_breaks() != link_breaks_;
  }
  bool take_own_event(backend::RdmaEvent& event) noexcept;

  const std::unique_ptr<backend::RdmaQueue> inner_;
  bool removed_ = false;  ///< the device's removal was dealt with
  std::uint32_t link_breaks_ = 0;
};

}  // namespace pydoca::faulty
