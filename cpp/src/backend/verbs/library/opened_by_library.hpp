#pragma once

#include "backend/verbs/library/library.hpp"

#include <map>
#include <mutex>
#include <string>

namespace pydoca::verbs {

/// The devices that librdmacm has opened in this process, for which it never closes its descriptors. Some drivers delay
/// a device's removal until they are closed, and with it the command `rdma link delete`. Any thread may use them.
class OpenedByLibrary {
 public:
  static OpenedByLibrary& instance();

  void add(const ibv_context& context);
  /// Replaces librdmacm's descriptors of a device that was removed by descriptors of /dev/null.
  void replace(const std::string& device);

 private:
  struct Files {
    int commands;
    int events;
  };

  OpenedByLibrary() = default;

  std::mutex mutex_;
  std::map<std::string, Files> files_;  ///< indexed by the device's name
};

}  // namespace pydoca::verbs
