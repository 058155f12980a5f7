#include "pydoca/progress_engine.hpp"

#include "pydoca/log.hpp"
#include "pydoca/virtual_time.hpp"

#include "core/context_node.hpp"
#include "detail/concat.hpp"
#include "detail/drops.hpp"
#include "detail/ready_list.hpp"
#include "detail/system_reason.hpp"
#include "detail/text/enumerators.hpp"
#include "detail/thread/thread_token.hpp"
#include "detail/time/virtual_clock.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

namespace pydoca {

namespace {

/// File descriptors cost a system call to look at, as long as dozens of looks at a counter: a busy engine looks at them
/// once in 256 completions; and one that looks at counters once in 4,096 looks, some tens of microseconds, which is
/// what waking it up would take. Operations that take as long as a system call count as sixteen others.
constexpr std::uint32_t look_cost = 1;
constexpr std::uint32_t completion_cost = 16;
constexpr std::uint32_t long_operation_cost = 256;
constexpr std::uint32_t cost_between_fds = 4096;

bool wait_in_virtual_time(int fd, int timeout_ms) noexcept {
  using sim::VirtualTime;
  const auto until =
      timeout_ms < 0 ? std::chrono::nanoseconds::max() : VirtualTime::now() + std::chrono::milliseconds(timeout_ms);
  return VirtualTime::wait(fd, until) == sim::Wake::ready;
}

}  // namespace

/// Tasks that other threads handed over: a lock-free stack, which the owner takes as a whole and turns round. It
/// represents the engine where that is dropped.
class ProgressEngine::Inbox final : public detail::ReadyNode, public detail::Droppable {
 public:
  explicit Inbox(ProgressEngine& engine) noexcept : engine_(engine) { join(engine.ready_list()); }
  ~Inbox() override { leave(); }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Any thread may call it.
  void push(Task& task) noexcept {
    Task* top = top_.load(std::memory_order_relaxed);
    do {
      task.next_ = top;
    } while (!top_.compare_exchange_weak(top, &task, std::memory_order_release, std::memory_order_relaxed));
    notify_from_any_thread();
  }

  void take_back(const Context& context) noexcept {
    collect();
    for (Task** link = &first_; *link != nullptr;) {
      Task& task = **link;
      if (task.context_ == &context) {
        *link = task.next_;
        task.handed_over_.store(false, std::memory_order_relaxed);
        task.promise_operands(-1, detail::Promise::handover);
      } else {
        link = &task.next_;
      }
    }
  }

 private:
  /// Appends what has come, the oldest first.
  void collect() noexcept {
    Task* newer = top_.exchange(nullptr, std::memory_order_acquire);
    Task* oldest = nullptr;
    while (newer != nullptr) {
      Task* const older = std::exchange(newer->next_, oldest);
      oldest = std::exchange(newer, older);
    }
    Task** end = &first_;
    while (*end != nullptr) {
      end = &(*end)->next_;
    }
    *end = oldest;
  }

  bool progress_one(bool& more) noexcept override {
    if (first_ == nullptr) {
      collect();
    }
    if (first_ == nullptr) {
      return false;
    }
    Task& task = *std::exchange(first_, first_->next_);
    more = first_ != nullptr || top_.load(std::memory_order_relaxed) != nullptr;
    task.handed_over_.store(false, std::memory_order_relaxed);
    const Status status = task.try_submit();
    task.promise_operands(-1, detail::Promise::handover);
    if (status != Status::success) {
      task.context_->reject(task, status);
    }
    return true;
  }

  void silence() noexcept override {}  // its contexts and imports have gone before it
  void destroy() noexcept override { delete &engine_; }

  ProgressEngine& engine_;
  std::atomic<Task*> top_{nullptr};
  Task* first_ = nullptr;  ///< those that were collected
};

std::shared_ptr<ProgressEngine> ProgressEngine::create() {
  return {new ProgressEngine, [](ProgressEngine* engine) { engine->ready_->drops().drop(*engine->inbox_); }};
}

ProgressEngine::ProgressEngine()
    : ready_(std::make_unique<detail::ReadyList>()),
      inbox_(std::make_unique<Inbox>(*this)),
      forks_(detail::fork_count()) {
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (epoll_fd_ < 0 || ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, ready_->event_fd(), &event) != 0) {
    const int error = errno;
    if (epoll_fd_ >= 0) {
      ::close(epoll_fd_);
    }
    throw Error(Status::operating_system,
                detail::concat("create progress engine: epoll: ", detail::system_reason(error)));
  }
}

ProgressEngine::~ProgressEngine() { ::close(epoll_fd_); }

