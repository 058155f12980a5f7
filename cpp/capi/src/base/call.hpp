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
    if (accepts(arguments...)) [[likely]] {
      return true;
    }
    static_cast<void>(refuse_arguments(where_, arguments...));
    return false;
  }

  // The two halves of has(), for the functions of the data path. A function that ends by refuse_arguments() needs no
  // frame for it, and where is not made before, which would cost each call two instructions and one.
  template <class... T>
  [[nodiscard, gnu::always_inline]] static bool accepts(const T*... arguments) noexcept {
    return (is_usable(arguments) && ...);
  }
  template <class... T>
  [[gnu::cold, gnu::noinline]] static doca_error_t refuse_arguments(std::source_location where,
                                                                    const T*... arguments) noexcept {
    int place = 0;
    static_cast<void>(((++place, is_usable(arguments) || log_unusable(where, place, arguments)) && ...));
    return DOCA_ERROR_INVALID_VALUE;
  }

  /// The status as C has it, and a line of the log: "doca_dev_open: text".
  doca_error_t refuse(Status status, std::string_view text) const noexcept { return refuse(where_, status, text); }
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
      return failed(where_, error, false);
    }
  }

  /// The same for a question about a device: that it lacks something is an answer, which is logged at level debug.
  template <std::invocable Read>
  doca_error_t ask(Read&& read) const noexcept {
    try {
      std::forward<Read>(read)();
      return DOCA_SUCCESS;
    } catch (const std::exception& error) {
      return failed(where_, error, true);
    }
  }

 private:
  template <class T>
  static bool is_usable(const T* argument) noexcept {
    if constexpr (!std::is_void_v<T>) {
      static_assert(requires { sizeof(T); }, "an argument is of a complete type, so that a dead object is seen");
    }
    if constexpr (Recognisable<T>) {
      return argument != nullptr && argument->is_alive();
    } else if constexpr (std::same_as<T, Buf>) {
      return argument != nullptr && !argument->is_free();
    } else {
      return argument != nullptr;
    }
  }
  template <class T>
  static constexpr std::string_view noun_of() noexcept {
    if constexpr (Recognisable<T>) {
      return T::noun();
    } else {
      return "buf";
    }
  }

  // The place in the source is a word. By value it costs a call that succeeds nothing: this object needs no memory.
  template <class T>
  static bool log_unusable(std::source_location where, int place, const T* argument) noexcept {
    argument == nullptr ? log_null(where, place) : log_dead(where, place, noun_of<T>());
    return false;
  }
  [[gnu::cold]] static void log_null(std::source_location where, int place) noexcept;
  [[gnu::cold]] static void log_dead(std::source_location where, int place, std::string_view noun) noexcept;
  [[gnu::cold, gnu::noinline]] static doca_error_t refuse(std::source_location where, Status status,
                                                          std::string_view text) noexcept;
  [[gnu::cold, gnu::noinline]] static doca_error_t failed(std::source_location where, const std::exception& error,
                                                          bool is_question) noexcept;

  std::source_location where_;
};

}  // namespace pydoca::capi
