#include "pydoca/dpa.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"

#include "detail/concat.hpp"
#include "detail/time/time.hpp"
#include "detail/wait_limit.hpp"
#include "library/dpa/dpa_run.hpp"
#include "library/dpa/dpa_state.hpp"
#include "library/virtual_wait.hpp"

#include <algorithm>
#include <utility>

namespace pydoca {

namespace {

using DpaPhase = library::DpaState::Phase;

/// How long a stop waits for kernels that do not look whether they should return.
constexpr std::chrono::seconds dpa_stop_time{2};

[[noreturn]] void refuse_dpa(Status status, const library::DpaState& state, std::string_view what,
                             std::string_view why) {
  throw Error(status, detail::concat(what, " the DPA of ", state.device->info().name(), ": ", why));
}

std::string_view phase_text(DpaPhase phase) noexcept {
  constexpr std::string_view texts[] = {"it is not started", "it runs", "it stops", "it is stopped", "it is closed"};
  return texts[static_cast<std::size_t>(phase)];
}

/// Waits in virtual time until no thread of the DPA runs.
Status wait_for_threads(const library::DpaState& state) noexcept {
  const auto is_over = [&state] {
    const std::lock_guard lock(state.mutex);
    return state.threads == 0;
  };
  return detail::wait_in_virtual_time(is_over, dpa_stop_time);
}

void log_dpa(const library::DpaState& state, std::string_view what) noexcept {
  log::engine(log::Level::debug, "dpa", [&] { return detail::concat("DPA of ", state.device->info().name(), what); });
}

}  // namespace

void library::DpaState::fail(std::string text) noexcept {
  std::vector<std::weak_ptr<DpaSyncEvent>> to_wake;
  {
    const std::lock_guard lock(mutex);
    if (failed.exchange(true, std::memory_order_acq_rel)) {
      return;
    }
    failure.swap(text);
    to_wake.swap(events);
    changed.notify_all();
  }
  log::engine(log::Level::error, "dpa",
              [&] { return detail::concat("DPA of ", device->info().name(), ": fatal error: ", failure); });
  for (const std::weak_ptr<DpaSyncEvent>& event : to_wake) {
    if (const auto handle = event.lock()) {
      handle->wake();
    }
  }
}

Dpa::Dpa(std::shared_ptr<Device> device, std::shared_ptr<library::DpaState> state) noexcept
    : device_(std::move(device)), state_(std::move(state)) {}

bool Dpa::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().dpa.has_value(); }

std::shared_ptr<Dpa> Dpa::create(std::shared_ptr<Device> device) {
  const DeviceUse use(device, DeviceUser::dpa);
  if (!is_supported(device->info())) {
    const std::string& why = device->info().capabilities().refusals.dpa;
    throw Error(Status::not_supported, detail::concat("create a DPA on ", device->info().name(), ": ",
                                                      why.empty() ? "it has no DPA" : std::string_view(why)));
  }
  auto state = std::make_shared<library::DpaState>(device, device->backend().create_processor());
  return std::shared_ptr<Dpa>(new Dpa(std::move(device), std::move(state)));
}

Dpa::~Dpa() {
  try {
    close();
  } catch (const Error& error) {
    log_dpa(*state_, error.what());  // the kernel keeps the device until it returns
  }
}

void Dpa::require_own(std::string_view what) const {
  if (state_->is_inherited()) {
    refuse_dpa(Status::bad_state, *state_, what, "it is the parent process's; create one here");
  }
}

void Dpa::register_kernel(std::string name, DpaKernel kernel) {
  require_own("register a kernel of");
  const std::lock_guard lock(state_->mutex);
  if (state_->phase.load(std::memory_order_relaxed) == DpaPhase::closed) {
    refuse_dpa(Status::bad_state, *state_, "register a kernel of", "it is closed");
  }
  if (name.empty() || !kernel) {
    refuse_dpa(Status::invalid_value, *state_, "register a kernel of", "a kernel has a name and a function");
  }
  if (state_->kernels.contains(name)) {
    refuse_dpa(Status::already_exist, *state_, "register a kernel of",
               detail::concat("\"", name, "\" is registered already"));
  }
  state_->kernels.emplace(std::move(name), std::move(kernel));
}

void Dpa::start() {
  if (device_->removed()) {
    refuse_dpa(Status::driver, *state_, "start", "the device was removed");
  }
  auto expected = DpaPhase::configuring;
  if (!state_->phase.compare_exchange_strong(expected, DpaPhase::running)) {
    refuse_dpa(Status::bad_state, *state_, "start",
               detail::concat(phase_text(expected), expected == DpaPhase::running ? "" : "; make another"));
  }
  log_dpa(*state_, " started");
}

void Dpa::stop() {
  library::DpaState& state = *state_;
  if (state.is_inherited()) {
    return;
  }
  std::unique_lock lock(state.mutex);
  const DpaPhase phase = state.phase.load(std::memory_order_relaxed);
  if (phase == DpaPhase::stopped || phase == DpaPhase::closed) {
    return;
  }
  state.phase.store(DpaPhase::stopping, std::memory_order_release);
  state.changed.notify_all();
  for (detail::WaitLimit limit(dpa_stop_time, interrupt_slice); state.threads != 0;) {
    lock.unlock();
    const Status status = detail::is_time_virtual() ? wait_for_threads(state) : limit.check();
    lock.lock();
    if (state.threads != 0 && status != Status::success) {
      refuse_dpa(Status::again, state, "stop",
                 detail::concat(state.threads,
                                " thread(s) still run a kernel, which must return when the thread's "
                                "is_stopping() says so; stop again"));
    }
    if (state.threads != 0) {
      state.changed.wait_for(lock, interrupt_slice);
    }
  }
  state.phase.store(DpaPhase::stopped, std::memory_order_release);
  lock.unlock();
  log_dpa(state, " stopped");
}

