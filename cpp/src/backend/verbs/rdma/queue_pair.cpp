#include "backend/verbs/rdma/queue_pair.hpp"

#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/queue/queue_pair_attributes.hpp"
#include "backend/verbs/rdma/cm_setup.hpp"

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

QueuePair::QueuePair(RdmaShared& shared) : shared_(shared), pair_(create()), limits_(limits()) {
  self_ = describe_pair(shared.place(), *pair_, shared.settings());
}

QueuePair::~QueuePair() {
  if (!is_inherited()) {
    disconnect();
  }
  link_.id.reset();
  shared_.forget(*this);
}

OwnedPair QueuePair::create() {
  const backend::RdmaOptions& options = shared_.options();
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = shared_.completions();
  attributes.srq = shared_.receives();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = options.send_queue_size,
                    .max_recv_wr = attributes.srq == nullptr ? 1U : 0U,
                    .max_send_sge = options.max_send_segments,
                    .max_recv_sge = attributes.srq == nullptr ? 1U : 0U,
                    .max_inline_data = wanted_inline_size};
  ibv_pd* const domain = shared_.place().domain();
  OwnedPair pair(library().create_qp(domain, &attributes));
  if (pair == nullptr) {  // devices without room for so much inline data refuse the queue pair
    attributes.cap.max_inline_data = 0;
    pair.reset(library().create_qp(domain, &attributes));
  }
  if (pair == nullptr) {
    fail(errno, "create a connection: create a queue pair of ", options.send_queue_size, " on ",
         shared_.place().adapter().name());
  }
  inline_size_ = attributes.cap.max_inline_data;
  return pair;
}

RequestLimits QueuePair::limits() const noexcept {
  return {.ordinal = shared_.place().ordinal(),
          .max_segments = shared_.options().max_send_segments,
          .max_inline_size = inline_size_,
          .max_size = shared_.place().adapter().port().max_msg_sz};
}

std::vector<std::byte> QueuePair::describe() { return encode(self_); }

void QueuePair::connect(std::span<const std::byte> blob, const std::shared_ptr<backend::ImportAnswer>& /*answer*/) {
  if (connected_ || closed_) {
    throw Error(Status::bad_state, "connect: the connection has a peer, or has had one; export another one");
  }
  PairBlob peer;
  if (const Status status = parse(blob, peer); status != Status::success) {
    throw Error(status, status == Status::unsupported_version
                            ? "connect: the peer's details are of another version of pydoca"
                            : "connect: the peer's details are not those of an RDMA device, or were changed");
  }
  shared_.place().require_present("connect");
  initialize_pair(*pair_, shared_.settings());
  connect_pair(shared_.place(), *pair_, self_, peer, shared_.settings());
  connected_ = true;
}

void QueuePair::accept(std::span<const std::byte> private_data) {
  accept_request(*pair_, link_, shared_, private_data);
  link_.incoming = false;
  shared_.await_peer(*this);
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
  if (outstanding_ == shared_.options().send_queue_size) [[unlikely]] {
    return Status::again;
  }
  ++outstanding_;
  if (flush && accepted_.empty() && can_post() && !shared_.place().removal().noticed()) [[likely]] {
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
    if (shared_.place().removal().noticed()) [[unlikely]] {
      shared_.lose_device();
      return;
    }
    post_chain(fill_chain());
  }
  settle();
}

inline bool QueuePair::take(RdmaOperation& operation, std::uint32_t index) noexcept {
  if (!fill_request(operation, limits_, shared_.requests()[index])) [[unlikely]] {
    refused_ = &operation;
    return false;
  }
  posted_.push(operation);
  return true;
}

/// Moves what the device will take from accepted to posted.
std::uint32_t QueuePair::fill_chain() noexcept {
  auto& requests = shared_.requests();
  std::uint32_t count = 0;
  while (count != RdmaShared::max_chain && !accepted_.empty() && take(accepted_.take(), count)) {
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
  auto& requests = shared_.requests();
  requests[count - 1].send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(pair_.get(), requests.data(), &bad) != 0) [[unlikely]] {
    take_back(count, static_cast<std::uint32_t>(bad - requests.data()));
    break_down(Status::success);
  }
}

/// Takes back those of the last count operations that the device has not taken: it has the first taken ones, which it
/// will flush.
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
  // Only the first failure is the operation's own. Later ones, flushed or not, follow from it.
  const bool follows = broken_ || completion.status == IBV_WC_WR_FLUSH_ERR;
  const Status status = follows ? rest_ : status_of(completion.status);
  if (status == Status::connection_reset || status == Status::driver) {
    rest_ = status;  // a failure of the peer or the device is also that of the other operations
  }
  // Unsignalled operations before a failed one succeeded; before a flushed one that is not known.
  finish_through(completion, follows ? status : Status::success, status);
  blamed_ = blamed_ || !follows;
  broken_ = true;
}

void QueuePair::finish(RdmaOperation& operation, Status status) noexcept {
  --outstanding_;
  ++undelivered_;
  shared_.finish(operation, status, this);
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
    shared_.report(*this, backend::RdmaEvent::Type::disconnected,
                   rest_ == Status::shutdown ? Status::io_failed : rest_);
  }
}

}  // namespace pydoca::verbs
