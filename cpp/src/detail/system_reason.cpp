#include "detail/system_reason.hpp"

#include <cerrno>
#include <string_view>
#include <system_error>

namespace pydoca::detail {

namespace {

std::string_view advice_for(int error) noexcept {
  switch (error) {
    case EMFILE:
      return "; raise this process's limit of open files (ulimit -n)";
    case ENFILE:
      return "; raise this machine's limit of open files (sysctl fs.file-max)";
    default:
      return "";
  }
}

}  // namespace

std::string system_reason(int error) { return std::generic_category().message(error).append(advice_for(error)); }

}  // namespace pydoca::detail
