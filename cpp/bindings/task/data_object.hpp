/// What the bindings of libraries have in common whose tasks read src and fill dst, or read one buf.
#pragma once

#include <pydoca/task_traits.hpp>

#include "call/keywords.hpp"
#include "convert/parse.hpp"
#include "convert/pybind.hpp"
#include "memory/buf_object.hpp"
#include "memory/mmap_object.hpp"
#include "task/library_task.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pydoca::bindings {

/// Slot: the library's class of the task; task_kind: the place of its kind in the context; may_be_memory: whether
/// memory serves as a buf. Tasks with more operands override set_others().
template <class Slot, const TaskTraits& task_traits, std::size_t task_kind = 0, bool may_be_memory = false>
class DataTaskObject : public LibraryTaskObject {
 public:
  DataTaskObject(py::object context, Slot& slot)
      : LibraryTaskObject(std::move(context), slot, task_kind, task_traits, room_) {}

 protected:
  /// Null once the task is freed.
  Slot* library_task() const noexcept { return static_cast<Slot*>(slot()); }
  void set_operands() final {
    Slot& task = *library_task();
    static_assert(source_of(task_traits) != TaskTraits::none);
    Buf* const source = buf(source_of(task_traits));
    if constexpr (task_traits.has("src")) {
      static_cast<void>(task.set_src(source));
      static_cast<void>(task.set_dst(buf(task_traits.find("dst"))));
    } else {
      static_cast<void>(task.set_buf(source));
    }
    set_others(task);
    note_length(source);
  }
  virtual void set_others(Slot& /*task*/) {}
  bool takes_memory() const noexcept final { return may_be_memory; }

 private:
  Buf* buf(std::size_t place) {
    if constexpr (may_be_memory) {
      return take_buf(place);
    } else {
      return element_of(operand(place).object);
    }
  }

  OperandValue room_[task_traits.operands.size()];
};

/// A library's method that makes a task. Its parameters are the operands, user_data and the task.
template <class Method>
struct TaskMethod;
template <class Library, class... Parameters>
struct TaskMethod<Status (Library::*)(Parameters...) noexcept> {
  static constexpr std::size_t num_given = sizeof...(Parameters) - 1;
  template <std::size_t place>
  using Parameter = std::tuple_element_t<place, std::tuple<Parameters...>>;
  using Slot = std::remove_pointer_t<std::remove_reference_t<Parameter<num_given>>>;

  /// Takes a task without operands, which it gets before each submission.
  static Status call(Library& library, Status (Library::*method)(Parameters...) noexcept, Slot*& slot) noexcept {
    return [&]<std::size_t... place>(std::index_sequence<place...> /*all*/) {
      return (library.*method)(Parameter<place>()..., slot);
    }(std::make_index_sequence<num_given>());
  }
};

/// A kind of tasks of a library: its traits, and the library's methods for its conf, its number and its tasks.
template <const TaskTraits& task_traits, auto set_tasks, auto count_tasks, auto take_task>
struct DataKind {
  using Method = TaskMethod<decltype(take_task)>;
  using Slot = Method::Slot;
  static constexpr const TaskTraits& traits = task_traits;
  static constexpr auto set_conf = set_tasks;
  static constexpr auto num_tasks = count_tasks;
  template <class Library>
  static Status take(Library& library, Slot*& slot) noexcept {
    return Method::call(library, take_task, slot);
  }
};

/// A context whose tasks are of these kinds, in the order of their numbers.
template <class Library, class... Kinds>
class DataContextObject final : public ContextObject {
  template <std::size_t kind>
  using KindAt = std::tuple_element_t<kind, std::tuple<Kinds...>>;

 public:
  DataContextObject(py::object engine, const py::object& device, std::uint32_t num_tasks, ContextOptions options)
      : ContextObject(std::move(engine), device, create(device, num_tasks), std::move(options)) {}

  Library& library() const noexcept { return static_cast<Library&>(context()); }

