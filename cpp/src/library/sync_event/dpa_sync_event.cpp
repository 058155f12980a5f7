#include "pydoca/backend/counter.hpp"
#include "pydoca/dpa.hpp"
#include "pydoca/interrupt.hpp"

#include "detail/concat.hpp"
#include "detail/fd.hpp"
#include "detail/pause.hpp"
#include "detail/time/time.hpp"
#include "library/dpa/dpa_state.hpp"
#include "library/sync_event/sync_event.hpp"
#include "library/virtual_wait.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <sys/epoll.h>
#include <utility>

namespace pydoca {

namespace {

using DpaEventClock = std::chrono::steady_clock;

constexpr int dpa_event_looks = 256;  ///< how often a thread looks before it sleeps
/// The user's memory may change without a wake-up.
constexpr std::chrono::milliseconds dpa_silent_slice{1};

/// The counter has one sleeper. One of the threads that wait sleeps for all; the others sleep until it wakes them.
class DpaSyncEventHandle final : public DpaSyncEvent {
 public:
  DpaSyncEventHandle(std::shared_ptr<SyncEvent> event, std::shared_ptr<library::DpaState> dpa)
      : event_(std::move(event)), dpa_(std::move(dpa)), own_(library::of(*event_)) {
    epoll_event change{.events = EPOLLIN | EPOLLET, .data = {}};  // the descriptor is not read after each wake-up
    if (wakes_.get() < 0 || ::epoll_ctl(wakes_.get(), EPOLL_CTL_ADD, own_.counter_->wake_fd(), &change) != 0) {
      throw Error(Status::operating_system, "give sync event to the DPA: no descriptor is left for its wake-ups");
    }
  }

  Status get(std::uint64_t& value) const noexcept override {
    if (const Status status = interruption(); status != Status::success) {
      return status;
    }
    detail::look_in_virtual_time();
    value = own_.counter_->load();
    return Status::success;
  }

  Status update_set(std::uint64_t value) noexcept override {
    const Status status = may_publish();
    return status == Status::success ? own_.counter_->store(value) : status;
  }

  Status update_add(std::uint64_t increment, std::uint64_t& previous) noexcept override {
    const Status status = may_publish();
    return status == Status::success ? own_.counter_->fetch_add(increment, previous) : status;
  }

  Status wait_gt(std::uint64_t value, std::uint64_t mask, std::chrono::nanoseconds timeout) noexcept override {
    return wait([=](std::uint64_t now) { return (now & mask) > value; }, timeout);
  }
  Status wait_eq(std::uint64_t value, std::uint64_t mask, std::chrono::nanoseconds timeout) noexcept override {
    return wait([=](std::uint64_t now) { return (now & mask) == value; }, timeout);
  }
  Status wait_neq(std::uint64_t value, std::uint64_t mask, std::chrono::nanoseconds timeout) noexcept override {
    return wait([=](std::uint64_t now) { return (now & mask) != value; }, timeout);
  }

  void wake() noexcept override {
    std::uint64_t before = 0;
    static_cast<void>(own_.counter_->fetch_add(0, before));
  }

 private:
  /// What ends every call.
  Status interruption() const noexcept {
    const Status status = dpa_->interruption();
    return status == Status::success && !own_.has_counter() ? Status::bad_state : status;
  }
  Status may_publish() const noexcept {
    return own_.publisher_ == SyncEventLocation::dpa ? interruption() : Status::not_permitted;
  }

  template <class Satisfied>
  Status wait(Satisfied satisfied, std::chrono::nanoseconds timeout) noexcept {
    if (own_.subscriber_ != SyncEventLocation::dpa) {
      return Status::not_permitted;
    }
    if (detail::is_time_virtual()) [[unlikely]] {
      return wait_in_virtual_time(satisfied, timeout);
    }
    for (int look = 0; look < dpa_event_looks; ++look) {
      if (satisfied(own_.counter_->load())) {
        return interruption();
      }
      detail::pause();
    }
    const auto now = DpaEventClock::now();
    const auto end =
        timeout >= DpaEventClock::time_point::max() - now ? DpaEventClock::time_point::max() : now + timeout;
    return sleep_until(satisfied, end);
  }

  template <class Satisfied>
  Status wait_in_virtual_time(Satisfied satisfied, std::chrono::nanoseconds timeout) noexcept {
    const std::uint32_t told = own_.counter_->losses_told();
    const auto failure_now = [&] {
      const Status status = interruption();
      return status == Status::success ? own_.failure(told) : status;
    };
    const auto is_over = [&] { return satisfied(own_.counter_->load()) || failure_now() != Status::success; };
    const Status waited = detail::wait_in_virtual_time(is_over, timeout);
    const Status status = failure_now();
    return status == Status::success && !satisfied(own_.counter_->load()) ? waited : status;
  }

