#include "pydoca/dma.hpp"

#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "detail/segments.hpp"
#include "detail/slot_pool.hpp"

#include <sys/epoll.h>
#include <thread>
#include <utility>

namespace pydoca {

namespace {

const backend::DmaCapabilities& dma_capabilities(const DeviceInfo& info) {
  if (!info.capabilities().dma) {
    throw Error(Status::not_supported, detail::concat("dma: ", info.name(), " has no DMA engine"));
  }
  return *info.capabilities().dma;
}

/// Whether the device has every element's memory.

}  // namespace

DmaMemcpyTask::DmaMemcpyTask(Dma& dma) noexcept : Task(dma) {}

Dma& DmaMemcpyTask::dma() const noexcept { return static_cast<Dma&>(context()); }

Status DmaMemcpyTask::set_src(Buf* src) noexcept {
  if (state() == State::submitted) {
    return Status::in_use;
  }
  src_ = src;
  return Status::success;
}

Status DmaMemcpyTask::set_dst(Buf* dst) noexcept {
  if (state() == State::submitted) {
    return Status::in_use;
  }
  dst_ = dst;
  return Status::success;
}

Status DmaMemcpyTask::validate() const noexcept {
  if (src_ == nullptr || dst_ == nullptr || !src_->is_first() || !dst_->is_first()) {
    return Status::invalid_value;
  }
  const backend::DmaCapabilities& limits = *dma().device()->info().capabilities().dma;
  const std::uint64_t size = src_->list_data_len();
  const std::size_t ordinal = dma().device()->ordinal();
  const bool fits = size != 0 && size <= limits.max_buf_size && size <= dst_->list_tailroom() &&
                    src_->num_elements() <= limits.max_buf_list_len && dst_->num_elements() <= limits.max_buf_list_len;
  return fits && detail::reaches(&src_->segment(), ordinal) && detail::reaches(&dst_->segment(), ordinal)
             ? Status::success
             : Status::invalid_value;
}

Status DmaMemcpyTask::post(bool flush) noexcept {
  if (dst_ != nullptr && dst_->is_filling()) {
    return Status::in_use;
  }
  // What is missing or no list's head fails in the device, as unchecked fields do.
  CopyOperation::src = src_ != nullptr && src_->is_first() ? &src_->segment() : nullptr;
  CopyOperation::dst = dst_ != nullptr && dst_->is_first() ? &dst_->segment() : nullptr;
  length = CopyOperation::src != nullptr ? src_->list_data_len() : 0;
  const Status status = dma().queue_->post(*this, flush);
  if (status == Status::success) {
    dma().expect_completion();
    if (src_ != nullptr) {
      src_->hold();
    }
    if (dst_ != nullptr) {
      dst_->hold();
      dst_->set_filling(true);
    }
  }
  return status;
}

void DmaMemcpyTask::finish(Status status) noexcept {
  if (src_ != nullptr) {
    src_->unhold();
  }
  if (dst_ != nullptr) {
    dst_->unhold();
    dst_->set_filling(false);
    if (status == Status::success) {
      dst_->append(length);
    }
  }
}

Task::Callback DmaMemcpyTask::callback(Status status) const noexcept {
  return status == Status::success ? dma().on_success_ : dma().on_error_;
}

void DmaMemcpyTask::recycle() noexcept { dma().tasks_->put(*this); }

Dma::Dma(std::shared_ptr<Device> device) : Context(std::move(device)) {
  static_cast<void>(dma_capabilities(this->device()->info()));
}

std::shared_ptr<Dma> Dma::create(std::shared_ptr<Device> device) {
  return std::shared_ptr<Dma>(new Dma(std::move(device)));
}

Dma::~Dma() { abandon(); }

bool Dma::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().dma.has_value(); }
std::uint64_t Dma::max_buf_size(const DeviceInfo& info) { return dma_capabilities(info).max_buf_size; }
std::uint32_t Dma::max_buf_list_len(const DeviceInfo& info) { return dma_capabilities(info).max_buf_list_len; }
std::uint32_t Dma::max_num_tasks(const DeviceInfo& info) { return dma_capabilities(info).max_num_tasks; }

