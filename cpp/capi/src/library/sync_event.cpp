#include "library/sync_event.hpp"

#include "base/objects.hpp"
#include "library/capabilities.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

using namespace pydoca;
using capi::Call;

namespace {

void require_conf(const DeviceInfo& info, SyncEventOperation operation, std::uint32_t num_tasks) {
  if (!SyncEventContext::is_supported(info, operation)) {
    throw Error(Status::not_supported, info.name() + " has no " + std::string(name_of(operation)) + " tasks");
  }
  const std::uint32_t limit = SyncEventContext::max_num_tasks(info);
  if (num_tasks == 0 || num_tasks > limit) {
    throw Error(Status::invalid_value, std::to_string(num_tasks) + " tasks is not in 1.." + std::to_string(limit));
  }
}

}  // namespace

void capi::EventConfs::set(const SyncEvent& event, SyncEventOperation operation, TaskCallback<SyncEventTask> on_success,
                           TaskCallback<SyncEventTask> on_error, std::uint32_t num_tasks) {
  if (const std::shared_ptr<Device> device = event.device(); device != nullptr) {
    require_conf(device->info(), operation, num_tasks);
  }
  confs_[static_cast<std::size_t>(operation)] = {on_success, on_error, num_tasks};
}

void capi::EventConfs::apply(SyncEventContext& context) const {
  for (std::size_t number = 0; number < confs_.size(); ++number) {
    const Conf& conf = confs_[number];
    if (conf.num_tasks != 0) {
      context.set_conf(static_cast<SyncEventOperation>(number), conf.on_success, conf.on_error, conf.num_tasks);
    }
  }
}

void doca_sync_event::set_conf(SyncEventOperation operation, TaskCallback<SyncEventTask> on_success,
                               TaskCallback<SyncEventTask> on_error, std::uint32_t num_tasks) {
  if (context != nullptr) {
    engine().set_conf(operation, on_success, on_error, num_tasks);
  } else if (was_started) {
    throw Error(Status::not_permitted, "the event was started in the synchronous mode, which has no tasks");
  } else {
    confs.set(*event, operation, on_success, on_error, num_tasks);
  }
}

namespace {

/// Hands out an object for an event that make() gives.
template <class Object, class Make>
doca_error_t create(const Call& call, Object** object, Make make) noexcept {
  return call.run([&] {
    auto event = make();
    Object* const made = capi::Slab<Object>::make();
    made->event = std::move(event);
    *object = made;
  });
}

std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) noexcept {
  return std::as_bytes(std::span(data, size));
}

void make_context(doca_sync_event& event) {
  std::shared_ptr<SyncEventContext> context = event.event->as_context();
  event.confs.apply(*context);
  context->set_face(static_cast<doca_ctx*>(&event));
  event.context = std::move(context);
}

/// Calls a function of the engine's event.
template <class Action>
doca_error_t act(const Call& call, doca_sync_event* event, Action action) noexcept {
  return call.has(event) ? call.run([&] { action(*event->event); }) : DOCA_ERROR_INVALID_VALUE;
}

/// Hands out a description, which the event keeps: the same one as before, if it is the same.
template <class Export>
doca_error_t hand_out(const Call& call, doca_sync_event& event, const std::uint8_t** data, std::size_t* size,
                      Export export_event) noexcept {
  return call.run([&] {
    std::vector<std::byte> made = export_event(*event.event);
    auto blob = std::find(event.blobs.begin(), event.blobs.end(), made);
    if (blob == event.blobs.end()) {
      blob = event.blobs.insert(blob, std::move(made));
    }
    *data = reinterpret_cast<const std::uint8_t*>(blob->data());
    *size = blob->size();
  });
}

}  // namespace

