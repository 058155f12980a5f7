#include <pydoca/faults.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "convert/value.hpp"

#include <pybind11/stl.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

/// An object that a plan holds: devices hold their plan, and may end in a thread without the GIL.
using Held = std::shared_ptr<PyObject>;

int release(void* object) {
  Py_DECREF(static_cast<PyObject*>(object));
  return 0;
}

Held hold(const py::object& object) {
  return {object.inc_ref().ptr(), [](PyObject* held) {
            if (Py_IsInitialized() == 0) return;
            if (PyGILState_Check() != 0) {
              Py_DECREF(held);
            } else if (Py_AddPendingCall(release, held) != 0) {
              return;  // too many are pending: this one stays
            }
          }};
}

std::function<bool(const FaultOperation&)> to_predicate(const py::object& when) {
  return [held = hold(when)](const FaultOperation& operation) {
    const py::gil_scoped_acquire gil;
    try {
      return py::reinterpret_borrow<py::function>(held.get())(to_str(operation.opcode), to_str(operation.device),
                                                              operation.length, operation.number)
          .cast<bool>();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("the predicate of a fault rule");
      return false;
    }
  };
}

/// A rule that is checked by itself. when: None, or a function of an operation's fields.
std::shared_ptr<FaultRule> make_rule(const py::object& keys, const py::object& when) {
  FaultRule rule = read_fault_rule(to_table(keys, "fault rule"));
  if (!when.is_none()) rule.when = to_predicate(when);
  static_cast<void>(FaultPlan::create({rule}));
  return std::make_shared<FaultRule>(std::move(rule));
}

class Plan final : NotCopied {
 public:
  /// seed: as in a file.
  Plan(const std::vector<std::shared_ptr<FaultRule>>& rules, const py::object& seed) {
    std::vector<FaultRule> copies;
    for (const std::shared_ptr<FaultRule>& rule : rules) copies.push_back(*rule);
    const Table table = to_table(py::dict("seed"_a = seed), "fault plan");
    plan_ = FaultPlan::create(std::move(copies), FaultPlan::load(table)->seed());
  }
  explicit Plan(std::shared_ptr<FaultPlan> plan) : plan_(std::move(plan)) {}

  FaultPlan& plan() const noexcept { return *plan_; }
  /// The keys of the rules of a file.
  py::list tables() const {
    py::list all;
    for (const FaultRule& rule : plan_->rules()) all.append(to_python(rule.keys));
    return all;
  }
  py::list report() const {
    py::list all;
    for (const FaultReport& report : plan_->report()) {
      all.append(py::make_tuple(report.matched, report.triggered, report.impossible, to_str(report.never)));
    }
    return all;
  }

 private:
  std::shared_ptr<FaultPlan> plan_;
};

py::object load_environment() {
  std::shared_ptr<FaultPlan> plan = FaultPlan::load_environment();
  drain_log();
  return plan != nullptr ? py::cast(std::make_shared<Plan>(std::move(plan))) : py::none();
}

}  // namespace

void bind_faults(py::module_& module) {
  py::classh<FaultRule>(module, "FaultRuleOfEngine", "The engine's part of a fault rule.")
      .def(py::init(&make_rule), "keys"_a, "when"_a = py::none())
      .def_property_readonly("opcodes", [](const FaultRule& self) { return self.opcodes; })
      .def_property_readonly("by", [](const FaultRule& self) { return self.by.count(); });
  py::classh<Plan>(module, "FaultPlanInForce", "The engine's part of a fault plan.")
      .def(py::init<const std::vector<std::shared_ptr<FaultRule>>&, const py::object&>(), "rules"_a, "seed"_a)
      .def_static(
          "load", [](const std::string& path) { return std::make_shared<Plan>(FaultPlan::load(path)); }, "path"_a,
          "The plan of a TOML file.")
      .def_property_readonly("tables", &Plan::tables)
      .def_property_readonly("seed", [](const Plan& self) { return self.plan().seed(); })
      .def("install",
           [](const Plan& self) {
             self.plan().install();
             drain_log();
           })
      .def("install_silently",
           [](const Plan& self) {
             self.plan().install_silently();
             drain_log();
           })
      .def("leave_force", [](const Plan& self) { return self.plan().leave_force(); })
      .def("report", &Plan::report)
      .def_property_readonly("is_in_force", [](const Plan& self) { return self.plan().is_in_force(); });
  module.def(
      "load_faults_of_environment", &load_environment,
      "The plan of PYDOCA_FAULTS, put in force unless another one is; None where there is none, or a call before "
      "this one returned it.");
}

}  // namespace pydoca::bindings
