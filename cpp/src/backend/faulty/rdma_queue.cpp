#include "backend/faulty/rdma_queue.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::faulty {

using backend::RdmaEvent;
using backend::RdmaOpcode;
using backend::RdmaOperation;

RdmaQueue::RdmaQueue(std::unique_ptr<backend::RdmaQueue> inner, DeviceFaults& of_device, backend::Device& device,
                     backend::Notifier& notifier)
    : RdmaShared(of_device, device, notifier, inner->fd()),
      inner_(std::move(inner)),
      link_breaks_(of_device.link_breaks()) {
  is_fragile = false;
}

bool RdmaQueue::look() noexcept {
  const auto reports = [](const QueuePair* pair) { return pair->has_report(); };
  return tampering.has_next() || inner_->look() || is_device_changed() || std::ranges::any_of(pairs, reports);
}

void RdmaQueue::arm() noexcept {
  inner_->arm();
  tampering.arm();
}

backend::Operation* RdmaQueue::poll(bool& more) noexcept {
  follow_device_of_all();
  tampering.calm();
  bool inner_more = false;
  RdmaOperation* next = nullptr;
  do {
    backend::Operation* const done = inner_->poll(inner_more);
    if (done != nullptr) {
      take_back(static_cast<RdmaOperation&>(*done));
    }
    next = tampering.next();
    if (done == nullptr) {
      break;
    }
  } while (next == nullptr);
  more = inner_more || tampering.has_next();
  return next;
}

void RdmaQueue::take_back(RdmaOperation& operation) noexcept {
  QueuePair* const pair = QueuePair::of(operation.queue_pair);
  operation.queue_pair = pair;
  const bool is_receive = operation.opcode == RdmaOpcode::receive;
  Lane<RdmaOperation>& lane = is_receive || pair == nullptr ? static_cast<Lane<RdmaOperation>&>(*this) : *pair;
  tampering.take_back(operation, lane);
}

void RdmaQueue::abort() noexcept {
  tampering.end();
  inner_->abort();
}

Status RdmaQueue::post_receive(RdmaOperation& operation, bool flush) noexcept {
  return tampering.post(operation, flush, *this);
}

std::unique_ptr<backend::QueuePair> RdmaQueue::create_queue_pair() {
  return std::make_unique<QueuePair>(inner_->create_queue_pair(), static_cast<RdmaShared&>(*this));
}

std::unique_ptr<backend::QueuePair> RdmaQueue::connect_to(const backend::RdmaAddress& address,
                                                          std::span<const std::byte> private_data) {
  const Fault fault = faults.decide(LinkOpcode::rdma_connect, 0);
  if (fault.is(FaultAction::fail)) {
    throw Error(fault.rule->status, "connect: a fault plan has it fail");
  }
  faults.require_link("connect");
  return std::make_unique<QueuePair>(inner_->connect_to(address, private_data), static_cast<RdmaShared&>(*this));
}

void RdmaQueue::follow_device_of_all() noexcept {
  if (!is_device_changed()) [[likely]] {
    return;
  }
  const bool removed = faults.removed();
  link_breaks_ = faults.link_breaks();
  for (QueuePair* const pair : pairs) {
    pair->fail(removed ? Status::driver : Status::connection_reset);
  }
  if (removed && !std::exchange(removed_, true)) {
    broken = true;
    reason = Status::driver;
    inner_->abort();
    tampering.end_lane(this);
  }
}

bool RdmaQueue::take_own_event(RdmaEvent& event) noexcept {
  for (QueuePair* const pair : pairs) {
    if (pair->take_report(event.status)) {
      event.type = RdmaEvent::Type::disconnected;
      event.queue_pair = pair;
      event.private_data_len = 0;
      return true;
    }
  }
  return false;
}

bool RdmaQueue::next_event(RdmaEvent& event) noexcept {
  follow_device_of_all();
  if (take_own_event(event)) {
    return true;
  }
  if (!inner_->next_event(event)) {
    return false;
  }
  if (event.incoming != nullptr) {
    try {
      event.incoming = std::make_unique<QueuePair>(std::move(event.incoming), static_cast<RdmaShared&>(*this));
    } catch (const std::bad_alloc&) {
      event.incoming.reset();
      return false;
    }
    event.queue_pair = event.incoming.get();
    return true;
  }
  QueuePair* const pair = QueuePair::of(event.queue_pair);
  event.queue_pair = pair;
  if (pair != nullptr && event.type == RdmaEvent::Type::established) {
    pair->note_connected();
  }
  return true;
}

}  // namespace pydoca::faulty