doca_error_t doca_sync_event_create(doca_sync_event** event) {
  const Call call;
  return call.has(event) ? create(call, event, [] { return SyncEvent::create(); }) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_create_from_export(doca_dev* dev, const std::uint8_t* data, std::size_t sz,
                                                doca_sync_event** event) {
  const Call call;
  if (!call.has(dev, data, event)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return create(call, event, [&] { return SyncEvent::create_from_export(dev->device, bytes_of(data, sz)); });
}

doca_error_t doca_sync_event_destroy(doca_sync_event* event) {
  const Call call;
  if (!call.has(event)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    event->event->close();
    if (event->context != nullptr) {
      capi::end_context(*event);
    } else {
      capi::Slab<doca_sync_event>::end(*event);
    }
  });
}

doca_error_t doca_sync_event_remote_net_create_from_export(doca_dev* dev, const std::uint8_t* data, std::size_t sz,
                                                           doca_sync_event_remote_net** event) {
  const Call call;
  if (!call.has(dev, data, event)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  const doca_error_t result =
      create(call, event, [&] { return SyncEventRemoteNet::create_from_export(dev->device, bytes_of(data, sz)); });
  if (result == DOCA_SUCCESS) {
    (*event)->event->set_face(*event);
  }
  return result;
}

doca_error_t doca_sync_event_remote_net_destroy(doca_sync_event_remote_net* event) {
  const Call call;
  if (!call.has(event)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  event->event->close();
  event->event->set_face(nullptr);
  capi::Slab<doca_sync_event_remote_net>::end(*event);
  return DOCA_SUCCESS;
}

doca_error_t doca_sync_event_cap_is_create_from_export_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, SyncEvent::is_create_from_export_supported);
}

doca_error_t doca_sync_event_cap_remote_net_is_create_from_export_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, SyncEvent::is_remote_net_create_from_export_supported);
}

doca_error_t doca_sync_event_cap_is_export_to_remote_pci_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, SyncEvent::is_export_to_remote_pci_supported);
}

doca_error_t doca_sync_event_cap_is_export_to_remote_net_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, SyncEvent::is_export_to_remote_net_supported);
}

doca_error_t doca_sync_event_add_publisher_location_cpu(doca_sync_event* event, doca_dev* dev) {
  const Call call;
  if (!call.has(event, dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { event->event->add_publisher_location_cpu(dev->device); });
}

doca_error_t doca_sync_event_add_subscriber_location_cpu(doca_sync_event* event, doca_dev* dev) {
  const Call call;
  if (!call.has(event, dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { event->event->add_subscriber_location_cpu(dev->device); });
}

doca_error_t doca_sync_event_add_publisher_location_remote_pci(doca_sync_event* event) {
  return act(Call(), event, [](SyncEvent& of) { of.add_publisher_location(SyncEventLocation::remote_pci); });
}

doca_error_t doca_sync_event_add_publisher_location_remote_net(doca_sync_event* event) {
  return act(Call(), event, [](SyncEvent& of) { of.add_publisher_location(SyncEventLocation::remote_net); });
}

doca_error_t doca_sync_event_add_subscriber_location_remote_pci(doca_sync_event* event) {
  return act(Call(), event, [](SyncEvent& of) { of.add_subscriber_location(SyncEventLocation::remote_pci); });
}

doca_error_t doca_sync_event_set_addr(doca_sync_event* event, std::uint64_t* addr) {
  return act(Call(), event, [&](SyncEvent& of) { of.set_addr(addr); });
}

doca_error_t doca_sync_event_set_doca_buf(doca_sync_event* event, doca_buf* buf) {
  const Call call;
  if (!call.has(event, capi::engine(buf))) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { event->event->set_buf(*capi::engine(buf)); });
}

doca_error_t doca_sync_event_start(doca_sync_event* event) {
  const Call call;
  if (!call.has(event)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    event->event->start();
    event->was_started = true;
  });
}

doca_error_t doca_sync_event_stop(doca_sync_event* event) {
  return act(Call(), event, [](SyncEvent& of) { of.stop(); });
}

doca_ctx* doca_sync_event_as_ctx(doca_sync_event* event) {
  const Call call;
  if (!call.has(event)) {
    return nullptr;
  }
  const bool is_made = event->context != nullptr || call.run([&] { make_context(*event); }) == DOCA_SUCCESS;
  return is_made ? event : nullptr;
}

doca_error_t doca_sync_event_export_to_remote_pci(doca_sync_event* event, doca_dev* dev, const std::uint8_t** data,
                                                  std::size_t* sz) {
  const Call call;
  if (!call.has(event, dev, data, sz)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return hand_out(call, *event, data, sz, [&](SyncEvent& of) { return of.export_to_remote_pci(*dev->device); });
}

doca_error_t doca_sync_event_export_to_remote_net(doca_sync_event* event, const std::uint8_t** data, std::size_t* sz) {
  const Call call;
  if (!call.has(event, data, sz)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return hand_out(call, *event, data, sz, [](SyncEvent& of) { return of.export_to_remote_net(); });
}
