#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pydoca::detail {

/// False, in an assertion that only the use of a template fails.
template <typename>
inline constexpr bool always_false = false;

/// A callback whose object is of the type that the engine knows.
struct AsGiven {};

/// The types of a program's parameter for user data. A smaller number would lose a part of them.
template <typename Wanted>
inline constexpr bool is_user_data = std::is_pointer_v<Wanted> || std::is_enum_v<Wanted> ||
                                     (std::is_integral_v<Wanted> && sizeof(Wanted) == sizeof(std::uint64_t));

/// An argument of the engine as a parameter of the program's function. Object: what Given& is, when it is a base.
template <typename Wanted, typename Object, typename Given>
Wanted argument_as(Given&& given) noexcept {
  using Plain = std::remove_cvref_t<Given>;
  if constexpr (std::is_same_v<Plain, std::uint64_t>) {
    static_assert(is_user_data<Wanted>, "user data arrives as a pointer, an enumerator or an integer of 64 bits");
    if constexpr (std::is_pointer_v<Wanted>) {
      return reinterpret_cast<Wanted>(static_cast<std::uintptr_t>(given));
    } else if constexpr (is_user_data<Wanted>) {
      return static_cast<Wanted>(given);
    }
  } else if constexpr (std::is_base_of_v<Plain, Object> && std::is_convertible_v<Object&, Wanted>) {
    return static_cast<Object&>(given);
  } else {
    static_assert(std::is_convertible_v<Given, Wanted>,
                  "the callback has a parameter of another type than the engine gives");
    return static_cast<Given&&>(given);
  }
}

template <typename Function>
concept HasOneCallOperator = requires { &Function::operator(); };

/// Function, an empty class, as a function with the signature of the engine.
template <typename CallOperator, typename Object>
struct Adapter {
  static_assert(always_false<CallOperator>,
                "a callback is a noexcept function, with the parameters that the header names; the last ones may be "
                "left out");
};

template <typename Function, typename Object, typename Result, typename... Wanted>
struct Adapter<Result (Function::*)(Wanted...) const noexcept, Object> {
  template <typename EnginesResult, typename... Given>
  static EnginesResult call(Given... given) noexcept {
    static_assert(sizeof...(Wanted) <= sizeof...(Given), "the callback has more parameters than the engine gives");
    static_assert(std::is_same_v<Result, EnginesResult>, "the callback returns another type than the header says");
    return call_with(std::forward_as_tuple(static_cast<Given&&>(given)...), std::index_sequence_for<Wanted...>());
  }

 private:
  template <typename Arguments, std::size_t... place>
  static Result call_with([[maybe_unused]] Arguments given, std::index_sequence<place...>) noexcept {
    return Function{}(argument_as<Wanted, Object>(std::get<place>(given))...);
  }
};

template <auto function>
struct Calls {
  static_assert(always_false<decltype(function)>, "calls<f> takes a noexcept function that is not a member of a class");
};

template <typename Result, typename... Arguments, Result (*function)(Arguments...) noexcept>
struct Calls<function> {
  Result operator()(Arguments... arguments) const noexcept { return function(static_cast<Arguments&&>(arguments)...); }
};

}  // namespace pydoca::detail

#pragma GCC visibility push(default)

namespace pydoca {

/// A pointer as user data. A callback that has a parameter of its type gets it back.
template <typename T>
std::uint64_t as_user_data(T* pointer) noexcept {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// A function as a callback, with the types of its parameters: calls<copied>.
template <auto function>
inline constexpr detail::Calls<function> calls{};

template <typename Signature, typename Object = detail::AsGiven>
class Callback;

/// A function of the program that the engine calls with arguments of the types Given; it is noexcept. It is made of
///
/// * a lambda without captures: [](DmaMemcpyTask& task, Request* request, Application* application) noexcept { ... }
/// * a function of that kind: calls<copied>
/// * a pointer to a function with exactly these parameters: a Raw.
///
/// The first two have the program's types: user data may be a pointer, a number of 64 bits or an enumerator, as the
/// program made it (as_user_data()), the object may be an Object, which is derived from what the engine knows, and the
/// last parameters may be left out. The call costs what a Raw costs.
template <typename Result, typename... Given, typename Object>
class Callback<Result(Given...), Object> {
 public:
  using Raw = Result (*)(Given...) noexcept;

  constexpr Callback(std::nullptr_t = nullptr) noexcept {}
  constexpr Callback(Raw function) noexcept : function_(function) {}
  template <typename Function>
    requires std::is_class_v<Function>
  constexpr Callback(Function) noexcept {
    static_assert(detail::HasOneCallOperator<Function>,
                  "a callback has one call operator, and names the types of its parameters");
    static_assert(std::is_empty_v<Function> && std::is_default_constructible_v<Function>,
                  "a callback captures nothing: hand over what it needs as user data");
    if constexpr (detail::HasOneCallOperator<Function>) {
      function_ = &detail::Adapter<decltype(&Function::operator()), Object>::template call<Result, Given...>;
    }
  }
  /// calls<function> says this with the types of the function.
  template <typename... Arguments>
  constexpr Callback(Result (*)(Arguments...) noexcept) = delete;
  /// A callback is noexcept.
  template <typename... Arguments>
  constexpr Callback(Result (*)(Arguments...)) = delete;

  constexpr operator Raw() const noexcept { return function_; }

 private:
  Raw function_ = nullptr;
};

}  // namespace pydoca

#pragma GCC visibility pop
