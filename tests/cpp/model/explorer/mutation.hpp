#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::model {

/// Where the code does an operation.
struct Site {
  const char* what = "";  ///< the function of std::atomic
  std::source_location where;
};

/// A fault that is put into the code, to show that its model finds it.
enum class Fault : std::uint8_t {
  none,
  weaken,  ///< a sequentially consistent store is a release store
  relax,   ///< the operation is relaxed
  split,   ///< a read-modify-write is a load and a release store
  blind,   ///< a load gives 0
  late,    ///< a store comes after the thread's next operation
};

struct Mutation {
  Fault fault = Fault::none;
  std::string_view function{};   ///< such as "RevocationPage::enter"
  std::string_view operation{};  ///< such as "store"; empty: each to which the fault can apply
  std::size_t number = 0;        ///< which of the operations in the function: the n-th that ran first, from 1; 0: all
};

/// Tells at which operations a mutation applies.
class Mutations {
 public:
  void reset(const Mutation& mutation);
  bool apply(Fault fault, const Site& site) noexcept {
    return fault == mutation_.fault && mutation_.fault != Fault::none && matches(site);
  }
  std::uint64_t applied() const noexcept { return applied_; }

 private:
  bool matches(const Site& site) noexcept;
  bool is_of_function(const char* name);

  Mutation mutation_;
  std::vector<std::uint64_t> sites_;                     ///< line and column, by first execution
  std::vector<std::pair<const char*, bool>> functions_;  ///< those seen, and whether they match
  std::uint64_t applied_ = 0;
};

}  // namespace pydoca::model
