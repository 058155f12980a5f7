/// The names of the fields of the backends' structures: one list for properties, dictionaries and topologies.
#pragma once

#include <pydoca/device_properties.hpp>
#include <pydoca/sim.hpp>

#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/pybind.hpp"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

namespace pydoca::bindings {

/// Calls visit(field) for what Capabilities has of each library.
template <class Visit>
void each_library(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, LibraryCapabilities::fields());
}

/// Calls visit("name", &T::field, "docstring") for every field of T.
template <class T, class Visit>
  requires requires { T::fields(); }
void each_field(std::type_identity<T>, const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field.name, field.member, field.says), ...); }, T::fields());
}

template <class Visit>
void each_field(std::type_identity<Capabilities>, const Visit& visit) {
  each_library([&]<class T, class Value>(const LibraryField<T, Value>& library) {
    const std::string says = std::string(library.says) + " (" + Value::value_type::name + "), or None.";
    visit(library.name, library.member, says.c_str());
  });
  std::apply([&](const auto&... field) { (visit(field.name, field.member, field.says), ...); },
             Capabilities::own_fields());
}

template <class Visit>
void each_field(std::type_identity<RepresentorProperties>, const Visit& visit) {
  using T = RepresentorProperties;
  visit("name", &T::name, "Unique on its DPU device, such as \"hpf0\".");
  visit("pci_addr", &T::pci_addr,
        "The address of the represented function on its own side, in the long form; for an SF, that of its parent "
        "function.");
  visit("func_type", &T::func_type, "The type of the represented function: PF, VF or SF.");
  visit("vuid", &T::vuid, "The represented function's unique identifier.");
  visit("iface_name", &T::iface_name, "The representor's network interface.");
  visit("vhca_id", &T::vhca_id, "The card's number for the represented function.");
  visit("is_hotplug", &T::is_hotplug, "Whether the function was plugged in while the machine was running.");
  visit("is_emulated", &T::is_emulated, "Whether the DPU emulates the function in software.");
}

template <class T>
concept Fielded = requires { each_field(std::type_identity<T>(), [](const char*, auto, auto...) {}); };

template <class T>
concept HasText = requires(const T& value) { to_text(value); };

template <class T>
py::object to_plain(const std::optional<T>& value);

/// Plain Python (str, int, bool, dict, None), fit for JSON.
template <class T>
py::object to_plain(const T& value) {
  if constexpr (Fielded<T>) {
    py::dict plain;
    each_field(std::type_identity<T>(),
               [&](const char* name, auto field, auto...) { plain[name] = to_plain(value.*field); });
    return plain;
  } else if constexpr (std::is_same_v<T, MtuSize>) {
    return py::int_(256U << static_cast<unsigned>(value));
  } else if constexpr (HasText<T>) {
    return to_str(to_text(value));
  } else {
    return py::cast(value);
  }
}

template <class T>
py::object to_plain(const std::optional<T>& value) {
  return value ? to_plain(*value) : py::object(py::none());
}

}  // namespace pydoca::bindings
