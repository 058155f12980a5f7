#include "sync_event/sync_event_object.hpp"

#include <pydoca/status.hpp>
#include <pydoca/virtual_time.hpp>

#include "convert/convert.hpp"
#include "convert/view.hpp"
#include "device/device_object.hpp"
#include "loop/blocking_call.hpp"
#include "memory/buf_object.hpp"
#include "memory/import_export.hpp"
#include "task/context_object.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pydoca::bindings {

std::string condition(std::string_view comparison, std::uint64_t value, std::uint64_t mask) {
  const std::string masked = mask != all_bits ? "value & " + std::to_string(mask) : "value";
  return masked + " " + std::string(comparison) + " " + std::to_string(value);
}

namespace {

/// A wait that ends within this time costs less than releasing the GIL, and delays Python's other threads very little.
constexpr std::chrono::nanoseconds held_time{2000};

/// Counts a wait without the GIL, as long as this object lives.
class CountedWait : NotCopied {
 public:
  explicit CountedWait(std::size_t& waits) noexcept : waits_(waits) { ++waits_; }
  ~CountedWait() { --waits_; }

 private:
  std::size_t& waits_;
};

}  // namespace

SyncEventObject::SyncEventObject(py::object device, const Options& options)
    : device_(std::move(device)), buf_(options.buf), event_(SyncEvent::create()) {
  static_cast<void>(to_device(device_).get());
  if (!options.memory.is_none() && !options.buf.is_none()) {
    raise(Status::invalid_value, "sync event: memory and buf both say where it lives; give one of them");
  }
  add_locations(options);
  event_->set_outlives_importers(options.outlives_importers);
  if (!options.memory.is_none()) set_memory(options.memory);
  if (!options.buf.is_none()) {
    if (!py::isinstance<BufObject>(options.buf)) {
      throw py::type_error("buf must be a pydoca.Buf; other memory goes into memory");
    }
    event_->set_buf(options.buf.cast<BufObject&>().get());
  }
}

SyncEventObject::SyncEventObject(py::object device, std::shared_ptr<SyncEvent> imported)
    : device_(std::move(device)), buf_(py::none()), event_(std::move(imported)) {}

void SyncEventObject::add_locations(const Options& options) {
  const std::shared_ptr<Device>& device = to_device(device_).get();
  if (options.publisher_dpa != nullptr) {
    event_->add_publisher_location_dpa(options.publisher_dpa);
  } else if (options.publisher == SyncEventLocation::cpu) {
    event_->add_publisher_location_cpu(device);
  } else {
    event_->add_publisher_location(options.publisher);
  }
  if (options.subscriber_dpa != nullptr) {
    event_->add_subscriber_location_dpa(options.subscriber_dpa);
  } else if (options.subscriber == SyncEventLocation::cpu) {
    event_->add_subscriber_location_cpu(device);
  } else {
    event_->add_subscriber_location(options.subscriber);
  }
}

void SyncEventObject::set_memory(const py::object& memory) {
  const std::shared_ptr<const HeldBuffer> held = HeldBuffer::of_values(memory);
  if (held->readonly() || held->size() != sizeof(std::uint64_t)) {
    raise(Status::invalid_value, "sync event: memory must be 8 writable bytes, and is " + std::to_string(held->size()) +
                                     (held->readonly() ? " read-only" : "") + " byte(s); slice a memoryview of it");
  }
  event_->set_addr(held->data(), held);
}

void SyncEventObject::start() {
  call_blocking([this] { event_->start(); });
  drain_log();
}

void SyncEventObject::stop() {
  call_blocking([this] { event_->stop(); });
  stopped_ = true;
  drain_log();
}

void SyncEventObject::enter() {
  if (is_closed()) raise(Status::bad_state, "sync event: it is closed; make another");
  if (!event_->is_started()) start();
}

void SyncEventObject::close() {
  if (is_closed()) return;
  if (waits_ != 0) {
    raise(Status::in_use, "close sync event: another thread waits on it; stop() ends its wait");
  }
  if (context_ != nullptr) context_->close();
  call_blocking([this] { event_->close(); });
  closed_ = true;
  buf_ = py::none();
  drain_log();
}

