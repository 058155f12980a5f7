#include "backend/verbs/rdma/rdma_queue.hpp"

#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/memory/region.hpp"
#include "backend/verbs/rdma/connection_manager.hpp"
#include "backend/verbs/rdma/queue_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

namespace pydoca::verbs {

using backend::RdmaOperation;

namespace {

constexpr const char* start_rdma = "start rdma";

/// Completions that can be there at once. Throws invalid_value when the device has no room for them.
std::uint32_t depth_for(const Place& place, const backend::RdmaOptions& options) {
  const std::uint64_t depth =
      options.recv_queue_size + std::uint64_t{options.send_queue_size} * options.max_num_connections;
  const auto limit = static_cast<std::uint64_t>(place.adapter().attributes().max_cqe);
  if (depth > limit) {
    throw Error(Status::invalid_value,
                detail::concat(start_rdma, ": ", options.max_num_connections, " connections with ",
                               options.send_queue_size, " tasks each and ", options.recv_queue_size,
                               " receives are more than the ", limit, " completions that ", place.adapter().name(),
                               " holds; lower max_num_connections or the numbers of tasks"));
  }
  return std::max(1U, static_cast<std::uint32_t>(depth));
}

PairSettings settings_for(const Place& place, const backend::RdmaOptions& options) {
  const auto wanted = static_cast<int>(options.mtu) + 1;
  return {.access = access_flags(options.permissions) | IBV_ACCESS_LOCAL_WRITE,
          .gid_index = options.gid_index,
          .service_level = static_cast<std::uint8_t>(options.service_level),
          .rnr_retry_count = options.rnr_retry_count,
          .mtu = static_cast<ibv_mtu>(std::min(wanted, static_cast<int>(place.adapter().port().active_mtu)))};
}

/// Ids of receives are odd, and addresses of other operations even.
constexpr std::uint64_t id_of_receive(std::uint32_t place) noexcept { return (std::uint64_t{place} << 1) | 1; }

}  // namespace

RdmaQueue::RdmaQueue(Place& place, const backend::RdmaOptions& options, backend::Notifier& notifier)
    : RdmaShared(place, options, settings_for(place, options), depth_for(place, options), start_rdma, notifier),
      async_events_(place.async_events()),
      segments_(std::size_t{max_chain} * std::max({1U, options.max_send_segments, options.max_recv_segments})) {
  for (std::size_t i = 0; i < max_chain; ++i) {
    requests_[i].sg_list = &segments_[i * segments_.size() / max_chain];
  }
  completions_.watch(async_events_.fd(), start_rdma);
  if (options.recv_queue_size != 0) {
    create_receives();
  }
  pairs_.reserve(options.max_num_connections);
  reports_.reserve(options.max_num_connections);
  try {
    manager_ = std::make_unique<ConnectionManager>(static_cast<RdmaShared&>(*this));
  } catch (const Error& error) {
    no_manager_ = error.what();
  }
}

RdmaQueue::~RdmaQueue() = default;

void RdmaQueue::create_receives() {
  ibv_srq_init_attr attributes{};
  attributes.attr = {.max_wr = options_.recv_queue_size, .max_sge = options_.max_recv_segments, .srq_limit = 0};
  shared_receives_.reset(library().create_srq(place_.domain(), &attributes));
  if (shared_receives_ == nullptr) {
    fail(errno, start_rdma, ": create a receive queue of ", options_.recv_queue_size, " on ", place_.adapter().name());
  }
  receives_.resize(options_.recv_queue_size);
  free_receives_.resize(options_.recv_queue_size);
  std::iota(free_receives_.begin(), free_receives_.end(), 0U);
}

// ---- Queue pairs ---------------------------------------------------------------------------------------------------

std::unique_ptr<QueuePair> RdmaQueue::make_pair() {
  place_.require_present("create a connection");
  if (lost_) {
    throw Error(Status::driver, detail::concat("create a connection: ", place_.adapter().name(),
                                               " has given up a queue; stop the context, and start it again"));
  }
  auto pair = std::make_unique<QueuePair>(static_cast<RdmaShared&>(*this));
  take_async_events();  // they may be about a pair that had this number before
  pairs_[pair->number()] = pair.get();
  return pair;
}

std::unique_ptr<backend::QueuePair> RdmaQueue::create_queue_pair() { return make_pair(); }

void RdmaQueue::await_peer(QueuePair& pair) noexcept { manager_->await_peer(pair); }

void RdmaQueue::forget(QueuePair& pair) noexcept {
  pairs_.erase(pair.number());
  last_found_ = nullptr;
  std::erase_if(reports_, [&](const Report& report) { return report.pair == &pair; });
  finished_.for_each([&](RdmaOperation& operation) {
    if (operation.queue_pair == &pair) {
      operation.queue_pair = nullptr;
    }
  });
}

inline QueuePair* RdmaQueue::find(std::uint32_t number) noexcept {
  if (last_found_ == nullptr || last_found_->number() != number) [[unlikely]] {
    const auto found = pairs_.find(number);
    last_found_ = found == pairs_.end() ? nullptr : found->second;
  }
  return last_found_;
}

// ---- Receives ------------------------------------------------------------------------------------------------------

Status RdmaQueue::post_receive(RdmaOperation& operation, bool flush) noexcept {
  if (outstanding_receives_ == options_.recv_queue_size) [[unlikely]] {
    return Status::again;
  }
  ++outstanding_receives_;
  unposted_receives_.push(operation);
  while (flush && !unposted_receives_.empty()) {
    post_receive_now(unposted_receives_.take());
  }
  return Status::success;
}

void RdmaQueue::post_receive_now(RdmaOperation& operation) noexcept {
  ibv_recv_wr request{};
  const RequestLimits limits{.ordinal = place_.ordinal(), .max_segments = options_.max_recv_segments};
  const bool valid = fill_receive(operation, limits, request, segments_.data());
  if (lost_ || !valid) [[unlikely]] {
    --outstanding_receives_;
    finish(operation, lost_ ? Status::driver : Status::io_failed, nullptr);
    return;
  }
  const std::uint32_t place = free_receives_.back();
  free_receives_.pop_back();
  receives_[place] = &operation;
  request.wr_id = id_of_receive(place);
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_srq_recv(shared_receives_.get(), &request, &bad) != 0) [[unlikely]] {
    receives_[place] = nullptr;
    free_receives_.push_back(place);
    --outstanding_receives_;
    finish(operation, Status::io_failed, nullptr);
  }
}