void Dpa::close() {
  if (state_->phase.load(std::memory_order_acquire) == DpaPhase::closed) {
    return;
  }
  if (state_->is_inherited()) {
    state_->phase.store(DpaPhase::closed, std::memory_order_release);
    state_->use.release();
    return;
  }
  stop();
  std::map<std::string, DpaKernel, std::less<>> kernels;  // end without the lock
  const std::lock_guard lock(state_->mutex);
  state_->kernels.swap(kernels);
  state_->phase.store(DpaPhase::closed, std::memory_order_release);
  state_->use.release();
}

bool Dpa::is_running() const noexcept { return state_->phase.load(std::memory_order_acquire) == DpaPhase::running; }

std::shared_ptr<library::KernelRun> Dpa::make_run(DpaLaunch launch) {
  library::DpaState& state = *state_;
  constexpr std::string_view what = "launch a kernel on";
  require_own(what);
  const std::uint32_t most = device_->info().capabilities().dpa->max_num_threads;
  if (launch.num_threads == 0) {
    refuse_dpa(Status::invalid_value, state, what, "a launch has at least one thread");
  }
  if (device_->removed()) {
    refuse_dpa(Status::driver, state, what, "the device was removed");
  }
  const std::lock_guard lock(state.mutex);
  if (state.failed.load(std::memory_order_relaxed)) {
    refuse_dpa(Status::bad_state, state, what,
               detail::concat("it is in a fatal error state, close it; ", state.failure));
  }
  if (const DpaPhase phase = state.phase.load(std::memory_order_relaxed); phase != DpaPhase::running) {
    refuse_dpa(Status::bad_state, state, what, phase_text(phase));
  }
  if (launch.num_threads > most - std::min(most, state.threads)) {
    refuse_dpa(Status::full, state, what,
               detail::concat(launch.num_threads, " threads are wanted, ", state.threads, " of ", most, " are busy"));
  }
  const std::uint32_t threads = launch.num_threads;
  auto run = std::make_shared<library::KernelRun>(state_, std::move(launch));
  state.threads += threads;
  return run;
}

std::shared_ptr<DpaRun> Dpa::prepare(DpaLaunch launch) { return make_run(std::move(launch)); }

/// It stays until close(), which waits for the threads before that.
const DpaKernel* Dpa::find_kernel(const std::string& name) const {
  require_own("launch a kernel on");
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->kernels.find(name);
  if (known == state_->kernels.end() && is_running()) {
    refuse_dpa(Status::not_found, *state_, "launch a kernel on", detail::concat("\"", name, "\" is not registered"));
  }
  return known == state_->kernels.end() ? nullptr : &known->second;
}

std::shared_ptr<DpaRun> Dpa::launch(DpaLaunch launch) {
  const DpaKernel* const kernel = find_kernel(launch.kernel);
  const std::uint32_t threads = launch.num_threads;
  const std::shared_ptr<library::KernelRun> run = make_run(std::move(launch));
  for (std::uint32_t rank = 0; rank < threads; ++rank) {
    try {
      state_->processor->start([run, rank, kernel] { run->execute(rank, *kernel); });
    } catch (const std::exception&) {
      run->abandon(threads - rank);  // those that began end with the DPA's next stop at the latest
      throw;
    }
  }
  return run;
}

DpaMmap Dpa::map(const Mmap& mmap) const {
  constexpr std::string_view what = "give a memory map to";
  if (state_->phase.load(std::memory_order_acquire) == DpaPhase::closed) {
    refuse_dpa(Status::bad_state, *state_, what, "it is closed");
  }
  if (mmap.is_from_export()) {
    refuse_dpa(Status::not_supported, *state_, what, "imported memory is for tasks; copy it here first");
  }
  const auto devices = mmap.devices();
  if (!mmap.is_started() || std::ranges::find(devices, device_) == devices.end()) {
    refuse_dpa(Status::not_found, *state_, what,
               mmap.is_started() ? "the map lacks the device; add_device() before start()" : "the map is not started");
  }
  return {.data = reinterpret_cast<std::byte*>(mmap.addr()),
          .size = mmap.len(),
          .is_writable = allows(mmap.permissions(), Access::local_read_write),
          .owner = mmap.owner()};
}

Status Dpa::last_error() const noexcept {
  return state_->failed.load(std::memory_order_acquire) ? Status::io_failed : Status::success;
}

std::string Dpa::failure() const {
  if (state_->is_inherited()) {
    return {};
  }
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

std::uint32_t Dpa::num_threads() const noexcept {
  if (state_->is_inherited()) {
    return 0;
  }
  const std::lock_guard lock(state_->mutex);
  return state_->threads;
}

const std::shared_ptr<Device>& Dpa::device() const noexcept { return device_; }

}  // namespace pydoca
