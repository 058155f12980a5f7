#pragma once

#include <pydoca/dma.hpp>

#include "batch/descriptors.hpp"
#include "batch/shared_array.hpp"
#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "memory/area.hpp"
#include "memory/mmap_object.hpp"
#include "task/context_object.hpp"
#include "task/lone_task.hpp"
#include "task/quarantine.hpp"
#include "task/unseen_failures.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::bindings {

class DmaMemcpyBatchObject;

/// A task of a batch with its two bufs: each completion points them to the next row, and submits the task again.
struct BatchLane final : LoneTask, MemoryHolder {
  explicit BatchLane(DmaMemcpyBatchObject& owner);
  ~BatchLane() { give_back(); }

  /// Gets two bufs, each over a whole map. Throws as AreaBufs does.
  void take_bufs(AreaBufs& bufs, const std::shared_ptr<Mmap>& from, const std::shared_ptr<Mmap>& to);
  /// Gives the task and the bufs back.
  void give_back() noexcept;
  std::string describe() const override;

  DmaMemcpyBatchObject* batch;
  DmaMemcpyTask* task = nullptr;  ///< null: the lane has ended
  Buf* src = nullptr;
  Buf* dst = nullptr;
  std::size_t row = 0;  ///< what it copies now
};

/// Many copies in one call. It uses tasks of its context that were free when it began, 32 at most, without Python
/// objects of them. The engine has a reference to a batch that has not ended, as it has to tasks in flight.
class DmaMemcpyBatchObject final : public Awaitable, public Unseen, public MemoryHolder {
 public:
  /// A batch that has begun; context is a Dma. Throws bad_state unless the context runs and the maps are started,
  /// no_memory when no task is free, what Descriptors throws, and what the submission of the first row answers; nothing
  /// was begun then.
  static py::object begin(py::object context, py::object src, py::object dst, py::handle descriptors);
  DmaMemcpyBatchObject(py::object context, py::object src, py::object dst, Descriptors descriptors);
  ~DmaMemcpyBatchObject() override;

  std::size_t num_rows() const noexcept { return descriptors_.rows().size(); }
  std::size_t num_done() const noexcept { return num_done_; }
  Status status() const noexcept { return num_lanes_ != 0 ? Status::in_progress : status_; }
  /// The row that failed first, or num_rows().
  std::size_t failed_row() const noexcept { return failed_row_; }
  py::object statuses() const { return statuses_.view("i", {num_rows()}); }
  py::object descriptors() const { return descriptors_.view(); }
  const py::object& context_ref() const noexcept { return context_ref_; }
  /// Rows that were not submitted complete with shutdown; returns how many. Throws not_permitted in another thread.
  std::size_t cancel();

  EngineObject& engine() override { return context_->engine(); }
  Waiters& waiters() override { return waiters_; }
  bool ready() override { return num_lanes_ == 0; }
  /// The batch; throws the error of the row that failed first.
  py::object take() override;
  void give_up() override;
  bool lends_memory() const override { return num_lanes_ != 0; }
  /// Cancels the rest, unless another await waits for the batch.
  void curtail() override;
  void abandon() override { give_up(); }
  bool quarantine() override;
  std::string_view what() const override { return "wait for a batch of copies"; }

  std::string describe() const override;
  void each_reference(References& references);

 private:
  friend struct BatchLane;

  void log_failure() const override;
  bool is_inherited() const noexcept override;
  static void completed(LoneTask& lane, Task& task) noexcept;
  void require_ready(const std::string& what) const;
  void require_no_quarantine(const std::string& what) const;
  void start();
  /// Takes as many tasks as there are rows, or as are free, or as keep the device busy.
  void take_lanes();
  bool take_lane();
  void submit_first();
  /// Submits the next row that can be; false when the lane has nothing more to do.
  bool submit_next(BatchLane& lane) noexcept;
  Status submit(BatchLane& lane, bool checked) noexcept;
  /// The context refused row. Returns whether the lane goes on.
  bool refused(BatchLane& lane, Status status) noexcept;
  void set_outcome(std::size_t row, Status status) noexcept;
  void note_failed_row(const BatchLane& lane, Status status) noexcept;
  /// The rows that were not submitted complete with shutdown. reason: of the first one, when no row has failed before.
  void flush_rest(const char* reason) noexcept;
  void retire(BatchLane& lane) noexcept;
  void end() noexcept;
  void note_failure() noexcept;
  py::object failure() const;
  std::string describe_row(std::size_t row) const;
  Dma& dma() const noexcept { return static_cast<Dma&>(context_->context()); }

  py::object context_ref_;
  py::object src_ref_;
  py::object dst_ref_;
  ContextObject* context_;
  Descriptors descriptors_;
  SharedArray statuses_;
  const Descriptor* rows_;  ///< those of descriptors_
  std::int32_t* outcomes_;  ///< those of statuses_
  std::deque<BatchLane> lanes_;
  std::size_t num_lanes_ = 0;  ///< lanes with a task in flight, or about to have one
  std::size_t next_ = 0;       ///< the first row that was not submitted
  std::size_t end_;            ///< the rows from here on will not be submitted
  std::size_t num_done_ = 0;
  std::size_t failed_row_;
  Status status_ = Status::success;  ///< the status of failed_row_
  std::string reason_;
  py::handle self_;  ///< the Python object of this
  InFlightReference running_;
  Waiters waiters_;
  bool seen_ = false;         ///< some code has asked for the outcome, or will not
  bool quarantined_ = false;  ///< lanes in flight were given up
};

}  // namespace pydoca::bindings