bool SyncEventObject::uses(const DeviceObject& device) const { return &device_.cast<const DeviceObject&>() == &device; }

void SyncEventObject::close_if_idle() {
  const py::object self = py::cast(this);
  try {
    close();
  } catch (const Error&) {
    // A thread waits, or its context runs: the device's own end says what still uses it.
  } catch (py::error_already_set&) {  // its context belongs to another thread
  }
}

py::bytes SyncEventObject::export_to_remote_pci(const py::object& device) const {
  return to_python(event_->export_to_remote_pci(*to_device(device.is_none() ? device_ : device).get()));
}

py::bytes SyncEventObject::export_to_remote_net() const { return to_python(event_->export_to_remote_net()); }

void SyncEventObject::set_context(ContextObject* context) noexcept {
  context_ = context;
  had_context_ = true;
}

std::uint64_t SyncEventObject::get() const {
  std::uint64_t value = 0;
  const Status status = event_->get(value);
  if (status != Status::success) [[unlikely]] {
    refuse("get", status);
  }
  return value;
}

void SyncEventObject::update_set(std::uint64_t value) {
  const Status status = event_->update_set(value);
  if (status != Status::success) [[unlikely]] {
    refuse("update_set", status);
  }
}

std::uint64_t SyncEventObject::update_add(std::uint64_t increment) {
  std::uint64_t previous = 0;
  const Status status = event_->update_add(increment, previous);
  if (status != Status::success) [[unlikely]] {
    refuse("update_add", status);
  }
  return previous;
}

void SyncEventObject::wait(const WaitFor& what, std::uint64_t value, std::uint64_t mask,
                           std::chrono::nanoseconds timeout) {
  const auto try_for = [&](std::chrono::nanoseconds time) {
    return (event_.get()->*what.function)(value, mask, what.mode, time);
  };
  // A wait that yields its core must not keep the GIL: it checks once with the GIL.
  // In virtual time another thread, which may need the GIL, may run within any wait.
  const bool may_hold = what.mode != WaitMode::yield && !sim::VirtualTime::is_on();
  const auto held = std::min(timeout, may_hold ? held_time : std::chrono::nanoseconds(0));
  Status status = try_for(held);
  if (status == Status::time_out && timeout > held) {
    const CountedWait counted(waits_);
    call_blocking([&] { status = try_for(timeout == SyncEvent::forever ? timeout : timeout - held); });
  }
  if (status == Status::unexpected && sim::VirtualTime::is_on()) {
    raise_stuck(std::string(what.name) + " of a sync event on " + place());
  }
  if (status != Status::success) [[unlikely]] {
    refuse_wait(what, value, mask, status);
  }
}

void SyncEventObject::refuse_wait(const WaitFor& what, std::uint64_t value, std::uint64_t mask, Status status) const {
  if (status != Status::time_out) refuse(what.name, status);
  const std::string_view comparison = what.function == &SyncEvent::wait_gt   ? ">"
                                      : what.function == &SyncEvent::wait_eq ? "=="
                                                                             : "!=";
  raise(status, std::string(what.name) + " of a sync event on " + place() + ": the time allowed has passed; " +
                    value_seen() + ", and the wait was for " + condition(comparison, value, mask));
}

void SyncEventObject::refuse(std::string_view operation, Status status) const {
  raise(status, std::string(operation) + " of a sync event on " + place() + ": " + event_->explain(status));
}

std::string SyncEventObject::value_seen() const {
  std::uint64_t value = 0;
  return event_->get(value) == Status::success ? "the value is " + std::to_string(value) : "the value cannot be read";
}

std::string SyncEventObject::place() const {
  return event_->device() != nullptr ? event_->device()->info().name() : std::string("no CPU");
}

std::string_view SyncEventObject::state() const noexcept {
  if (is_closed()) return "closed";
  if (event_->is_started()) return "started";
  if (had_context_) return "asynchronous";
  return stopped_ ? "stopped" : "not started";
}

}  // namespace pydoca::bindings
