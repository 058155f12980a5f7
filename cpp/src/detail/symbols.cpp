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
  return handle_ != nullptr ? ::dlvsym(handle_, name, version) : nullptr;
}

void Symbols::miss(const char* name, const char* version) {
  if (reason_.empty()) {
    reason_ = concat(file_, " has no ", name, " of version ", version, "; install newer ", package_);
  }
}

}  // namespace pydoca::detail
