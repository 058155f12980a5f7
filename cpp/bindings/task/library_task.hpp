/// Tasks as the tables of traits describe them: operands by name, free lists of objects, and the methods that take the
/// operands.
#pragma once

#include <pydoca/task_traits.hpp>

#include "call/raw_method.hpp"
#include "convert/pybind.hpp"
#include "memory/buf_object.hpp"
#include "task/context_object.hpp"
#include "task/task_object.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// An operand as a task has it: an object, or the number that it means.
struct OperandValue {
  py::object object;
  std::uint64_t number = 0;
  Buf* own = nullptr;  ///< over object, where that is memory: from a submission to its end

  /// Takes the operand of given, which gets this one's object.
  void take(OperandValue& given) noexcept {
    std::swap(object.ptr(), given.object.ptr());  // swapping the objects would ask four times whether one ends
    number = given.number;
  }
};

/// The place of the operand that a task reads; TaskTraits::none when it reads none.
constexpr std::size_t source_of(const TaskTraits& traits) noexcept {
  return traits.has(OperandType::source) ? traits.find(OperandType::source) : traits.find("src");
}

/// The operands that a call gives, by their places in the task's traits.
struct GivenOperand : OperandValue {
  PyObject* given = nullptr;  ///< what the call has; null where it was left out
};
template <std::size_t count>
using GivenOperands = std::array<GivenOperand, count>;

/// What value means as an operand of that kind. may_be_memory: whether memory serves as a buf. Throws TypeError or
/// InvalidValueError for what does not fit, bad_state for a released Buf.
OperandValue to_operand(const Operand& operand, PyObject* value, bool may_be_memory);

/// What require_buf_or_memory() does for all that plain_buf() does not know.
void require_other_operand(PyObject* value);

/// Throws TypeError unless value is a Buf, memory, None or null, bad_state for a released Buf.
inline void require_buf_or_memory(PyObject* value) {
  if (plain_buf(value) == nullptr) [[unlikely]] {
    require_other_operand(value);
  }
}

class LibraryTaskObject : public TaskObject {
 public:
  /// kind: the index of the task in its library's table. traits: its entry there. operands: room of the derived class,
  /// which may not have been constructed yet.
  LibraryTaskObject(py::object context, Task& slot, std::size_t kind, const TaskTraits& traits, OperandValue* operands)
      : TaskObject(std::move(context), slot, kind), kind_(kind), traits_(traits), operands_(operands) {}

  /// Sets the operands of a task that no other code refers to.
  template <std::size_t count>
  void prepare(GivenOperands<count>&& operands) noexcept {
    for (std::size_t place = 0; place < count; ++place) operands_[place].take(operands[place]);
  }
  /// The operand of that name, for another submission. Throws in_use in flight, what to_operand() does, invalid_value
  /// when tasks of this kind lack the operand.
  void set(const Operand& wanted, py::handle value);
  // None, or 0 for a number, when tasks of this kind lack it.
  py::object get(const Operand& wanted) const;
  std::uint64_t number(const Operand& wanted) const noexcept;

  std::string describe() const override;
  void each_reference(References& references) override;
  void clear() override;

 protected:
  std::size_t kind() const noexcept override { return kind_; }
  const TaskTraits& traits() const noexcept { return traits_; }
  const OperandValue& operand(std::size_t place) const noexcept { return operands_[place]; }
  std::span<OperandValue> operands() const noexcept { return {operands_, traits_.operands.size()}; }
  std::vector<const Buf*> lent_bufs() const override;
  /// A derived class gives the slot its operands, then calls this, or note_length().
  void set_operands() override;
  /// Keeps the bytes that source has, for messages; null: the task reads nothing.
  void note_length(const Buf* source) noexcept { length_ = source != nullptr ? source->list_data_len() : 0; }
  /// A derived class that overrides it, and takes memory, calls it.
  void completed(Status /*status*/) override { not_submitted(); }
  void not_submitted() noexcept override {
    if (has_own_bufs_) [[unlikely]] {
      give_back_own_bufs();
    }
  }
  /// Whether memory serves as a buf: the operation tells nothing by the data section that it leaves.
  virtual bool takes_memory() const noexcept { return false; }
  /// The buf at that place, for the slot; null for none. Memory gets one of the context's. Throws what area_of() does,
  /// bad_state for a released Buf.
  Buf* take_buf(std::size_t place) {
    const py::object& object = operands_[place].object;
    if (Buf* const plain = plain_buf(object.ptr())) return plain;
    return names_memory(object) ? take_own_buf(place) : element_of(object);
  }
  void forget_operands() noexcept override;
  /// What a setter of a derived class has against it at this moment; throws. what begins the message.
  virtual void require_settable(std::string_view /*name*/, const std::string& /*what*/) const {}

