#include "backend/sim/copy/copy_queue.hpp"

#include "detail/pause.hpp"

namespace pydoca::sim {

namespace {

/// Up to this size a copy costs less than telling another core about it.
constexpr std::uint64_t inline_size = 64 * 1024;

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
      finished_(options.depth, notifier) {}

CopyQueue::~CopyQueue() {
  // The worker that added the last operation may still be waking the engine.
  while (finished_.is_being_added_to() && !engine_.is_inherited()) {
    detail::pause();
  }
}

Status CopyQueue::post(backend::CopyOperation& operation, bool flush) noexcept {
  if (outstanding_ == depth_) [[unlikely]] {
    return Status::again;
  }
  ++outstanding_;
  if (flush && unposted_ == nullptr && operation.length <= inline_size_ && is_plain(operation) && !finished_.broken() &&
      !engine_.removed()) [[likely]] {
    finished_.add(operation, copy_at_once(operation, engine_.limits()));
  } else {
    accept(operation, flush);
  }
  return Status::success;
}

void CopyQueue::accept(backend::CopyOperation& operation, bool flush) noexcept {
  operation.queue = &finished_;
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
  if (finished_.broken()) [[unlikely]] {
    finished_.add(operation, Status::shutdown);
    return;
  }
  const CopyLimits& limits = engine_.limits();
  const Status checked = engine_.removed() ? Status::driver : check_copy(operation, limits);
  if (checked != Status::success) [[unlikely]] {
    finished_.add(operation, checked);
  } else if (operation.length <= inline_size_) {
    finished_.add(operation, copy_piece(operation, limits.ordinal, 0, operation.length, false));
  } else {
    engine_.push(operation);
    notifier_.offer_assist();
  }
}

backend::Operation* CopyQueue::poll(bool& more) noexcept {
  backend::Operation* const operation = finished_.take(more);
  if (operation != nullptr) {
    --outstanding_;
  }
  return operation;
}

void CopyQueue::abort() noexcept {
  finished_.break_down();
  flush();
  backend::Operation* operation = engine_.withdraw(finished_);
  while (operation != nullptr) {
    backend::Operation* next = operation->next;
    finished_.add(static_cast<backend::CopyOperation&>(*operation), Status::shutdown);
    operation = next;
  }
}

}  // namespace pydoca::sim
