#include "library/dma/dma.hpp"

#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/set_operand.hpp"

#include <utility>

namespace pydoca {

namespace {

using detail::Violation;

const DmaCapabilities& dma_capabilities(const DeviceInfo& info) {
  if (!info.capabilities().dma) {
    throw Error(Status::not_supported, detail::concat("dma: ", info.name(), " has no DMA engine"));
  }
  return *info.capabilities().dma;
}

}  // namespace

Status DmaMemcpyTask::set_src(Buf* src) noexcept { return detail::set_operand(*this, src_, src); }
Status DmaMemcpyTask::set_dst(Buf* dst) noexcept { return detail::set_operand(*this, dst_, dst); }

bool library::DmaMemcpyTask::breaks_limit(Violation* why) const noexcept {
  const Device& device = *library().device();
  const DmaCapabilities& most = *device.info().capabilities().dma;
  const detail::DataLimits named{.max_src_elements = most.max_buf_list_len,
                                 .src_elements = "max_buf_list_len",
                                 .max_dst_elements = most.max_buf_list_len,
                                 .dst_elements = "max_buf_list_len",
                                 .max_size = most.max_buf_size,
                                 .size = "max_buf_size"};
  if (break_limit(why, src(), dst(), named, device)) {
    return true;
  }
  const std::uint64_t size = src()->list_data_len();
  if (size == 0) {
    return broken(why, {.limit = detail::limits::no_data, .operand = "src"});
  }
  const std::uint64_t room = dst()->list_tailroom();
  return size > room && broken(why, {.limit = detail::limits::room, .operand = "dst", .value = size, .allowed = room});
}

std::shared_ptr<Dma> Dma::create(std::shared_ptr<Device> device) {
  return detail::make_context<library::Dma>(std::move(device));
}

bool Dma::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().dma.has_value(); }
std::uint64_t Dma::max_buf_size(const DeviceInfo& info) { return dma_capabilities(info).max_buf_size; }
std::uint32_t Dma::max_buf_list_len(const DeviceInfo& info) { return dma_capabilities(info).max_buf_list_len; }
std::uint32_t Dma::max_num_tasks(const DeviceInfo& info) { return dma_capabilities(info).max_num_tasks; }

void Dma::set_memcpy_conf(TaskCallback<DmaMemcpyTask> on_success, TaskCallback<DmaMemcpyTask> on_error,
                          std::uint32_t num_tasks) {
  detail::ContextTasks::configure(*this, 0, "set memcpy conf", on_success, on_error, num_tasks,
                                  max_num_tasks(device()->info()));
}

std::uint32_t Dma::num_tasks() const noexcept { return detail::ContextTasks::pool(*this, 0).num_tasks(); }

void Dma::set_ordered_completions(bool ordered) {
  require_idle("set ordered completions of");
  ordered_completions_ = ordered;
}

Status Dma::memcpy(Buf* src, Buf* dst, std::uint64_t user_data, DmaMemcpyTask*& task) noexcept {
  return detail::take_data_task<library::DmaMemcpyTask>(*this, 0, user_data, task, src, dst);
}

std::unique_ptr<backend::DataQueue> library::Dma::create_queue(const backend::QueueOptions& options) {
  return DataContext::create_queue({.depth = options.depth, .ordered = ordered_completions()});
}

}  // namespace pydoca