 private:
  static bool names_memory(const py::object& operand) {
    return operand && !is_buf(operand.ptr()) && !operand.is_none();
  }
  Buf* take_own_buf(std::size_t place);
  void give_back_own_bufs() noexcept;
  /// The buf that the operation at the device has, or would have; null for none, and for memory while it is idle.
  const Buf* buf_at(std::size_t place) const;

  const std::size_t kind_;
  const TaskTraits& traits_;
  OperandValue* const operands_;
  bool has_own_bufs_ = false;
  std::uint64_t length_ = 0;  ///< the bytes of src or buf, for messages
};

/// A property for a buf of a task: the class of a LibraryTaskObject.
template <typename Class>
void bind_operand(Class& type, const Operand& operand, const char* doc) {
  using TaskClass = Class::type;
  type.def_property(
      operand.name, [&operand](const TaskClass& self) { return self.get(operand); },
      [&operand](TaskClass& self, const py::object& value) { self.set(operand, value); }, doc);
}

/// A task of that kind with these operands: one of the context's free list, or a new one around new_slot(), which
/// throws when there is no slot. context is the Python object, Object its class. user_data may be null.
template <class TaskClass, class Object, class Prepared, class NewSlot>
py::object make_task(py::handle context, std::size_t kind, Prepared&& operands, py::handle user_data, bool submit,
                     const NewSlot& new_slot) {
  auto& self = object_of<Object>(context.ptr());
  self.require_thread("make a task");
  py::object object = self.tasks().take_free(context, kind);
  if (!object) [[unlikely]] {
    object = TaskObject::make<TaskClass>(py::reinterpret_borrow<py::object>(context), new_slot(self));
  }
  auto& task = object_of<TaskClass>(object.ptr());
  task.prepare(std::forward<Prepared>(operands));
  if (user_data) task.set_user_data(py::reinterpret_borrow<py::object>(user_data));
  if (submit) task.submit(SubmitFlags::flush, true);
  return object;
}

/// Whether the operand is a parameter of the method that makes the task.
constexpr bool is_parameter(const Operand& operand) noexcept { return operand.type != OperandType::fetched; }

/// The parameters of the method that makes tasks with these traits: the operands, user_data, submit.
template <const TaskTraits& traits>
struct TaskParameters {
  static constexpr std::size_t size = static_cast<std::size_t>(std::ranges::count_if(traits.operands, &is_parameter));
  static_assert(std::ranges::is_partitioned(traits.operands, &is_parameter));
  static constexpr std::array<const char*, size + 2> names = [] {
    std::array<const char*, size + 2> names{};
    for (std::size_t i = 0; i < size; ++i) names[i] = traits.operands[i].parameter;
    names[size] = "user_data";
    names[size + 1] = "submit";
    return names;
  }();
  static constexpr std::size_t num_required = static_cast<std::size_t>(
      std::ranges::count_if(traits.operands, [](const Operand& operand) { return !operand.may_be_left_out; }));
  static constexpr std::size_t num_needed = std::min(num_required, size);
  static constexpr Parameters all{traits.name, names, num_needed, size};
};

/// The signature of that method, and its doc.
std::string task_doc(const TaskTraits& traits, const char* doc);

/// value: null where the call left the operand out.
template <const TaskTraits& traits, std::size_t place, bool may_be_memory>
void take_operand(GivenOperand& taken, PyObject* value) {
  constexpr const Operand& operand = traits.operands[place];
  taken.given = value;
  if constexpr (operand.is_buf()) {
    taken.object.ptr() = Py_XNewRef(value);  // it was null
    if constexpr (may_be_memory) {
      require_buf_or_memory(value);
    } else {
      static_cast<void>(element_of(taken.object));
    }
  } else if (operand.may_be_left_out && value == nullptr) {
    taken.number = operand.standing;
  } else {
    static_cast<OperandValue&>(taken) = to_operand(operand, value, may_be_memory);
  }
}

/// A method that makes tasks: make(self, operands, user_data or null, submit) returns the task.
template <const TaskTraits& traits, auto make, bool may_be_memory>
PyObject* make_task_of(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  using Given = TaskParameters<traits>;
  return guarded([&] {
    const auto values = arguments<Given::size + 2>(Given::all, args, num_args, keywords);
    GivenOperands<Given::size> operands;
    [&]<std::size_t... place>(std::index_sequence<place...>) {
      (take_operand<traits, place, may_be_memory>(operands[place], values[place]), ...);
    }(std::make_index_sequence<Given::size>());
    return make(self, std::move(operands), values[Given::size], is_true(values[Given::size + 1])).release().ptr();
  });
}

/// may_be_memory: as the tasks' takes_memory() says.
template <const TaskTraits& traits, auto make, bool may_be_memory = false>
PyMethodDef task_method(const char* doc) {
  static const std::string text = task_doc(traits, doc);
  return raw_entry(traits.name, &make_task_of<traits, make, may_be_memory>, text.c_str());
}

}  // namespace pydoca::bindings