void RdmaQueue::complete_receive(const ibv_wc& completion) noexcept {
  const auto place = static_cast<std::uint32_t>(completion.wr_id >> 1);
  RdmaOperation* const operation = std::exchange(receives_[place], nullptr);
  if (operation == nullptr) {
    return;  // it was given up
  }
  free_receives_.push_back(place);
  --outstanding_receives_;
  QueuePair* const pair = find(completion.qp_num);
  if (pair != nullptr) {
    pair->finished();
  }
  if (completion.status != IBV_WC_SUCCESS) [[unlikely]] {
    const bool flushed = completion.status == IBV_WC_WR_FLUSH_ERR;
    completed(*operation, flushed ? Status::connection_reset : Status::io_failed, pair);
    if (pair != nullptr) {
      pair->failed();
    }
    return;
  }
  const bool written = completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  const bool has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  operation->length = completion.byte_len;
  operation->immediate = has_immediate ? completion.imm_data : 0;
  operation->received_as = written         ? backend::ReceivedAs::write_with_imm
                           : has_immediate ? backend::ReceivedAs::send_with_imm
                                           : backend::ReceivedAs::send;
  completed(*operation, Status::success, pair);
}

void RdmaQueue::fail_receives(Status status) noexcept {
  for (std::uint32_t place = 0; place < receives_.size(); ++place) {
    if (RdmaOperation* const operation = std::exchange(receives_[place], nullptr)) {
      free_receives_.push_back(place);
      --outstanding_receives_;
      finish(*operation, status, nullptr);
    }
  }
  while (!unposted_receives_.empty()) {
    --outstanding_receives_;
    finish(unposted_receives_.take(), status, nullptr);
  }
}

// ---- Completions ---------------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void RdmaQueue::fetch() noexcept {
  for (const ibv_wc& completion : completions_.poll()) {
    if ((completion.wr_id & 1) != 0) {
      complete_receive(completion);
    } else if (QueuePair* const pair = find(completion.qp_num)) {
      pair->complete(completion);
    }
  }
}

