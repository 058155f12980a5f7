#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/buf.hpp"
#include "pydoca/device.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include "core/task_pool.hpp"
#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/operands.hpp"
#include "library/queue_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// What libraries have in common whose tasks read src and fill dst, or read one buf.
namespace pydoca::detail {

/// What a device takes of such tasks, and the names of the limits.
struct DataLimits {
  std::uint32_t max_src_elements;
  const char* src_elements;
  std::uint32_t max_dst_elements;
  const char* dst_elements;
  std::uint64_t max_size;  ///< bytes of src
  const char* size;
};

/// Whether a buf is missing, a later element of a list, too long a list, or in memory that the device does not reach.
inline bool break_list_limit(Violation* why, const char* operand, const Buf* list, std::uint32_t max_elements,
                             const char* setting, const Device& device) noexcept {
  return list != nullptr ? Operands::break_limit(why, operand, *list, max_elements, setting, device)
                         : broken(why, {.limit = limits::missing, .operand = operand});
}
inline bool break_size_limit(Violation* why, const char* operand, std::uint64_t size, std::uint64_t max_size,
                             const char* setting) noexcept {
  const Violation violation{
      .limit = limits::size, .operand = operand, .setting = setting, .value = size, .allowed = max_size};
  return size > max_size && broken(why, violation);
}

/// Whether src and dst break a limit: one is missing, a later element of a list, too long a list, or in memory that the
/// device does not reach, or src has too much data. Inline, as every checked submission asks.
inline bool break_limit(Violation* why, const Buf* src, const Buf* dst, const DataLimits& most,
                        const Device& device) noexcept {
  return break_list_limit(why, "src", src, most.max_src_elements, most.src_elements, device) ||
         break_list_limit(why, "dst", dst, most.max_dst_elements, most.dst_elements, device) ||
         break_size_limit(why, "src", src->list_data_len(), most.max_size, most.size);
}

/// Why a task failed with io_failed, and what follows for its context, in one sentence: what violation says, or where
/// it says nothing, which access the memory of src or dst did not permit.
std::string explain_failed_data(const Violation& violation, const Buf* src, const Buf* dst, const Device& device);

/// The same of a task that reads one buf.
std::string explain_failed_data(const Violation& violation, const char* operand, const Buf* buf, const Device& device);

/// reason, and that the context stops.
std::string and_context_stops(std::string_view reason);

/// The same as explain_failed_data() where a rule of a fault plan failed it.
std::string explain_faulty_data(std::uint32_t rule);

/// Another operation with the same source, target, length and opcode. Throws std::bad_alloc.
template <class Operation>
std::shared_ptr<backend::DataOperation> copy_request(const backend::DataOperation& from) {
  auto to = std::make_shared<Operation>();
  to->source = from.source;
  to->target = from.target;
  to->length = from.length;
  to->opcode = from.opcode;
  return to;
}

/// The cut of an engine that takes any length but 0.
inline std::uint64_t cut_to_a_byte(const backend::DataOperation& /*operation*/, std::uint64_t length) noexcept {
  return length != 0 ? length : 1;
}

// Entries of the tables of engines whose device tells how many bytes it has appended, and more: an operation's struct
// derives from its Answer, which has filled.
template <class Operation>
std::uint64_t told_length(const backend::DataOperation& operation) noexcept {
  return static_cast<const Operation&>(operation).filled;
}
template <class Operation>
void tell_length(backend::DataOperation& operation, std::uint64_t length) noexcept {
  static_cast<Operation&>(operation).filled = length;
}
template <class Operation>
void take_answer(const backend::DataOperation& from, backend::DataOperation& to) noexcept {
  using Answer = Operation::Answer;
  static_cast<Answer&>(static_cast<Operation&>(to)) = static_cast<const Operation&>(from);
}

/// Such a task, with its operation. Public is the library's class of it, which has src() and dst(), or buf(), and
/// Context its context, a DataContext. Derived classes override breaks_limit(), post() and finish().
template <class Public, class Operation, class Context>
class DataTask : public Public, public Operation {
  static constexpr bool fills = requires(const Public& task) { task.dst(); };

 public:
  using Library = Context;
  DataTask(Library& context, TaskPool& pool, std::size_t kind) noexcept : Public(context, pool) {
    Operation::opcode = static_cast<std::uint8_t>(kind);
  }

  /// The operands of a task that was just taken.
  void give(Buf* from, Buf* to) noexcept {
    Public::src_ = from;
    Public::dst_ = to;
  }
  void give(Buf* buf) noexcept { Public::buf_ = buf; }

  std::string explain(Status status) const override {
    if (Operation::slot != 0 && status == Operation::outcome) {
      return explain_faulty_data(Operation::slot);
    }
    if (status != Status::io_failed) {
      return Task::explain(status);
    }
    Violation violation;
    this->breaks_limit(&violation);
    if constexpr (fills) {
      return explain_failed_data(violation, read_buf(), filled_buf(), *library().device());
    } else {
      return explain_failed_data(violation, "buf", read_buf(), *library().device());
    }
  }

