#include "backend/verbs/queue_pair.hpp"

#include "backend/verbs/connection_manager.hpp"
#include "backend/verbs/failure.hpp"
#include "backend/verbs/queue_pair_attributes.hpp"
#include "backend/verbs/rdma_queue.hpp"

#include <cerrno>
#include <utility>

namespace pydoca::verbs {

using backend::RdmaOperation;

namespace {

Status status_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return Status::success;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return Status::time_out;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_REM_ABORT_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return Status::connection_reset;
    case IBV_WC_FATAL_ERR:
    case IBV_WC_GENERAL_ERR:
      return Status::driver;
    default:
      return Status::io_failed;
  }
}

}  // namespace

QueuePair::QueuePair(RdmaQueue& queue) : queue_(queue), pair_(create()), limits_(limits()) {
  self_ = describe_pair(queue.place(), *pair_, queue.settings());
}

QueuePair::~QueuePair() {
  if (!is_inherited()) {
    disconnect();
  }
  link_.id.reset();
  queue_.forget(*this);
}

OwnedPair QueuePair::create() {
  const backend::RdmaOptions& options = queue_.options();
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue_.completions();
  attributes.srq = queue_.receives();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = options.send_queue_size,
                    .max_recv_wr = attributes.srq == nullptr ? 1U : 0U,
                    .max_send_sge = options.max_send_segments,
                    .max_recv_sge = attributes.srq == nullptr ? 1U : 0U,
                    .max_inline_data = wanted_inline_size};
  ibv_pd* const domain = queue_.place().domain();
  OwnedPair pair(library().create_qp(domain, &attributes));
  if (pair == nullptr) {  // some devices have no room for so much, and say so only like this
    attributes.cap.max_inline_data = 0;
    pair.reset(library().create_qp(domain, &attributes));
  }
  if (pair == nullptr) {
    fail(errno, "create a connection: create a queue pair of ", options.send_queue_size, " on ",
         queue_.place().adapter().name());
  }
  inline_size_ = attributes.cap.max_inline_data;
  return pair;
}

RequestLimits QueuePair::limits() const noexcept {
  return {.ordinal = queue_.place().ordinal(),
          .max_segments = queue_.options().max_send_segments,
          .max_inline_size = inline_size_,
          .max_size = queue_.place().adapter().port().max_msg_sz};
}

std::vector<std::byte> QueuePair::describe() { return encode(self_); }

void QueuePair::connect(std::span<const std::byte> blob) {
  if (connected_ || closed_) {
    throw Error(Status::bad_state, "connect: the connection has a peer, or has had one; export another one");
  }
  PairBlob peer;
  if (const Status status = parse(blob, peer); status != Status::success) {
    throw Error(status, status == Status::unsupported_version
                            ? "connect: the peer's details are of another version of pydoca"
                            : "connect: the peer's details are none of an RDMA device, or were changed");
  }
  queue_.place().require_present("connect");
  initialize_pair(*pair_, queue_.settings());
  connect_pair(queue_.place(), *pair_, self_, peer, queue_.settings());
  connected_ = true;
}

void QueuePair::accept(std::span<const std::byte> private_data) {
  accept_request(*this, queue_, private_data);
  link_.incoming = false;
}

void QueuePair::reject() {
  if (std::exchange(link_.incoming, false)) {
    cm_library().reject(link_.id.get(), nullptr, 0);
  }
}

void QueuePair::disconnect() noexcept {
  if (std::exchange(closed_, true)) {
    return;
  }
  if (link_.id != nullptr && link_.incoming) {
    cm_library().reject(link_.id.get(), nullptr, 0);
  } else if (link_.id != nullptr && connected_) {
    cm_library().disconnect(link_.id.get());
  }
  break_down(Status::success);
}

// ---- Beginning -----------------------------------------------------------------------------------------------------

Status QueuePair::post(RdmaOperation& operation, bool flush) noexcept {
  if (outstanding_ == queue_.options().send_queue_size) [[unlikely]] {
    return Status::again;
  }
  ++outstanding_;
  if (flush && accepted_.empty() && can_post() && !queue_.place().removal().noticed()) [[likely]] {
    if (take(operation, 0)) [[likely]] {
      post_chain(1);
    } else {
      settle();
    }
    return Status::success;
  }
  accepted_.push(operation);
  if (flush) {
    this->flush();
  }
  return Status::success;
}

