#include "backend/verbs/queue/copy_queue.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/verbs/adapter/limits.hpp"
#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/memory/region.hpp"
#include "backend/verbs/queue/queue_pair_attributes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>
#include <vector>

namespace pydoca::verbs {

using backend::DataOperation;

namespace {

constexpr const char* start_dma = "start dma";
/// Requests that one call to the device may take.
constexpr std::uint32_t max_chain = 16;

std::uint32_t interval_for(std::uint32_t depth) noexcept {
  return std::clamp(depth / 4, 1U, CopyQueue::max_signal_interval);
}

/// Adds parts of at most `left` bytes in all to list, one for each segment that has some.
template <class Part>
int fill_list(ibv_sge* list, const Segment* segment, std::size_t ordinal, std::uint64_t left, Part part) noexcept {
  int count = 0;
  for (; segment != nullptr && left != 0; segment = segment->next) {
    const auto [address, length] = part(*segment);
    const std::uint64_t used = std::min(length, left);
    if (used != 0) {
      list[count++] = {
          .addr = address, .length = static_cast<std::uint32_t>(used), .lkey = region_of(*segment, ordinal)->lkey()};
    }
    left -= used;
  }
  return count;
}

}  // namespace

/// Requests on their way to the device, linked.
struct CopyQueue::Chain {
  explicit Chain(std::uint32_t longest)
      : list_len(longest), sources(std::size_t{max_chain} * longest), targets(std::size_t{max_chain} * longest) {}

  const std::uint32_t list_len;
  std::uint32_t count = 0;
  std::array<DataOperation*, max_chain> operations{};
  std::array<ibv_send_wr, max_chain> sends{};
  std::array<ibv_recv_wr, max_chain> receives{};
  std::vector<ibv_sge> sources;
  std::vector<ibv_sge> targets;
};

void equip_with_copies(Capabilities& capabilities, const Adapter& adapter) {
  const ibv_device_attr& limits = adapter.attributes();
  capabilities.dma = {.max_buf_size = adapter.port().max_msg_sz,
                      .max_buf_list_len = list_len_of(limits),
                      .max_num_tasks = queue_size_of(limits, static_cast<int>(CopyQueue::max_signal_interval))};
}

CopyQueue::Ring::Ring(std::uint32_t depth)
    : mask_(std::bit_ceil(depth) - 1), places_(std::make_unique<backend::Operation*[]>(std::size_t{mask_} + 1)) {}

CopyQueue::CopyQueue(Place& place, const backend::QueueOptions& options, backend::Notifier& notifier)
    : place_(place),
      notifier_(notifier),
      depth_(options.depth),
      max_list_len_(capabilities_of(place.adapter()).dma->max_buf_list_len),
      signal_interval_(interval_for(options.depth)),
      completions_(place, 2 * options.depth + signal_interval_, start_dma),
      pair_(create_pair()),
      chain_(std::make_unique<Chain>(max_list_len_)),
      accepted_(depth_),
      posted_(depth_),
      finished_(depth_),
      flushed_(depth_),
      send_room_(depth_ + signal_interval_) {
  const PairSettings settings{.access = 0,
                              .gid_index = place.gid_index(),
                              .service_level = 0,
                              .rnr_retry_count = 7,
                              .mtu = place.adapter().port().active_mtu};
  initialize_pair(*pair_, settings);
  const PairBlob self = describe_pair(place, *pair_, settings);
  connect_pair(place, *pair_, self, self, settings);
}

CopyQueue::~CopyQueue() = default;

OwnedPair CopyQueue::create_pair() {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = completions_.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = depth_ + signal_interval_,
                    .max_recv_wr = depth_,
                    .max_send_sge = max_list_len_,
                    .max_recv_sge = max_list_len_,
                    .max_inline_data = wanted_inline_size};
  OwnedPair pair(library().create_qp(place_.domain(), &attributes));
  if (pair == nullptr) {  // devices without room for so much inline data refuse the queue pair
    attributes.cap.max_inline_data = 0;
    pair.reset(library().create_qp(place_.domain(), &attributes));
  }
  if (pair == nullptr) {
    fail(errno, start_dma, ": create a queue pair of ", depth_, " on ", place_.adapter().name());
  }
  inline_size_ = attributes.cap.max_inline_data;
  return pair;
}

