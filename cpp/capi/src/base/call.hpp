/// What every function of the C API does with its arguments, and with what the engine throws.
#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/status.hpp"

#include <concepts>
#include <doca_error.h>
#include <exception>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pydoca::capi {

constexpr doca_error_t as_c(Status status) noexcept { return static_cast<doca_error_t>(status); }

/// An object whose end can be seen.
template <class T>
concept Recognisable = requires(const T& object) {
  { object.is_alive() } -> std::convertible_to<bool>;
  { T::noun() } -> std::convertible_to<std::string_view>;
};

/// One call of a C program: made at the beginning of the function whose name its messages have. The log gets one line
/// for a failure.
class Call {
 public:
  explicit Call(std::source_location where = std::source_location::current()) noexcept : where_(where) {}

  /// Whether no argument is NULL, and each object is alive and of its kind; logs the first that is not.
  template <class... T>
  [[nodiscard, gnu::always_inline]] bool has(const T*... arguments) const noexcept {
    int place = 0;
    return (accept(++place, arguments) && ...);
  }

  /// The status as C has it, and a line of the log: "doca_dev_open: text".
  [[gnu::cold, gnu::noinline]] doca_error_t refuse(Status status, std::string_view text) const noexcept;
  [[nodiscard]] doca_error_t invalid(std::string_view text) const noexcept {
    return refuse(Status::invalid_value, text);
  }

  /// Runs what may throw. Its result is a Status, or nothing for success.
  template <std::invocable Action>
  doca_error_t run(Action&& action) const noexcept {
    try {
      if constexpr (std::same_as<std::invoke_result_t<Action&>, Status>) {
        return as_c(std::forward<Action>(action)());
      } else {
        std::forward<Action>(action)();
        return DOCA_SUCCESS;
      }
    } catch (const std::exception& error) {
      return failed(error, false);
    }
  }

  /// The same for a question about a device: that it lacks something is an answer, which is logged at level debug.
  template <std::invocable Read>
  doca_error_t ask(Read&& read) const noexcept {
    try {
      std::forward<Read>(read)();
      return DOCA_SUCCESS;
    } catch (const std::exception& error) {
      return failed(error, true);
    }
  }

 private:
  template <class T>
  [[gnu::always_inline]] bool accept(int place, const T* argument) const noexcept {
    if (argument == nullptr) [[unlikely]] {
      log_null(where_, place);
      return false;
    }
    if constexpr (!std::is_void_v<T>) {
      static_assert(requires { sizeof(T); }, "an argument is of a complete type, so that a dead object is seen");
    }
    if constexpr (Recognisable<T>) {
      if (!argument->is_alive()) [[unlikely]] {
        log_dead(where_, place, T::noun());
        return false;
      }
    } else if constexpr (std::same_as<T, Buf>) {
      if (argument->is_free()) [[unlikely]] {
        log_dead(where_, place, "buf");
        return false;
      }
    }
    return true;
  }
  // The place in the source is a word: by value, it costs a call that succeeds nothing.
  [[gnu::cold, gnu::noinline]] static void log_null(std::source_location where, int place) noexcept;
  [[gnu::cold, gnu::noinline]] static void log_dead(std::source_location where, int place,
                                                    std::string_view noun) noexcept;
  [[gnu::cold, gnu::noinline]] doca_error_t failed(const std::exception& error, bool is_question) const noexcept;

  std::source_location where_;
};

}  // namespace pydoca::capi
