/// Reads how a function is called from the docstring that pybind11 gives it: name(self: T, a: int = 1, *, b: object) ->
/// R, and its doc below an empty line. Only the form of the signature matters, not the texts of the types.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

/// A parameter, without self.
struct Parameter {
  std::string name;
  std::string value;  ///< the default as text; empty: it must be given
};

/// The way to call a function.
struct Signature {
  std::vector<Parameter> parameters;
  std::size_t num_positional = 0;
  bool is_complete = true;  ///< the function takes no other parameters
  std::string text;         ///< the signature in the format of __text_signature__
  std::string doc;
};

/// Whether a docstring begins with the signature of the function of this name, as those of pybind11 do.
bool has_signature(std::string_view docstring, std::string_view name) noexcept;

/// The signature of a docstring that has one. A doc that begins with a signature of its own, such as
/// (a, b=1, *, c=None), has the last word.
Signature signature_of(std::string_view docstring, bool is_method);

/// The parameters of such a docstring, with their types: "(max: int = 256)".
std::string parameters_of(std::string_view docstring);

}  // namespace pydoca::bindings