void RdmaQueue::fetch_and_tell() noexcept {
  fetch();
  if (!finished_.empty()) {
    notifier_.notify();
  }
}

bool RdmaQueue::look() noexcept {
  if (finished_.empty()) {
    fetch();
  }
  return !finished_.empty() || !reports_.empty() || !async_events_.empty();
}

backend::Operation* RdmaQueue::poll(bool& more) noexcept {
  completions_.disarm();
  if (finished_.empty()) {
    fetch();
  }
  if (finished_.empty()) {
    return nullptr;
  }
  RdmaOperation& operation = finished_.take();
  if (operation.queue_pair != nullptr) {
    static_cast<QueuePair*>(operation.queue_pair)->delivered();
  }
  more = !finished_.empty() || !reports_.empty();
  return &operation;
}

void RdmaQueue::flush() noexcept {
  while (!unposted_receives_.empty()) {
    post_receive_now(unposted_receives_.take());
  }
  for (const auto& [number, pair] : pairs_) {
    pair->flush();
  }
}

/// The connections have ended before. A device reports shared receives only when messages fill them, so the rest is
/// taken back here.
void RdmaQueue::abort() noexcept {
  flush();
  fetch_and_tell();
  fail_receives(lost_ ? Status::driver : Status::shutdown);
}

void RdmaQueue::lose_device() noexcept {
  if (std::exchange(removed_, true)) {
    return;
  }
  lost_ = true;
  for_each_pair([](QueuePair& pair) { pair.lose_device(); });
  fetch_and_tell();
  fail_receives(Status::driver);
}

void RdmaQueue::lose_queue() noexcept {
  lost_ = true;
  fetch_and_tell();
  for_each_pair([](QueuePair& pair) { pair.abandon(); });
  fail_receives(Status::driver);
}

// ---- Events --------------------------------------------------------------------------------------------------------

bool RdmaQueue::next_event(backend::RdmaEvent& event) noexcept {
  if (!removed_ && completions_.notice_removal()) {
    lose_device();
  }
  take_async_events();
  return take_report(event) || (manager_ != nullptr && manager_->next_event(event));
}

bool RdmaQueue::take_report(backend::RdmaEvent& event) noexcept {
  const auto found = std::ranges::find_if(reports_, [](const Report& one) { return !one.pair->has_undelivered(); });
  if (found == reports_.end()) {
    return false;
  }
  event.type = found->type;
  event.queue_pair = found->pair;
  event.status = found->status;
  event.private_data_len = 0;
  reports_.erase(found);
  return true;
}

void RdmaQueue::take_async_events() noexcept {
  if (async_events_.empty()) [[likely]] {
    return;
  }
  for (const AsyncEvents::Event& event : async_events_.take()) {
    take(event);
  }
}

void RdmaQueue::take(const AsyncEvents::Event& event) noexcept {
  using Type = AsyncEvents::Type;
  if (event.type == Type::port_down) {
    for_each_pair([](QueuePair& pair) {
      if (pair.is_connected()) {
        pair.peer_left();
      }
    });
  } else if (event.type == Type::queue_failed) {
    if (event.queue == completions_.get() || event.queue == shared_receives_.get()) {
      lose_queue();
    }
  } else if (QueuePair* const pair = find(event.pair)) {
    event.type == Type::peer_erred ? pair->peer_left() : pair->failed();
  }
}

int RdmaQueue::event_fd() const noexcept { return manager_ != nullptr ? manager_->fd() : -1; }

void RdmaQueue::listen(std::uint16_t port) {
  if (manager_ == nullptr) {
    throw Error(Status::not_supported, no_manager_);
  }
  place_.require_present("listen");
  manager_->listen(port);
}

void RdmaQueue::stop_listening(std::uint16_t port) noexcept {
  if (manager_ != nullptr) {
    manager_->stop_listening(port);
  }
}

std::unique_ptr<backend::QueuePair> RdmaQueue::connect_to(const backend::RdmaAddress& address,
                                                          std::span<const std::byte> private_data) {
  if (manager_ == nullptr) {
    throw Error(Status::not_supported, no_manager_);
  }
  place_.require_present("connect to an address");
  return manager_->connect_to(address, private_data);
}

}  // namespace pydoca::verbs
