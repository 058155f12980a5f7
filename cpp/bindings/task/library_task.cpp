#include "task/library_task.hpp"

#include <pydoca/sha_algorithm.hpp>

#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "memory/buf_object.hpp"
#include "memory/sync_event_remote_net.hpp"

#include <utility>

namespace pydoca::bindings {

void Operands::set(Operand operand, PyObject* value) {
  const auto object = [value] { return py::reinterpret_borrow<py::object>(value); };
  switch (operand) {
    case Operand::src:
      src = object();
      return;
    case Operand::dst:
      dst = object();
      return;
    case Operand::buf:
      buf = object();
      return;
    case Operand::result:
      result = object();
      return;
    case Operand::event:
      event = object();
      return;
    case Operand::cmp_data:
      compare = to_u64(value, "cmp_data");
      return;
    case Operand::swap_data:
    case Operand::add_data:
      number = to_u64(value, name_of(operand));
      return;
    case Operand::algorithm:
      number = static_cast<std::uint64_t>(to_sha_algorithm(value));
      return;
    case Operand::immediate_data:
      immediate = to_u32(value, "immediate_data");
      return;
    default:  // the operands of sync events' tasks, whose own class holds them
      return;
  }
}

namespace {

/// The default of the operand that a call may leave out, in Python's syntax.
std::string default_of(const TaskTraits& traits) {
  return traits.optional == Operand::algorithm ? "'" + std::string(sha_algorithm_names[traits.default_number]) + "'"
                                               : std::to_string(traits.default_number);
}

}  // namespace

std::string task_doc(const TaskTraits& traits, const char* doc) {
  std::string text = std::string(traits.name) + "($self, /";
  for (const Operand operand : traits.operands) {
    const std::string_view name = parameter_name(operand);
    if (!name.empty()) text.append(", ").append(name);
    if (operand == traits.optional && operand != Operand::none) text.append("=").append(default_of(traits));
  }
  return text + ", *, user_data=None, submit=True)\n--\n\n" + doc;
}

void Operands::require_types() const {
  for (const py::object* const operand : {&src, &dst, &buf, &result}) static_cast<void>(element_of(*operand));
  if (!event.is_none() && !py::isinstance<SyncEventRemoteNetObject>(event)) {
    throw py::type_error("a pydoca.SyncEventRemoteNet is needed, not " + type_name(event) +
                         "; Device.import_sync_event_remote_net() gives one");
  }
}

void LibraryTaskObject::set_object(py::object Operands::* which, Operand operand, py::object value) {
  const std::string what = "set " + std::string(name_of(operand));
  require_idle(what);
  Operands given;
  given.*which = value;
  given.require_types();
  if (!traits_.has(operand)) raise(Status::invalid_value, what + ": " + describe() + " has none");
  require_settable(operand, what);
  const py::object dropped = std::exchange(operands_.*which, std::move(value));
}

void LibraryTaskObject::set_number(Operand operand, py::handle value) {
  const std::string what = "set " + std::string(name_of(operand));
  require_idle(what);
  if (!traits_.has(operand)) raise(Status::invalid_value, what + ": " + describe() + " has none");
  require_settable(operand, what);
  operands_.set(operand, value.ptr());
}

std::vector<const Buf*> LibraryTaskObject::lent_bufs() const {
  std::vector<const Buf*> lists;
  for (const py::object* const buf : {&operands_.src, &operands_.dst, &operands_.buf, &operands_.result}) {
    const Buf* const list = element_of(*buf);
    // A task does not lend the memory of a network peer.
    const bool is_remote = traits_.remote != Operand::none && list != nullptr && list->mmap()->is_from_export();
    if (list != nullptr && !is_remote) lists.push_back(list);
  }
  return lists;
}

void LibraryTaskObject::set_operands() {
  const Buf* const source = element_of(traits_.sends == Operand::buf ? operands_.buf : operands_.src);
  length_ = source != nullptr ? source->list_data_len() : 0;
}

void LibraryTaskObject::forget_operands() noexcept {
  // Numbers refer to nothing, and stay readable.
  Operands kept{.connection = operands_.connection,
                .compare = operands_.compare,
                .number = operands_.number,
                .immediate = operands_.immediate};
  const Operands dropped = std::exchange(operands_, std::move(kept));
}

std::string LibraryTaskObject::describe() const {
  const std::string name = std::string(context().context().kind()) + " " + traits_.name;
  return length_ != 0 ? name + " of " + std::to_string(length_) + " bytes" : name;
}

void LibraryTaskObject::each_reference(References& references) {
  references.keep(operands_.connection, operands_.src, operands_.dst, operands_.buf, operands_.result, operands_.event);
  TaskObject::each_reference(references);
}

void LibraryTaskObject::clear() {
  // The collector never sees a task in flight, and the engine does not use the operands of an idle one.
  const Operands dropped = std::exchange(operands_, {});
  length_ = 0;
  TaskObject::clear();
}

}  // namespace pydoca::bindings
