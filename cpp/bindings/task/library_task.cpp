#include "task/library_task.hpp"

#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "memory/buf_object.hpp"
#include "memory/sync_event_remote_net.hpp"

#include <utility>

namespace pydoca::bindings {

namespace {

OperandValue to_event(PyObject* value) {
  const auto event = py::reinterpret_borrow<py::object>(value);
  if (!event.is_none() && !py::isinstance<SyncEventRemoteNetObject>(event)) {
    throw py::type_error("a pydoca.SyncEventRemoteNet is needed, not " + type_name(event) +
                         "; Device.import_sync_event_remote_net() gives one");
  }
  return {.object = event};
}

/// The default in Python's syntax.
std::string default_of(const Operand& operand) {
  return operand.type == OperandType::enumerator ? "'" + std::string(operand.names[operand.standing]) + "'"
                                                 : std::to_string(operand.standing);
}

}  // namespace

void require_other_operand(PyObject* value) {
  if (value == nullptr || value == Py_None) return;
  if (is_buf(value)) {
    static_cast<void>(object_of<BufObject>(value).get());
  } else if (!is_memory(value)) {
    throw py::type_error("a pydoca.Buf, a pydoca.Mmap, or memory that a map has, such as an array, is needed, not " +
                         std::string(Py_TYPE(value)->tp_name));
  }
}

OperandValue to_operand(const Operand& operand, PyObject* value, bool may_be_memory) {
  switch (operand.type) {
    case OperandType::source:
    case OperandType::target:
    case OperandType::remote: {
      auto object = py::reinterpret_borrow<py::object>(value);
      if (may_be_memory) {
        require_buf_or_memory(value);
      } else {
        static_cast<void>(element_of(object));
      }
      return {.object = std::move(object)};
    }
    case OperandType::event:
      return to_event(value);
    case OperandType::u32:
      return {.object = {}, .number = to_u32(value, operand.parameter)};
    case OperandType::u64:
      return {.object = {}, .number = to_u64(value, operand.parameter)};
    case OperandType::enumerator:
      return {.object = {}, .number = to_enumerator(value, operand.parameter, operand.names)};
    case OperandType::fetched:
      break;
  }
  return {};
}

std::string task_doc(const TaskTraits& traits, const char* doc) {
  std::string text = std::string(traits.name) + "($self, /";
  for (const Operand& operand : traits.operands) {
    if (!is_parameter(operand)) continue;
    text.append(", ").append(operand.parameter);
    if (operand.may_be_left_out) text.append("=").append(default_of(operand));
  }
  return text + ", *, user_data=None, submit=True)\n--\n\n" + doc;
}

void LibraryTaskObject::set(const Operand& wanted, py::handle value) {
  const std::string what = "set " + std::string(wanted.name);
  require_idle(what);
  OperandValue given = to_operand(wanted, value.ptr(), takes_memory());
  const std::size_t place = traits_.find(wanted.name);
  if (place == TaskTraits::none) raise(Status::invalid_value, what + ": " + describe() + " has none");
  require_settable(wanted.name, what);
  const OperandValue dropped = std::exchange(operands_[place], std::move(given));
}

py::object LibraryTaskObject::get(const Operand& wanted) const {
  const std::size_t place = traits_.find(wanted.name);
  return place != TaskTraits::none && operands_[place].object ? operands_[place].object : py::none();
}

std::uint64_t LibraryTaskObject::number(const Operand& wanted) const noexcept {
  const std::size_t place = traits_.find(wanted.name);
  return place != TaskTraits::none ? operands_[place].number : 0;
}

std::vector<const Buf*> LibraryTaskObject::lent_bufs() const {
  std::vector<const Buf*> lists;
  for (std::size_t place = 0; place < traits_.operands.size(); ++place) {
    if (!traits_.operands[place].is_buf()) continue;
    const Buf* const list = buf_at(place);
    // A task does not lend the memory of a network peer.
    const bool is_remote = traits_.has(OperandType::remote) && list != nullptr && list->mmap()->is_from_export();
    if (list != nullptr && !is_remote) lists.push_back(list);
  }
  return lists;
}

Buf* LibraryTaskObject::take_own_buf(std::size_t place) {
  OperandValue& operand = operands_[place];
  const Operand& what = traits_.operands[place];
  const bool is_source = what.type == OperandType::source;
  const Area area = area_of(operand.object, *context().context().device(), what.parameter, !is_source);
  operand.own = &context().area_bufs().get(area, is_source);
  has_own_bufs_ = true;
  return operand.own;
}

void LibraryTaskObject::give_back_own_bufs() noexcept {
  for (OperandValue& operand : operands()) {
    if (Buf* const own = std::exchange(operand.own, nullptr)) static_cast<void>(own->dec_refcount());
  }
  has_own_bufs_ = false;
}

const Buf* LibraryTaskObject::buf_at(std::size_t place) const {
  const OperandValue& operand = operands_[place];
  if (operand.own != nullptr) return operand.own;
  return names_memory(operand.object) ? nullptr : element_of(operand.object);
}

void LibraryTaskObject::set_operands() {
  const std::size_t place = source_of(traits_);
  note_length(place != TaskTraits::none ? buf_at(place) : nullptr);
}

void LibraryTaskObject::forget_operands() noexcept {
  // Numbers refer to nothing, and stay readable.
  for (OperandValue& operand : operands()) {
    const py::object dropped = std::move(operand.object);
  }
}

std::string LibraryTaskObject::describe() const {
  const std::string name = std::string(context().context().kind()) + " " + traits_.name;
  return length_ != 0 ? name + " of " + std::to_string(length_) + " bytes" : name;
}

void LibraryTaskObject::each_reference(References& references) {
  for (OperandValue& operand : operands()) references.keep(operand.object);
  TaskObject::each_reference(references);
}

void LibraryTaskObject::clear() {
  // The collector never sees a task in flight, and the engine does not use the operands of an idle one.
  for (OperandValue& operand : operands()) {
    const OperandValue dropped = std::exchange(operand, {});
  }
  length_ = 0;
  TaskObject::clear();
}

}  // namespace pydoca::bindings
