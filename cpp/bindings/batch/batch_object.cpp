#include "batch/batch_object.hpp"

#include <pydoca/log.hpp>

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::bindings {

namespace {

constexpr const char* was_cancelled = "it was not submitted, as the batch was cancelled";
constexpr const char* has_stopped = "it was not submitted, as its context stopped";
/// More copies in flight are not faster, and each takes a task and two bufs first.
constexpr std::size_t most_lanes = 32;

void require_started_map(const py::object& mmap, std::string_view what) {
  require_started(argument_of<MmapObject>(mmap.ptr(), "a pydoca.Mmap").look(), what);
}

const std::shared_ptr<Mmap>& map_of(const py::object& mmap) { return mmap.cast<const MmapObject&>().get(); }

}  // namespace

BatchLane::BatchLane(DmaMemcpyBatchObject& owner) : LoneTask(&DmaMemcpyBatchObject::completed), batch(&owner) {}

void BatchLane::take_bufs(AreaBufs& bufs, const std::shared_ptr<Mmap>& from, const std::shared_ptr<Mmap>& to) {
  src = &bufs.get({from, from->addr(), from->len()}, false);
  dst = &bufs.get({to, to->addr(), to->len()}, false);
}

void BatchLane::give_back() noexcept {
  if (task != nullptr) static_cast<void>(std::exchange(task, nullptr)->free());
  if (src != nullptr) static_cast<void>(std::exchange(src, nullptr)->dec_refcount());
  if (dst != nullptr) static_cast<void>(std::exchange(dst, nullptr)->dec_refcount());
}

std::string BatchLane::describe() const { return batch->describe_row(row); }

py::object DmaMemcpyBatchObject::begin(py::object context, py::object src, py::object dst, py::handle descriptors) {
  auto& its_context = object_of<ContextObject>(context.ptr());
  its_context.require_thread("memcpy_many");
  require_started_map(src, "memcpy_many: src");
  require_started_map(dst, "memcpy_many: dst");
  auto batch = std::make_shared<DmaMemcpyBatchObject>(std::move(context), std::move(src), std::move(dst),
                                                      Descriptors::of(descriptors));
  py::object made = py::cast(batch);
  batch->self_ = made;
  batch->start();
  return made;
}

DmaMemcpyBatchObject::DmaMemcpyBatchObject(py::object context, py::object src, py::object dst, Descriptors descriptors)
    : context_ref_(std::move(context)),
      src_ref_(std::move(src)),
      dst_ref_(std::move(dst)),
      context_(&context_ref_.cast<ContextObject&>()),
      descriptors_(std::move(descriptors)),
      statuses_(descriptors_.rows().size() * sizeof(std::int32_t)),
      rows_(descriptors_.rows().data()),
      outcomes_(statuses_.values<std::int32_t>()),
      end_(num_rows()),
      failed_row_(num_rows()) {
  std::fill_n(outcomes_, num_rows(), static_cast<std::int32_t>(Status::in_progress));
}

DmaMemcpyBatchObject::~DmaMemcpyBatchObject() { report_unseen(); }

void DmaMemcpyBatchObject::require_ready(const std::string& what) const {
  const ContextState state = context_->context().state();
  if (state != ContextState::running) context_->refuse_task(Status::bad_state, 0, dma_memcpy.name);
  descriptors_.require_valid(*map_of(src_ref_), *map_of(dst_ref_), Dma::max_buf_size(dma().device()->info()));
  context_->require_no_fault(what);
  if (!Quarantine::instance().empty()) [[unlikely]] {
    require_no_quarantine(what);
  }
}

void DmaMemcpyBatchObject::require_no_quarantine(const std::string& what) const {
  const Quarantine& quarantine = Quarantine::instance();
  for (const Descriptor& row : descriptors_.rows()) {
    quarantine.require_released(what, {map_of(src_ref_).get(), row.source, row.source + row.size});
    quarantine.require_released(what, {map_of(dst_ref_).get(), row.target, row.target + row.size});
  }
}

void DmaMemcpyBatchObject::start() {
  require_ready(describe());
  if (num_rows() == 0) return;
  take_lanes();
  context_->tasks().add_batch(*this);
  running_.hold(engine(), py::reinterpret_borrow<py::object>(self_));
  try {
    submit_first();
  } catch (...) {
    context_->tasks().remove_batch(*this);
    const py::object self = running_.release();
    throw;
  }
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    ++num_lanes_;
    if (!submit_next(lanes_[i])) {
      lanes_[i].give_back();
      --num_lanes_;
    }
  }
}

