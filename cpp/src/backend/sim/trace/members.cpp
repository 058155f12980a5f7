#include "backend/sim/trace/members.hpp"

#include "backend/sim/fabric/directory.hpp"

#include <dirent.h>
#include <memory>

namespace pydoca::sim {

std::vector<Address> addresses_of(const std::string& fabric, std::string_view purpose) {
  constexpr int max_files = 4096;
  const FabricDirectory directory(fabric);
  const std::string prefix = std::string(purpose) + '-';
  std::vector<Address> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> files(::opendir(directory.path().c_str()), &::closedir);
  for (int i = 0; files != nullptr && i < max_files; ++i) {
    const dirent* const entry = ::readdir(files.get());
    if (entry == nullptr) {
      break;
    }
    if (std::string_view(entry->d_name).starts_with(prefix)) {
      found.push_back({directory, entry->d_name});
    }
  }
  return found;
}

}  // namespace pydoca::sim
