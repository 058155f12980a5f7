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

/// What libraries have in common whose tasks read src and fill dst.
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

/// Whether src and dst break a limit: one is missing, a later element of a list, too long a list, or in memory that the
/// device does not reach, or src has too much data. Inline, as every checked submission asks.
inline bool break_limit(Violation* why, const Buf* src, const Buf* dst, const DataLimits& most,
                        const Device& device) noexcept {
  const auto list_breaks = [&](const char* name, const Buf* list, std::uint32_t max_elements, const char* setting) {
    return list != nullptr ? Operands::break_limit(why, name, *list, max_elements, setting, device)
                           : broken(why, {.limit = limits::missing, .operand = name});
  };
  if (list_breaks("src", src, most.max_src_elements, most.src_elements) ||
      list_breaks("dst", dst, most.max_dst_elements, most.dst_elements)) {
    return true;
  }
  const std::uint64_t size = src->list_data_len();
  const Violation violation{
      .limit = limits::size, .operand = "src", .setting = most.size, .value = size, .allowed = most.max_size};
  return size > most.max_size && broken(why, violation);
}

/// Why a task failed with io_failed, and what follows for its context, in one sentence: what violation says, or where
/// it says nothing, which access the memory of src or dst did not permit.
std::string explain_failed_data(const Violation& violation, const Buf* src, const Buf* dst, const Device& device);

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

/// Such a task, with its operation. Public is the library's class of it, which has src() and dst(), and Context its
/// context, a DataContext. Derived classes override breaks_limit(), post() and finish().
template <class Public, class Operation, class Context>
class DataTask : public Public, public Operation {
 public:
  using Library = Context;
  using Public::dst;
  using Public::src;
  DataTask(Library& context, TaskPool& pool, std::size_t kind) noexcept : Public(context, pool) {
    Operation::opcode = static_cast<std::uint8_t>(kind);
  }

  /// The operands of a task that was just taken.
  void give(Buf* from, Buf* to) noexcept {
    Public::src_ = from;
    Public::dst_ = to;
  }

  std::string explain(Status status) const override {
    if (Operation::slot != 0 && status == Operation::outcome) {
      return explain_faulty_data(Operation::slot);
    }
    if (status != Status::io_failed) {
      return Task::explain(status);
    }
    Violation violation;
    this->breaks_limit(&violation);
    return explain_failed_data(violation, src(), dst(), *library().device());
  }

 protected:
  Library& library() const noexcept { return static_cast<Library&>(this->context()); }
  std::uint64_t size_in_flight() const noexcept override { return Operation::length; }
  void promise_operands(std::int32_t change, Promise promise) noexcept override {
    Operands::promise(src(), change, promise);
    Operands::promise(dst(), change, promise);
  }

  Status post_data(bool flush) noexcept {
    Buf* const from = src();
    Buf* const to = dst();
    if (Operands::is_filling(to)) {
      return Status::in_use;
    }
    if (!Operands::find_segment(from, Operation::source) || !Operands::find_segment(to, Operation::target))
        [[unlikely]] {
      return Status::invalid_value;
    }
    Operation::length = Operation::source != nullptr ? from->list_data_len() : 0;
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
    Operands::take_back(src());
    Operands::take_back_filled(dst(), result == Status::success ? appended : 0);
  }
};

/// The context of an engine's tasks: Noun is the library's public class, TaskClass the task's implementation. Its kinds
/// of tasks are the engine's opcodes.
template <class Noun, class TaskClass>
class DataContext : public QueueContext<Noun> {
 public:
  backend::DataQueue& data_queue() const noexcept { return static_cast<backend::DataQueue&>(*this->queue()); }
  using QueueContext<Noun>::expect_completion;

 protected:
  DataContext(std::shared_ptr<Device> device, const backend::EngineTraits& engine)
      : QueueContext<Noun>(std::move(device), engine.opcodes.size()), engine_(engine) {}

  virtual std::unique_ptr<backend::DataQueue> create_queue(const backend::QueueOptions& options) {
    return this->device()->backend().create_queue(engine_, options, *this);
  }

 private:
  Status begin() override {
    if (ContextTasks::open<TaskClass>(static_cast<TaskClass::Library&>(*this)) == 0) {
      throw Error(Status::invalid_value, concat("start ", this->kind(), ": nothing is configured; give the ",
                                                task_name(0), " task's conf (set_", task_name(0), "_conf)"));
    }
    backend::QueueOptions options;
    for (std::size_t kind = 0; kind < engine_.opcodes.size(); ++kind) {
      options.depth += ContextTasks::pool(*this, kind).num_tasks();
    }
    this->open_queue(create_queue(options));
    return Status::success;
  }
  Task& task_of(backend::Operation& operation) const noexcept override { return static_cast<TaskClass&>(operation); }
  std::string_view task_name(std::size_t kind) const noexcept override { return engine_.opcodes[kind].name; }
  bool poll_one(bool& more) noexcept override {
    backend::Operation* const operation = this->poll_queue(more);
    if (operation == nullptr) {
      return false;
    }
    // The callback may submit, or stop the context: more may be out of date then, and asking once too often is cheap.
    const Status status = operation->outcome;
    this->complete_as(static_cast<TaskClass&>(*operation), status, status != Status::success);
    return true;
  }

  const backend::EngineTraits& engine_;
};

}  // namespace pydoca::detail
