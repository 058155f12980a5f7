#include "pydoca/trace.hpp"

#include "pydoca/backend/device.hpp"

#include "core/device/visible_backends.hpp"
#include "detail/concat.hpp"
#include "detail/thread/thread_token.hpp"
#include "detail/time/time.hpp"
#include "detail/trace/recorder.hpp"
#include "detail/trace/recording_reader.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <fcntl.h>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <utility>

namespace pydoca {

namespace {

using detail::trace::ClockPair;

std::uint32_t capacity_of(const TraceOptions& options) {
  if (options.events_per_thread == 0 || options.events_per_thread > detail::trace::max_capacity) {
    throw Error(Status::invalid_value, detail::concat("trace: events_per_thread is ", options.events_per_thread,
                                                      "; it must be in 1..", detail::trace::max_capacity));
  }
  return std::bit_ceil(std::max(options.events_per_thread, detail::trace::min_capacity));
}

/// A read-only view of a recording. Empty unless the file is sealed against shrinking: reading beyond its end would end
/// this process.
class View {
 public:
  explicit View(int file) noexcept {
    struct stat info{};
    const int seals = ::fcntl(file, F_GET_SEALS);
    constexpr std::size_t most = detail::trace::file_size(detail::trace::max_capacity);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file, &info) != 0 || info.st_size <= 0) {
      return;
    }
    size_ = std::min(static_cast<std::size_t>(info.st_size), most);
    address_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  }
  ~View() {
    if (address_ != MAP_FAILED) {
      ::munmap(address_, size_);
    }
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::span<const std::byte> bytes() const noexcept {
    return address_ == MAP_FAILED ? std::span<const std::byte>()
                                  : std::span(static_cast<const std::byte*>(address_), size_);
  }

 private:
  void* address_ = MAP_FAILED;
  std::size_t size_ = 0;
};

/// The rate of the cycles is known to some parts in a hundred thousand after this time.
constexpr std::chrono::milliseconds shortest(2);

void wait_for_rate(const ClockPair& begin) {
  const auto since = std::chrono::nanoseconds(ClockPair::now().nanoseconds - begin.nanoseconds);
  if (since < shortest && !detail::is_time_virtual()) {
    std::this_thread::sleep_for(shortest - since);
  }
}

/// The number of the virtual time in force; 0: time is real.
std::uint32_t virtual_clock() noexcept { return detail::is_time_virtual() ? detail::clock_number.load() : 0; }

/// A process that was asked twice gives the same file twice.
void remove_twins(std::vector<int>& files) {
  std::vector<std::pair<dev_t, ino_t>> seen;
  std::erase_if(files, [&](int file) {
    struct stat info{};
    const bool is_open = ::fstat(file, &info) == 0;
    const std::pair identity(info.st_dev, info.st_ino);
    if (!is_open || std::ranges::find(seen, identity) != seen.end()) {
      return true;
    }
    seen.push_back(identity);
    return false;
  });
}

}  // namespace

struct Trace::State {
  detail::trace::Share share;
  std::vector<std::unique_ptr<backend::Recordings>> others;
  ClockPair begin;
  std::uint32_t forks = detail::fork_count();
  std::uint32_t clock = virtual_clock();
};

std::shared_ptr<Trace> Trace::start(const TraceOptions& options) {
  const std::uint32_t capacity = capacity_of(options);
  const std::shared_ptr<Trace> trace(new Trace);
  auto state = std::make_unique<State>();
  state->share = detail::trace::Share(capacity);
  state->begin = ClockPair::now();
  if (options.fabric && !detail::is_time_virtual()) {
    for (backend::Backend* const backend : detail::visible_backends()) {
      if (auto others = backend->record_others(capacity)) {
        state->others.push_back(std::move(others));
      }
    }
  }
  trace->begin_ = state->begin.nanoseconds;
  trace->state_ = std::move(state);
  return trace;
}

Trace::~Trace() = default;

void Trace::stop() {
  if (state_ == nullptr) {
    return;
  }
  if (state_->forks != detail::fork_count()) {
    throw Error(Status::bad_state, "stop a trace: it belongs to the parent of this process");
  }
  const std::unique_ptr<State> state = std::move(state_);
  if (state->clock != virtual_clock()) {
    throw Error(Status::bad_state,
                "stop a trace: virtual time began or ended since it started, and what it has cannot be compared; start "
                "and stop it within one virtual time, or before and after it");
  }
  const ClockPair stopped = ClockPair::now();
  std::vector<int> files{state->share.file()};
  for (const auto& others : state->others) {
    const std::vector<int> theirs = others->stop();
    files.insert(files.end(), theirs.begin(), theirs.end());
  }
  wait_for_rate(state->begin);
  const ClockPair end = ClockPair::now();
  end_ = stopped.nanoseconds;
  const detail::trace::Window window(state->begin, end, end_);
  remove_twins(files);
  for (const int file : files) {
    const View view(file);
    TraceProcess process;
    if (processes_.size() < max_processes &&
        detail::trace::read_recording(view.bytes(), window, static_cast<std::uint16_t>(processes_.size()), max_events,
                                      process, events_)) {
      processes_.push_back(std::move(process));
    }
  }
  std::ranges::stable_sort(events_, {}, &TraceEvent::time);
}

std::uint64_t Trace::lost() const noexcept {
  std::uint64_t sum = 0;
  for (const TraceProcess& process : processes_) {
    sum += process.lost;
  }
  return sum;
}

}  // namespace pydoca
