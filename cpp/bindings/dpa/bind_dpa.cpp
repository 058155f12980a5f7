#include <pydoca/dpa.hpp>
#include <pydoca/virtual_time.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/python.hpp"
#include "dpa/dpa_object.hpp"
#include "loop/blocking_call.hpp"
#include "memory/mmap_object.hpp"

#include <pybind11/stl.h>

#include <cmath>
#include <exception>
#include <optional>
#include <string>

namespace pydoca::bindings {

namespace {

constexpr std::uint64_t whole_value = ~std::uint64_t{0};

std::chrono::nanoseconds to_time(std::optional<double> seconds, const char* call) {
  if (!seconds) return DpaSyncEvent::forever;
  if (!(*seconds >= 0)) {
    raise(Status::invalid_value,
          format_text("{}: timeout is in seconds, 0 or more, or None for no limit, and is {}", call, *seconds));
  }
  constexpr double limit = 1e9;  // some years; more nanoseconds would overflow
  return *seconds < limit ? std::chrono::nanoseconds(static_cast<std::int64_t>(*seconds * 1e9)) : DpaSyncEvent::forever;
}

std::string_view explain(Status status) {
  switch (status) {
    case Status::shutdown:
      return "the DPA was stopped";
    case Status::io_failed:
      return "the DPA is in a fatal error state";
    case Status::not_permitted:
      return "the DPA is not the event's location for it: a publisher updates, a subscriber waits";
    case Status::time_out:
      return "the time allowed has passed, and the value has not come";
    case Status::bad_state:
      return "the event was stopped, or this is a forked child";
    case Status::driver:
      return "the device was removed";
    default:
      return error_descr(status);
  }
}

void require(Status status, const char* call) {
  if (status != Status::success) {
    raise(status, std::string(call) + " of a sync event on the DPA: " + std::string(explain(status)));
  }
}

using Wait = Status (DpaSyncEvent::*)(std::uint64_t, std::uint64_t, std::chrono::nanoseconds) noexcept;

auto waiting(const char* call, Wait wait) {
  return [call, wait](const DpaSyncEventObject& self, std::uint64_t value, std::uint64_t mask,
                      std::optional<double> timeout) {
    const auto time = to_time(timeout, call);
    Status status = Status::success;
    call_blocking([&] { status = (self.get().get()->*wait)(value, mask, time); });
    if (status == Status::unexpected && sim::VirtualTime::is_on()) {
      raise_stuck(std::string(call) + " of a sync event on the DPA");
    }
    require(status, call);
  };
}

void bind_event(py::module_& module) {
  py::classh<DpaSyncEventObject> type(
      module, "DpaSyncEvent",
      "A sync event for kernels of the DPA, made by SyncEvent.dpa_handle(). Any thread may use it. Calls raise\n"
      "ShutdownError when the DPA has stopped, IoFailedError when it has failed, NotPermittedError for what the\n"
      "event's locations do not give to the DPA, BadStateError once the event has stopped.");
  type.def(
          "get",
          [](const DpaSyncEventObject& self) {
            std::uint64_t value = 0;
            require(self.get()->get(value), "get");
            return value;
          },
          "The value (doca_dpa_dev_sync_event_get).")
      .def(
          "update_set",
          [](const DpaSyncEventObject& self, std::uint64_t value) {
            require(self.get()->update_set(value), "update_set");
          },
          "value"_a, "Stores value (doca_dpa_dev_sync_event_update_set).")
      .def(
          "update_add",
          [](const DpaSyncEventObject& self, std::uint64_t value) {
            std::uint64_t before = 0;
            require(self.get()->update_add(value, before), "update_add");
            return before;
          },
          "value"_a,
          "Adds value atomically, modulo 2**64, and returns the value before\n"
          "(doca_dpa_dev_sync_event_update_add).");
  const auto wait = [&](const char* name, Wait function, const char* doc) {
    type.def(name, waiting(name, function), "value"_a, "mask"_a = whole_value, py::kw_only(), "timeout"_a = py::none(),
             doc);
  };
  wait("wait_gt", &DpaSyncEvent::wait_gt,
       "Sleeps until (the event's value & mask) > value. timeout in seconds (TimeOutError)\n"
       "(doca_dpa_dev_sync_event_wait_gt).");
  wait("wait_eq", &DpaSyncEvent::wait_eq, "Sleeps until (the event's value & mask) == value.");
  wait("wait_neq", &DpaSyncEvent::wait_neq,
       "Sleeps until (the event's value & mask) != value (doca_dpa_dev_sync_event_wait_ne).");
}

void bind_thread(py::module_& module) {
  py::classh<DpaThread>(module, "DpaThread", "The thread of the DPA that runs a kernel: the kernel's first argument.")
      .def_property_readonly("rank", &DpaThread::rank, "Of the threads of one launch: 0 .. num_threads - 1.")
      .def_property_readonly("num_threads", &DpaThread::num_threads, "The threads of the launch.")
      .def_property_readonly("is_stopping", &DpaThread::is_stopping,
                             "Whether the kernel should return: the DPA stops, or another kernel has failed.")
      .def("finish", &DpaThread::finish,
           "A thread that is woken again and again runs no more once this kernel has returned\n"
           "(doca_dpa_dev_thread_finish).");
  made_by(module, "DpaThread", "Dpa.launch()");
  made_by(module, "DpaSyncEvent", "SyncEvent.dpa_handle()");
}

void bind_run(py::module_& module) {
  py::classh<DpaRun>(module, "DpaLaunch", "One launch of a kernel, for pydoca.DpaRun.")
      .def("thread", &DpaRun::thread, "rank"_a)
      .def(
          "next_turn",
          [](DpaRun& self, DpaThread& thread) {
            bool runs = false;
            call_blocking([&] { runs = self.next_turn(thread); });
            return runs;
          },
          "thread"_a)
      .def(
          "fail", [](DpaRun& self, DpaThread& thread, const std::string& why) { self.fail(thread, why.c_str()); },
          "thread"_a, "why"_a)
      .def("end", &DpaRun::end, "thread"_a)
      .def("notify", &DpaRun::notify)
      .def_property_readonly("done", &DpaRun::is_done)
      .def(
          "wait",
          [](DpaRun& self, std::optional<double> timeout) {
            const auto time = to_time(timeout, "wait");
            Status status = Status::success;
            call_blocking([&] { status = self.wait(time); });
            drain_log();
            if (status == Status::unexpected && sim::VirtualTime::is_on()) raise_stuck("wait for a kernel");
            if (status != Status::success) raise(status, "wait for a kernel: " + self.explain(status));
          },
          "timeout"_a);
}

std::shared_ptr<DpaSyncEvent> event_of(const py::object& event, const char* what) {
  if (event.is_none()) return nullptr;
  if (py::isinstance<DpaSyncEventObject>(event)) return event.cast<const DpaSyncEventObject&>().get();
  throw py::type_error(
      format_text("{} must be a pydoca.DpaSyncEvent, as SyncEvent.dpa_handle() gives, not {}", what, type_name(event)));
}

/// wait: (event, threshold). done: (event, value, whether it is added).
std::shared_ptr<DpaRun> prepare(const DpaObject& self, const std::string& kernel, std::uint32_t num_threads,
                                const py::tuple& wait, const py::tuple& done, bool repeats) {
  return self.dpa()->prepare({.kernel = kernel,
                              .num_threads = num_threads,
                              .wait_event = event_of(wait[0], "wait_event"),
                              .wait_threshold = to_u64(py::object(wait[1]), "wait_threshold"),
                              .done_event = event_of(done[0], "done_event"),
                              .done_value = to_u64(py::object(done[1]), "done_set or done_add"),
                              .done_adds = done[2].cast<bool>(),
                              .repeats = repeats});
}

/// The kernel's view of a map: a memoryview, which keeps the memory.
py::object memory_of(const DpaObject& self, const py::object& mmap) {
  if (!py::isinstance<MmapObject>(mmap)) {
    throw py::type_error("a memory map is a pydoca.Mmap, not " + type_name(mmap));
  }
  const DpaMmap memory = self.dpa()->map(*mmap.cast<const MmapObject&>().get());
  auto view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(mmap.ptr()));
  if (!view) throw py::error_already_set();
  return memory.is_writable ? view : view.attr("toreadonly")();
}

}  // namespace