void ProgressEngine::connect(const std::shared_ptr<Context>& context) {
  if (context == nullptr) {
    throw Error(Status::invalid_value, "connect: the context is null");
  }
  require_open("connect");
  require_thread("connect", context->kind());
  context->require_idle("connect");
  if (context->engine_ != nullptr) {
    throw Error(Status::not_permitted,
                detail::concat("connect ", context->kind(), ": it has a progress engine, and keeps it for life"));
  }
  context->engine_ = shared_from_this();
  context->engine_counts_ = &counts_;
  context->node_->join(*ready_);
  ++num_contexts_;
  log::engine(log::Level::trace, "pe",
              [&] { return detail::concat("connected a ", context->kind(), " context; it has ", num_contexts_); });
}

void ProgressEngine::close() {
  if (num_contexts_ != 0) {
    throw Error(Status::in_use, detail::concat("close progress engine: ", num_contexts_,
                                               " connected context(s) are not closed; close them first"));
  }
  const detail::Drops::Call call(ready_->drops());
  closed_ = true;
  log::engine(log::Level::trace, "pe", "closed");
  while (!guests_.empty()) {
    guests_.back()->engine_closed();
  }
}

inline bool ProgressEngine::progress_ready(bool& may_collect) noexcept {
  if (num_fds_ != 0 && cost_since_fds_ >= cost_between_fds) {
    collect_fds();
  }
  const bool advanced = ready_->progress() || look(may_collect);
  cost_since_fds_ += advanced ? completion_cost : look_cost;
  return advanced;
}

/// Lets a node deliver something that it sees when it is looked at: not every node notifies.
inline bool ProgressEngine::look(bool& may_collect) noexcept {
  if (ready_->is_looking()) [[likely]] {
    return ready_->look();
  }
  return num_fds_ != 0 && std::exchange(may_collect, false) && collect_fds() && ready_->progress();
}

std::uint8_t ProgressEngine::progress() noexcept {
  const std::uint8_t advanced = spin(1);
  if (advanced == 0 && detail::is_time_virtual()) [[unlikely]] {
    detail::VirtualClock::instance().look_in_vain(counts_.stats().completed);
  }
  return advanced;
}

std::uint8_t ProgressEngine::spin(std::uint32_t max, Sources sources) noexcept {
  // A thread that waits without sleeping asks for descriptors at the first of so many looks.
  constexpr std::uint32_t looks_per_collection = 32;
  detail::Drops& drops = ready_->drops();
  if (drops.is_progressing() || check_thread() != Status::success) [[unlikely]] {
    log::engine(log::Level::error, "pe",
                drops.is_progressing() ? "progress called in a callback" : "progress in a wrong thread");
    return 0;
  }
  drops.begin_progress();
  bool advanced = false;
  for (std::uint32_t look = 0; !advanced && look < max; ++look) {
    bool may_collect = sources == Sources::all && look % looks_per_collection == 0;
    advanced = progress_ready(may_collect) || ready_->assist();
    if (!advanced) {
      ++vain_looks_;
    }
  }
  drops.end_progress();
  return advanced ? 1 : 0;
}

std::size_t ProgressEngine::drain(std::size_t max, Sources sources) noexcept {
  detail::Drops& drops = ready_->drops();
  if (drops.is_progressing() || check_thread() != Status::success) [[unlikely]] {
    return 0;
  }
  drops.begin_progress();
  std::size_t count = 0;
  bool may_collect = sources == Sources::all;  // once: what comes meanwhile is the next call's
  // What a callback has dropped uses the memory of its tasks no more: nothing is progressed before its end.
  while (count < max && !drops.are_due() && progress_ready(may_collect)) {
    ++count;
  }
  drops.end_progress();
  return count;
}

bool ProgressEngine::assist() noexcept {
  detail::Drops& drops = ready_->drops();
  if (drops.is_progressing() || check_thread() != Status::success) [[unlikely]] {
    return false;
  }
  drops.begin_progress();
  const bool assisted = ready_->assist();
  vain_looks_ += assisted ? 0 : 1;
  drops.end_progress();
  return assisted;
}

void ProgressEngine::count_long_operation() noexcept { cost_since_fds_ += long_operation_cost; }

void ProgressEngine::look_at_descriptors() noexcept { cost_since_fds_ = cost_between_fds; }

bool ProgressEngine::collect_fds() noexcept {
  cost_since_fds_ = 0;
  std::array<epoll_event, 32> events;
  const int count = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), 0);
  bool found = false;
  for (int i = 0; i < count; ++i) {
    // The event fd itself carries no pointer: it says only that the lists have something, and they are looked at
    // anyway.
    if (auto* node = static_cast<detail::ReadyNode*>(events[static_cast<std::size_t>(i)].data.ptr)) {
      node->notify();
      found = true;
    }
  }
  if (found) {
    count_wake_up();
  }
  return found;
}

void ProgressEngine::request_notification() noexcept {
  if (event_mode_ == EventMode::progress_all) {
    clear_notification();
  }
  if (ready_->arm()) {
    count_wake_up();
  }
  note_cpus();
  ++sleeps_;
  has_slept_ = true;
}

