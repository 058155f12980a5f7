#pragma once

#include <doca_error.h>
#include <stdexcept>
#include <string>

namespace pydoca::capi::argp {

/// A callback of the program failed. Its code is the answer as it is, also one that the engine does not know.
class Answer : public std::runtime_error {
 public:
  Answer(doca_error_t code, const std::string& whose)
      : std::runtime_error(whose + ": the program's callback answered " + doca_error_get_name(code)), code_(code) {}
  doca_error_t code() const noexcept { return code_; }

 private:
  doca_error_t code_;
};

/// Throws an Answer unless the callback succeeded. whose: the flag, command or kind of callback.
inline void require_success(doca_error_t code, const std::string& whose) {
  if (code != DOCA_SUCCESS) {
    throw Answer(code, whose);
  }
}

}  // namespace pydoca::capi::argp
