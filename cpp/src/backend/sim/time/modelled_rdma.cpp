#include "backend/sim/time/modelled_rdma.hpp"

#include "pydoca/device_properties.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::sim {

namespace {

using backend::RdmaOpcode;
using backend::RdmaOperation;

constexpr auto first_kind = static_cast<std::size_t>(TimedOperation::rdma_write);
constexpr std::uint64_t atomic_size = 8;

TimedOperation kind_of(RdmaOpcode opcode) noexcept {
  switch (opcode) {
    case RdmaOpcode::send:
    case RdmaOpcode::send_imm:
      return TimedOperation::rdma_send;
    case RdmaOpcode::read:
      return TimedOperation::rdma_read;
    case RdmaOpcode::write:
    case RdmaOpcode::write_imm:
      return TimedOperation::rdma_write;
    default:
      return TimedOperation::rdma_atomic;
  }
}

/// What crosses the function's own link, which only functions of the host are behind.
Crossing crossing_of(TimedOperation kind, std::uint64_t bytes, Side side) noexcept {
  const bool brings = kind == TimedOperation::rdma_read || kind == TimedOperation::rdma_atomic;
  const std::uint64_t crossed = side == Side::host ? bytes : 0;
  return {.to_card = brings ? 0 : crossed, .to_host = brings ? crossed : 0};
}

ModelledQueuePair& outer_of(backend::QueuePair& inner) noexcept {
  return *static_cast<ModelledQueuePair*>(inner.owner);
}

}  // namespace

ModelledQueuePair::ModelledQueuePair(ModelledRdmaQueue& queue, std::unique_ptr<backend::QueuePair> inner)
    : queue_(queue), inner_(std::move(inner)) {
  inner_->owner = this;
  queue_.add(*this);
}

ModelledQueuePair::~ModelledQueuePair() { queue_.remove(*this); }

Status ModelledQueuePair::post(RdmaOperation& operation, bool flush) noexcept {
  if (outstanding_ == queue_.depth()) {
    return Status::again;
  }
  ++outstanding_;
  operation.queue_pair = this;
  unposted_.push(operation);
  if (flush) {
    ring();
  }
  return Status::success;
}

void ModelledQueuePair::ring() noexcept {
  while (RdmaOperation* const operation = unposted_.pop()) {
    admit(*operation);
  }
}

/// Operations of a connection are in order, whatever their jitter.
void ModelledQueuePair::admit(RdmaOperation& operation) noexcept {
  last_due_ = std::max(last_due_, queue_.due_of(operation));
  operation.own[due_word] = last_due_;
  held_.push(operation);
  queue_.expect(last_due_);
}

void ModelledQueuePair::release(std::uint64_t now) noexcept {
  while (!held_.empty() && held_.front()->own[due_word] <= now) {
    static_cast<void>(inner_->post(held_.take(), true));  // it has as many places
  }
}

void ModelledQueuePair::give_back(Status status) noexcept {
  for (detail::OperationList* const list : {&held_, &unposted_}) {
    while (RdmaOperation* const operation = list->pop()) {
      queue_.give_back(*operation, status);
    }
  }
}

void ModelledQueuePair::disconnect() noexcept {
  inner_->disconnect();
  give_back(Status::shutdown);
}

bool ModelledRdmaQueue::applies_to(const FunctionModel& model) noexcept {
  for (std::size_t kind = 0; kind < num_kinds; ++kind) {
    if (model.pace(static_cast<TimedOperation>(first_kind + kind)) != nullptr) {
      return true;
    }
  }
  return false;
}

