#include "device/device_user.hpp"

#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

constinit DeviceUser* newest = nullptr;

}  // namespace

DeviceUser::DeviceUser() noexcept : previous_(std::exchange(newest, this)) {
  if (previous_ != nullptr) previous_->next_ = this;
}

DeviceUser::~DeviceUser() {
  (next_ != nullptr ? next_->previous_ : newest) = previous_;
  if (previous_ != nullptr) previous_->next_ = next_;
}

DeviceUser* DeviceUser::lender(const Device& device, std::uint64_t addr, std::uint64_t len) noexcept {
  DeviceUser* user = newest;
  while (user != nullptr && !user->lends(device, addr, len)) user = user->previous_;
  return user;
}

void DeviceUser::close_idle(const DeviceObject& device) {
  std::vector<DeviceUser*> users;
  for (DeviceUser* user = newest; user != nullptr; user = user->previous_) {
    if (user->uses(device)) users.push_back(user);
  }
  const auto exists = [](const DeviceUser* wanted) {
    const DeviceUser* user = newest;
    while (user != nullptr && user != wanted) user = user->previous_;
    return user != nullptr;
  };
  for (DeviceUser* const user : users) {
    if (exists(user)) user->close_if_idle();  // a callback of an earlier one may have ended it
  }
}

}  // namespace pydoca::bindings
