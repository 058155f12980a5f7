#include <pydoca/clock.hpp>

#include "call/raw_method.hpp"
#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/names.hpp"
#include "convert/parse.hpp"
#include "device/device_object.hpp"
#include "device/device_user.hpp"

#include <memory>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The end of its device's with block closes it, as it is always idle.
class ClockObject final : public DeviceUser {
 public:
  explicit ClockObject(py::object device)
      : device_(std::move(device)),
        clock_(Clock::create(argument_of<DeviceObject>(device_.ptr(), "a pydoca.Device").get())) {}

  const py::object& device() const noexcept { return device_; }
  const Clock& clock() const noexcept { return *clock_; }
  void enter() const {
    if (clock_->is_closed()) raise(Status::bad_state, "the clock is closed; make another");
  }
  void close() { clock_->close(); }

 private:
  bool uses(const DeviceObject& device) const override { return &device_.cast<const DeviceObject&>() == &device; }
  void close_if_idle() override { close(); }

  py::object device_;
  std::shared_ptr<Clock> clock_;
};

void bind_clock_type(py::module_& module) {
  bind_names(py::native_enum<ClockType>(
                 module, "ClockType", "enum.IntFlag",
                 "A clock of a device (NIC) or of this machine (HOST). NIC_FREE_RUNNING, NIC_DPA_TIMER and\n"
                 "HOST_COUNTER_CYCLES count cycles, the REAL_TIME clocks nanoseconds since 1970, the MONOTONIC ones\n"
                 "nanoseconds."),
             clock_names);
}

void bind_cross_timestamp(py::module_& module) {
  py::classh<CrossTimestamp>(module, "CrossTimestamp", "Two clocks at one moment.")
      .def_readonly("host", &CrossTimestamp::host, "The clock of this machine.")
      .def_readonly("nic", &CrossTimestamp::nic, "The clock of the device.")
      .def_readonly("accuracy", &CrossTimestamp::accuracy, "The two were read at most so many nanoseconds apart.")
      .def("__repr__", [](const CrossTimestamp& self) {
        return py::str("<pydoca.CrossTimestamp host={} nic={} accuracy={} ns>")
            .format(self.host, self.nic, self.accuracy);
      });
  made_by(module, "CrossTimestamp", "Clock.crosstimestamp()");
}

void bind_timestamps(py::classh<ClockObject>& type) {
  type.def(
          "timestamp",
          [](const ClockObject& self, py::handle which) { return self.clock().timestamp(to_clock_type(which)); },
          "type"_a,
          "The time of one clock, a ClockType or its name: cycles or nanoseconds. Raises NotSupportedError for a\n"
          "clock that is not there, BadStateError once closed, DriverError when the device was removed\n"
          "(doca_clock_get_timestamp).")
      .def(
          "crosstimestamp",
          [](const ClockObject& self, py::handle host, py::handle nic) {
            return self.clock().crosstimestamp(to_clock_type(host), to_clock_type(nic));
          },
          "host"_a, "nic"_a,
          "A clock of this machine and one of the device, read as close together as some tries allow. Raises\n"
          "the errors of timestamp(), and InvalidValueError unless they are one of each\n"
          "(doca_clock_get_crosstimestamp).");
}

void bind_clock_capabilities(py::classh<ClockObject>& type) {
  type.def_static(
          "is_supported",
          [](const DeviceInfo& info, py::handle which) { return Clock::is_supported(info, to_clock_type(which)); },
          "info"_a, "type"_a, "Whether the device, or this machine, has that clock.")
      .def_static("free_running_frequency", &Clock::free_running_frequency, "info"_a,
                  "Cycles per second of nic_free_running. Raises NotSupportedError without that clock.");
}

}  // namespace

void bind_clock(py::module_& module) {
  bind_clock_type(module);
  bind_cross_timestamp(module);
  py::classh<ClockObject> type(
      module, "Clock",
      "The clocks of a device and of this machine. A simulated device has an oscillator that deviates by up\n"
      "to 20 ppm, and a time of day that is up to 100 ms wrong when the machine starts, the same in each run.");
  type.def(py::init([](py::object dev) { return std::make_shared<ClockObject>(std::move(dev)); }), "dev"_a,
           "Raises NotSupportedError when the device has no clock (doca_clock_create).")
      .def("close", &ClockObject::close, "Gives the device back; idempotent (doca_clock_destroy).")
      .def_property_readonly("device", &ClockObject::device, "The Device of the clock.")
      .def_property_readonly(
          "closed", [](const ClockObject& self) { return self.clock().is_closed(); }, "Whether it is closed for good.")
      .def("__repr__", [](const ClockObject& self) {
        return py::str("<pydoca.Clock of {}{}>")
            .format(self.clock().device()->info().name(), self.clock().is_closed() ? ", closed" : "");
      });
  bind_timestamps(type);
  bind_clock_capabilities(type);
  bind_scope(type);
}

}  // namespace pydoca::bindings
