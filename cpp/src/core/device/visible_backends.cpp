#include "core/device/visible_backends.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device.hpp"

#include "detail/concat.hpp"

#include <cstdlib>
#include <string>
#include <utility>

namespace pydoca {

std::vector<backend::Backend*> detail::visible_backends() {
  const char* const text = std::getenv("PYDOCA_BACKEND");
  std::vector<backend::Backend*> visible;
  std::string names;
  for (backend::Backend* const backend : backend::backends()) {
    if (text == nullptr || *text == '\0' || backend->name() == text) {
      visible.push_back(backend);
    }
    names += detail::concat(names.empty() ? "" : ", ", backend->name());
  }
  if (visible.empty()) {
    throw Error(Status::invalid_value,
                detail::concat("PYDOCA_BACKEND is \"", text, "\"; set it to one of ", names, ", or unset it"));
  }
  return visible;
}

std::vector<UnavailableBackend> unavailable_backends() {
  std::vector<UnavailableBackend> absent;
  for (backend::Backend* const backend : detail::visible_backends()) {
    if (std::string reason = backend->unavailable(); !reason.empty()) {
      absent.push_back({std::string(backend->name()), std::move(reason)});
    }
  }
  return absent;
}

std::string detail::absent_note() {
  std::string why;
  for (const UnavailableBackend& absent : unavailable_backends()) {
    why += detail::concat("; ", absent.name, ": ", absent.reason);
  }
  return why;
}

}  // namespace pydoca
