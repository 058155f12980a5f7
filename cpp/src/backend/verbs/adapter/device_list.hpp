#pragma once

#include "backend/verbs/library/library.hpp"

#include <span>
#include <string>

namespace pydoca::verbs {

/// The RDMA devices that this process may use now. Entries live as long as the list; those that were opened live
/// longer.
class DeviceList {
 public:
  /// Empty without the library.
  DeviceList();
  ~DeviceList();
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  std::span<ibv_device* const> devices() const noexcept { return {list_, count_}; }
  /// Why it is empty, and what to do about it; or empty.
  std::string reason() const;
  ibv_device* find(const std::string& name) const noexcept;

 private:
  ibv_device** list_ = nullptr;
  std::size_t count_ = 0;
  int error_ = 0;
};

}  // namespace pydoca::verbs
