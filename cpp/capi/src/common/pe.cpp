#include "common/pe.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "common/ctx.hpp"

using namespace pydoca;
using capi::Call;

doca_error_t doca_pe_create(doca_pe** pe) {
  const Call call;
  if (!call.has(pe)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    auto engine = ProgressEngine::create();
    *pe = capi::Slab<doca_pe>::make();
    (*pe)->engine = std::move(engine);
  });
}

doca_error_t doca_pe_destroy(doca_pe* pe) {
  const Call call;
  if (!call.has(pe)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    pe->engine->close();
    capi::Slab<doca_pe>::end(*pe);
  });
}

doca_error_t doca_pe_connect_ctx(doca_pe* pe, doca_ctx* ctx) {
  const Call call;
  if (!call.has(pe, ctx)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { pe->engine->connect(ctx->context); });
}

std::uint8_t doca_pe_progress(doca_pe* pe) { return Call().has(pe) ? pe->engine->progress() : std::uint8_t{0}; }

doca_error_t doca_pe_get_num_inflight_tasks(const doca_pe* pe, std::size_t* num_inflight_tasks) {
  if (!Call().has(pe, num_inflight_tasks)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *num_inflight_tasks = pe->engine->num_inflight_tasks();
  return DOCA_SUCCESS;
}

doca_error_t doca_pe_get_notification_handle(const doca_pe* pe, doca_notification_handle_t* handle) {
  if (!Call().has(pe, handle)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *handle = pe->engine->notification_handle();
  return DOCA_SUCCESS;
}

doca_error_t doca_pe_set_notification_handle(doca_pe* pe, doca_notification_handle_t /*handle*/,
                                             doca_data /*completion_key*/) {
  const Call call;
  if (!call.has(pe)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "on Linux the handle is the engine's");
}

doca_error_t doca_pe_request_notification(doca_pe* pe) {
  if (!Call().has(pe)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  pe->engine->request_notification();
  return DOCA_SUCCESS;
}

doca_error_t doca_pe_clear_notification(doca_pe* pe, doca_notification_handle_t /*handle*/) {
  if (!Call().has(pe)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  pe->engine->clear_notification();
  return DOCA_SUCCESS;
}

doca_error_t doca_pe_set_event_mode(doca_pe* pe, doca_pe_event_mode event_mode) {
  const Call call;
  if (!call.has(pe)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  const std::uint32_t mode = capi::number_of(event_mode);
  if (mode > DOCA_PE_EVENT_PROGRESS_ALL) {
    return call.invalid("the event mode is not of the enumeration");
  }
  return call.run([&] { pe->engine->set_event_mode(static_cast<EventMode>(mode)); });
}
