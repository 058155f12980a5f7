#include "common/ctx.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "common/dev.hpp"

using namespace pydoca;
using capi::Call;

namespace {

void announce(std::uint64_t user_data, Context& context, ContextState previous, ContextState next) noexcept {
  doca_ctx* const ctx = capi::ctx_of(context);
  ctx->state_changed(capi::as_data(user_data), ctx, static_cast<doca_ctx_states>(previous),
                     static_cast<doca_ctx_states>(next));
}

doca_error_t refuse_datapath(const Call& call, doca_ctx* ctx, const void* processor) noexcept {
  if (!call.has(ctx, processor)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "the data path of a program in C is on the CPU");
}

}  // namespace

doca_error_t doca_ctx_start(doca_ctx* ctx) {
  const Call call;
  if (!call.has(ctx)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { return ctx->context->start(); });
}

doca_error_t doca_ctx_stop(doca_ctx* ctx) {
  const Call call;
  if (!call.has(ctx)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { return ctx->context->stop(); });
}

doca_error_t doca_ctx_get_state(const doca_ctx* ctx, doca_ctx_states* state) {
  if (!Call().has(ctx, state)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *state = static_cast<doca_ctx_states>(ctx->context->state());
  return DOCA_SUCCESS;
}

doca_error_t doca_ctx_get_num_inflight_tasks(const doca_ctx* ctx, std::size_t* num_inflight_tasks) {
  if (!Call().has(ctx, num_inflight_tasks)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *num_inflight_tasks = ctx->context->num_inflight_tasks();
  return DOCA_SUCCESS;
}

void doca_ctx_flush_tasks(doca_ctx* ctx) {
  if (Call().has(ctx)) {
    ctx->context->flush_tasks();
  }
}

doca_error_t doca_ctx_set_user_data(doca_ctx* ctx, doca_data user_data) {
  if (!Call().has(ctx)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  ctx->context->set_user_data(user_data.u64);
  return DOCA_SUCCESS;
}

doca_error_t doca_ctx_get_user_data(const doca_ctx* ctx, doca_data* user_data) {
  if (!Call().has(ctx, user_data)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *user_data = capi::as_data(ctx->context->user_data());
  return DOCA_SUCCESS;
}

doca_error_t doca_ctx_set_state_changed_cb(doca_ctx* ctx, doca_ctx_state_changed_callback_t cb) {
  const Call call;
  if (!call.has(ctx)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (cb == nullptr) {
    return call.invalid("the callback is NULL");
  }
  ctx->state_changed = cb;
  ctx->context->set_state_changed(announce);
  return DOCA_SUCCESS;
}

doca_error_t doca_ctx_set_datapath_on_gpu(doca_ctx* ctx, doca_gpu* gpu_dev) {
  return refuse_datapath(Call(), ctx, gpu_dev);
}

doca_error_t doca_ctx_set_datapath_on_dpa(doca_ctx* ctx, doca_dpa* dpa_dev) {
  return refuse_datapath(Call(), ctx, dpa_dev);
}

doca_error_t doca_ctx_set_completion_vector(doca_ctx* ctx, std::uint32_t /*comp_vector*/) {
  const Call call;
  if (!call.has(ctx)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "devices here have no completion vectors");
}

doca_error_t doca_ctx_cap_get_num_completion_vectors(const doca_devinfo* devinfo, std::uint32_t* num_comp_vectors) {
  const Call call;
  if (!call.has(devinfo, num_comp_vectors)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.ask([] { throw Error(Status::not_supported, "devices here have no completion vectors"); });
}
