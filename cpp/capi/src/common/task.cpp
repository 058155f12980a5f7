#include "pydoca/task.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/objects.hpp"
#include "common/ctx.hpp"

#include <doca_pe.h>

using namespace pydoca;
using capi::Call;
using capi::engine;

namespace {

doca_error_t refuse_batch(const Call& call, const doca_task_batch* batch) noexcept {
  if (!call.has(static_cast<const void*>(batch))) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "no library here has batches of tasks");
}

// Each Call() of a function of the data path has one use, in the way of a failure: the compiler makes it there.

// A full queue is how fast programs learn to wait: no line of the log for it.
[[gnu::cold, gnu::noinline]] doca_error_t refuse_submission(Call call, const Task& task, Status status) noexcept {
  if (status == Status::again) {
    return DOCA_ERROR_AGAIN;
  }
  return call.run([&] { throw Error(status, task.explain(status)); });
}

doca_error_t answer_submission(Call call, const Task& task, Status status) noexcept {
  return status == Status::success ? DOCA_SUCCESS : refuse_submission(call, task, status);
}

}  // namespace

// The engine's function becomes a part of it, which then looks at the status once.
[[gnu::flatten]] doca_error_t doca_task_submit(doca_task* task) {
  return Call().has(engine(task)) ? answer_submission(Call(), *engine(task), engine(task)->submit())
                                  : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_task_submit_ex(doca_task* task, std::uint32_t flags) {
  constexpr std::uint32_t known = DOCA_TASK_SUBMIT_FLAG_FLUSH | DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS;
  const Call call;
  if (!call.has(engine(task))) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if ((flags & ~known) != 0) {
    return call.invalid("flags has a bit that is not a flag");
  }
  return answer_submission(call, *engine(task), engine(task)->submit(static_cast<SubmitFlags>(flags)));
}

doca_error_t doca_task_try_submit(doca_task* task) {
  return Call().has(engine(task)) ? answer_submission(Call(), *engine(task), engine(task)->try_submit())
                                  : DOCA_ERROR_INVALID_VALUE;
}

void doca_task_free(doca_task* task) {
  if (!Call().has(engine(task))) {
    return;
  }
  if (const Status status = engine(task)->free(); status != Status::success) [[unlikely]] {
    static_cast<void>(Call().refuse(status, error_descr(status)));
  }
}

doca_error_t doca_task_get_status(const doca_task* task) {
  return Call().has(engine(task)) ? capi::as_c(engine(task)->status()) : DOCA_ERROR_INVALID_VALUE;
}

void doca_task_set_user_data(doca_task* task, doca_data user_data) {
  if (Call().has(engine(task))) {
    engine(task)->set_user_data(user_data.u64);
  }
}

doca_data doca_task_get_user_data(const doca_task* task) {
  return capi::as_data(Call().has(engine(task)) ? engine(task)->user_data() : 0);
}

doca_ctx* doca_task_get_ctx(const doca_task* task) {
  return Call().has(engine(task)) ? capi::ctx_of(engine(task)->context()) : nullptr;
}

doca_error_t doca_task_batch_submit(doca_task_batch* task_batch) { return refuse_batch(Call(), task_batch); }

doca_error_t doca_task_batch_try_submit(doca_task_batch* task_batch) { return refuse_batch(Call(), task_batch); }

void doca_task_batch_free(doca_task_batch* task_batch) { static_cast<void>(refuse_batch(Call(), task_batch)); }

doca_error_t doca_task_batch_get_status(const doca_task_batch* task_batch) { return refuse_batch(Call(), task_batch); }

doca_ctx* doca_task_batch_get_ctx(const doca_task_batch* task_batch) {
  static_cast<void>(refuse_batch(Call(), task_batch));
  return nullptr;
}

doca_data doca_task_batch_get_ctx_user_data(const doca_task_batch* task_batch) {
  static_cast<void>(refuse_batch(Call(), task_batch));
  return capi::as_data(0);
}

std::uint16_t doca_task_batch_get_tasks_num(const doca_task_batch* task_batch) {
  static_cast<void>(refuse_batch(Call(), task_batch));
  return 0;
}

void doca_task_batch_set_user_data(doca_task_batch* task_batch, doca_data /*user_data*/) {
  static_cast<void>(refuse_batch(Call(), task_batch));
}

doca_data doca_task_batch_get_user_data(const doca_task_batch* task_batch) {
  static_cast<void>(refuse_batch(Call(), task_batch));
  return capi::as_data(0);
}
