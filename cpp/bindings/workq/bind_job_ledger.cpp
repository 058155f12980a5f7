#include <pydoca/job_ledger.hpp>

#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/parse.hpp"
#include "engine/engine_object.hpp"
#include "graph/graph_object.hpp"

#include <memory>
#include <utility>

namespace pydoca::bindings {

namespace {

using workq::JobLedger;

/// Python keeps the events, each by a number, which is the user data here.
class JobLedgerObject : NotCopied {
 public:
  JobLedgerObject(py::object engine, std::uint32_t depth)
      : engine_ref_(std::move(engine)), ledger_(to_engine(engine_ref_).engine().shared_from_this(), depth) {}

  JobLedger& ledger() noexcept { return ledger_; }
  void begin_run(std::uint64_t graph, const InstanceObject& run) { ledger_.begin(graph, run.instance()); }
  bool end(std::uint64_t member, std::uint64_t event) { return ledger_.end(member, {.user_data = event}); }
  bool end_run(std::uint64_t graph, const InstanceObject& run, std::uint64_t event) {
    return ledger_.end(graph, run.instance(), event);
  }
  py::object retrieve() {
    workq::Event event;
    const Status status = ledger_.retrieve(event);
    return status == Status::again ? py::none() : py::object(py::int_(event.user_data));
  }
  void each_reference(References& references) const { references.keep(engine_ref_); }

 private:
  py::object engine_ref_;
  JobLedger ledger_;
};

std::shared_ptr<JobLedgerObject> new_ledger(py::object engine, const py::object& depth) {
  return std::make_shared<JobLedgerObject>(std::move(engine), to_u32(depth, "depth", 1));
}

}  // namespace

void bind_job_ledger(py::module_& module) {
  py::classh<JobLedgerObject>(module, "JobLedger", "The rules of a work queue: how many jobs, which event is next.",
                              collectable<JobLedgerObject>())
      .def(py::init(&new_ledger), "pe"_a, "depth"_a)
      .def_property_readonly("depth", [](JobLedgerObject& self) { return self.ledger().depth(); })
      .def_property_readonly("num_jobs", [](JobLedgerObject& self) { return self.ledger().num_jobs(); })
      .def_property_readonly("is_full", [](JobLedgerObject& self) { return self.ledger().is_full(); })
      .def(
          "num_waiting", [](JobLedgerObject& self, std::uint64_t member) { return self.ledger().num_waiting(member); },
          "member"_a)
      .def("begin", [](JobLedgerObject& self) { self.ledger().begin(); })
      .def("begin_run", &JobLedgerObject::begin_run, "graph"_a, "run"_a)
      .def("end", &JobLedgerObject::end, "member"_a, "event"_a)
      .def("end_run", &JobLedgerObject::end_run, "graph"_a, "run"_a, "event"_a)
      .def("retrieve", &JobLedgerObject::retrieve)
      .def("clear", [](JobLedgerObject& self) { self.ledger().clear(); })
      .def_property(
          "event_driven", [](JobLedgerObject& self) { return self.ledger().is_event_driven(); },
          [](JobLedgerObject& self, bool on) { self.ledger().set_event_driven(on); })
      .def_property_readonly("event_handle", [](JobLedgerObject& self) { return self.ledger().event_handle(); })
      .def("event_handle_arm", [](JobLedgerObject& self) { self.ledger().event_handle_arm(); })
      .def("event_handle_clear", [](JobLedgerObject& self) { self.ledger().event_handle_clear(); });
}

}  // namespace pydoca::bindings
