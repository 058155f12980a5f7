#include "backend/verbs/symbols.hpp"

#include "detail/concat.hpp"

#include <dlfcn.h>

namespace pydoca::verbs {

Symbols::Symbols(const char* file) : file_(file), handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) {
    return;
  }
  // When the file is missing, the loader's text begins with its name, and the rest of the text adds nothing.
  const char* const text = ::dlerror();
  const std::string why = text != nullptr ? text : "";
  const bool absent = why.empty() || why.starts_with(file);
  reason_ = detail::concat(file, absent ? " not found" : " cannot be loaded: ", absent ? "" : why,
                           "; install rdma-core's libraries (Debian/Ubuntu: apt-get install libibverbs1 librdmacm1 "
                           "ibverbs-providers)");
}

void* Symbols::find(const char* name, const char* version) const noexcept {
  return handle_ != nullptr ? ::dlvsym(handle_, name, version) : nullptr;
}

void Symbols::miss(const char* name, const char* version) {
  if (reason_.empty()) {
    reason_ = detail::concat(file_, " has no ", name, " of version ", version, "; install a newer rdma-core");
  }
}

}  // namespace pydoca::verbs
