#include "library/require_library.hpp"

#include "pydoca/capabilities.hpp"
#include "pydoca/status.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <string>

namespace pydoca::detail {

void refuse_library(const DeviceInfo& info, std::string_view capability, std::string_view lack) {
  std::string kind(capability);
  std::ranges::replace(kind, '_', ' ');
  throw Error(Status::not_supported,
              concat(kind, ": ", info.name(), " ", lack, ": ", find_capability(capability).of(info).reason));
}

}  // namespace pydoca::detail
