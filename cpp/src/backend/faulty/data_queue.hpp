#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "backend/faulty/operation/lane.hpp"
#include "backend/faulty/operation/tampering.hpp"
#include "backend/faulty/plan/device_faults.hpp"
#include "backend/faulty/plan/opcodes.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace pydoca::faulty {

/// A queue of an engine, with the faults of its device.
class DataQueue final : public backend::DataQueue, private Lane<backend::DataOperation> {
 public:
  DataQueue(std::unique_ptr<backend::DataQueue> inner, const backend::EngineTraits& engine,
            const backend::QueueOptions& options, DeviceFaults& faults, backend::Device& device,
            backend::Notifier& notifier)
      : inner_(std::move(inner)),
        engine_(engine),
        first_opcode_(static_cast<std::size_t>(first_of(engine))),
        faults_(faults),
        tampering_(faults, device, notifier, inner_->fd()) {
    ordered = options.ordered;
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
  Status post(backend::DataOperation& operation, bool flush) noexcept override {
    return tampering_.post(operation, flush, *this);
  }
  backend::Operation* poll(bool& more) noexcept override {
    follow_device();
    tampering_.calm();
    bool inner_more = false;
    backend::Operation* next = nullptr;
    do {
      backend::Operation* const done = inner_->poll(inner_more);
      if (done != nullptr) {
        tampering_.take_back(static_cast<backend::DataOperation&>(*done), *this);
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
  std::unique_ptr<backend::OperationState> create_state() override { return inner_->create_state(); }

 private:
  Status pass_on(backend::DataOperation& operation, bool flush) noexcept override {
    return inner_->post(operation, flush);
  }
  void break_down() noexcept override { inner_->abort(); }
  bool is_due_to_end() const noexcept { return faults_.removed() && !broken; }
  void follow_device() noexcept override {
    if (is_due_to_end()) [[unlikely]] {
      broken = true;
      reason = Status::driver;
      inner_->abort();
      tampering_.end_lane(this);
    }
  }
  Opcode opcode_of(const backend::DataOperation& operation) const noexcept override {
    return static_cast<Opcode>(first_opcode_ + operation.opcode);
  }
  const Segment* target_of(const backend::DataOperation& operation, std::uint64_t& filled) const noexcept override {
    filled = engine_.filled(operation);
    return operation.target;
  }
  std::uint64_t cut_length(const backend::DataOperation& operation, std::uint64_t length) const noexcept override {
    return engine_.cut(operation, length);
  }
  bool is_told_length(const backend::DataOperation& /*operation*/) const noexcept override {
    return engine_.set_filled != nullptr;
  }
  bool misreport(backend::DataOperation& operation, const Fault& fault) const noexcept override {
    const std::uint64_t filled = engine_.filled(operation);
    engine_.set_filled(operation, misreported(fault, filled));
    return engine_.filled(operation) != filled;
  }
  void take_answer(const backend::DataOperation& from, backend::DataOperation& to) const noexcept override {
    if (engine_.take_answer != nullptr) {
      engine_.take_answer(from, to);
    }
  }
  std::shared_ptr<backend::DataOperation> copy_of(const backend::DataOperation& operation) const override {
    return engine_.copy(operation);
  }

  const std::unique_ptr<backend::DataQueue> inner_;
  const backend::EngineTraits& engine_;
  const std::size_t first_opcode_;
  DeviceFaults& faults_;
  Tampering<backend::DataOperation> tampering_;
};

}  // namespace pydoca::faulty
