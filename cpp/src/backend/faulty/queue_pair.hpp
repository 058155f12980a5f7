#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/faulty/operation/rdma_lane.hpp"
#include "backend/faulty/operation/tampering.hpp"
#include "backend/faulty/plan/device_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace pydoca::faulty {

using RdmaTampering = Tampering<backend::RdmaOperation>;

class QueuePair;

/// What a queue pair uses of its queue.
class RdmaShared {
 public:
  RdmaShared(DeviceFaults& of_device, backend::Device& device, backend::Notifier& notifier, int inner_fd)
      : faults(of_device), tampering(of_device, device, notifier, inner_fd) {}
  RdmaShared(const RdmaShared&) = delete;
  RdmaShared& operator=(const RdmaShared&) = delete;

  /// What the device as a whole has suffered since the last call ends operations of every queue pair.
  virtual void follow_device_of_all() noexcept = 0;

  DeviceFaults& faults;
  RdmaTampering tampering;
  std::vector<QueuePair*> pairs;

 protected:
  ~RdmaShared() = default;
};

/// One end of a connection, with the faults of its device. The device's own queue pair has this one as its owner.
class QueuePair final : public backend::QueuePair, public RdmaLane {
 public:
  QueuePair(std::unique_ptr<backend::QueuePair> inner, RdmaShared& shared);
  ~QueuePair() override;

  /// The queue pair around a queue pair of the device; null for null.
  static QueuePair* of(const backend::QueuePair* inner) noexcept {
    return inner != nullptr ? static_cast<QueuePair*>(inner->owner) : nullptr;
  }

  std::vector<std::byte> describe() override { return inner_->describe(); }
  std::shared_ptr<backend::ImportAnswer> ask_peer(std::span<const std::byte> blob) override {
    return inner_->ask_peer(blob);
  }
  void connect(std::span<const std::byte> blob, const std::shared_ptr<backend::ImportAnswer>& answer) override;
  void accept(std::span<const std::byte> private_data) override;
  void reject() override { inner_->reject(); }
  Status post(backend::RdmaOperation& operation, bool flush) noexcept override;
  void disconnect() noexcept override;

  Status pass_on(backend::RdmaOperation& operation, bool flush) noexcept override {
    return inner_->post(operation, flush);
  }
  /// Ends the connection at this end, for the reason, and reports that.
  void fail(Status why) noexcept;
  void break_down() noexcept override;
  void follow_device() noexcept override { shared_.follow_device_of_all(); }
  void note_connected() noexcept { is_connected_ = true; }
  /// Whether the report of its end is due: every completion has come.
  bool has_report() const noexcept { return reports_; }
  bool take_report(Status& why) noexcept;

 private:
  void require_connectable(const char* what);

  const std::unique_ptr<backend::QueuePair> inner_;
  RdmaShared& shared_;
  Status why_ = Status::connection_reset;
  bool is_connected_ = false;
  bool reports_ = false;
};

}  // namespace pydoca::faulty
