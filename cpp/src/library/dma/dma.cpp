#include "library/dma/dma.hpp"

#include "pydoca/backend/device.hpp"

#include "core/task_pool.hpp"
#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/memory_access.hpp"
#include "library/operands.hpp"
#include "library/set_operand.hpp"

#include <utility>

namespace pydoca {

namespace {

using detail::concat;
using detail::Limit;
using detail::Operands;
using detail::Violation;

const DmaCapabilities& dma_capabilities(const DeviceInfo& info) {
  if (!info.capabilities().dma) {
    throw Error(Status::not_supported, detail::concat("dma: ", info.name(), " has no DMA engine"));
  }
  return *info.capabilities().dma;
}

}  // namespace

library::DmaMemcpyTask::DmaMemcpyTask(Dma& dma, detail::TaskPool& pool, std::size_t /*kind*/) noexcept
    : pydoca::DmaMemcpyTask(dma, pool) {}

library::Dma& library::DmaMemcpyTask::dma() const noexcept { return static_cast<Dma&>(context()); }

Status DmaMemcpyTask::set_src(Buf* src) noexcept { return detail::set_operand(*this, src_, src); }
Status DmaMemcpyTask::set_dst(Buf* dst) noexcept { return detail::set_operand(*this, dst_, dst); }

Limit library::DmaMemcpyTask::check(Violation* why) const noexcept {
  const DmaCapabilities& limits = *dma().device()->info().capabilities().dma;
  const auto check_list = [&](const char* name, const Buf* list) {
    return list != nullptr
               ? Operands::check(why, name, *list, limits.max_buf_list_len, "max_buf_list_len", *dma().device())
               : broken(why, {.limit = Limit::missing, .operand = name});
  };
  if (const Limit limit = check_list("src", src_); limit != Limit::none) {
    return limit;
  }
  if (const Limit limit = check_list("dst", dst_); limit != Limit::none) {
    return limit;
  }
  const std::uint64_t size = src_->list_data_len();
  if (size == 0) {
    return broken(why, {.limit = Limit::no_data, .operand = "src"});
  }
  if (size > limits.max_buf_size) {
    return broken(why, {.limit = Limit::size,
                        .operand = "src",
                        .setting = "max_buf_size",
                        .value = size,
                        .allowed = limits.max_buf_size});
  }
  const std::uint64_t room = dst_->list_tailroom();
  return size <= room ? Limit::none
                      : broken(why, {.limit = Limit::room, .operand = "dst", .value = size, .allowed = room});
}

std::string library::DmaMemcpyTask::explain(Status status) const {
  return status == Status::io_failed
             ? concat(explain_failed_copy(), "; the context stops: start it again once it is idle")
             : Task::explain(status);
}

/// The device found out what try_submit() would have refused, or memory did not permit the access.
std::string library::DmaMemcpyTask::explain_failed_copy() const {
  const Device& device = *dma().device();
  if (Violation violation; check(&violation) != Limit::none) {
    return detail::explain(violation, device.info());
  }
  std::string reason = detail::explain_access("src", src_, device, detail::Use::reads, Access::pci_read_only);
  if (reason.empty()) {
    reason = detail::explain_access("dst", dst_, device, detail::Use::writes, Access::pci_read_write);
  }
  return reason.empty() ? concat(device.info().name(), " could not reach the memory of src or dst") : reason;
}

Status library::DmaMemcpyTask::post(bool flush) noexcept {
  if (Operands::is_filling(dst_)) {
    return Status::in_use;
  }
  // What is missing or no list's head fails in the device, as unchecked fields do.
  CopyOperation::src = src_ != nullptr && src_->is_first() ? Operands::segment_of(src_) : nullptr;
  CopyOperation::dst = dst_ != nullptr && dst_->is_first() ? Operands::segment_of(dst_) : nullptr;
  length = CopyOperation::src != nullptr ? src_->list_data_len() : 0;
  const Status status = dma().copy_queue().post(*this, flush);
  if (status == Status::success) {
    dma().expect_completion();
    Operands::lend(src_);
    Operands::lend_to_fill(dst_);
  }
  return status;
}

void library::DmaMemcpyTask::finish(Status status) noexcept {
  Operands::take_back(src_);
  Operands::take_back_filled(dst_, status == Status::success ? length : 0);
}

library::Dma::Dma(std::shared_ptr<Device> device) : QueueContext(std::move(device), std::size_t{1}) {
  static_cast<void>(dma_capabilities(this->device()->info()));
}

std::shared_ptr<Dma> Dma::create(std::shared_ptr<Device> device) {
  return std::make_shared<library::Dma>(std::move(device));
}

library::Dma::~Dma() { abandon(); }

bool Dma::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().dma.has_value(); }
std::uint64_t Dma::max_buf_size(const DeviceInfo& info) { return dma_capabilities(info).max_buf_size; }
std::uint32_t Dma::max_buf_list_len(const DeviceInfo& info) { return dma_capabilities(info).max_buf_list_len; }
std::uint32_t Dma::max_num_tasks(const DeviceInfo& info) { return dma_capabilities(info).max_num_tasks; }

void Dma::set_memcpy_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks) {
  require_idle("set memcpy conf of");
  pool(0).configure("set memcpy conf", on_success, on_error, num_tasks, max_num_tasks(device()->info()));
}

Status Dma::memcpy(Buf* src, Buf* dst, std::uint64_t user_data, DmaMemcpyTask*& task) noexcept {
  const Status status = take(0, user_data, task);
  if (status == Status::success) [[likely]] {
    task->src_ = src;
    task->dst_ = dst;
  }
  return status;
}

Status library::Dma::begin() {
  if (open_pools<DmaMemcpyTask>(*this) == 0) {
    throw Error(Status::invalid_value,
                "start dma: nothing is configured; give the memcpy task's conf (set_memcpy_conf)");
  }
  open_queue(device()->backend().create_copy_queue({.depth = pool(0).num_tasks()}, *this));
  return Status::success;
}

Task& library::Dma::task_of(backend::Operation& operation) const noexcept {
  return static_cast<DmaMemcpyTask&>(operation);
}

bool library::Dma::poll_one(bool& more) noexcept {
  backend::Operation* const operation = poll_queue(more);
  if (operation == nullptr) {
    return false;
  }
  // The callback may submit, or stop the context: more may be out of date then, and asking once too often is cheap.
  const Status status = operation->status;
  complete_as(static_cast<DmaMemcpyTask&>(*operation), status, status != Status::success);
  return true;
}

}  // namespace pydoca
