#include "c_task.hpp"
#include "declarations.hpp"
#include "definitions.hpp"

#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

constexpr std::string_view place = "@TASK_FUNCTIONS@\n";

std::string read(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    throw std::runtime_error(std::string("cannot read ") + path);
  }
  return text.str();
}

void write(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) {
    throw std::runtime_error(std::string("cannot write ") + path);
  }
}

/// The header's template with the declarations in their place.
std::string header_of(const pydoca::capi::CLibrary& library, const char* pattern) {
  std::string text = read(pattern);
  const std::size_t at = text.find(place);
  if (at == std::string::npos) {
    throw std::runtime_error(std::string(pattern) + " has no line " + std::string(place));
  }
  return text.replace(at, place.size(), declarations_of(library));
}

}  // namespace

/// LIBRARY TEMPLATE HEADER SOURCE: writes the last two.
int main(int count, char** arguments) try {
  if (count != 5) {
    throw std::invalid_argument("give a library, its header's template, the header and the source to write");
  }
  const pydoca::capi::CLibrary* const library = pydoca::capi::find_library(arguments[1]);
  if (library == nullptr) {
    throw std::invalid_argument(std::string("no library ") + arguments[1]);
  }
  write(arguments[3], header_of(*library, arguments[2]));
  write(arguments[4], definitions_of(*library));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "doca_task_functions: " << error.what() << '\n';
  return 1;
}
