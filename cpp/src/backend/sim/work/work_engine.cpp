#include "backend/sim/work/work_engine.hpp"

#include "pydoca/cpus.hpp"

#include "detail/copy_bytes.hpp"
#include "detail/never_destroyed.hpp"
#include "detail/pause.hpp"
#include "detail/thread/signals_blocked.hpp"
#include "detail/trace/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pydoca::sim {

namespace {

Workload& workload_of(const backend::DataOperation& operation) noexcept {
  return *static_cast<Workload*>(operation.queue);
}

/// The bytes that a core takes at a time: few enough to share an operation between cores, so many that taking them
/// costs nothing beside copying them. Long operations come in longer pieces: two cores that write around the cache to
/// neighbouring small pieces were at 0.8 of the speed.
std::uint64_t piece_size(const backend::DataOperation& operation) noexcept {
  constexpr std::uint64_t ki = 1024;
  if (!workload_of(operation).cuts_operations()) {
    return operation.length;
  }
  return operation.length < 2048 * ki ? 256 * ki : 1024 * ki;
}
/// Once this much work waits, data will not stay in the cache, and stores go around it until nothing waits.
constexpr std::uint64_t streaming_threshold = 16 * 1024 * 1024;
/// How long a worker looks for more work before it sleeps: about as long as waking it takes.
constexpr auto spin_time = std::chrono::microseconds(50);
constexpr unsigned max_workers = 4;

std::uint32_t piece_count(const backend::DataOperation& operation) noexcept {
  const std::uint64_t size = piece_size(operation);
  return static_cast<std::uint32_t>((operation.length + size - 1) / size);
}

/// The last piece may be shorter.
std::uint64_t piece_length(const backend::DataOperation& operation, std::uint32_t index) noexcept {
  const std::uint64_t size = piece_size(operation);
  return std::min(size, operation.length - index * size);
}

/// Never joined: in a forked child, a thread of the child's may have the identifier of one of the parent's, so neither
/// joining nor detaching is safe. Kept reachable, so that leak checkers do not report them.
void keep_inherited(std::vector<std::thread>&& threads) noexcept {
  struct Kept {
    std::vector<std::thread> threads;
    Kept* next = nullptr;
  };
  static std::atomic<Kept*> all{nullptr};
  auto* const kept = new (std::nothrow) Kept;
  if (kept == nullptr) {
    const detail::NeverDestroyed unlisted(std::move(threads));
    return;
  }
  kept->threads = std::move(threads);
  kept->next = all.load(std::memory_order_relaxed);
  while (!all.compare_exchange_weak(kept->next, kept, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

WorkEngine::~WorkEngine() {
  stopping_.store(true, std::memory_order_seq_cst);
  if (!is_inherited()) {
    wake_workers();
  }
  if (is_inherited()) {
    keep_inherited(std::move(workers_));
  }
  for (std::thread& worker : workers_) {
    worker.join();
  }
}

bool WorkEngine::start() {
  if (is_inherited()) {
    throw Error(Status::bad_state, "start working: the device was opened before this process was forked; open it here");
  }
  const std::lock_guard lock(mutex_);
  const detail::SignalsBlocked blocked;
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 2U, max_workers + 1) - 1;
  try {
    while (workers_.size() < count) {
      workers_.emplace_back([this] { run_worker(); });
    }
  } catch (const std::system_error&) {
    // Fewer workers are enough.
  }
  return !workers_.empty();
}

void WorkEngine::push(backend::DataOperation& operation) noexcept {
  operation.claimed.store(0, std::memory_order_relaxed);
  operation.finished.store(0, std::memory_order_relaxed);
  operation.worst.store(Status::success, std::memory_order_relaxed);
  operation.next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    (last_ != nullptr ? last_->next : first_) = &operation;
    last_ = &operation;
    bytes_waiting_ += operation.length;
    streaming_ = streaming_ || (bytes_waiting_ >= streaming_threshold && detail::can_stream());
    has_work_.store(true, std::memory_order_seq_cst);
  }
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst)) {
    wake_workers();
  }
}

void WorkEngine::wake_workers() noexcept {
  wake_ups_.fetch_add(1, std::memory_order_seq_cst);
  wake_ups_.notify_all();
}

