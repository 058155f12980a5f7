#include "pydoca/dma.hpp"

#include "library/workq/work_queue.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::workq {

namespace {

constexpr JobTraits memcpy_jobs{.type_of = [](const Task& /*task*/) noexcept { return JobType::dma_memcpy; }};

}  // namespace

void WorkQueue::add(const std::shared_ptr<Dma>& ctx) {
  add_configured(ctx, [](Dma& dma, std::uint32_t count) {
    dma.set_memcpy_conf(task_ended<memcpy_jobs>, task_ended<memcpy_jobs>, count);
  });
}

Status WorkQueue::submit(const DmaMemcpyJob& job) noexcept {
  return submit_new(job.ctx, job.dst_buff, [&](Task*& taken) {
    DmaMemcpyTask* task = nullptr;
    const Status status = job.ctx->memcpy(job.src_buff, job.dst_buff, job.user_data, task);
    taken = task;
    return status;
  });
}

}  // namespace pydoca::workq