void DmaMemcpyBatchObject::take_lanes() {
  const auto wanted = std::min<std::size_t>({num_rows(), dma().num_tasks(), most_lanes});
  while (lanes_.size() < wanted && take_lane()) {
  }
  if (lanes_.size() < wanted) context_->tasks().drop_free_list();
  while (lanes_.size() < wanted && take_lane()) {
  }
  if (lanes_.empty() && !(context_->tasks().reclaim_slot() && take_lane())) {
    context_->refuse_task(Status::no_memory, 0, dma_memcpy.name);
  }
  for (BatchLane& lane : lanes_) {
    lane.take_bufs(context_->area_bufs(), map_of(src_ref_), map_of(dst_ref_));
    static_cast<void>(lane.task->set_src(lane.src));
    static_cast<void>(lane.task->set_dst(lane.dst));
  }
}

bool DmaMemcpyBatchObject::take_lane() {
  BatchLane& lane = lanes_.emplace_back(*this);
  if (dma().memcpy(nullptr, nullptr, lane.word(), lane.task) == Status::success) return true;
  lanes_.pop_back();
  return false;
}

/// It is checked, so that what is true of all rows refuses the call: maps that the device does not reach, say.
void DmaMemcpyBatchObject::submit_first() {
  BatchLane& lane = lanes_.front();
  const Status status = submit(lane, true);
  if (status != Status::success) raise(status, describe_row(0) + ": " + lane.task->explain(status));
  ++num_lanes_;
}

Status DmaMemcpyBatchObject::submit(BatchLane& lane, bool checked) noexcept {
  const Descriptor& row = rows_[next_];
  lane.row = next_++;
  static_cast<void>(lane.src->set_data(row.source, row.size));
  static_cast<void>(lane.dst->set_data(row.target, 0));
  return checked ? lane.task->try_submit() : lane.task->submit();
}

bool DmaMemcpyBatchObject::submit_next(BatchLane& lane) noexcept {
  while (next_ != end_) {
    const Status status = submit(lane, false);
    if (status == Status::success) [[likely]] {
      return true;
    }
    if (!refused(lane, status)) break;
  }
  return false;
}

bool DmaMemcpyBatchObject::refused(BatchLane& lane, Status status) noexcept {
  if (context_->context().state() != ContextState::running) {
    --next_;
    flush_rest(has_stopped);
    return false;
  }
  if (status == Status::again && num_lanes_ > 1) {  // another lane submits the row when its own has completed
    --next_;
    return false;
  }
  set_outcome(lane.row, status);
  note_failed_row(lane, status);
  return true;
}

void DmaMemcpyBatchObject::set_outcome(std::size_t row, Status status) noexcept {
  outcomes_[row] = static_cast<std::int32_t>(status);
  ++num_done_;
}

void DmaMemcpyBatchObject::completed(LoneTask& task, Task& engine_task) noexcept {
  auto& lane = static_cast<BatchLane&>(task);
  DmaMemcpyBatchObject& self = *lane.batch;
  const Status status = engine_task.status();
  self.set_outcome(lane.row, status);
  if (status != Status::success) [[unlikely]] {
    self.note_failed_row(lane, status);
  }
  if (!self.submit_next(lane)) self.retire(lane);
}

/// Without memory for the texts, the status has to do.
void DmaMemcpyBatchObject::note_failed_row(const BatchLane& lane, Status status) noexcept {
  if (failed_row_ == num_rows()) {
    failed_row_ = lane.row;
    status_ = status;
    try {
      reason_ = lane.task->explain(status);
      Context& context = context_->context();
      if (context.failure() == status) context.explain_failure(describe_row(lane.row) + ": " + reason_);
    } catch (const std::exception&) {
      reason_.clear();
    }
  }
  if (context_->context().state() != ContextState::running) flush_rest(has_stopped);
}