DpaObject::DpaObject(py::object device) : device_(std::move(device)), dpa_(Dpa::create(to_device(device_).get())) {}

void DpaObject::stop() {
  call_blocking([this] { dpa_->stop(); });
  drain_log();
}

void DpaObject::close() {
  if (closed_) return;
  call_blocking([this] { dpa_->close(); });
  closed_ = true;
  drain_log();
}

void DpaObject::close_if_idle() {
  if (dpa_->num_threads() == 0) close();
}

std::shared_ptr<Dpa> dpa_of(py::handle object) {
  return py::isinstance<DpaObject>(object) ? object.cast<const DpaObject&>().dpa() : nullptr;
}

void bind_dpa(py::module_& module) {
  bind_event(module);
  bind_thread(module);
  bind_run(module);
  py::classh<DpaObject>(module, "DpaEngine", "The base of pydoca.Dpa.")
      .def(py::init([](py::object dev) { return std::make_shared<DpaObject>(std::move(dev)); }), "dev"_a)
      .def("_start", [](const DpaObject& self) { self.dpa()->start(); })
      .def("_stop", &DpaObject::stop)
      .def("_close", &DpaObject::close)
      .def("_prepare", &prepare, "kernel"_a, "num_threads"_a, "wait"_a, "done"_a, "repeats"_a)
      .def("_memory", &memory_of, "mmap"_a)
      .def("_failure",
           [](const DpaObject& self) {
             return self.dpa()->last_error() == Status::success ? py::object(py::none())
                                                                : py::object(to_str(self.dpa()->failure()));
           })
      .def("_num_threads", [](const DpaObject& self) { return self.dpa()->num_threads(); })
      .def("_is_running", [](const DpaObject& self) { return self.dpa()->is_running(); })
      .def("_is_closed", &DpaObject::is_closed)
      .def("_device", &DpaObject::device);
}

}  // namespace pydoca::bindings
