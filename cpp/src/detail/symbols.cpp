#include "detail/symbols.hpp"

#include "detail/concat.hpp"

#include <dlfcn.h>

namespace pydoca::detail {

Symbols::Symbols(const char* file, const char* package)
    : file_(file), package_(package), handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) {
    return;
  }
  // When the file is missing, the loader's text begins with its name, and the rest of the text adds nothing.
  const char* const text = ::dlerror();
  const std::string why = text != nullptr ? text : "";
  const bool absent = why.empty() || why.starts_with(file);
  reason_ = concat(file, absent ? " not found" : " cannot be loaded: ", absent ? "" : why, "; install ", package);
}

void* Symbols::find(const char* name, const char* version) const noexcept {
  if (handle_ == nullptr) {
    return nullptr;
  }
  return version != nullptr ? ::dlvsym(handle_, name, version) : ::dlsym(handle_, name);
}

void Symbols::miss(const char* name, const char* version) {
  if (reason_.empty()) {
    const bool versioned = version != nullptr;
    reason_ = concat(file_, " has no ", name, versioned ? " of version " : "", versioned ? version : "",
                     "; install newer ", package_);
  }
}

}  // namespace pydoca::detail