  template <class Satisfied>
  Status sleep_until(Satisfied satisfied, DpaEventClock::time_point end) noexcept {
    const std::uint32_t told = own_.counter_->losses_told();
    for (;;) {
      Status status = interrupted() ? Status::again : interruption();
      status = status == Status::success ? own_.failure(told) : status;
      if (status != Status::success) {
        return status;
      }
      if (satisfied(own_.counter_->load())) {
        return Status::success;
      }
      if (DpaEventClock::now() >= end) {
        return Status::time_out;
      }
      sleep_a_slice(satisfied);
    }
  }

  /// A change after the counter was armed wakes the sleeper, which wakes the others. Each looks once more after that
  /// moment: the sleeper here, the others because it lets them begin to sleep only then.
  template <class Satisfied>
  void sleep_a_slice(Satisfied satisfied) noexcept {
    std::unique_lock lock(mutex_);
    if (has_sleeper_) {
      if (!satisfied(own_.counter_->load())) {
        others_.wait_for(lock, interrupt_slice);
      }
      return;
    }
    has_sleeper_ = true;
    own_.counter_->arm();
    lock.unlock();
    if (!satisfied(own_.counter_->load())) {
      const auto slice = own_.counter_->may_change_silently(own_.publisher_ == SyncEventLocation::remote_net)
                             ? dpa_silent_slice
                             : interrupt_slice;
      epoll_event changed{};
      ::epoll_wait(wakes_.get(), &changed, 1, static_cast<int>(slice.count()));
    }
    lock.lock();
    has_sleeper_ = false;
    others_.notify_all();
  }

  const std::shared_ptr<SyncEvent> event_;
  const std::shared_ptr<library::DpaState> dpa_;
  library::SyncEvent& own_;
  const detail::Fd wakes_{::epoll_create1(EPOLL_CLOEXEC)};
  std::mutex mutex_;
  std::condition_variable others_;
  bool has_sleeper_ = false;
};

}  // namespace

Status library::SyncEvent::dpa_failure() const noexcept {
  const bool waits_for_it = publisher_ == SyncEventLocation::dpa;
  return waits_for_it && dpa_->failed.load(std::memory_order_acquire) ? Status::io_failed : Status::success;
}

std::string library::explain_dpa_failure(const SyncEvent& event) {
  if (event.dpa_ == nullptr) {
    return std::string(error_descr(Status::io_failed));
  }
  const std::lock_guard lock(event.dpa_->mutex);
  return detail::concat("the DPA that publishes it is in a fatal error state: ", event.dpa_->failure);
}

void library::SyncEvent::add_dpa(std::string_view what, SyncEventLocation& where, const std::shared_ptr<Dpa>& dpa) {
  require_configurable(what, Status::invalid_value);
  if (dpa == nullptr) {
    throw Error(Status::invalid_value, detail::concat(what, ": a DPA is needed, and none was given"));
  }
  if (dpa_ != nullptr && dpa_ != dpa->state()) {
    throw Error(Status::invalid_value, detail::concat(what, ": the other location is another DPA"));
  }
  if (!is_export_to_dpa_supported(dpa->device()->info())) {
    throw Error(Status::not_supported,
                detail::concat(what, ": ", dpa->device()->info().name(), " gives no events to its DPA"));
  }
  if (where != SyncEventLocation::none) {
    throw Error(Status::invalid_value, detail::concat(what, ": the event has one already, and takes exactly one"));
  }
  add_device(what, dpa->device());
  where = SyncEventLocation::dpa;
  dpa_ = dpa->state();
}

void SyncEvent::add_publisher_location_dpa(const std::shared_ptr<Dpa>& dpa) {
  library::SyncEvent& own = library::of(*this);
  own.add_dpa("add publisher location", own.publisher_, dpa);
}

void SyncEvent::add_subscriber_location_dpa(const std::shared_ptr<Dpa>& dpa) {
  library::SyncEvent& own = library::of(*this);
  own.add_dpa("add subscriber location", own.subscriber_, dpa);
}

std::shared_ptr<DpaSyncEvent> SyncEvent::dpa_handle(const Dpa& dpa) {
  library::SyncEvent& own = library::of(*this);
  own.require_exportable("give sync event to the DPA");
  if (own.dpa_ != dpa.state()) {
    throw Error(Status::invalid_value, "give sync event to the DPA: neither location is this DPA");
  }
  if (auto known = own.dpa_handle_.lock()) {
    return known;
  }
  auto handle = std::make_shared<DpaSyncEventHandle>(shared_from_this(), own.dpa_);
  own.dpa_handle_ = handle;
  const std::lock_guard lock(own.dpa_->mutex);
  std::erase_if(own.dpa_->events, [](const auto& event) { return event.expired(); });
  own.dpa_->events.push_back(handle);
  return handle;
}

}  // namespace pydoca
