#include <pydoca/log.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"

#include <pybind11/stl.h>

#include <algorithm>

namespace pydoca::bindings {

namespace {

py::tuple to_tuple(const log::Record& record) {
  return py::make_tuple(static_cast<std::uint32_t>(record.family), static_cast<std::uint32_t>(record.level),
                        to_str(record.source), to_str(record.text), record.realtime_ns, record.boottime_ns,
                        record.thread_id);
}

// Takes only the records that are there at the beginning: a thread that logs all the time cannot keep this loop
// running.
py::list pop(log::Ring& ring) {
  py::list records;
  log::Record record;
  for (std::size_t left = ring.size(); left > 0 && ring.try_pop(record); --left) records.append(to_tuple(record));
  return records;
}

py::list pop_lines(log::Ring& ring) {
  py::list lines;
  log::Record record;
  for (std::size_t left = ring.size(); left > 0 && ring.try_pop(record); --left)
    lines.append(to_str(log::format(record)));
  return lines;
}

log::Family to_family(bool engine) { return engine ? log::Family::engine : log::Family::application; }

std::uint32_t number(log::Level level) { return static_cast<std::uint32_t>(level); }

void bind_ring(py::module_& module) {
  py::classh<log::Ring>(module, "LogRing", "A bounded queue of log records, filled by the engine's threads.")
      .def(py::init([](std::size_t capacity, bool drop_newest) {
             return std::make_shared<log::Ring>(capacity,
                                                drop_newest ? log::Overflow::drop_newest : log::Overflow::drop_oldest);
           }),
           "capacity"_a, py::kw_only(), "drop_newest"_a = false)
      .def("pop", pop,
           "Takes the records that are in the queue now: (family, level, source, text, realtime_ns, boottime_ns, "
           "thread_id).")
      .def("pop_lines", pop_lines, "The same, each as the line that a file would get.")
      .def("__len__", &log::Ring::size)
      .def_property_readonly("capacity", &log::Ring::capacity)
      .def_property_readonly("lost", &log::Ring::lost);
}

void bind_sink(py::module_& module) {
  using log::Sink;
  const auto open = [](bool engine, std::shared_ptr<log::Ring> ring) {
    return Sink::ring(to_family(engine), std::move(ring));
  };
  const auto file = [](bool engine, const std::string& path) { return Sink::file(to_family(engine), path); };
  const auto fd = [](bool engine, int descriptor) { return Sink::fd(to_family(engine), descriptor); };
  const auto syslog = [](bool engine, const std::string& name) { return Sink::syslog(to_family(engine), name); };
  const auto set_lower = [](Sink& sink, std::uint32_t level) { sink.set_lower_limit(log::level_of(level)); };
  const auto set_upper = [](Sink& sink, std::uint32_t level) { sink.set_upper_limit(log::level_of(level)); };
  const auto set_sdk = [](Sink& sink, std::uint32_t level) { sink.set_sdk_level(log::level_of(level)); };
  py::classh<Sink>(module, "LogSink", "The destination of the messages of one family, until close().")
      .def_static("ring", open, "engine"_a, "ring"_a)
      .def_static("standard", &Sink::standard)
      .def_static("file", file, "engine"_a, "path"_a)
      .def_static("fd", fd, "engine"_a, "fd"_a)
      .def_static("syslog", syslog, "engine"_a, "name"_a)
      .def("set_lower_limit", set_lower, "level"_a)
      .def("set_upper_limit", set_upper, "level"_a)
      .def("set_sdk_level", set_sdk, "level"_a)
      .def("set_lower_limit_strict", &Sink::set_lower_limit_strict)
      .def("set_upper_limit_strict", &Sink::set_upper_limit_strict)
      .def_property_readonly("lower_limit", [](const Sink& sink) { return number(sink.lower_limit()); })
      .def_property_readonly("upper_limit", [](const Sink& sink) { return number(sink.upper_limit()); })
      .def_property_readonly("sdk_level", [](const Sink& sink) { return number(sink.sdk_level()); })
      .def_property_readonly("is_engines", [](const Sink& sink) { return sink.family() == log::Family::engine; })
      .def_property_readonly("lost", &Sink::lost)
      .def("close", &Sink::close);
}

void bind_source(py::module_& module) {
  const auto log = [](const log::Source& source, std::uint32_t level, const std::string& text) {
    source.log(log::level_of(level), text);
  };
  py::classh<log::Source>(module, "LogSource",
                          "An application's source of messages. It is listed in log_sources() while it lives.")
      .def(py::init([](std::string name) { return std::make_shared<log::Source>(std::move(name)); }), "name"_a)
      .def_property_readonly("name", [](const log::Source& source) { return to_str(source.name()); })
      .def("log", log, "level"_a, "text"_a);
}

}  // namespace

void bind_log(py::module_& module) {
  bind_ring(module);
  bind_sink(module);
  bind_source(module);
  module.def("log_sources", &log::sources);
  module.def(
      "log_level", [](const std::string& text) { return number(log::level_of(text)); }, "text"_a,
      "The number of the level with this name or number.");
  module.def(
      "log_environment_levels",
      [] {
        const auto [lower, sdk] = log::environment_levels();
        const auto to_python = [](auto level) { return level ? py::object(py::int_(number(*level))) : py::none(); };
        return py::make_tuple(to_python(lower), to_python(sdk));
      },
      "The levels of PYDOCA_LOG_LEVEL and PYDOCA_SDK_LOG_LEVEL; None where they are not set.");
  module.def(
      "log_engine",
      [](std::uint32_t level, const std::string& source, const std::string& text) {
        log::engine(log::level_of(level), source, text);
      },
      "level"_a, "source"_a, "text"_a);
  module.def(
      "log_global_limits",
      [] {
        return py::make_tuple(number(log::global_lower_limit()), number(log::global_upper_limit()),
                              number(log::global_sdk_limit()));
      },
      "The limits (lower, upper, sdk).");
  module.def(
      "log_set_lower_limit", [](std::uint32_t level) { log::set_global_lower_limit(log::level_of(level)); }, "level"_a);
  module.def(
      "log_set_upper_limit", [](std::uint32_t level) { log::set_global_upper_limit(log::level_of(level)); }, "level"_a);
  module.def(
      "log_set_sdk_limit", [](std::uint32_t level) { log::set_global_sdk_limit(log::level_of(level)); }, "level"_a);
}

}  // namespace pydoca::bindings
