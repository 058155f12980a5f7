#include "pydoca/sha.hpp"

#include "library/workq/work_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pydoca::workq {

namespace {

JobType type_of(const Task& task) noexcept {
  constexpr std::array types{JobType::sha1, JobType::sha256, JobType::sha512};
  return types[static_cast<std::size_t>(static_cast<const ShaHashTask&>(task).algorithm())];
}

constexpr JobTraits hash_jobs{.type_of = type_of};
constexpr JobTraits partial_hash_jobs{.type_of = type_of, .is_session = true};

/// The next piece for the session. What a message that has begun keeps is compared, as its setters refuse it.
Status prepare(const ShaPartialJob& job) noexcept {
  ShaPartialHashTask& session = *job.session;
  Status status = session.set_src(job.req_buf);
  if (status == Status::success && job.resp_buf != session.dst()) {
    status = session.set_dst(job.resp_buf);
  }
  if (status == Status::success && job.algorithm != session.algorithm()) {
    status = session.set_algorithm(job.algorithm);
  }
  if (status == Status::success && job.is_final) {
    status = session.set_is_final_buf();
  }
  if (status == Status::success) {
    session.set_user_data(job.user_data);
  }
  return status;
}

}  // namespace

void WorkQueue::add(const std::shared_ptr<Sha>& ctx) {
  add_configured(ctx, [](Sha& sha, std::uint32_t count) {
    sha.set_hash_conf(task_ended<hash_jobs>, task_ended<hash_jobs>, count);
    sha.set_partial_hash_conf(task_ended<partial_hash_jobs>, task_ended<partial_hash_jobs>, count);
  });
}

Status WorkQueue::submit(const ShaJob& job) noexcept {
  return submit_new(job.ctx, job.resp_buf, [&](Task*& taken) {
    ShaHashTask* task = nullptr;
    const Status status = job.ctx->hash(job.req_buf, job.resp_buf, job.algorithm, job.user_data, task);
    taken = task;
    return status;
  });
}

Status WorkQueue::submit(const ShaPartialJob& job) noexcept {
  if (const Status status = check_room(job.ctx); status != Status::success) {
    return status;
  }
  if (job.session == nullptr || &job.session->context() != job.ctx) {
    return Status::invalid_value;
  }
  if (const Status status = prepare(job); status != Status::success) {
    return status;
  }
  return submit_task(*job.session, job.resp_buf);
}

}  // namespace pydoca::workq