void Dma::set_memcpy_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks) {
  require_idle("set memcpy conf of");
  const std::uint32_t limit = max_num_tasks(device()->info());
  if (on_success == nullptr || on_error == nullptr) {
    throw Error(Status::invalid_value, "set memcpy conf: both callbacks must be given; they may be the same function");
  }
  if (num_tasks == 0 || num_tasks > limit) {
    throw Error(Status::invalid_value, detail::concat("set memcpy conf: ", num_tasks, " tasks is not in 1..", limit));
  }
  on_success_ = on_success;
  on_error_ = on_error;
  num_tasks_ = num_tasks;
}

Status Dma::memcpy(Buf* src, Buf* dst, std::uint64_t user_data, DmaMemcpyTask*& task) noexcept {
  if (state() != ContextState::running) {
    return Status::bad_state;
  }
  DmaMemcpyTask* taken = tasks_->take();
  if (taken == nullptr) {
    return Status::no_memory;
  }
  task_taken(*taken);
  taken->src_ = src;
  taken->dst_ = dst;
  taken->set_user_data(user_data);
  task = taken;
  return Status::success;
}

void Dma::flush_tasks() noexcept {
  if (queue_ != nullptr) {
    queue_->flush();
  }
}

Status Dma::begin() {
  if (num_tasks_ == 0) {
    throw Error(Status::invalid_value,
                "start dma: nothing is configured; give the memcpy task's conf (set_memcpy_conf)");
  }
  queue_ = device()->backend().create_copy_queue({.depth = num_tasks_}, *this);
  if (const int fd = queue_->fd(); fd >= 0) {
    progress_engine()->watch(fd, EPOLLIN, *this);
    is_polled_ = true;
  }
  tasks_ = std::make_unique<detail::SlotPool<DmaMemcpyTask>>(num_tasks_, *this);
  return Status::success;
}

void Dma::quiesce() noexcept { queue_->abort(); }

void Dma::end() noexcept {
  if (queue_ != nullptr) {
    reclaim_tasks();
  }
  if (std::exchange(is_polled_, false)) {
    stop_looking();
    progress_engine()->unwatch(queue_->fd());
  }
  queue_.reset();
  tasks_.reset();
}

void Dma::reclaim_tasks() noexcept {
  queue_->abort();
  for (std::size_t left = num_inflight_tasks(); left > 0;) {
    bool more = false;
    if (backend::Operation* operation = queue_->poll(more)) {
      static_cast<DmaMemcpyTask&>(*operation).finish(operation->status);
      --left;
    } else if (!queue_->assist()) {
      std::this_thread::yield();
    }
  }
}

bool Dma::poll_one(bool& more) noexcept {
  backend::Operation* operation = queue_->poll(more);
  if (is_polled_) {
    look_for(num_inflight_tasks() - (operation != nullptr ? 1 : 0));
  }
  if (operation == nullptr) {
    return false;
  }
  auto& task = static_cast<DmaMemcpyTask&>(*operation);
  complete(task, operation->status);
  // The callback may have submitted, or stopped the context: what more was is out of date, and asking once too often is
  // cheap.
  return true;
}

void Dma::look_for(std::size_t num_tasks) noexcept {
  if (num_tasks != 0) {
    keep_looking();
  } else {
    stop_looking();
  }
}

bool Dma::look() noexcept { return queue_ != nullptr && queue_->look(); }

void Dma::prepare_sleep() noexcept {
  queue_->arm();
  if (queue_->look()) {
    ring();
  }
}

bool Dma::assist() noexcept { return queue_ != nullptr && queue_->assist(); }

}  // namespace pydoca
