#include "backend/faulty/queue_pair.hpp"

#include "detail/concat.hpp"

#include <algorithm>

namespace pydoca::faulty {

QueuePair::QueuePair(std::unique_ptr<backend::QueuePair> inner, RdmaShared& shared)
    : inner_(std::move(inner)), shared_(shared) {
  ordered = true;
  shared_.pairs.push_back(this);
  inner_->owner = this;
}

/// Receives that came through it name no queue pair any more.
QueuePair::~QueuePair() {
  std::erase(shared_.pairs, this);
  shared_.tampering.for_each_waiting([this](backend::RdmaOperation& operation) {
    if (operation.queue_pair == this) {
      operation.queue_pair = nullptr;
    }
  });
}

void QueuePair::require_connectable(const char* what) {
  const Fault fault = shared_.faults.decide(LinkOpcode::rdma_connect, 0);
  if (fault.is(FaultAction::fail)) {
    throw Error(fault.rule->status, detail::concat(what, ": a fault plan has it fail"));
  }
  shared_.faults.require_link(what);
}

void QueuePair::connect(std::span<const std::byte> blob, const std::shared_ptr<backend::ImportAnswer>& answer) {
  require_connectable("connect");
  inner_->connect(blob, answer);
  is_connected_ = true;
}

void QueuePair::accept(std::span<const std::byte> private_data) {
  require_connectable("accept");
  inner_->accept(private_data);
  is_connected_ = true;
}

Status QueuePair::post(backend::RdmaOperation& operation, bool flush) noexcept {
  return shared_.tampering.post(operation, flush, *this);
}

void QueuePair::disconnect() noexcept {
  is_connected_ = reports_ = false;
  inner_->disconnect();
  shared_.tampering.end_lane(this);
}

void QueuePair::break_down() noexcept {
  reports_ = std::exchange(is_connected_, false);
  inner_->disconnect();
  shared_.tampering.end_lane(this);
}

void QueuePair::fail(Status why) noexcept {
  if (is_connected_) {
    why_ = reason = why;
    broken = true;
    break_down();
  }
}

bool QueuePair::take_report(Status& why) noexcept {
  if (!reports_ || posted != returned || shared_.tampering.holds(*this)) {
    return false;
  }
  reports_ = false;
  why = why_;
  return true;
}

}  // namespace pydoca::faulty
