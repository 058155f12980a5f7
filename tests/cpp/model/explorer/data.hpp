#pragma once

#include "model/explorer/execution.hpp"

#include <array>
#include <utility>

namespace pydoca::model {

/// Plain data of a model. An access fails the model when another thread's access is neither before nor after it, or
/// when the data is gone.
template <class T>
class Data {
  using Where = std::source_location;

 public:
  Data() = default;
  explicit Data(T value) : value_(std::move(value)) {}

  T read(Where where = Where::current()) {
    check_write(where, "reads");
    if (!execution().is_outside()) {
      reads_[execution().thread()] = execution().age();
    }
    return value_;
  }
  void write(T value, Where where = Where::current()) {
    check_write(where, "writes");
    check_reads(where);
    if (!execution().is_outside()) {
      writer_ = execution().thread();
      written_ = execution().age();
    }
    value_ = std::move(value);
  }
  /// Frees it: no thread may access it any more.
  void end(Where where = Where::current()) {
    write(T{}, where);
    is_gone_ = true;
  }

 private:
  void check_write(const Where& where, const char* what) {
    if (is_gone_) {
      execution().fail(std::string(what) + " data that is gone", {"", where});
    }
    if (written_ != 0 && !execution().is_outside() && !execution().knowledge().has(writer_, written_)) {
      execution().fail(std::string("a race: a thread ") + what + " data that another one writes", {"", where});
    }
  }
  void check_reads(const Where& where) {
    for (std::size_t thread = 0; thread < reads_.size() && !execution().is_outside(); ++thread) {
      if (reads_[thread] != 0 && !execution().knowledge().has(thread, reads_[thread])) {
        execution().fail("a race: a thread writes data that another one reads", {"", where});
      }
    }
  }

  T value_{};
  bool is_gone_ = false;
  std::size_t writer_ = 0;
  std::uint32_t written_ = 0;
  std::array<std::uint32_t, Knowledge::max_threads> reads_{};
};

}  // namespace pydoca::model
