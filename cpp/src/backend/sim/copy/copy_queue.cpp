#include "backend/sim/copy/copy_queue.hpp"

#include "detail/pause.hpp"

#include <bit>

namespace pydoca::sim {

namespace {

/// Up to this size a copy costs less than telling another core about it.
constexpr std::uint64_t inline_size = 64 * 1024;

/// With so many finished, those at the end have left the caches by the time it is their turn: fetched ahead, a task of
/// 65536 in flight costs half.
constexpr std::uint32_t many = 1024;

void append(backend::Operation**& end, backend::Operation& operation) noexcept {
  operation.next = nullptr;
  *end = &operation;
  end = &operation.next;
}

}  // namespace

CopyQueue::CopyQueue(CopyEngine& engine, const backend::QueueOptions& options, backend::Notifier& notifier)
    : engine_(engine),
      notifier_(notifier),
      depth_(options.depth),
      inline_size_(engine.start() ? inline_size : ~std::uint64_t{0}),
      mask_(std::bit_ceil(options.depth) - 1),
      finished_(std::make_unique<backend::Operation*[]>(std::size_t{mask_} + 1)) {}

CopyQueue::~CopyQueue() {
  // A worker that has handed in the last operation may still be ringing.
  while (workers_inside_.load(std::memory_order_acquire) != 0 && !engine_.is_inherited()) {
    detail::pause();
  }
}

Status CopyQueue::post(backend::CopyOperation& operation, bool flush) noexcept {
  if (outstanding_ == depth_) [[unlikely]] {
    return Status::again;
  }
  ++outstanding_;
  if (flush && unposted_ == nullptr && operation.length <= inline_size_ && is_plain(operation) && !broken() &&
      !engine_.removed()) [[likely]] {
    finish(operation, copy_at_once(operation, engine_.limits()));
  } else {
    accept(operation, flush);
  }
  return Status::success;
}

void CopyQueue::accept(backend::CopyOperation& operation, bool flush) noexcept {
  operation.queue = this;
  append(unposted_end_, operation);
  if (flush) {
    this->flush();
  }
}

void CopyQueue::flush() noexcept {
  backend::Operation* operation = unposted_;
  unposted_ = nullptr;
  unposted_end_ = &unposted_;
  while (operation != nullptr) {
    backend::Operation* next = operation->next;
    execute(static_cast<backend::CopyOperation&>(*operation));
    operation = next;
  }
}

void CopyQueue::execute(backend::CopyOperation& operation) noexcept {
  if (broken()) [[unlikely]] {
    finish(operation, Status::shutdown);
    return;
  }
  const CopyLimits& limits = engine_.limits();
  const Status checked = engine_.removed() ? Status::driver : check_copy(operation, limits);
  if (checked != Status::success) [[unlikely]] {
    finish(operation, checked);
  } else if (operation.length <= inline_size_) {
    finish(operation, copy_piece(operation, limits.ordinal, 0, operation.length, false));
  } else {
    engine_.push(operation);
    notifier_.offer_assist();
  }
}

void CopyQueue::finish(backend::CopyOperation& operation, Status status) noexcept {
  operation.status = status;
  if (status != Status::success) [[unlikely]] {
    broken_.store(true, std::memory_order_relaxed);
  }
  finished_[finished_tail_++ & mask_] = &operation;
  notifier_.notify();
}

void CopyQueue::finish_remotely(backend::CopyOperation& operation, Status status) noexcept {
  workers_inside_.fetch_add(1, std::memory_order_relaxed);
  operation.status = status;
  if (status != Status::success) {
    broken_.store(true, std::memory_order_relaxed);
  }
  backend::Operation* top = finished_remotely_.load(std::memory_order_relaxed);
  do {
    operation.next = top;
  } while (
      !finished_remotely_.compare_exchange_weak(top, &operation, std::memory_order_release, std::memory_order_relaxed));
  notifier_.notify_from_any_thread();
  workers_inside_.fetch_sub(1, std::memory_order_release);
}

void CopyQueue::collect_remote() noexcept {
  backend::Operation* newest = finished_remotely_.exchange(nullptr, std::memory_order_acquire);
  backend::Operation* oldest = nullptr;
  while (newest != nullptr) {
    backend::Operation* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  for (; oldest != nullptr; oldest = oldest->next) {
    finished_[finished_tail_++ & mask_] = oldest;
  }
}

backend::Operation* CopyQueue::poll(bool& more) noexcept {
  if (finished_head_ == finished_tail_) {
    if (finished_remotely_.load(std::memory_order_relaxed) == nullptr) {
      return nullptr;
    }
    collect_remote();
  }
  if (finished_tail_ - finished_head_ > many) [[unlikely]] {
    prefetch();
  }
  backend::Operation* operation = finished_[finished_head_++ & mask_];
  more = finished_head_ != finished_tail_ || finished_remotely_.load(std::memory_order_relaxed) != nullptr;
  --outstanding_;
  return operation;
}

void CopyQueue::prefetch() const noexcept {
  const void* const far = finished_[(finished_head_ + 8) & mask_];
  __builtin_prefetch(far);
  __builtin_prefetch(static_cast<const char*>(far) + 64);
  const auto& near = static_cast<const backend::CopyOperation&>(*finished_[(finished_head_ + 4) & mask_]);
  __builtin_prefetch(near.src);
  __builtin_prefetch(near.dst);
}

void CopyQueue::abort() noexcept {
  broken_.store(true, std::memory_order_relaxed);
  flush();
  backend::Operation* operation = engine_.withdraw(*this);
  while (operation != nullptr) {
    backend::Operation* next = operation->next;
    finish(static_cast<backend::CopyOperation&>(*operation), Status::shutdown);
    operation = next;
  }
}

}  // namespace pydoca::sim
