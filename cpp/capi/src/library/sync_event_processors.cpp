/// What an event would be on a processor beside the CPU: refused.
#include "library/sync_event.hpp"

using namespace pydoca;
using capi::Call;

namespace {

template <class... Argument>
doca_error_t refuse(const Call& call, Argument*... arguments) noexcept {
  if (!call.has(arguments...)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "kernels of a DPA or a GPU take no events from C");
}

}  // namespace

doca_error_t doca_sync_event_cap_is_export_to_dpa_supported(const doca_devinfo* devinfo) {
  return refuse(Call(), devinfo);
}

doca_error_t doca_sync_event_cap_is_export_to_gpu_supported(const doca_devinfo* devinfo) {
  return refuse(Call(), devinfo);
}

doca_error_t doca_sync_event_cap_remote_net_is_export_to_dpa_supported(const doca_devinfo* devinfo) {
  return refuse(Call(), devinfo);
}

doca_error_t doca_sync_event_cap_remote_net_is_export_to_gpu_supported(const doca_devinfo* devinfo) {
  return refuse(Call(), devinfo);
}

doca_error_t doca_sync_event_add_publisher_location_dpa(doca_sync_event* event, doca_dpa* /*dpa*/) {
  return refuse(Call(), event);
}

doca_error_t doca_sync_event_add_publisher_location_gpu(doca_sync_event* event, doca_gpu* /*gpu*/) {
  return refuse(Call(), event);
}

doca_error_t doca_sync_event_add_subscriber_location_dpa(doca_sync_event* event, doca_dpa* /*dpa*/) {
  return refuse(Call(), event);
}

doca_error_t doca_sync_event_add_subscriber_location_gpu(doca_sync_event* event, doca_gpu* /*gpu*/) {
  return refuse(Call(), event);
}

doca_error_t doca_sync_event_get_dpa_handle(doca_sync_event* event, doca_dpa* /*dpa*/,
                                            doca_dpa_dev_sync_event_t* dpa_handle) {
  return refuse(Call(), event, dpa_handle);
}

doca_error_t doca_sync_event_get_gpu_handle(doca_sync_event* event, doca_gpu* /*gpu*/,
                                            doca_gpu_dev_sync_event_t* gpu_handle) {
  return refuse(Call(), event, gpu_handle);
}

doca_error_t doca_sync_event_remote_net_get_dpa_handle(doca_sync_event_remote_net* event, doca_dpa* /*dpa*/,
                                                       doca_dpa_dev_sync_event_remote_net_t* dpa_handle) {
  return refuse(Call(), event, dpa_handle);
}

doca_error_t doca_sync_event_remote_net_get_gpu_handle(doca_sync_event_remote_net* event, doca_gpu* /*gpu*/,
                                                       doca_gpu_dev_sync_event_remote_net_t* gpu_handle) {
  return refuse(Call(), event, gpu_handle);
}
