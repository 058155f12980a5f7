#include <pydoca/faults.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/python.hpp"
#include "device/fields.hpp"

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

template <class Names>
auto index_of(const Names& names, std::string_view what, const py::handle& word) {
  const std::string text = to_utf8(word);
  for (std::size_t number = 0; number < names.size(); ++number) {
    if (names[number] == text) return number;
  }
  refuse_word(what, text, {names.begin(), names.end()});
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

std::function<void(Capabilities&)> to_misreport(const py::object& table, const std::string& where) {
  Capabilities scratch;
  change_capabilities(table, scratch, where);
  return [held = hold(table), where](Capabilities& capabilities) {
    const py::gil_scoped_acquire gil;
    change_capabilities(held.get(), capabilities, where);
  };
}

/// Of a dictionary whose keys and types pydoca.faults has checked.
FaultRule to_rule(const py::dict& table) {
  FaultRule rule;
  rule.action = static_cast<FaultAction>(index_of(fault_action_names, "fault rule: action", table["action"]));
  for (const py::handle opcode : table["opcodes"]) rule.opcodes.push_back(to_utf8(opcode));
  rule.device = to_utf8(table["device"]);
  rule.side = to_side(table["side"]);
  rule.nth = table["nth"].cast<std::uint64_t>();
  rule.every = table["every"].cast<std::uint64_t>();
  rule.probability = table["probability"].cast<double>();
  rule.times = table["times"].cast<std::uint64_t>();
  rule.after = std::chrono::nanoseconds(table["after"].cast<std::int64_t>());
  if (!table["until"].is_none()) rule.until = std::chrono::nanoseconds(table["until"].cast<std::int64_t>());
  if (!table["when"].is_none()) rule.when = to_predicate(table["when"]);
  rule.status = static_cast<Status>(table["status"].cast<std::uint32_t>());
  rule.by = std::chrono::nanoseconds(table["by"].cast<std::int64_t>());
  rule.corruption = static_cast<Corruption>(index_of(corruption_names, "fault rule: data", table["data"]));
  rule.offset = table["offset"].cast<std::optional<std::uint64_t>>();
  rule.value = table["value"].cast<std::uint8_t>();
  rule.length = table["length"].cast<std::optional<std::uint64_t>>();
  if (!table["capabilities"].is_none()) {
    rule.misreport = to_misreport(table["capabilities"], "fault rule: capabilities");
  }
  return rule;
}

class Plan final : NotCopied {
 public:
  Plan(const py::iterable& rules, std::uint64_t seed) {
    std::vector<FaultRule> made;
    for (const py::handle rule : rules) made.push_back(to_rule(py::reinterpret_borrow<py::dict>(rule)));
    plan_ = FaultPlan::create(std::move(made), seed);
  }

  FaultPlan& plan() const noexcept { return *plan_; }
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

template <class Names>
py::tuple to_tuple(const Names& names) {
  return py::tuple(py::cast(std::vector<std::string_view>(names.begin(), names.end())));
}

py::list meetable(const std::string& action) {
  const auto number = index_of(fault_action_names, "fault rule: action", py::str(action));
  py::list names;
  for (const std::string& opcode : fault_opcodes()) {
    if (can_meet(static_cast<FaultAction>(number), opcode)) names.append(opcode);
  }
  return names;
}

}  // namespace

void bind_faults(py::module_& module) {
  py::classh<Plan>(module, "FaultPlanInForce", "The engine's part of a fault plan.")
      .def(py::init<const py::iterable&, std::uint64_t>(), "rules"_a, "seed"_a)
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
  module.attr("FAULT_ACTIONS") = to_tuple(fault_action_names);
  module.attr("FAULT_OPCODES") = to_tuple(fault_opcodes());
  module.attr("CORRUPTIONS") = to_tuple(corruption_names);
  module.def("fault_opcodes_of", &meetable, "action"_a, "The opcodes that the action can meet.");
}

}  // namespace pydoca::bindings