  /// Makes the task of the method of that kind.
  template <class TaskClass, std::size_t kind = 0>
  static py::object make(PyObject* self, GivenOperands<KindAt<kind>::traits.operands.size()>&& operands,
                         py::handle user_data, bool submit) {
    return make_task<TaskClass, DataContextObject>(
        self, kind, std::move(operands), user_data, submit,
        [](DataContextObject& context) -> auto& { return context.template new_slot<kind>(); });
  }

  /// not_idle: the exception of a setter that is called while the context is not IDLE.
  static py::classh<DataContextObject, ContextObject> bind(py::module_& module, const char* name, const char* doc,
                                                           std::span<PyMethodDef> methods,
                                                           const char* not_idle = "BadStateError") {
    py::classh<DataContextObject, ContextObject> type(module, name, doc);
    const auto init = [](py::object pe, const py::object& dev, const py::object& num_tasks, const py::kwargs& options) {
      const std::uint32_t most = Library::max_num_tasks(to_device(dev).get()->info());
      return std::make_shared<DataContextObject>(std::move(pe), dev, to_u32(num_tasks, "num_tasks", 1, most),
                                                 ContextOptions::of(options));
    };
    type.def(py::init(init), py::arg("pe"), py::arg("dev"), py::kw_only(), py::arg("num_tasks") = 32,
             signature({"pe, dev, *, num_tasks=32", ContextOptions::keywords}).c_str());
    bind_confs(type, name, not_idle, std::index_sequence_for<Kinds...>());
    add_methods(type, methods);
    return type;
  }

 private:
  /// "mmap_advise", of MmapAdvise.
  static std::string library_name(std::string_view class_name) {
    std::string text;
    for (const char letter : class_name) {
      const bool begins_word = letter >= 'A' && letter <= 'Z';
      if (begins_word && !text.empty()) text += '_';
      text += static_cast<char>(begins_word ? letter - 'A' + 'a' : letter);
    }
    return text;
  }
  template <typename Class, std::size_t... kinds>
  static void bind_confs(Class& type, std::string_view name, const char* not_idle,
                         std::index_sequence<kinds...> /*all*/) {
    (bind_conf<kinds>(type, name, not_idle), ...);
  }
  template <std::size_t kind, typename Class>
  static void bind_conf(Class& type, std::string_view name, const char* not_idle) {
    using Kind = KindAt<kind>;
    const auto set = [](DataContextObject& self, py::object on_completion, py::object on_error, py::handle num_tasks) {
      self.set_conf(kind, {std::move(on_completion), std::move(on_error)}, num_tasks, [&](std::uint32_t count) {
        (self.library().*Kind::set_conf)(TaskObject::on_complete, TaskObject::on_complete, count);
      });
    };
    const std::string task = Kind::traits.name;
    const std::string doc =
        "The number of tasks, in 1..max_num_tasks, and their callbacks, as the constructor's keywords have them; what\n"
        "is left out is the constructor's default. Raises " +
        std::string(not_idle) + " unless IDLE, InvalidValueError\n(doca_" + library_name(name) + "_task_" + task +
        "_set_conf).";
    type.def(("set_" + task + "_conf").c_str(), set, py::arg("on_completion") = py::none(),
             py::arg("on_error") = py::none(), py::arg("num_tasks") = 32, doc.c_str());
    type.def_property_readonly(
        kind == 0 ? "num_tasks" : ("num_" + task + "_tasks").c_str(),
        [](const DataContextObject& self) { return (self.library().*Kind::num_tasks)(); },
        "How many tasks may be allocated at a time.");
  }
  static std::shared_ptr<Library> create(const py::object& device, std::uint32_t num_tasks) {
    auto library = Library::create(to_device(device).get());
    (((*library).*Kinds::set_conf)(TaskObject::on_complete, TaskObject::on_complete, num_tasks), ...);
    return library;
  }
  template <std::size_t kind>
  auto& new_slot() {
    typename KindAt<kind>::Slot* slot = nullptr;
    const Status status = allocate_slot([&] { return KindAt<kind>::take(library(), slot); });
    if (status != Status::success) refuse_task(status, kind, KindAt<kind>::traits.name);
    return *slot;
  }
};

}  // namespace pydoca::bindings
