#pragma once

#include <string>

namespace pydoca::detail {

/// Takes functions out of a shared library by name and version; a null version is that of a library whose functions
/// have none. The library stays loaded.
class Symbols {
 public:
  /// package: what to install where the library is absent or too old, as "rdma-core's libraries (...)". It outlives
  /// this.
  Symbols(const char* file, const char* package);

  /// A required function: when it is missing, reason() says so.
  template <class Function>
  void require(Function*& function, const char* name, const char* version) {
    function = reinterpret_cast<Function*>(find(name, version));
    if (function == nullptr) {
      miss(name, version);
    }
  }
  /// Null in a library that is too old for it.
  template <class Function>
  void take(Function*& function, const char* name, const char* version) {
    function = reinterpret_cast<Function*>(find(name, version));
  }

  /// Why the library cannot be used, and what to do; empty: it can.
  const std::string& reason() const noexcept { return reason_; }

 private:
  void* find(const char* name, const char* version) const noexcept;
  void miss(const char* name, const char* version);

  const char* const file_;
  const char* const package_;
  void* handle_;
  std::string reason_;
};

}  // namespace pydoca::detail