void DmaMemcpyBatchObject::flush_rest(const char* reason) noexcept {
  if (next_ == end_) return;
  if (failed_row_ == num_rows()) {
    failed_row_ = next_;
    status_ = Status::shutdown;
    try {
      reason_ = reason;
    } catch (const std::bad_alloc&) {
      reason_.clear();
    }
  }
  std::fill(outcomes_ + next_, outcomes_ + end_, static_cast<std::int32_t>(Status::shutdown));
  num_done_ += end_ - next_;
  end_ = next_;
}

void DmaMemcpyBatchObject::retire(BatchLane& lane) noexcept {
  if (quarantined_) [[unlikely]] {
    Quarantine::instance().remove(lane);
  }
  lane.give_back();
  if (--num_lanes_ == 0) end();
}

void DmaMemcpyBatchObject::end() noexcept {
  py::object self = running_.release();
  EngineObject& its_engine = engine();
  context_->tasks().remove_batch(*this);
  if (self.ref_count() == 1 && !seen_) warn_dropped_in_flight(self_, *this);
  note_failure();
  try {
    waiters_.wake(its_engine, py::none());
  } catch (py::error_already_set& error) {
    its_engine.collect(error, self);
  }
  its_engine.keep(std::move(self));
}

std::size_t DmaMemcpyBatchObject::cancel() {
  engine().require_thread("cancel " + describe());
  const std::size_t before = num_done_;
  flush_rest(was_cancelled);
  return num_done_ - before;
}

void DmaMemcpyBatchObject::curtail() {
  if (waiters_.empty()) flush_rest(was_cancelled);
}

py::object DmaMemcpyBatchObject::take() {
  mark_seen();
  if (status_ != Status::success) raise(failure());
  return py::reinterpret_borrow<py::object>(self_);
}

void DmaMemcpyBatchObject::give_up() {
  seen_ = true;
  mark_seen();
}

bool DmaMemcpyBatchObject::quarantine() {
  if (num_lanes_ == 0) return false;
  give_up();
  if (std::exchange(quarantined_, true)) return true;
  flush_rest(was_cancelled);
  for (BatchLane& lane : lanes_) {
    if (lane.task == nullptr) continue;
    const Descriptor& row = rows_[lane.row];
    Quarantine& quarantine = Quarantine::instance();
    quarantine.add(lane, engine(), {lane.src->mmap(), row.source, row.source + row.size});
    quarantine.add(lane, engine(), {lane.dst->mmap(), row.target, row.target + row.size});
  }
  context_->fault();
  return true;
}

/// A flushed row is a consequence of a stop, or of cancel().
void DmaMemcpyBatchObject::note_failure() noexcept {
  if (seen_ || status_ == Status::success || status_ == Status::shutdown) return;
  expect_question();
}

void DmaMemcpyBatchObject::log_failure() const {
  log::engine(log::Level::error, dma().kind(), [this] {
    return describe_row(failed_row_) + " failed, and no code asked for the outcome of its batch: " + reason_;
  });
}

bool DmaMemcpyBatchObject::is_inherited() const noexcept { return context_->engine().engine().is_inherited(); }

py::object DmaMemcpyBatchObject::failure() const {
  const std::string why = reason_.empty() ? std::string(error_descr(status_)) : reason_;
  py::object error = to_exception(status_, describe_row(failed_row_) + " failed: " + why);
  error.attr("task") = py::reinterpret_borrow<py::object>(self_);
  return error;
}

std::string DmaMemcpyBatchObject::describe() const {
  return "dma memcpy_many of " + std::to_string(num_rows()) + " rows";
}

std::string DmaMemcpyBatchObject::describe_row(std::size_t row) const {
  const Descriptor& given = rows_[row];
  return format_text("dma memcpy_many: row {} of {}, {} bytes from {:#x} to {:#x},", row, num_rows(), given.size,
                     given.source, given.target);
}

void DmaMemcpyBatchObject::each_reference(References& references) {
  references.keep(context_ref_, src_ref_, dst_ref_);
  waiters_.each_reference(references);
}

}  // namespace pydoca::bindings