WorkEngine::Piece WorkEngine::claim(bool is_worker) noexcept {
  const std::lock_guard lock(mutex_);
  if (first_ == nullptr) {
    return {};
  }
  auto* operation = static_cast<backend::DataOperation*>(first_);
  if (!is_worker && !workload_of(*operation).cuts_operations()) {
    return {};
  }
  const Piece piece{operation, operation->claimed.fetch_add(1, std::memory_order_relaxed), streaming_};
  bytes_waiting_ -= piece_length(*operation, piece.index);
  if (piece.index + 1 == piece_count(*operation)) {
    first_ = operation->next;
    if (first_ == nullptr) {
      last_ = nullptr;
      has_work_.store(false, std::memory_order_relaxed);
      streaming_ = false;
    }
  }
  return piece;
}

bool WorkEngine::work_one(Workload* own) noexcept {
  if (!has_work_.load(std::memory_order_relaxed)) {
    return false;
  }
  const Piece piece = claim(own == nullptr);
  if (piece.operation == nullptr) {
    return false;
  }
  execute(piece, own);
  return true;
}

/// A piece takes so long that the check for a trace costs nothing beside it.
Status WorkEngine::work(const Piece& piece) noexcept {
  const bool recorded = detail::trace::is_recording();
  const std::uint64_t begin = recorded ? detail::trace::ticks() : 0;
  backend::DataOperation& operation = *piece.operation;
  const Status status = workload_of(operation).work(operation, piece.index * piece_size(operation),
                                                    piece_length(operation, piece.index), piece.streaming);
  if (recorded) {
    record(piece, begin, status);
  }
  return status;
}

void WorkEngine::record(const Piece& piece, std::uint64_t begin, Status status) const noexcept {
  const std::uint32_t name = trace_label_.index([this] { return detail::trace::add_device_name(name_, side_); });
  detail::trace::record(
      begin, detail::trace::pack(TraceEventKind::work, 0, static_cast<std::uint16_t>(status), name),
      reinterpret_cast<std::uintptr_t>(piece.operation),
      detail::trace::pack_pair(detail::trace::ticks() - begin, piece_length(*piece.operation, piece.index)));
}

void WorkEngine::execute(const Piece& piece, Workload* own) noexcept {
  backend::DataOperation& operation = *piece.operation;
  Workload& queue = workload_of(operation);
  Status status = interruption(queue.finished());
  if (status == Status::success) {
    status = work(piece);
  }
  if (status != Status::success) {
    operation.worst.store(status, std::memory_order_relaxed);
  }
  const std::uint32_t pieces = piece_count(operation);
  if (operation.finished.fetch_add(1, std::memory_order_acq_rel) + 1 == pieces) {
    const Status worst = operation.worst.load(std::memory_order_relaxed);
    &queue == own ? queue.finished().add(operation, worst) : queue.finished().add_from_any_thread(operation, worst);
  }
}

backend::Operation* WorkEngine::withdraw(const Workload& queue) noexcept {
  const std::lock_guard lock(mutex_);
  backend::Operation* taken = nullptr;
  backend::Operation** taken_end = &taken;
  backend::Operation* rest = std::exchange(first_, nullptr);
  last_ = nullptr;
  while (rest != nullptr) {
    auto* operation = static_cast<backend::DataOperation*>(rest);
    rest = std::exchange(operation->next, nullptr);
    if (operation->queue == &queue && operation->claimed.load(std::memory_order_relaxed) == 0) {
      bytes_waiting_ -= operation->length;
      *taken_end = operation;
      taken_end = &operation->next;
    } else {
      (last_ != nullptr ? last_->next : first_) = operation;
      last_ = operation;
    }
  }
  has_work_.store(first_ != nullptr, std::memory_order_relaxed);
  streaming_ = streaming_ && first_ != nullptr;
  return taken;
}

bool WorkEngine::spin_for_work() const noexcept {
  if (has_one_cpu()) {
    return false;
  }
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 64; ++i) {
      if (has_work_.load(std::memory_order_relaxed) || stopping_.load(std::memory_order_relaxed)) {
        return true;
      }
      detail::pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void WorkEngine::sleep_for_work() noexcept {
  const std::uint32_t seen = wake_ups_.load(std::memory_order_seq_cst);
  asleep_.store(true, std::memory_order_seq_cst);
  if (!has_work_.load(std::memory_order_seq_cst) && !stopping_.load(std::memory_order_seq_cst)) {
    wake_ups_.wait(seen, std::memory_order_seq_cst);
  }
}

void WorkEngine::run_worker() noexcept {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!work_one(nullptr) && !spin_for_work()) {
      sleep_for_work();
    }
  }
}

}  // namespace pydoca::sim