ModelledRdmaQueue::ModelledRdmaQueue(std::unique_ptr<backend::RdmaQueue> inner, std::shared_ptr<FunctionModel> model,
                                     const Place& place, const backend::RdmaOptions& options,
                                     backend::Notifier& notifier)
    : model_(std::move(model)),
      place_(place),
      notifier_(notifier),
      depth_(options.send_queue_size),
      inner_(std::move(inner)),
      all_(::epoll_create1(EPOLL_CLOEXEC)) {
  pairs_.reserve(options.max_num_connections);
  for (std::size_t kind = 0; kind < num_kinds; ++kind) {
    random_.emplace_back(model_->next_seed(static_cast<TimedOperation>(first_kind + kind)));
  }
  bool is_made = timer_ && all_;
  for (const int fd : {inner_->fd(), timer_.fd()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    is_made = is_made && ::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }
  if (!is_made) {
    throw Error(Status::operating_system,
                detail::concat("rdma: cannot watch the time of operations: ", detail::system_reason(errno)));
  }
}

std::uint64_t ModelledRdmaQueue::due_of(const RdmaOperation& operation) noexcept {
  const TimedOperation kind = kind_of(operation.opcode);
  const Pace* const pace = model_->pace(kind);
  const std::uint64_t now = detail::now();
  if (pace == nullptr) {
    return now;
  }
  const std::uint64_t bytes = kind == TimedOperation::rdma_atomic ? atomic_size : operation.length;
  return moments_of(*pace, model_->engine(kind), model_->link(), now, bytes,
                    crossing_of(kind, bytes, place_.properties().side),
                    random_[static_cast<std::size_t>(kind) - first_kind])
      .due;
}

void ModelledRdmaQueue::expect(std::uint64_t due) noexcept {
  if (due < next_due_) {
    next_due_ = due;
    if (armed_) {
      timer_.set(next_due_);
    }
  }
}

void ModelledRdmaQueue::give_back(RdmaOperation& operation, Status status) noexcept {
  operation.outcome = status;
  returned_.push(operation);
  notifier_.notify();
}

bool ModelledRdmaQueue::look() noexcept {
  return !returned_.empty() || inner_->look() || (next_due_ != detail::never && detail::now() >= next_due_);
}

void ModelledRdmaQueue::arm() noexcept {
  armed_ = true;
  timer_.set(next_due_);
  inner_->arm();
}

void ModelledRdmaQueue::release(std::uint64_t now) noexcept {
  if (next_due_ > now) {
    return;
  }
  next_due_ = detail::never;
  for (ModelledQueuePair* const pair : pairs_) {
    pair->release(now);
    next_due_ = std::min(next_due_, pair->next_due());
  }
}

backend::Operation* ModelledRdmaQueue::poll(bool& more) noexcept {
  if (std::exchange(armed_, false)) {
    timer_.clear();
  }
  if (next_due_ != detail::never) {
    release(place_.removed() ? detail::never - 1 : detail::now());
  }
  auto* operation = static_cast<RdmaOperation*>(inner_->poll(more));
  if (operation != nullptr && operation->queue_pair != nullptr) {
    operation->queue_pair = &outer_of(*operation->queue_pair);
  }
  if (operation == nullptr) {
    operation = returned_.pop();
  }
  more = more || !returned_.empty();
  if (operation != nullptr && operation->opcode != RdmaOpcode::receive) {
    static_cast<ModelledQueuePair*>(operation->queue_pair)->operation_polled();
  }
  return operation;
}

void ModelledRdmaQueue::flush() noexcept {
  for (ModelledQueuePair* const pair : pairs_) {
    pair->ring();
  }
}

void ModelledRdmaQueue::abort() noexcept {
  inner_->abort();
  for (ModelledQueuePair* const pair : pairs_) {
    pair->give_back(Status::shutdown);
  }
}

std::unique_ptr<backend::QueuePair> ModelledRdmaQueue::create_queue_pair() {
  return std::make_unique<ModelledQueuePair>(*this, inner_->create_queue_pair());
}

std::unique_ptr<backend::QueuePair> ModelledRdmaQueue::connect_to(const backend::RdmaAddress& address,
                                                                  std::span<const std::byte> private_data) {
  return std::make_unique<ModelledQueuePair>(*this, inner_->connect_to(address, private_data));
}

bool ModelledRdmaQueue::next_event(backend::RdmaEvent& event) noexcept {
  while (inner_->next_event(event)) {
    if (event.type != backend::RdmaEvent::Type::request) {
      ModelledQueuePair& pair = outer_of(*event.queue_pair);
      if (event.type == backend::RdmaEvent::Type::disconnected) {
        pair.give_back(event.status == Status::connection_reset ? event.status : Status::shutdown);
      }
      event.queue_pair = &pair;
      return true;
    }
    try {
      event.incoming = std::make_unique<ModelledQueuePair>(*this, std::move(event.incoming));
      return true;
    } catch (const std::bad_alloc&) {
      event.incoming.reset();  // the peer is rejected, as where there is no room for it
    }
  }
  return false;
}

}  // namespace pydoca::sim
