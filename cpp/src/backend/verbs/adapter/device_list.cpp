#include "backend/verbs/adapter/device_list.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pydoca::verbs {

DeviceList::DeviceList() {
  if (!library().reason.empty()) {
    return;
  }
  int count = 0;
  list_ = library().get_device_list(&count);
  error_ = list_ == nullptr ? errno : 0;
  count_ = list_ == nullptr ? 0 : static_cast<std::size_t>(count);
}

DeviceList::~DeviceList() {
  if (list_ != nullptr) {
    library().free_device_list(list_);
  }
}

std::string DeviceList::reason() const {
  if (count_ != 0) {
    return {};
  }
  if (error_ == ENOSYS) {
    return "this system has no RDMA; load the kernel's module ib_uverbs and the driver of the device";
  }
  if (error_ != 0) {
    return detail::concat("RDMA devices cannot be listed: ", std::strerror(error_));
  }
  return "this system has no RDMA device; load its driver, or make one in software (rdma link add rxe0 type rxe "
         "netdev INTERFACE)";
}

ibv_device* DeviceList::find(const std::string& name) const noexcept {
  const auto found = std::ranges::find_if(devices(), [&](const ibv_device* device) { return device->name == name; });
  return found == devices().end() ? nullptr : *found;
}

}  // namespace pydoca::verbs