// ---- Beginning -----------------------------------------------------------------------------------------------------

Status CopyQueue::post(DataOperation& operation, bool flush) noexcept {
  if (outstanding_ == depth_) [[unlikely]] {
    return Status::again;
  }
  ++outstanding_;
  accepted_.push(operation);
  if (flush) {
    this->flush();
  }
  return Status::success;
}

void CopyQueue::flush() noexcept {
  may_begin_ = accepted_.size();
  advance();
}

void CopyQueue::abort() noexcept {
  broken_ = true;
  flush();
}

void CopyQueue::advance() noexcept {
  while (may_begin_ != 0) {
    const std::uint32_t before = may_begin_;
    fill_chain();
    post_chain();
    if (may_begin_ == before) {
      return;  // the device's queue is full
    }
  }
}

void CopyQueue::fill_chain() noexcept {
  while (may_begin_ != 0 && chain_->count != max_chain && (broken_ || send_room_ != 0)) {
    --may_begin_;
    auto& operation = static_cast<DataOperation&>(accepted_.pop());
    if (broken_) [[unlikely]] {
      finish(operation, rest());
    } else if (place_.removal().noticed()) [[unlikely]] {
      broken_ = removed_ = true;
      finish(operation, Status::driver);
    } else if (!is_postable(operation)) [[unlikely]] {
      broken_ = true;
      finish(operation, Status::io_failed);
    } else {
      add_to_chain(operation);
    }
  }
}

/// Checks what the device does not check, or what would break the pair.
bool CopyQueue::is_postable(const DataOperation& operation) const noexcept {
  if (operation.length == 0 || operation.length > place_.adapter().port().max_msg_sz) {
    return false;
  }
  const auto reaches = [&](const Segment* segment, bool writes) {
    std::uint32_t elements = 0;
    for (; segment != nullptr; segment = segment->next) {
      const Region* const region = region_of(*segment, place_.ordinal());
      if (++elements > max_list_len_ || region == nullptr || !region->is_local() || (writes && !region->writable())) {
        return false;
      }
    }
    return elements != 0;
  };
  std::uint64_t room = 0;
  for (const Segment* dst = operation.target; dst != nullptr; dst = dst->next) {
    room += dst->tailroom();
  }
  return operation.length <= room && reaches(operation.source, false) && reaches(operation.target, true);
}

void CopyQueue::add_to_chain(DataOperation& operation) noexcept {
  const std::uint32_t index = chain_->count++;
  ibv_sge* const source = &chain_->sources[std::size_t{index} * chain_->list_len];
  ibv_sge* const target = &chain_->targets[std::size_t{index} * chain_->list_len];
  const std::size_t ordinal = place_.ordinal();
  chain_->operations[index] = &operation;

  ibv_recv_wr& receive = chain_->receives[index];
  receive = {};
  receive.sg_list = target;
  receive.num_sge = fill_list(target, operation.target, ordinal, operation.length,
                              [](const Segment& dst) { return std::pair(dst.tail(), dst.tailroom()); });
  ibv_send_wr& send = chain_->sends[index];
  send = {};
  send.wr_id = reinterpret_cast<std::uint64_t>(&operation);  // never 0, which is a receive's
  send.sg_list = source;
  send.num_sge = fill_list(source, operation.source, ordinal, operation.length,
                           [](const Segment& src) { return std::pair(src.data, src.data_len); });
  send.opcode = IBV_WR_SEND;
  if (++since_signal_ == signal_interval_) {
    since_signal_ = 0;
    send.send_flags |= IBV_SEND_SIGNALED;
  }
  if (operation.length <= inline_size_) {
    send.send_flags |= IBV_SEND_INLINE;
  }
  --send_room_;
  if (index != 0) {
    chain_->receives[index - 1].next = &receive;
    chain_->sends[index - 1].next = &send;
  }
}