void QueuePair::flush() noexcept {
  while (!accepted_.empty() && can_post()) {
    if (queue_.place().removal().noticed()) [[unlikely]] {
      queue_.lose_device();
      return;
    }
    post_chain(fill_chain());
  }
  settle();
}

inline bool QueuePair::take(RdmaOperation& operation, std::uint32_t index) noexcept {
  if (!fill_request(operation, limits_, queue_.requests()[index])) [[unlikely]] {
    refused_ = &operation;
    return false;
  }
  posted_.push(operation);
  return true;
}

/// Moves what the device will take from accepted to posted.
std::uint32_t QueuePair::fill_chain() noexcept {
  auto& requests = queue_.requests();
  std::uint32_t count = 0;
  while (count != RdmaQueue::max_chain && !accepted_.empty() && take(accepted_.take(), count)) {
    if (count != 0) {
      requests[count - 1].next = &requests[count];
    }
    ++count;
  }
  return count;
}

inline void QueuePair::post_chain(std::uint32_t count) noexcept {
  if (count == 0) {
    return;
  }
  auto& requests = queue_.requests();
  requests[count - 1].send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pair_.get(), requests.data(), &bad) != 0) [[unlikely]] {
    take_back(count, static_cast<std::uint32_t>(bad - requests.data()));
    break_down(Status::success);
  }
}

/// Of the last count posted, the device has taken so many, which it will flush; the rest is not its business.
void QueuePair::take_back(std::uint32_t count, std::uint32_t taken) noexcept {
  detail::OperationList all = std::exchange(posted_, {});
  std::uint32_t before = 0;
  all.for_each([&](RdmaOperation&) { ++before; });
  for (before -= count - taken; before != 0; --before) {
    posted_.push(all.take());
  }
  while (!all.empty()) {
    RdmaOperation& operation = all.take();
    if (refused_ == nullptr) {
      refused_ = &operation;
    } else {
      accepted_.push(operation);
    }
  }
}

// ---- Ending --------------------------------------------------------------------------------------------------------

void QueuePair::complete_failed(const ibv_wc& completion) noexcept {
  // Only the first failure is one of its own; whoever comes after it, flushed or not, was ended by it.
  const bool follows = broken_ || completion.status == IBV_WC_WR_FLUSH_ERR;
  const Status status = follows ? rest_ : status_of(completion.status);
  if (status == Status::connection_reset || status == Status::driver) {
    rest_ = status;  // and shares its fate, when that is the peer's or the device's
  }
  // Only good ends go without saying; but of those before a flushed one, nobody knows.
  finish_through(completion, follows ? status : Status::success, status);
  blamed_ = blamed_ || !follows;
  broken_ = true;
}

void QueuePair::finish(RdmaOperation& operation, Status status) noexcept {
  --outstanding_;
  ++undelivered_;
  queue_.finish(operation, status, this);
}

void QueuePair::break_down(Status why) noexcept {
  broken_ = true;
  rest_ = why != Status::success && rest_ == Status::shutdown ? why : rest_;
  if (!break_pair(*pair_)) {
    while (!posted_.empty()) {
      finish(posted_.take(), rest_);
    }
  }
  settle();
}

void QueuePair::lose_device() noexcept { break_down(Status::driver); }

void QueuePair::abandon() noexcept {
  lose_device();
  while (!posted_.empty()) {
    finish(posted_.take(), rest_);
  }
  settle();
}

void QueuePair::close_down() noexcept {
  if (RdmaOperation* const culprit = std::exchange(refused_, nullptr)) {
    finish(*culprit, rest_ == Status::shutdown && !closed_ && !blamed_ ? Status::io_failed : rest_);
  }
  if (!std::exchange(broken_, true)) {
    break_pair(*pair_);
  }
  while (!accepted_.empty()) {
    finish(accepted_.take(), rest_);
  }
  if (!closed_ && connected_ && !std::exchange(reported_, true)) {
    queue_.report(*this, backend::RdmaEvent::Kind::disconnected, rest_ == Status::shutdown ? Status::io_failed : rest_);
  }
}

}  // namespace pydoca::verbs
