#include "library/mmap_advise/mmap_advise.hpp"

#include "pydoca/capabilities.hpp"

#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/memory_access.hpp"
#include "library/operands.hpp"
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
  if (!info.capabilities().mmap_advise) {
    throw Error(Status::not_supported, detail::concat("mmap advise: ", info.name(), " is not suitable: ",
                                                      find_capability("mmap_advise").of(info).reason));
  }
  return *info.capabilities().mmap_advise;
}

}  // namespace

Status MmapAdviseInvalidateCacheTask::set_buf(Buf* buf) noexcept { return detail::set_operand(*this, buf_, buf); }

library::InvalidateCacheTask::InvalidateCacheTask(MmapAdvise& context, detail::TaskPool& pool,
                                                  std::size_t /*kind*/) noexcept
    : MmapAdviseInvalidateCacheTask(context, pool) {}

library::MmapAdvise& library::InvalidateCacheTask::library() const noexcept {
  return static_cast<MmapAdvise&>(context());
}

bool library::InvalidateCacheTask::breaks_limit(detail::Violation* why) const noexcept {
  if (buf() == nullptr) {
    return broken(why, {.limit = detail::limits::missing, .operand = "buf"});
  }
  const Device& device = *library().device();
  if (detail::Operands::break_limit(why, "buf", *buf(), 1, "the limit of this task", device)) {
    return true;
  }
  const std::uint64_t size = buf()->data_len();
  const std::uint64_t most = device.info().capabilities().mmap_advise->max_buf_size;
  if (buf()->mmap()->is_from_export()) {
    return broken(why, {.limit = not_local, .operand = "buf"});
  }
  if (size == 0) {
    return broken(why, {.limit = detail::limits::no_data, .operand = "buf"});
  }
  const detail::Violation too_much{
      .limit = detail::limits::size, .operand = "buf", .setting = "max_buf_size", .value = size, .allowed = most};
  return size > most && broken(why, too_much);
}

std::string library::InvalidateCacheTask::explain(Status status) const {
  if (slot != 0 && status == outcome) {
    return detail::explain_faulty_data(slot);
  }
  if (status != Status::io_failed) {
    return Task::explain(status);
  }
  const Device& device = *library().device();
  detail::Violation violation;
  breaks_limit(&violation);
  std::string reason;
  if (violation.limit == nullptr) {
    reason = detail::explain_local_access("buf", buf(), device, detail::Use::reads);
  }
  return detail::concat(reason.empty() ? detail::explain(violation, device.info()) : reason,
                        "; the context stops: start it again once it is idle");
}

Status library::InvalidateCacheTask::post(bool flush) noexcept {
  if (!detail::Operands::find_segment(buf(), source)) [[unlikely]] {
    return Status::invalid_value;
  }
  length = source != nullptr ? source->data_len : 0;
  const Status posted = library().data_queue().post(*this, flush);
  if (posted == Status::success) {
    library().expect_completion();
    detail::Operands::lend(buf());
  }
  return posted;
}

void library::InvalidateCacheTask::finish(Status /*status*/) noexcept { detail::Operands::take_back(buf()); }

library::MmapAdvise::MmapAdvise(std::shared_ptr<Device> device) : DataContext(std::move(device), mmap_advise_engine) {
  static_cast<void>(advise_capabilities(this->device()->info()));
}

library::MmapAdvise::~MmapAdvise() { abandon(); }

std::shared_ptr<MmapAdvise> MmapAdvise::create(std::shared_ptr<Device> device) {
  return detail::make_context<library::MmapAdvise>(std::move(device));
}

bool MmapAdvise::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().mmap_advise.has_value(); }
std::uint64_t MmapAdvise::max_buf_size(const DeviceInfo& info) { return advise_capabilities(info).max_buf_size; }
std::uint32_t MmapAdvise::max_num_tasks(const DeviceInfo& info) { return advise_capabilities(info).max_num_tasks; }

void MmapAdvise::set_invalidate_cache_conf(Task::Callback on_success, Task::Callback on_error,
                                           std::uint32_t num_tasks) {
  if (state() != ContextState::idle) {
    throw Error(Status::not_permitted, "set invalidate_cache conf: the mmap advise is not idle; stop it first");
  }
  detail::ContextTasks::pool(*this, 0).configure("set invalidate_cache conf", on_success, on_error, num_tasks,
                                                 max_num_tasks(device()->info()));
}

std::uint32_t MmapAdvise::num_tasks() const noexcept { return detail::ContextTasks::pool(*this, 0).num_tasks(); }

Status MmapAdvise::invalidate_cache(Buf* buf, std::uint64_t user_data, MmapAdviseInvalidateCacheTask*& task) noexcept {
  const Status status = detail::ContextTasks::take(*this, 0, user_data, task);
  if (status == Status::success) [[likely]] {
    static_cast<library::InvalidateCacheTask&>(*task).give(buf);
  }
  return status;
}

}  // namespace pydoca