/// One call posts all receives, another all sends, and rings the device's doorbell once.
void CopyQueue::post_chain() noexcept {
  const std::uint32_t count = std::exchange(chain_->count, 0);
  if (count == 0) {
    return;
  }
  ibv_recv_wr* bad_receive = nullptr;
  std::uint32_t received = count;
  if (ibv_post_recv(pair_.get(), chain_->receives.data(), &bad_receive) != 0) [[unlikely]] {
    received = static_cast<std::uint32_t>(bad_receive - chain_->receives.data());
    if (received != 0) {
      chain_->sends[received - 1].next = nullptr;
    }
  }
  ibv_send_wr* bad_send = nullptr;
  std::uint32_t sent = received;
  if (received != 0 && ibv_post_send(pair_.get(), chain_->sends.data(), &bad_send) != 0) [[unlikely]] {
    sent = static_cast<std::uint32_t>(bad_send - chain_->sends.data());
  }
  for (std::uint32_t i = 0; i < received; ++i) {
    posted_.push(*chain_->operations[i]);
  }
  if (sent != count) [[unlikely]] {
    chain_->count = count;
    fail_chain(received, sent);
  }
}

/// The device has taken only a part of the chain.
void CopyQueue::fail_chain(std::uint32_t received, std::uint32_t sent) noexcept {
  const std::uint32_t count = std::exchange(chain_->count, 0);
  blame(*chain_->operations[sent]);
  break_down();
  for (std::uint32_t i = received; i < count; ++i) {
    finish(*chain_->operations[i], i == sent ? Status::io_failed : rest());
  }
}

// ---- Ending --------------------------------------------------------------------------------------------------------

bool CopyQueue::look() noexcept {
  if (finished_.empty()) {
    fetch();
  }
  return !finished_.empty();
}

backend::Operation* CopyQueue::poll(bool& more) noexcept {
  completions_.disarm();
  if (!look() && completions_.notice_removal() && !removed_) {
    lose_device();
  }
  if (finished_.empty()) {
    return nullptr;
  }
  backend::Operation& operation = finished_.pop();
  more = !finished_.empty();
  --outstanding_;
  return &operation;
}

void CopyQueue::fetch() noexcept {
  for (const ibv_wc& completion : completions_.poll()) {
    if (completion.wr_id != 0) {
      complete_send(completion);
    } else if (!posted_.empty()) {
      complete_receive(completion);
    }
  }
  if (pair_broken_ && posted_.empty()) [[unlikely]] {
    settle_failure();
  }
  advance();
}

void CopyQueue::complete_send(const ibv_wc& completion) noexcept {
  if (completion.status == IBV_WC_SUCCESS) {
    send_room_ += signal_interval_;
  } else if (completion.status != IBV_WC_WR_FLUSH_ERR) {
    blame(*reinterpret_cast<backend::Operation*>(completion.wr_id));
  }
}

void CopyQueue::complete_receive(const ibv_wc& completion) noexcept {
  backend::Operation& operation = posted_.pop();
  if (completion.status == IBV_WC_SUCCESS) [[likely]] {
    finish(operation, Status::success);
    return;
  }
  if (completion.status != IBV_WC_WR_FLUSH_ERR) {
    blame(operation);
  }
  pair_broken_ = broken_ = true;
  flushed_.push(operation);
}

/// The operation broke the pair, unless another one did first.
void CopyQueue::blame(backend::Operation& operation) noexcept {
  pair_broken_ = broken_ = true;
  culprit_ = culprit_ != nullptr ? culprit_ : &operation;
}

/// Has the device flush what it has; where it does not, takes the operations back.
void CopyQueue::break_down() noexcept {
  pair_broken_ = broken_ = true;
  if (!break_pair(*pair_)) {
    while (!posted_.empty()) {
      flushed_.push(posted_.pop());
    }
  }
}

void CopyQueue::settle_failure() noexcept {
  while (!flushed_.empty()) {
    backend::Operation& operation = flushed_.pop();
    // If no operation is known to have failed, the first one that was flushed broke the pair.
    const bool guilty = culprit_ == nullptr || culprit_ == &operation;
    culprit_ = culprit_ == nullptr ? &operation : culprit_;
    finish(operation, guilty && !removed_ ? Status::io_failed : rest());
  }
}

void CopyQueue::lose_device() noexcept {
  removed_ = true;
  break_down();
  flush();
  fetch();
}

void CopyQueue::finish(backend::Operation& operation, Status status) noexcept {
  operation.outcome = status;
  finished_.push(operation);
  notifier_.notify();
}

}  // namespace pydoca::verbs