void ProgressEngine::note_cpus() noexcept {
  const Cpus here = own_cpus();
  const bool is_new = here != cpus_;
  if (is_new || !here.are_several()) {
    cpus_ = here;
    may_advance_elsewhere_ = ready_->may_advance_elsewhere(here, is_new) || here.are_several();
  }
}

void ProgressEngine::clear_notification() noexcept {
  if (ready_->disarm()) {
    count_wake_up();
  }
}

void ProgressEngine::count_wake_up() noexcept { wake_ups_ += std::exchange(has_slept_, false) ? 1U : 0U; }

void ProgressEngine::set_event_mode(EventMode mode) {
  require_thread("set_event_mode");
  if (ready_->drops().is_progressing()) {
    throw Error(Status::bad_state, "set_event_mode: not in a callback");
  }
  detail::require_one_of("set_event_mode", mode, EventMode::progress_all, "mode");
  event_mode_ = mode;
}

bool ProgressEngine::has_pending() const noexcept { return !ready_->empty(); }

bool ProgressEngine::wait(int timeout_ms) noexcept {
  request_notification();
  if (detail::is_time_virtual()) {
    const bool is_ready = wait_in_virtual_time(epoll_fd_, timeout_ms);
    clear_notification();
    return is_ready;
  }
  pollfd event{.fd = epoll_fd_, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&event, 1, timeout_ms);
  clear_notification();
  return ready > 0;
}

Status ProgressEngine::submit_threadsafe(Task& task) noexcept {
  if (task.context_->progress_engine().get() != this) {
    return Status::invalid_value;
  }
  if (is_inherited() || task.handed_over_.exchange(true, std::memory_order_relaxed)) {
    return Status::bad_state;
  }
  task.promise_operands(1, detail::Promise::handover);
  inbox_->push(task);
  return Status::success;
}

void ProgressEngine::take_back(const Context& context) noexcept { inbox_->take_back(context); }

bool ProgressEngine::is_inherited() const noexcept { return forks_ != detail::fork_count(); }

Status ProgressEngine::check_thread() noexcept {
  if (detail::is_this_thread(owner_)) [[likely]] {
    return Status::success;
  }
  if (forks_ != detail::fork_count()) {
    return Status::bad_state;
  }
  if (owner_ != detail::no_thread) {
    return Status::not_permitted;
  }
  owner_ = detail::thread_token();
  owner_tid_ = ::gettid();
  return Status::success;
}

void ProgressEngine::take_over() noexcept {
  if (forks_ == detail::fork_count()) {
    owner_ = detail::no_thread;
    static_cast<void>(check_thread());
  }
}

std::string ProgressEngine::describe_thread() const {
  if (forks_ != detail::fork_count()) {
    return detail::concat("the progress engine belongs to the process that forked this one, and this is process ",
                          ::getpid(), "; make a new one after fork");
  }
  return detail::concat("the progress engine belongs to thread ", owner_tid_, ", this is thread ", ::gettid(),
                        "; use it there, as long as that thread has not released it");
}

void ProgressEngine::require_thread(std::string_view verb, std::string_view object) {
  if (const Status status = check_thread(); status != Status::success) {
    throw Error(status, detail::concat(verb, object.empty() ? "" : " ", object, ": ", describe_thread()));
  }
}

void ProgressEngine::require_open(std::string_view what) const {
  if (closed_) {
    throw Error(Status::bad_state, detail::concat(what, ": the progress engine is closed; make another"));
  }
}

void ProgressEngine::release_thread() {
  require_thread("release_thread");
  if (ready_->drops().is_progressing()) {
    throw Error(Status::in_use, "release_thread: not in a callback; return from it first");
  }
  if (num_inflight_tasks() != 0) {
    throw Error(Status::in_use, detail::concat("release_thread: ", num_inflight_tasks(),
                                               " task(s) are in flight; progress until they have completed"));
  }
  if (!guests_.empty()) {
    throw Error(Status::in_use, detail::concat("release_thread: ", guests_.size(),
                                               " import(s) are under way; progress until they are over, or drop them"));
  }
  owner_ = detail::no_thread;
  owner_tid_ = 0;
}

void ProgressEngine::watch(int fd, std::uint32_t events, detail::ReadyNode& node) {
  epoll_event event{.events = events, .data = {.ptr = &node}};
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Error(Status::operating_system, detail::concat("watch descriptor ", fd, ": ", detail::system_reason(errno)));
  }
  ++num_fds_;
}

void ProgressEngine::rewatch(int fd, std::uint32_t events, detail::ReadyNode& node) noexcept {
  epoll_event event{.events = events, .data = {.ptr = &node}};
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event);
}

void ProgressEngine::unwatch(int fd) noexcept {
  // A forked child shares the parent's epoll set and must not take anything out of it.
  if (forks_ == detail::fork_count() && ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr) == 0) {
    --num_fds_;
  }
}

}  // namespace pydoca
