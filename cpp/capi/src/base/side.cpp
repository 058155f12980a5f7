#include "base/side.hpp"

#include "pydoca/status.hpp"

#include <algorithm>
#include <cstdlib>
#include <doca_build_config.h>
#include <string>
#include <string_view>

namespace pydoca::capi {
namespace {

// Volatile, as the compiler would otherwise not read it at all. The letters behind the sign are host, or dpu and a
// space.
#ifdef DOCA_ARCH_DPU
constexpr volatile char mark[] = "pydoca library for C programs of the side=dpu ";
#else
constexpr volatile char mark[] = "pydoca library for C programs of the side=host";
#endif
constexpr std::size_t first_letter = sizeof mark - sizeof "host";

}  // namespace

Side side() noexcept { return mark[first_letter] == 'd' ? Side::dpu : Side::host; }

void require_side() {
  const char* const text = std::getenv("PYDOCA_SIDE");
  const std::string_view ours = side_names[static_cast<std::size_t>(side())];
  if (text == nullptr || *text == '\0' || text == ours) {
    return;
  }
  if (std::find(side_names.begin(), side_names.end(), std::string_view(text)) == side_names.end()) {
    throw Error(Status::not_permitted, "PYDOCA_SIDE is \"" + std::string(text) +
                                           "\", which is not a side; there are host and dpu, and this program was "
                                           "built for the side \"" +
                                           std::string(ours) + "\"");
  }
  throw Error(Status::not_permitted, "PYDOCA_SIDE is \"" + std::string(text) +
                                         "\", and this program was built for the side \"" + std::string(ours) +
                                         "\": build it with the other side's headers and library, or unset it");
}

}  // namespace pydoca::capi
