#include "model/explorer/mutation.hpp"

#include <algorithm>

namespace pydoca::model {

void Mutations::reset(const Mutation& mutation) {
  mutation_ = mutation;
  sites_.clear();
  functions_.clear();
  applied_ = 0;
}

bool Mutations::matches(const Site& site) noexcept {
  if (!is_of_function(site.where.function_name()) ||
      (!mutation_.operation.empty() && mutation_.operation != site.what)) {
    return false;
  }
  const std::uint64_t key = std::uint64_t{site.where.line()} << 32 | site.where.column();
  const auto found = std::find(sites_.begin(), sites_.end(), key);
  const auto number = static_cast<std::size_t>(found - sites_.begin()) + 1;
  if (found == sites_.end()) {
    sites_.push_back(key);
  }
  const bool applies = mutation_.number == 0 || mutation_.number == number;
  applied_ += applies ? 1U : 0U;
  return applies;
}

bool Mutations::is_of_function(const char* name) {
  for (const auto& [known, matches] : functions_) {
    if (known == name) {
      return matches;
    }
  }
  functions_.emplace_back(name, std::string_view(name).find(mutation_.function) != std::string_view::npos);
  return functions_.back().second;
}

}  // namespace pydoca::model
