#include "backend/sim/work/engine_queue.hpp"

#include "detail/pause.hpp"
#include "detail/time/time.hpp"

namespace pydoca::sim {

namespace {

void append(backend::Operation**& end, backend::Operation& operation) noexcept {
  operation.next = nullptr;
  *end = &operation;
  end = &operation.next;
}

}  // namespace

EngineQueue::EngineQueue(WorkEngine& engine, const backend::QueueOptions& options, backend::Notifier& notifier,
                         std::uint64_t inline_size, bool cuts_operations)
    : Workload(options.depth, notifier, cuts_operations),
      engine_(engine),
      notifier_(notifier),
      depth_(options.depth),
      // Workers take real time, so virtual time does without them.
      inline_size_(!options.ordered && !detail::is_time_virtual() && engine.start() ? inline_size : ~std::uint64_t{0}) {
}

EngineQueue::~EngineQueue() {
  // The worker that added the last operation may still be waking the engine.
  while (finished().is_being_added_to() && !engine_.is_inherited()) {
    detail::pause();
  }
}

Status EngineQueue::post(backend::DataOperation& operation, bool flush) noexcept {
  if (!take_place()) {
    return Status::again;
  }
  if (!runs_at_once(operation.length, flush)) {
    accept(operation, flush);
    return Status::success;
  }
  const Status checked = check(operation);
  finished().add(operation, checked == Status::success ? work(operation, 0, operation.length, false) : checked);
  return Status::success;
}

void EngineQueue::accept(backend::DataOperation& operation, bool flush) noexcept {
  operation.queue = static_cast<Workload*>(this);
  append(unposted_end_, operation);
  if (flush) {
    EngineQueue::flush();
  }
}

void EngineQueue::flush() noexcept {
  backend::Operation* operation = unposted_;
  unposted_ = nullptr;
  unposted_end_ = &unposted_;
  while (operation != nullptr) {
    backend::Operation* next = operation->next;
    execute(static_cast<backend::DataOperation&>(*operation));
    operation = next;
  }
}

void EngineQueue::execute(backend::DataOperation& operation) noexcept {
  const Status interrupted = interruption();
  const Status checked = interrupted != Status::success ? interrupted : check(operation);
  if (checked != Status::success) [[unlikely]] {
    finished().add(operation, checked);
  } else if (operation.length <= inline_size_) {
    finished().add(operation, work(operation, 0, operation.length, false));
  } else {
    engine_.push(operation);
    if (cuts_operations()) {
      notifier_.offer_assist();
    }
  }
}

backend::Operation* EngineQueue::next_finished(bool& more) noexcept {
  backend::Operation* const operation = finished().take(more);
  if (operation != nullptr) {
    --outstanding_;
  }
  return operation;
}

void EngineQueue::abort() noexcept {
  finished().break_down();
  flush();
  backend::Operation* operation = engine_.withdraw(*this);
  while (operation != nullptr) {
    backend::Operation* next = operation->next;
    finished().add(static_cast<backend::DataOperation&>(*operation), Status::shutdown);
    operation = next;
  }
}

}  // namespace pydoca::sim
