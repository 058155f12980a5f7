#include "library/mmap_advise/mmap_advise.hpp"

#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/require_library.hpp"
#include "library/set_operand.hpp"

#include <utility>

namespace pydoca {

namespace {

/// The operand lies in the memory of another process.
std::string not_local(const detail::Violation& violation, const DeviceInfo& device) {
  return detail::concat(violation.operand, " lies in the memory of another process, and ", device.name(),
                        " does this in memory of its own; map memory of this process");
}

const MmapAdviseCapabilities& advise_capabilities(const DeviceInfo& info) {
  return detail::require_library(info, info.capabilities().mmap_advise, "mmap_advise", "is not suitable");
}

}  // namespace

Status MmapAdviseInvalidateCacheTask::set_buf(Buf* buf) noexcept { return detail::set_operand(*this, buf_, buf); }

bool library::InvalidateCacheTask::breaks_limit(detail::Violation* why) const noexcept {
  const Device& device = *library().device();
  if (detail::break_list_limit(why, "buf", buf(), 1, "the limit of this task", device)) {
    return true;
  }
  const std::uint64_t size = buf()->data_len();
  if (buf()->mmap()->is_from_export()) {
    return broken(why, {.limit = not_local, .operand = "buf"});
  }
  if (size == 0) {
    return broken(why, {.limit = detail::limits::no_data, .operand = "buf"});
  }
  const std::uint64_t most = device.info().capabilities().mmap_advise->max_buf_size;
  return detail::break_size_limit(why, "buf", size, most, "max_buf_size");
}

std::shared_ptr<MmapAdvise> MmapAdvise::create(std::shared_ptr<Device> device) {
  return detail::make_context<library::MmapAdvise>(std::move(device));
}

bool MmapAdvise::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().mmap_advise.has_value(); }
std::uint64_t MmapAdvise::max_buf_size(const DeviceInfo& info) { return advise_capabilities(info).max_buf_size; }
std::uint32_t MmapAdvise::max_num_tasks(const DeviceInfo& info) { return advise_capabilities(info).max_num_tasks; }

void MmapAdvise::set_invalidate_cache_conf(TaskCallback<MmapAdviseInvalidateCacheTask> on_success,
                                           TaskCallback<MmapAdviseInvalidateCacheTask> on_error,
                                           std::uint32_t num_tasks) {
  if (state() != ContextState::idle) {
    throw Error(Status::not_permitted, "set invalidate_cache conf: the mmap advise is not idle; stop it first");
  }
  detail::ContextTasks::pool(*this, 0).configure("set invalidate_cache conf", on_success, on_error, num_tasks,
                                                 max_num_tasks(device()->info()));
}

std::uint32_t MmapAdvise::num_tasks() const noexcept { return detail::ContextTasks::pool(*this, 0).num_tasks(); }

Status MmapAdvise::invalidate_cache(Buf* buf, std::uint64_t user_data, MmapAdviseInvalidateCacheTask*& task) noexcept {
  return detail::take_data_task<library::InvalidateCacheTask>(*this, 0, user_data, task, buf);
}

}  // namespace pydoca
