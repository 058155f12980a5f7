#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "backend/faulty/operation/lane.hpp"
#include "backend/faulty/operation/tampering.hpp"
#include "backend/faulty/plan/device_faults.hpp"

#include <memory>
#include <utility>

namespace pydoca::faulty {

/// A queue that moves or hashes data, or invalidates a cache, with the faults of its device. Interface is the backend's
/// class of it.
template <class Interface, class Operation>
class DataQueue : public Interface, protected Lane<Operation> {
 public:
  DataQueue(std::unique_ptr<Interface> inner, const backend::QueueOptions& options, DeviceFaults& faults,
            backend::Device& device, backend::Notifier& notifier)
      : inner_(std::move(inner)), faults_(faults), tampering_(faults, device, notifier, inner_->fd()) {
    this->ordered = options.ordered;
  }

  int fd() const noexcept override { return tampering_.fd(); }
  bool look() noexcept override { return tampering_.has_next() || inner_->look() || is_due_to_end(); }
  void arm() noexcept override {
    inner_->arm();
    tampering_.arm();
  }
  bool may_advance_elsewhere(Cpus here) noexcept override {
    return inner_->fd() >= 0 && inner_->may_advance_elsewhere(here);
  }
  Status post(Operation& operation, bool flush) noexcept override { return tampering_.post(operation, flush, *this); }
  backend::Operation* poll(bool& more) noexcept override {
    follow_device();
    tampering_.calm();
    bool inner_more = false;
    backend::Operation* next = nullptr;
    do {
      backend::Operation* const done = inner_->poll(inner_more);
      if (done != nullptr) {
        tampering_.take_back(static_cast<Operation&>(*done), *this);
      }
      next = tampering_.next();
      if (done == nullptr) {
        break;
      }
    } while (next == nullptr);
    more = inner_more || tampering_.has_next();
    return next;
  }
  bool assist() noexcept override { return inner_->assist(); }
  void flush() noexcept override { inner_->flush(); }
  void abort() noexcept override {
    tampering_.end();
    inner_->abort();
  }

 protected:
  Interface& inner() noexcept { return *inner_; }

 private:
  Status pass_on(Operation& operation, bool flush) noexcept override { return inner_->post(operation, flush); }
  void break_down() noexcept override { inner_->abort(); }
  bool is_due_to_end() const noexcept { return faults_.removed() && !this->broken; }
  void follow_device() noexcept override {
    if (is_due_to_end()) [[unlikely]] {
      this->broken = true;
      this->reason = Status::driver;
      inner_->abort();
      tampering_.end_lane(this);
    }
  }

  const std::unique_ptr<Interface> inner_;
  DeviceFaults& faults_;
  Tampering<Operation> tampering_;
};

using CopyQueue = DataQueue<backend::CopyQueue, backend::CopyOperation>;
using CacheQueue = DataQueue<backend::CacheQueue, backend::CacheOperation>;

class HashQueue final : public DataQueue<backend::HashQueue, backend::HashOperation> {
 public:
  using DataQueue::DataQueue;
  std::unique_ptr<backend::HashMessage> create_message() override { return inner().create_message(); }
};

}  // namespace pydoca::faulty