 protected:
  Library& library() const noexcept { return static_cast<Library&>(this->context()); }
  std::uint64_t size_in_flight() const noexcept override { return fills ? Operation::length : 0; }
  void promise_operands(std::int32_t change, Promise promise) noexcept override {
    Operands::promise(read_buf(), change, promise);
    Operands::promise(filled_buf(), change, promise);
  }

  Status post_data(bool flush) noexcept {
    Buf* const from = read_buf();
    Buf* const to = filled_buf();
    if (Operands::is_filling(to)) {
      return Status::in_use;
    }
    const Segment* read_list = nullptr;
    Segment* filled_list = nullptr;
    if (!Operands::find_segment(from, read_list) || !Operands::find_segment(to, filled_list)) [[unlikely]] {
      return Status::invalid_value;
    }
    Operation::source = read_list;
    Operation::target = filled_list;
    Operation::length = read_list != nullptr ? length_of(*from) : 0;
    const Status posted = library().data_queue().post(*this, flush);
    if (posted == Status::success) {
      library().expect_completion();
      Operands::lend(from);
      Operands::lend_to_fill(to);
    }
    return posted;
  }
  /// appended: the bytes that dst has got, if the operation succeeded.
  void take_back_data(Status result, std::uint64_t appended) noexcept {
    Operands::take_back(read_buf());
    Operands::take_back_filled(filled_buf(), result == Status::success ? appended : 0);
  }

 private:
  Buf* read_buf() const noexcept {
    if constexpr (fills) {
      return Public::src();
    } else {
      return Public::buf();
    }
  }
  /// Null where tasks fill none.
  Buf* filled_buf() const noexcept {
    if constexpr (fills) {
      return Public::dst();
    } else {
      return nullptr;
    }
  }
  /// The one buf of a task that fills none is not a list.
  static std::uint64_t length_of(const Buf& buf) noexcept { return fills ? buf.list_data_len() : buf.data_len(); }
};

/// What the method of a library does that makes a task of one kind: takes it, and gives it its operands.
template <class TaskClass, class Public, class... Given>
Status take_data_task(Context& context, std::size_t kind, std::uint64_t user_data, Public*& task,
                      Given... operands) noexcept {
  const Status status = ContextTasks::take(context, kind, user_data, task);
  if (status == Status::success) [[likely]] {
    static_cast<TaskClass&>(*task).give(operands...);
  }
  return status;
}

/// The context of an engine's tasks: Noun is the library's public class, TaskClass the task's implementation. Its kinds
/// of tasks are the engine's opcodes.
template <class Noun, class TaskClass, const backend::EngineTraits& engine>
class DataContext : public QueueContext<Noun> {
 public:
  /// Throws not_supported, as every library's max_num_tasks() does, for a device without the engine.
  explicit DataContext(std::shared_ptr<Device> device) : QueueContext<Noun>(std::move(device), engine.opcodes.size()) {
    static_cast<void>(Noun::max_num_tasks(this->device()->info()));
  }
  /// A derived class with memory that tasks in flight use abandons them before.
  ~DataContext() override { this->abandon(); }

  backend::DataQueue& data_queue() const noexcept { return static_cast<backend::DataQueue&>(*this->queue()); }
  using QueueContext<Noun>::expect_completion;

 protected:
  virtual std::unique_ptr<backend::DataQueue> create_queue(const backend::QueueOptions& options) {
    return this->device()->backend().create_queue(engine, options, *this);
  }

 private:
  Status begin() override {
    if (ContextTasks::open<TaskClass>(static_cast<TaskClass::Library&>(*this)) == 0) {
      throw Error(Status::invalid_value, concat("start ", this->kind(), ": nothing is configured; give the ",
                                                task_name(0), " task's conf (set_", task_name(0), "_conf)"));
    }
    backend::QueueOptions options;
    for (std::size_t kind = 0; kind < engine.opcodes.size(); ++kind) {
      options.depth += ContextTasks::pool(*this, kind).num_tasks();
    }
    this->open_queue(create_queue(options));
    return Status::success;
  }
  Task& task_of(backend::Operation& operation) const noexcept override { return static_cast<TaskClass&>(operation); }
  std::string_view task_name(std::size_t kind) const noexcept override { return engine.opcodes[kind].name; }
  bool poll_one(bool& more) noexcept override {
    backend::Operation* const operation = this->poll_queue(more);
    if (operation == nullptr) {
      return false;
    }
    // The callback may submit, or stop the context: more may be out of date then, and asking once too often is cheap.
    auto& task = static_cast<TaskClass&>(*operation);
    if (operation->outcome == Status::success) [[likely]] {
      this->complete_as(task, Status::success, false);
    } else {
      complete_failed(task);
    }
    return true;
  }
  /// Apart, so that the way of success has no test of its own status.
  [[gnu::cold, gnu::noinline]] void complete_failed(TaskClass& task) noexcept {
    this->complete_as(task, static_cast<backend::Operation&>(task).outcome, true);
  }
};

}  // namespace pydoca::detail
