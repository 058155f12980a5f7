#include "pydoca/import.hpp"

#include "pydoca/backend/import.hpp"

#include "detail/concat.hpp"
#include "detail/fd.hpp"
#include "detail/ready_list.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <sys/epoll.h>
#include <sys/timerfd.h>

namespace pydoca {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// How soon it looks again where no event tells that the other process has room.
constexpr std::chrono::milliseconds retry{1};

std::exception_ptr failure_of(Status status, const char* why) noexcept {
  try {
    throw Error(status, why);
  } catch (...) {  // there may be no memory for the message
    return std::current_exception();
  }
}

Clock::time_point end_of(nanoseconds limit) noexcept {
  const auto now = Clock::now();
  return limit >= Clock::time_point::max() - now ? Clock::time_point::max() : now + limit;
}

}  // namespace

/// The import as its engine sees it: it waits for the other process's descriptor and for a timer. The timer is of the
/// real time, also in virtual time: the other process is outside of that.
class PendingImport::Node final : private detail::ReadyNode, private ProgressEngine::Guest {
 public:
  Node(std::shared_ptr<ProgressEngine> engine, std::shared_ptr<backend::ImportAnswer> answer, nanoseconds limit)
      : engine_(std::move(engine)), answer_(std::move(answer)), end_(end_of(limit)), is_over_(answer_ == nullptr) {
    if (!is_over_) {
      join_engine();
      progress();
    }
  }
  ~Node() override { leave_engine(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool is_over() const noexcept { return is_over_; }
  void set_callback(std::function<void()> callback) { callback_ = std::move(callback); }

  void fail(Status status, const char* why) noexcept {
    if (!is_over_) {
      failure_ = failure_of(status, why);
      set_timer(nanoseconds(1));
    }
  }

  void conclude() {
    if (!is_over_) {
      throw Error(Status::in_progress, "import: the exporting process has not answered yet; progress until it is over");
    }
    if (std::exchange(is_concluded_, true)) {
      throw Error(Status::bad_state, "import: its result was taken already; begin another");
    }
  }

  std::shared_ptr<backend::ImportAnswer> take() {
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
    return std::move(answer_);
  }

 private:
  bool progress_one(bool& /*more*/) noexcept override {
    if (is_over_ || !progress()) {
      return false;
    }
    tell();
    return true;
  }
  void engine_closed() noexcept override {
    failure_ = failure_of(Status::shutdown, "import: its progress engine was closed meanwhile");
    is_over_ = true;
    leave_engine();
    tell();
  }
  void tell() noexcept {
    if (const auto callback = std::exchange(callback_, nullptr)) {
      callback();  // may destroy this node
    }
  }

  /// Returns whether the import is over.
  bool progress() noexcept {
    try {
      is_over_ = advance();
    } catch (...) {
      failure_ = std::current_exception();
      is_over_ = true;
    }
    if (is_over_) {
      leave_engine();
    } else {
      set_timer(next_look());
    }
    return is_over_;
  }

  bool advance() {
    if (failure_ != nullptr || answer_->advance() == Status::success) {
      return true;
    }
    if (Clock::now() >= end_) {
      answer_->give_up();
    }
    watch_answer();
    return false;
  }

  void join_engine() {
    timer_ = detail::Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timer_) {
      throw Error(Status::operating_system, detail::concat("import: timerfd: ", detail::system_reason(errno)));
    }
    engine_->enter(*this);
    try {
      engine_->watch(timer_.get(), EPOLLIN, *this);
    } catch (...) {
      engine_->leave(*this);
      throw;
    }
    join(engine_->ready_list());
  }

  void watch_answer() {
    if (watched_ == answer_->fd()) {
      return;
    }
    unwatch_answer();
    if (answer_->fd() >= 0) {
      engine_->watch(answer_->fd(), EPOLLIN, *this);
      watched_ = answer_->fd();
    }
  }

  void unwatch_answer() noexcept {
    if (watched_ >= 0) {
      engine_->unwatch(std::exchange(watched_, -1));
    }
  }

  nanoseconds next_look() const noexcept {
    const nanoseconds rest = end_ - Clock::now();
    return answer_->fd() < 0 ? std::min<nanoseconds>(rest, retry) : rest;
  }

  void set_timer(nanoseconds wait) noexcept {
    const auto left = std::max<std::int64_t>(wait.count(), 1);  // 0 would disarm it
    itimerspec due{};
    due.it_value = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    ::timerfd_settime(timer_.get(), 0, &due, nullptr);
  }

  void leave_engine() noexcept {
    unwatch_answer();
    if (timer_) {
      engine_->unwatch(timer_.get());
      timer_.reset();
      engine_->leave(*this);
    }
    leave();
  }

  const std::shared_ptr<ProgressEngine> engine_;
  std::shared_ptr<backend::ImportAnswer> answer_;
  const Clock::time_point end_;
  std::function<void()> callback_;
  std::exception_ptr failure_;
  detail::Fd timer_;
  int watched_ = -1;  ///< the answer's descriptor
  bool is_over_;
  bool is_concluded_ = false;
};

PendingImport::PendingImport(std::shared_ptr<ProgressEngine> engine, std::shared_ptr<backend::ImportAnswer> answer,
                             std::chrono::nanoseconds limit) {
  if (engine == nullptr) {
    throw Error(Status::invalid_value, "import: the progress engine is null");
  }
  engine->require_thread("import");
  engine->require_open("import");
  node_ = std::make_unique<Node>(std::move(engine), std::move(answer), limit);
}

PendingImport::~PendingImport() = default;
bool PendingImport::is_over() const noexcept { return node_->is_over(); }
void PendingImport::set_callback(std::function<void()> callback) { node_->set_callback(std::move(callback)); }
void PendingImport::fail(Status status, const char* why) noexcept { node_->fail(status, why); }
void PendingImport::conclude() { node_->conclude(); }
std::shared_ptr<backend::ImportAnswer> PendingImport::take_answer() { return node_->take(); }

}  // namespace pydoca
