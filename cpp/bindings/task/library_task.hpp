/// Tasks as the tables of traits describe them: operands by name, spare objects, and the methods that take the
/// operands.
#pragma once

#include <pydoca/task_traits.hpp>

#include "call/raw_method.hpp"
#include "convert/pybind.hpp"
#include "task/context_object.hpp"
#include "task/task_object.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// The operands of a task; None for each that tasks of its kind do not have.
struct Operands {
  py::object connection = py::none();
  py::object src = py::none();
  py::object dst = py::none();
  py::object buf = py::none();
  py::object result = py::none();
  py::object event = py::none();
  std::uint64_t compare = 0;
  std::uint64_t number = 0;     ///< the number to add or to swap in, or the algorithm
  std::uint32_t immediate = 0;  ///< in this machine's byte order

  /// Throws TypeError or InvalidValueError for what does not fit.
  void set(Operand operand, PyObject* value);
  /// The value of the operand that a call may leave out.
  void set_default(std::uint64_t value) noexcept { number = value; }
  /// Throws TypeError unless the operand is a Buf or a SyncEventRemoteNet, as its kind requires; bad_state for a
  /// released Buf.
  void require_types() const;
};

class LibraryTaskObject : public TaskObject {
 public:
  /// kind: the index of the task in its library's table. traits: its entry there.
  LibraryTaskObject(py::object context, Task& slot, std::size_t kind, const TaskTraits& traits)
      : TaskObject(std::move(context), slot, kind), kind_(kind), traits_(traits) {}

  const Operands& operands() const noexcept { return operands_; }
  /// For a task that no other code refers to.
  void prepare(Operands operands) noexcept { operands_ = std::move(operands); }
  // For another submission. Throws in_use in flight, invalid_value when tasks of this kind lack the operand.
  // Throws TypeError for an object of another class.
  void set_object(py::object Operands::* which, Operand operand, py::object value);
  void set_number(Operand operand, py::handle value);

  std::string describe() const override;
  void each_reference(References& references) override;
  void clear() override;

 protected:
  std::size_t kind() const noexcept override { return kind_; }
  const TaskTraits& traits() const noexcept { return traits_; }
  std::vector<const Buf*> lent_bufs() const override;
  /// A derived class gives the slot its operands, then calls this.
  void set_operands() override;
  /// Keeps the connection, which says from where a message came.
  void forget_operands() noexcept override;
  /// What a setter of a derived class has against it at this moment; throws. what: of the message.
  virtual void require_settable(Operand /*operand*/, const std::string& /*what*/) const {}
  void keep_connection(py::object connection) noexcept { operands_.connection = std::move(connection); }

 private:
  const std::size_t kind_;
  const TaskTraits& traits_;
  Operands operands_;
  std::uint64_t length_ = 0;  ///< the bytes of src or buf, for messages
};

/// A task of that kind with these operands: a spare of the context, or a new one around new_slot(), which throws when
/// there is no slot. context is the Python object, Object its class. user_data may be null.
template <class TaskClass, class Object, class Prepared, class NewSlot>
py::object make_task(py::handle context, std::size_t kind, Prepared&& operands, py::handle user_data, bool submit,
                     const NewSlot& new_slot) {
  auto& self = object_of<Object>(context.ptr());
  self.require_thread("make a task");
  py::object object = self.tasks().take_spare(context, kind);
  if (!object) [[unlikely]] {
    object = TaskObject::make<TaskClass>(py::reinterpret_borrow<py::object>(context), new_slot(self));
  }
  auto& task = object_of<TaskClass>(object.ptr());
  task.prepare(std::forward<Prepared>(operands));
  if (user_data) task.set_user_data(py::reinterpret_borrow<py::object>(user_data));
  if (submit) task.submit(SubmitFlags::flush, true);
  return object;
}

/// The name of an operand as Python's parameter; empty for one that is not a parameter.
constexpr std::string_view parameter_name(Operand operand) noexcept {
  const bool is_value = operand == Operand::set_val || operand == Operand::inc_val || operand == Operand::wait_val;
  return operand == Operand::fetched ? "" : is_value ? "value" : name_of(operand);
}

/// The parameters of the method that makes tasks with these traits: the operands, user_data, submit.
template <const TaskTraits& traits>
struct TaskParameters {
  static constexpr std::size_t size = static_cast<std::size_t>(
      std::ranges::count_if(traits.operands, [](Operand operand) { return !parameter_name(operand).empty(); }));
  static constexpr std::array<const char*, size + 2> names = [] {
    std::array<const char*, size + 2> names{};
    for (std::size_t i = 0; i < size; ++i) names[i] = parameter_name(traits.operands[i]).data();
    names[size] = "user_data";
    names[size + 1] = "submit";
    return names;
  }();
  static constexpr std::size_t num_required = size - (traits.optional != Operand::none ? 1 : 0);
  static_assert(num_required == size || traits.operands[num_required] == traits.optional);
  static constexpr Parameters all{traits.name, names, num_required, size};
};

/// The signature of that method, and its doc.
std::string task_doc(const TaskTraits& traits, const char* doc);

/// A method that makes tasks: make(self, operands, user_data or null, submit) returns the task. Request takes the
/// operands by set(operand, value), and set_default(value) for the one that the call may leave out.
template <const TaskTraits& traits, auto make, class Request = Operands>
PyObject* make_task_of(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  using Given = TaskParameters<traits>;
  return guarded([&] {
    const auto values = arguments<Given::size + 2>(Given::all, args, num_args, keywords);
    Request request{};
    if constexpr (traits.optional != Operand::none) request.set_default(traits.default_number);
    for (std::size_t i = 0; i < Given::size; ++i) {
      if (i < Given::num_required || values[i] != nullptr) request.set(traits.operands[i], values[i]);
    }
    return make(self, std::move(request), values[Given::size], is_true(values[Given::size + 1])).release().ptr();
  });
}

template <const TaskTraits& traits, auto make, class Request = Operands>
PyMethodDef task_method(const char* doc) {
  static const std::string text = task_doc(traits, doc);
  return raw_entry(traits.name, &make_task_of<traits, make, Request>, text.c_str());
}

}  // namespace pydoca::bindings
